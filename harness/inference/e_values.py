"""E-values from p-values: the winnings of a bet against a hypothesis, by how the p-value was made."""

from __future__ import annotations

import math


def calibrate_p_value(p_value: float) -> float:
    """The e-value 1 / (2 sqrt(p)) of a p-value of any test (a calibrator: Vovk and Wang 2021).

    Raises:
        ValueError: if the p-value is not above 0 and at most 1.

    >>> round(calibrate_p_value(0.0025), 6)
    10.0
    """
    _check_p_value(p_value)
    return 0.5 / math.sqrt(p_value)


def e_value_of_t_mixture(p_value: float) -> float:
    """The martingale M_n of the t-mixture, from its one-sided p-value at the last look, which is 1 / (2 M_n).

    The p-value is that of a `TMixtureCS` with `last_look_only`, and below 1: one of 1 says no more than that M_n is
    at most 1/2.

    Raises:
        ValueError: if the p-value is not above 0 and at most 1.

    >>> round(e_value_of_t_mixture(0.01), 6)
    50.0
    """
    _check_p_value(p_value)
    return 0.5 / p_value


def e_value_of_bets(p_value: float) -> float:
    """The capital of bets, of which their p-value at the last look is the inverse.

    The p-value is that of a `BettingMean` with `last_look_only`, and below 1: one of 1 says no more than that the
    capital is at most 1.

    Raises:
        ValueError: if the p-value is not above 0 and at most 1.

    >>> round(e_value_of_bets(0.01), 6)
    100.0
    """
    _check_p_value(p_value)
    return 1.0 / p_value


def _check_p_value(p_value: float) -> None:
    """Raise ValueError for what is no p-value; one of 0 would be worth infinitely much."""
    if not 0 < p_value <= 1:
        raise ValueError(f"a p-value of {p_value:g}; give one above 0 and at most 1")
