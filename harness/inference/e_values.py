"""E-values from p-values: what a bet against a hypothesis has won, by how the p-value was made."""

from __future__ import annotations

import math


def calibrate_p_value(p_value: float) -> float:
    """The e-value 1 / (2 sqrt(p)) of a p-value of any test (a calibrator: Vovk and Wang 2021)."""
    return 0.5 / math.sqrt(p_value)


def e_value_of_t_mixture(p_value: float) -> float:
    """M_n, the martingale of the t-mixture, which its one-sided p-value at the last look halves."""
    return 0.5 / p_value


def e_value_of_bets(p_value: float) -> float:
    """The capital of bets at the last look, of which their p-value is the inverse."""
    return 1.0 / p_value
