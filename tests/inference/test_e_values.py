"""E-values: what bets and the t-mixture won, again from their p-values; and a calibrator's integral."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

from harness.inference import (
    Stream,
    TMixtureCS,
    bet_on_streams,
    calibrate_p_value,
    e_value_of_bets,
    e_value_of_t_mixture,
    moments,
)

VALUES = np.array([0.3, 0.5, 0.4, 0.45, 0.35, 0.6, 0.5, 0.4])


def test_a_calibrated_p_value_is_worth_1_on_average_where_the_hypothesis_is_true() -> None:
    assert integrate.quad(calibrate_p_value, 0, 1)[0] == pytest.approx(1.0)
    assert calibrate_p_value(0.0025) == pytest.approx(10.0)


def test_what_was_won_follows_from_the_p_value_of_the_last_look() -> None:
    mean = TMixtureCS(moments(VALUES), last_look_only=True)
    assert e_value_of_t_mixture(mean.p_above(0.1)) == pytest.approx(mean.martingale(0.1, 1.0)[-1])
    stream = Stream(VALUES, np.zeros(8), np.ones(8))
    bet = bet_on_streams([stream])
    assert e_value_of_bets(bet.p_above(0.1)) == pytest.approx(math.exp(bet.log_capital(0.1)[-1]))
