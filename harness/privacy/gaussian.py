"""The exact privacy profile of Gaussian mechanisms, which is what batches cut from a permutation amount to."""

from __future__ import annotations

import math

import scipy


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Smallest delta at which a Gaussian mechanism of sensitivity mu * standard deviation is (epsilon, delta)-DP.

    Balle and Wang (2018), Theorem 8: Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu).
    """
    if mu == 0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    first = float(scipy.special.ndtr(mu / 2 - epsilon / mu))
    return max(0.0, first - math.exp(min(700.0, epsilon + float(scipy.special.log_ndtr(-mu / 2 - epsilon / mu)))))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon at that delta; `mu` is the root of the number of mechanisms over the noise multiplier."""
    if math.isinf(mu):
        return math.inf
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, mu) > delta:
        high *= 2
    return float(scipy.optimize.brentq(lambda e: gaussian_delta(e, mu) - delta, 0.0, high, xtol=1e-12, rtol=1e-12))


def shuffled_epsilon(noise_multiplier: float, epochs: int, delta: float, replace: bool = False) -> float:
    """Epsilon of DP-SGD over batches cut from a permutation each epoch: one Gaussian mechanism an epoch.

    A record's removal (its gradient becomes zero) moves an epoch's sum by at most the clipping norm, its
    replacement by another (`replace`) by at most twice that.
    """
    if noise_multiplier == 0:
        return math.inf
    return gaussian_epsilon((2 if replace else 1) * math.sqrt(epochs) / noise_multiplier, delta)
