"""One level for all claims together."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ville.evalues import ebh

from harness.claims.verdict import Verdict
from harness.inference import Stream, bet_on_streams
from harness.report.summary import catalogue_sentence
from harness.verdicts.multiplicity import correct_for_all_claims, e_bh, holm


def by_closed_testing(p_values: list[float], alpha: float) -> list[bool]:
    """Holm's test by the principle behind it: reject where every set of hypotheses that contains it is rejected by
    Bonferroni."""
    n = len(p_values)
    sets = [s for k in range(1, n + 1) for s in combinations(range(n), k)]
    return [all(min(p_values[j] for j in s) <= alpha / len(s) for s in sets if i in s) for i in range(n)]


@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=6), st.sampled_from([0.01, 0.05, 0.1]))
def test_holm_is_the_closed_bonferroni_test(p_values: list[float], alpha: float) -> None:
    adjusted = holm(p_values)
    if all(abs(p - alpha) > 1e-9 for p in adjusted):
        assert [p <= alpha for p in adjusted] == by_closed_testing(p_values, alpha)


def test_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


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
    return Verdict.model_validate(
        {
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
    assert result["clear"].p_catalogue == pytest.approx(0.003)
    assert result["faint"].p_catalogue == pytest.approx(0.06)
    assert result["clear"].claims_tested == 3
    assert all(result[name].p_catalogue is None for name in ("open", "theorem", "absent"))
    text = catalogue_sentence(list(result.values()))
    assert text == (
        "Of the 2 verdicts decided on measurements, 1 are distribution-free, 1 rest on no outcome being rarer than stated. "
        "1 of them stand at a false discovery rate of 5% over all 3 claims tested (e-BH, for any dependence between them), "
        "and 1 at level 0.05 for all together (Holm)."
    )
    assert [result[name].stands for name in ("clear", "faint", "open")] == [True, False, None]
    assert catalogue_sentence([result["theorem"]]) == ""


@given(st.lists(st.floats(0, 3000), min_size=1, max_size=12), st.sampled_from([0.05, 0.1]))
def test_e_bh_is_that_of_ville(e_values: list[float], rate: float) -> None:
    assert e_bh(e_values, len(e_values), rate) == ebh(e_values, rate).tolist()


def test_e_bh_counts_every_hypothesis() -> None:
    assert e_bh([100.0, 45.0, 39.0], 3) == [True, True, True]
    assert e_bh([100.0, 45.0, 39.0], 6) == [False, False, False]
    assert e_bh([121.0, 61.0, 39.0], 6) == [True, True, False]
    assert e_bh([], 0) == []


def test_claims_that_are_false_stand_no_more_often_than_stated() -> None:
    """20 claims of which 15 are on the margin, by bets after 30 results each; the rest are true by much."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(40):
        means = np.array([0.0] * 15 + [0.8] * 5)
        result = []
        for mean in means:
            values = mean + rng.uniform(-0.2, 0.2, 30)
            bet = bet_on_streams([Stream(values, np.full(30, -1.0), np.full(30, 1.0))])
            result.append(math.exp(float(bet.log_capital(0.0)[-1])))
        stand = np.array(e_bh(result, 40))
        assert stand[15:].all()
        shares.append(stand[:15].sum() / stand.sum())
    assert np.mean(shares) <= 0.05


def test_what_was_not_tested_is_not_counted() -> None:
    """An exact count has points and no p-value; a claim that is inconclusive for want of repeats may have no point."""
    decided = verdict("s#a", p_value=0.01, verdict="reproduced")
    count = verdict("s#b", p_value=None, verdict="reproduced")
    empty = verdict("s#c", p_value=None, verdict="inconclusive", points=())
    assert count.points
    assert [v.claims_tested for v in correct_for_all_claims([decided, count, empty])] == [1, None, None]
    open_ = verdict("s#d", p_value=None, verdict="inconclusive")
    assert [v.claims_tested for v in correct_for_all_claims([decided, open_])] == [2, None]


def test_two_hypotheses_are_counted_for_each_claim() -> None:
    """Alone at a rate of 5%: 40 is enough for one claim, which holds or does not; 39 is not."""
    for e_value, stands in ((40.0, True), (39.0, False)):
        (result,) = correct_for_all_claims([verdict("s#a", p_value=0.001, e_value=e_value)])
        assert result.stands is stands
