"""Gradients of logistic regression: their sensitivity (jayaraman2019 Section 2.2), and one step (thudi2022 4.1).

Noisy descent on squares shows what a final model keeps of a step (tramer2025 Section 6.2).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from harness.arrays import Array
from harness.formulas.formula import computed, formula, whole_number
from harness.formulas.numbers import Number, exp


@formula("gradient-norms", "1/(1 + exp(-s)) + 1/(1 + exp(-t))", "triangle inequality on two records of unit norm")
def gradient_norms(s: Number, t: Number) -> Number:
    """The upper bound on n times the change of the mean gradient of n records when one replaces another.

    A record's gradient is its features, of unit norm, times a logistic factor of its (negative) margin `s` or `t`; the
    penalty cancels.
    """
    return 1.0 / (1.0 + exp(-1.0 * s)) + 1.0 / (1.0 + exp(-1.0 * t))


@computed("gradient-change", "n times |difference of two gradients|, two unit records nearly opposite", "construction")
def gradient_change(slant: float, length: float) -> float:
    """The number n times the change of the mean gradient of n records, for two records that are nearly opposite.

    The records are (slant, +-sqrt(1 - slant^2)) with label -1, and the parameters are (length, 0).

    >>> round(gradient_change(0.01, 1000.0), 4)
    1.9998
    """
    x, y = slant, math.sqrt(1 - slant * slant)
    factor = 1 / (1 + math.exp(-length * x))
    first, second = (x * factor, y * factor), (x * factor, -y * factor)
    return math.hypot(first[0] - second[0], first[1] - second[1])


def _erm_solution(records: Array, penalty: float) -> Array:
    """The parameters that minimise the mean logistic loss of `records`, (n, d) features times labels, plus the penalty.

    The penalty is `penalty` / 2 times the squared norm.
    """

    def objective(theta: Array) -> tuple[float, Array]:
        margins = records @ theta
        value = np.logaddexp(0.0, -margins).mean() + penalty / 2 * theta @ theta
        return float(value), penalty * theta - (records * scipy.special.expit(-margins)[:, None]).mean(axis=0)

    def hessian(theta: Array) -> Any:
        margins = records @ theta
        weights = scipy.special.expit(margins) * scipy.special.expit(-margins)
        return (records.T * weights) @ records / len(records) + penalty * np.eye(len(theta))

    start = np.zeros(records.shape[1])
    found = scipy.optimize.minimize(
        objective, start, jac=True, hess=hessian, method="trust-exact", options={"gtol": 1e-12}
    )
    return np.asarray(found.x, dtype=np.float64)


@computed(
    "erm-solution-change",
    "n lambda |difference of two minimisers|, data sets of unit records that differ in one",
    "minimised numerically; Chaudhuri et al. 2011, Corollary 8",
)
def erm_solution_change(n: float, penalty: float, seed: float) -> float:
    """The number n times `penalty` times the distance of two solutions of regularised logistic regression.

    The data sets have `n` records of unit norm in three dimensions, drawn by `seed`, and differ in the first, which is
    replaced by another draw. Raises ValueError unless `n` is a whole number from 1 to 1000.
    """
    count = whole_number("n", n, 1, 1000)
    rng = np.random.default_rng(int(seed))
    drawn = rng.normal(size=(count + 1, 3))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    one, other = (_erm_solution(np.delete(drawn, left_out, axis=0), penalty) for left_out in (0, 1))
    return float(count * penalty * np.linalg.norm(one - other))


@computed("logistic-gradient", "(1/(1 + exp(-w x)) - y) x", "thudi2022 Section 4.1")
def logistic_gradient(weight: float, feature: float, label: float) -> float:
    """The derivative of the cross-entropy by the one weight of a logistic regression without bias; `label` is 0 or 1.

    >>> logistic_gradient(0.0, 2.0, 1.0)
    -1.0
    """
    return (float(scipy.special.expit(weight * feature)) - label) * feature


@computed("clipped-logistic-step", "-g min(1, 1/|g|) with g the gradient", "thudi2022 Section 4.1")
def clipped_logistic_step(weight: float, feature: float, label: float) -> float:
    """The change that one step of DP-SGD makes to the weight before noise, at learning rate 1 and clipping norm 1."""
    gradient = logistic_gradient(weight, feature, label)
    return 0.0 - gradient / max(1.0, abs(gradient))


@computed(
    "final-weight-mu",
    "(1 - rate)^(T - t) / sqrt(sum over s of (1 - rate)^(2 (T - s)))",
    "noisy gradient descent on (w - x)^2 / 2, from the definition",
)
def final_weight_mu(rate: float, steps: float, step: float) -> float:
    """The signal of one record in the final weight of noisy gradient descent on a convex loss, in units of the noise.

    Each of `steps` steps takes one record x and moves the weight by -`rate` times the gradient w - x plus noise of
    deviation 1; records differ by at most 1, and the record in question is taken in step `step`, counted from 1. All
    weights together show it with a signal of 1: the weight before the step and after it differ by its gradient and one
    draw of noise, and later steps depend on the weight alone. Raises ValueError unless `steps` is a whole number from
    1 to 10,000, and `step` one from 1 to `steps`.

    >>> final_weight_mu(0.5, 1.0, 1.0)
    1.0
    """
    last = whole_number("steps", steps, 1, 10_000)
    kept = 1.0 - rate
    noise = math.sqrt(math.fsum(kept ** (2 * later) for later in range(last)))
    return float(kept ** (last - whole_number("step", step, 1, last)) / noise)
