"""True- and false-positive rates: what DP allows, and what rates that were reached say of epsilon."""

from __future__ import annotations

from harness.formulas.formula import formula
from harness.formulas.numbers import Number, exp, log


@formula(
    "tpr-at-fpr",
    "exp(eps) FPR + delta",
    "tramer2025 Theorem 1 (Kairouz, Oh and Viswanath 2015)",
    bounds="TPR",
    adjacency="replace-one",
    assumptions=("the two data sets are fixed beforehand",),
)
def tpr_at_fpr(epsilon: Number, delta: Number, fpr: Number) -> Number:
    """The bound of tramer2025 Theorem 1 on the true-positive rate of any attack at a false-positive rate.

    >>> round(float(tpr_at_fpr(1.0, 1e-5, 0.01)), 4)
    0.0272
    """
    return exp(epsilon) * fpr + delta


@formula("epsilon-from-rates", "ln((TPR - delta) / FPR)", "tramer2025 Corollary 1")
def epsilon_from_rates(tpr: Number, fpr: Number, delta: Number = 0.0) -> Number:
    """The least epsilon at which an attack with these rates is possible, by the inequality on positive calls.

    >>> round(float(epsilon_from_rates(0.9, 0.1)), 4)
    2.1972
    """
    return log((tpr - delta) / fpr)


@formula(
    "epsilon-from-rates-negative",
    "ln((TNR - delta) / FNR)",
    "tramer2025 Corollary 1",
)
def epsilon_from_rates_negative(tpr: Number, fpr: Number, delta: Number = 0.0) -> Number:
    """The least epsilon at which an attack with these rates is possible, by the inequality on negative calls."""
    return log((1.0 - fpr - delta) / (1.0 - tpr))


@formula("true-per-false", "1 + adv / FPR", "from adv = TPR - FPR, members and non-members in equal number")
def true_per_false(advantage: Number, fpr: Number) -> Number:
    """The number of members called for each non-member called, of an attack with this advantage and FPR."""
    return (advantage + fpr) / fpr
