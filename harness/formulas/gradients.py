"""Gradients of logistic regression: their sensitivity (jayaraman2019 Section 2.2), and one step (thudi2022 4.1)."""

from __future__ import annotations

import math

import scipy

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


@computed("logistic-gradient", "(1/(1 + exp(-w x)) - y) x", "thudi2022 Section 4.1")
def logistic_gradient(weight: float, feature: float, label: float) -> float:
    """Derivative of the cross-entropy with respect to the one weight, without bias."""
    return (float(scipy.special.expit(weight * feature)) - label) * feature


@computed("clipped-logistic-step", "-g min(1, 1/|g|) with g the gradient", "thudi2022 Section 4.1")
def clipped_logistic_step(weight: float, feature: float, label: float) -> float:
    """What one step of DP-SGD adds to the weight before noise, at learning rate 1 and clipping norm 1."""
    gradient = logistic_gradient(weight, feature, label)
    return 0.0 - gradient / max(1.0, abs(gradient))
