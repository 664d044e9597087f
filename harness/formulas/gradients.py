"""Sensitivity of the gradient of regularised logistic regression (jayaraman2019 Section 2.2), times n."""

from __future__ import annotations

import math

from harness.formulas.formula import computed, formula
from harness.formulas.numbers import Number, exp


@formula("gradient-norms", "1/(1 + exp(-s)) + 1/(1 + exp(-t))", "triangle inequality on two records of unit norm")
def gradient_norms(s: Number, t: Number) -> Number:
    """Upper bound on n times the change of the gradient when one record replaces another.

    A record's gradient is its features times a logistic factor of its (negative) margin s or t; the penalty cancels.
    """
    return 1.0 / (1.0 + exp(-1.0 * s)) + 1.0 / (1.0 + exp(-1.0 * t))


@computed("gradient-change", "n times |difference of two gradients|, two unit records nearly opposite", "construction")
def gradient_change(slant: float, length: float) -> float:
    """n times the change, for records (slant, +-sqrt(1 - slant^2)) with label -1 and parameters (length, 0)."""
    x, y = slant, math.sqrt(1 - slant * slant)
    factor = 1 / (1 + math.exp(-length * x))
    first, second = (x * factor, y * factor), (x * factor, -y * factor)
    return math.hypot(first[0] - second[0], first[1] - second[1])
