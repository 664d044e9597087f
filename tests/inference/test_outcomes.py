"""Means over outcomes that are drawn with each value: by hand, and over every draw."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from harness.inference import (
    adjust_for_outcomes,
    adjusted_stream,
    bet_on_streams,
    bounded_stream,
    repeats_to_see_outcomes,
    stratified_estimate,
)


def test_a_stratified_mean_weighs_outcomes_alike() -> None:
    values, drawn = np.array([0.1, 0.3, 0.9, 1.1, 1.0]), np.array([0, 0, 1, 1, 1])
    result = stratified_estimate(values, np.zeros(5), drawn, 2)
    assert result.mean == pytest.approx((0.2 + 1.0) / 2)  # not the mean of the five, 0.68
    assert result.dof == pytest.approx(stats.ttest_ind(values[:2], values[2:], equal_var=False).df)
    assert result.repeat_values is values
    once = stratified_estimate(values, np.zeros(5), np.array([0, 0, 0, 0, 1]), 2)
    assert once.mean == pytest.approx(values.mean())


def test_what_is_taken_off_is_zero_on_average_over_the_next_outcome() -> None:
    values = np.random.default_rng(0).random(9)
    drawn = np.array([0, 2, 1, 1, 0, 2, 2, 0, 0])
    last = [adjust_for_outcomes(values, np.r_[drawn[:-1], outcome], 3)[-1] for outcome in range(3)]
    assert np.mean(last) == pytest.approx(values[-1])
    assert np.ptp(last) > 0.01


def test_bets_on_adjusted_values_win_nothing_on_average() -> None:
    """Over all 2^6 draws of an outcome that decides the value."""
    by_outcome, won = np.array([0.2, 0.8]), []
    for drawn in product((0, 1), repeat=6):
        stream = adjusted_stream(by_outcome[list(drawn)], 0.0, 1.0, np.array(drawn), 2)
        won.append(math.exp(bet_on_streams([stream]).log_capital(0.5)[-1]))
    assert np.mean(won) == pytest.approx(1.0)


def test_outcomes_are_waited_for_a_while_and_no_longer() -> None:
    assert repeats_to_see_outcomes(np.array([0, 1, 0, 2, 1]), 3) == 4
    assert repeats_to_see_outcomes(np.zeros(30, int), 2) == 8
    assert repeats_to_see_outcomes(np.zeros(3, int), 2) == 3


def test_a_value_outside_of_its_range_is_refused() -> None:
    stream = bounded_stream(np.array([0.0, 1.0 + 1e-12]), 0.0, 1.0)
    assert (stream.lows.tolist(), stream.highs.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"results are 0\.2 to 1\.4, outside of the range 0 to 1"):
        bounded_stream(np.array([0.2, 1.4]), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"results are -0\.5 to 0\.2, outside of the range 0 to 1"):
        adjusted_stream(np.array([0.2, -0.5]), 0.0, 1.0, np.array([0, 1]), 2)
