"""The Renyi DP of sampled Gaussian steps at any order above 1, and the epsilon of the best order."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from harness.arrays import Array
from harness.formulas.numbers import nodes_and_weights
from harness.privacy.lattice import Step, loss

NODES, WEIGHTS = nodes_and_weights(16)
# The rounding error, from above.
ROUNDING = 1e-14
"""Of a logarithm of a moment near 0."""
SMALL = 40.0
"""What is smaller than the largest by a factor of exp(-SMALL) is left out."""
# The range in which the best order is looked for.
LEAST_ORDER, LARGEST_ORDER = 1e-6, 1e15
"""Less 1."""


class Best(NamedTuple):
    """The least epsilon that Renyi DP of one order implies, and that order."""

    epsilon: float
    order: float


def log_moment(step: Step, order: float) -> float:
    """The logarithm of E_Q[(P/Q)^order] for P = (1 - q) N(0, s^2) + q N(1, s^2) against Q = N(0, s^2), by quadrature.

    It takes any real order above 1, for which Mironov, Talwar and Zhang (2019) have sums; at q = 1 it has a closed
    form.

    >>> log_moment(Step(2.0, 1.0), 3.0)
    0.75
    >>> round(log_moment(Step(2.0, 0.1), 3.0), 6)
    0.008747
    """
    s, q = step
    if q >= 1:
        return order * (order - 1) / (2 * s * s)

    def log_integrand(z: Array) -> Array:
        return order * loss(z / s - 0.5 / s**2, q) - z * z / 2

    # The z of the bulk, of the record's noise under the power, between both, and where a loss turns from one into the
    # other.
    far, turn = order / s, s * (math.log1p(-q) - math.log(q)) + 0.5 / s
    around = np.linspace(-12, 12, 193)
    turning = turn + s * np.linspace(-45, 45, 721)
    rough = np.unique(np.concatenate([around, far + around, np.geomspace(12, far + 12, 2000), turning[turning > -12]]))
    rough = rough[rough <= far + 12]
    seen = log_integrand(rough)
    large = seen > seen.max() - SMALL
    piece = large[:-1] | large[1:]
    left, right = rough[:-1][piece], rough[1:][piece]
    longest = np.where(np.abs((left + right) / 2 - turn) < 45 * s, min(0.25, 0.5 * s), 0.25)
    parts = np.maximum(1, np.ceil((right - left) / longest)).astype(int)
    width = np.repeat((right - left) / parts, parts)
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    z = (np.repeat(left, parts) + number * width)[:, None] + width[:, None] * (1 + NODES) / 2
    weights = np.log(width[:, None] / 2 * WEIGHTS)
    log_integral = float(scipy.special.logsumexp(log_integrand(z) + weights)) - 0.5 * math.log(2 * math.pi)
    return max(log_integral, 0.0)


def best_order(step: Step, steps: int, delta: float) -> Best:
    """The least epsilon over all orders, by the conversion of Canonne, Kamath and Steinke (2020), Proposition 12.

    dp-accounting uses that conversion too. Epsilon is 0 where delta is above the distance that the divergence of order
    1 allows.
    """

    def epsilon(log_less_one: float) -> float:
        less_one = math.exp(log_less_one)
        order = 1 + less_one
        divergence = steps * log_moment(step, order) / less_one
        return divergence + math.log1p(-1 / order) - math.log(delta * order) / less_one

    if delta**2 + math.expm1(-steps * (log_moment(step, 1.01) + ROUNDING) / 0.01) > 0:
        return Best(0.0, 1.01)
    places = np.arange(math.log(LEAST_ORDER), math.log(LARGEST_ORDER), 1.0)
    # Epsilon falls with the order and then rises: from the middle towards where it is less.
    at = int(np.argmin(np.abs(places - 1.0)))
    here = epsilon(float(places[at]))
    for way in (1, -1):
        while 0 <= at + way < len(places) and (there := epsilon(float(places[at + way]))) < here:
            at, here = at + way, there
    bounds = float(places[at]) - 1.0, float(places[at]) + 1.0
    minimum = scipy.optimize.minimize_scalar(epsilon, bounds=bounds, method="bounded", options={"xatol": 1e-4})
    least = min(float(minimum.fun), here)
    return Best(max(0.0, least), 1 + math.exp(float(minimum.x)))
