"""One level for all claims together."""

from __future__ import annotations

import pytest

from harness.claims.verdict import Verdict
from harness.report.summary import catalogue_sentence
from harness.verdicts.multiplicity import correct_for_all_claims
from tests.verdict_fields import verdict_of


def verdict(name: str, **more: object) -> Verdict:
    point = {
        "expectation": 0,
        "left": 0.0,
        "right": 0.0,
        "effect": 0.0,
        "low": None,
        "high": None,
        "p_support": 1.0,
        "p_oppose": 1.0,
        "repeats": 2,
    }
    return verdict_of(
        **{
            "id": name,
            "catalogue": (),
            "paper": "p",
            "spec": "s",
            "where": "w",
            "kind": "training",
            "statement": "x",
            "inequality": (),
            "verdict": "reproduced",
            "reason": "r",
            "data": "paper",
            "profile": "full",
            "alpha": 0.05,
            "test": "t",
            "correction": "c",
            "spec_sha256": "0",
            "code": "0",
            "points": [point],
            **more,
        }
    )


def test_inconclusive_claims_count_and_theory_does_not() -> None:
    judged = [
        verdict("clear", p_value=0.001, e_value=2000.0, basis="distribution-free"),
        verdict("faint", p_value=0.03, e_value=33.0, basis="t-test", rarest=2),
        verdict("open", verdict="inconclusive"),
        verdict("theorem", points=[]),
        verdict("absent", verdict="not run", points=[]),
    ]
    result = {v.id: v for v in correct_for_all_claims(judged)}
    assert result["clear"].numbers.p_catalogue == pytest.approx(0.003)
    assert result["faint"].numbers.p_catalogue == pytest.approx(0.06)
    assert result["clear"].numbers.claims_tested == 3
    assert all(result[name].numbers.p_catalogue is None for name in ("open", "theorem", "absent"))
    text = catalogue_sentence(list(result.values()))
    assert text == (
        "Of the 2 verdicts decided on measurements, 1 are distribution-free, 1 rest on no outcome being rarer than stated. "
        "1 of them stand at a false discovery rate of 5% over all 3 claims tested (e-BH, for any dependence between them), "
        "and 1 at level 0.05 for all together (Holm)."
    )
    assert [result[name].numbers.stands for name in ("clear", "faint", "open")] == [True, False, None]
    assert catalogue_sentence([result["theorem"]]) == ""


def test_what_was_not_tested_is_not_counted() -> None:
    """An exact count has points and no p-value; a claim that is inconclusive for want of repeats may have no point."""
    decided = verdict("s#a", p_value=0.01, verdict="reproduced")
    count = verdict("s#b", p_value=None, verdict="reproduced")
    empty = verdict("s#c", p_value=None, verdict="inconclusive", points=())
    assert count.numbers.points
    assert [v.numbers.claims_tested for v in correct_for_all_claims([decided, count, empty])] == [1, None, None]
    open_ = verdict("s#d", p_value=None, verdict="inconclusive")
    assert [v.numbers.claims_tested for v in correct_for_all_claims([decided, open_])] == [2, None]


def test_two_hypotheses_are_counted_for_each_claim() -> None:
    """Alone at a rate of 5%: 40 is enough for one claim, which holds or does not; 39 is not."""
    for e_value, stands in ((40.0, True), (39.0, False)):
        (result,) = correct_for_all_claims([verdict("s#a", p_value=0.001, e_value=e_value)])
        assert result.numbers.stands is stands
