"""Bounds on membership advantage, and its optimum over all mechanisms."""

from __future__ import annotations

from harness.formulas.formula import formula
from harness.formulas.numbers import Number, exp, expm1, log, tanh

IID = "members and non-members are independent draws from one population"
"""The assumption of bounds that compare a member with a fresh draw, as reports print it."""


@formula(
    "yeom",
    "exp(eps) - 1",
    "Yeom et al. 2018; humphries2020 Theorem 2.1, Eq. (5)",
    bounds="advantage",
    adjacency="replace-one",
    assumptions=(IID, "delta = 0"),
    pure_only=True,
)
def yeom(epsilon: Number, delta: Number) -> Number:
    """The bound of Yeom et al. (2018) on membership advantage; it exceeds 1, and says nothing, above epsilon ln 2.

    It is proved for delta = 0 and does not depend on `delta`, which is there so that bounds are called alike.
    """
    return expm1(epsilon)


@formula(
    "erlingsson",
    "1 - exp(-eps) (1 - delta)",
    "Erlingsson et al. 2019; humphries2020 Theorem 2.2, Eq. (6)",
    bounds="advantage",
    adjacency="replace-one",
    assumptions=(IID,),
)
def erlingsson(epsilon: Number, delta: Number) -> Number:
    """The bound of Erlingsson et al. (2019) on membership advantage under (epsilon, delta)-DP."""
    # 1 - exp(-eps) by expm1: a small epsilon keeps its digits.
    return -expm1(-epsilon) + delta * exp(-epsilon)


@formula(
    "humphries",
    "(exp(eps) - 1 + 2 delta) / (exp(eps) + 1)",
    "humphries2020 Theorem 3.1, Eq. (8)",
    bounds="advantage",
    adjacency="replace-one",
    assumptions=(IID,),
)
def humphries(epsilon: Number, delta: Number) -> Number:
    """The bound of humphries2020 Theorem 3.1 on membership advantage under (epsilon, delta)-DP.

    >>> round(float(humphries(1.0, 0.0)), 4), round(float(humphries(1000.0, 1e-5)), 4)
    (0.4621, 1.0)
    """
    # The printed quotient in powers of exp(-eps): exp(eps) overflows from an epsilon of 710 on.
    return tanh(epsilon / 2) + 2 * delta * exp(-epsilon) / (1 + exp(-epsilon))


@formula(
    "optimal-advantage",
    "1 - 2 (1 - delta) / (1 + exp(eps))",
    "vertex of the trade-off region of Kairouz, Oh and Viswanath (2015), where its two lines meet",
)
def optimal_advantage(epsilon: Number, delta: Number) -> Number:
    """The largest TPR - FPR of any test between two neighbours under (epsilon, delta)-DP.

    It is reached where both errors are alike, FPR = FNR = (1 - delta) / (1 + exp(eps)).

    >>> round(float(optimal_advantage(1.0, 0.0)), 4)
    0.4621
    """
    return 1.0 - 2.0 * (1.0 - delta) / (1.0 + exp(epsilon))


@formula("advantage-given-z-alone", "tanh(eps / 4)", "limit of `optimal-advantage-in-exp` for a large universe")
def advantage_given_z_alone(epsilon: Number) -> Number:
    """The largest advantage of an adversary who knows z but not the record z' that z stands against, at delta = 0.

    All A(S + u) are within exp(eps) of each other, so the likelihood ratio against their mean takes values in
    [m, exp(eps) m]; its mean excess over 1 is largest when a share 1 / (1 + exp(eps / 2)) is at the top.
    """
    return tanh(epsilon / 4.0)


@formula("failure-probability", "1 - (1 - delta)^pairs", "thudi2022 Section 4.3")
def failure_probability(delta: Number, pairs: Number) -> Number:
    """The chance that a condition which fails with chance `delta` for a pair of data sets fails for one of `pairs`.

    The pairs are taken to be independent (thudi2022 Section 4.3).

    >>> round(float(failure_probability(1e-5, 1000.0)), 6)
    0.00995
    """
    # 1 - (1 - delta)^pairs by logarithms: a small delta keeps its digits.
    return -1.0 * expm1(pairs * log(1.0 - delta))


@formula("group-privacy-delta", "(delta/n) (exp(eps) - 1) / (exp(eps/n) - 1)", "group privacy over n steps")
def group_privacy_delta(epsilon: Number, delta: Number, n: Number) -> Number:
    """The delta at `epsilon` between data sets that differ in `n` records, under (eps/n, delta/n)-DP for one record."""
    return delta / n * expm1(epsilon) / expm1(epsilon / n)


@formula(
    "dependent-advantage",
    "1 / (1 + (m - 1) exp(-n eps / 2)) - 1/m",
    "exponential mechanism on n equal records: a construction for humphries2020 Section 5.2",
)
def dependent_advantage(epsilon: Number, n: Number, components: Number) -> Number:
    """The advantage of an attack on an epsilon-DP algorithm in humphries2020's Exp_nonIID, where all records are alike.

    All `n` training records are one value, drawn from `components` values alike often. The algorithm is the exponential
    mechanism: it names a value with a probability proportional to exp(epsilon times its count / 2), which is
    epsilon-DP for one replaced record. The attack calls a record a member if it is the value named: the TPR is
    1 / (1 + (components - 1) exp(-n epsilon / 2)), and the FPR is 1 / components.

    >>> round(float(dependent_advantage(0.1, 200.0, 20.0)), 4)
    0.9491
    """
    return 1.0 / (1.0 + (components - 1.0) * exp(-1.0 * n * epsilon / 2.0)) - 1.0 / components
