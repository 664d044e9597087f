"""Holm's test and e-BH: against the closed test, `ville`, and the rate that is promised."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ville.evalues import ebh

from harness.inference import Stream, bet_on_streams, e_bh, holm


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
