"""One level for all claims together."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.claims.verdict import Verdict
from harness.report.build import catalogue_sentence
from harness.verdicts.catalogue import corrected, holm


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
            "fidelity": "exact",
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
        verdict("clear", p_value=0.001),
        verdict("faint", p_value=0.03),
        verdict("open", verdict="inconclusive"),
        verdict("theorem", points=[]),
        verdict("absent", verdict="not run", points=[]),
    ]
    found = {v.id: v for v in corrected(judged)}
    assert found["clear"].p_catalogue == pytest.approx(0.003)
    assert found["faint"].p_catalogue == pytest.approx(0.06)
    assert found["clear"].claims_tested == 3
    assert all(found[name].p_catalogue is None for name in ("open", "theorem", "absent"))
    text = catalogue_sentence(list(found.values()))
    assert text == (
        "Of the 2 verdicts decided on measurements, 1 hold at level 0.05 for all 3 claims tested together (Holm). "
        "The others: faint."
    )
    assert catalogue_sentence([found["theorem"]]) == ""
