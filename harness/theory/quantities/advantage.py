"""Bounds on membership advantage, and its optimum over all mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.bounds import BOUNDS
from harness.theory.ball import Number, exp, expm1, log, tanh
from harness.theory.quantity import quantity


def _bound(name: str) -> None:
    bound = BOUNDS[name]

    def advantage(epsilon: Number, delta: Number) -> Any:
        # The bound is written with NumPy's functions, which hand objects to the objects' own methods.
        wrapped = (np.asarray(x, dtype=object) if not isinstance(x, float | np.ndarray) else np.asarray(x)
                   for x in (epsilon, delta))  # fmt: skip
        found = bound.raw(*wrapped)
        return found.item() if found.ndim == 0 else found

    quantity(name, f"{bound.formula} (membership advantage)", bound.source)(advantage)


for _name in BOUNDS:
    _bound(_name)


@quantity(
    "optimal-advantage", "1 - 2 (1 - delta) / (1 + exp(eps))",
    "vertex of the trade-off region of Kairouz, Oh and Viswanath (2015), where its two lines meet",
)  # fmt: skip
def optimal_advantage(epsilon: Number, delta: Number) -> Number:
    """Largest TPR - FPR of a test between two neighbours: FPR = FNR = (1 - delta) / (1 + exp(eps))."""
    return 1.0 - 2.0 * (1.0 - delta) / (1.0 + exp(epsilon))


@quantity("advantage-given-z-alone", "tanh(eps / 4)", "limit of `optimal-advantage-in-exp` for a large universe")
def advantage_given_z_alone(epsilon: Number) -> Number:
    """What an adversary can reach who knows z but not the record z' that z stands against, at delta = 0.

    All A(S + u) are within exp(eps) of each other, so the likelihood ratio against their mean takes values in
    [m, exp(eps) m]; its mean excess over 1 is largest when a share 1 / (1 + exp(eps / 2)) is at the top.
    """
    return tanh(epsilon / 4.0)


@quantity("epsilon-from-rates", "ln((TPR - delta) / FPR)", "tramer2025 Corollary 1")
def epsilon_from_rates(tpr: Number, fpr: Number, delta: Number = 0.0) -> Number:
    """Least epsilon at which an attack with these rates is possible, by the inequality on positive calls."""
    return log((tpr - delta) / fpr)


@quantity(
    "epsilon-from-rates-negative", "ln((TNR - delta) / FNR)", "tramer2025 Corollary 1",
)  # fmt: skip
def epsilon_from_rates_negative(tpr: Number, fpr: Number, delta: Number = 0.0) -> Number:
    """The same by the inequality on negative calls."""
    return log((1.0 - fpr - delta) / (1.0 - tpr))


@quantity("true-per-false", "1 + adv / FPR", "from adv = TPR - FPR, members and non-members in equal number")
def true_per_false(advantage: Number, fpr: Number) -> Number:
    """True members called for each non-member called."""
    return (advantage + fpr) / fpr


@quantity("failure-probability", "1 - (1 - delta)^pairs", "thudi2022 Section 4.3")
def failure_probability(delta: Number, pairs: Number) -> Number:
    """Chance that a condition which fails with `delta` for one pair of data sets fails for one of several."""
    return -1.0 * expm1(pairs * log(1.0 - delta))


@quantity("group-privacy-delta", "(delta/n) (exp(eps) - 1) / (exp(eps/n) - 1)", "group privacy over n steps")
def group_privacy_delta(epsilon: Number, delta: Number, n: Number) -> Number:
    """Delta at epsilon between data sets that differ in n records, under (eps/n, delta/n)-DP for one record."""
    return delta / n * expm1(epsilon) / expm1(epsilon / n)
