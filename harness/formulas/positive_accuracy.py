"""Bounds on MI positive accuracy (the share of members among records called members), and what follows from them.

`prior` is the probability that the record is in the training set.
"""

from __future__ import annotations

import math

from harness.formulas.formula import computed, formula
from harness.formulas.numbers import Number, exp, expm1, log

THUDI = "thudi2022"
"""The key of the paper that most of these formulas are from."""
PARITY = "definition, of randomised response on a parity"
"""The source of the counterexample about two records, as reports print it."""


INDEPENDENT = "records are included independently of each other"
"""The assumption of bounds from `thudi2022`, as reports print it."""


@formula(
    "ppv-upper",
    "1 / (1 + exp(-eps) (1 - p) / p)",
    f"{THUDI} Theorem 1",
    bounds="positive accuracy",
    adjacency="add-remove-one",
    assumptions=(INDEPENDENT, "delta = 0"),
    pure_only=True,
)
def ppv_upper(epsilon: Number, prior: Number) -> Number:
    """The upper bound of thudi2022 Theorem 1 on positive accuracy under epsilon-DP.

    >>> round(float(ppv_upper(1.0, 0.5)), 4), round(float(ppv_upper(0.0, 0.2)), 4)
    (0.7311, 0.2)
    """
    return prior / (prior + exp(-1.0 * epsilon) * (1.0 - prior))


@formula("ppv-lower", "1 / (1 + exp(eps) (1 - p) / p)", f"{THUDI} Theorem 1")
def ppv_lower(epsilon: Number, prior: Number) -> Number:
    """The lower bound of thudi2022 Theorem 1 on positive accuracy under epsilon-DP."""
    return prior / (prior + exp(epsilon) * (1.0 - prior))


@formula(
    "npv-upper",
    "1 / (1 + exp(-eps) p / (1 - p))",
    f"{THUDI} Corollary 1",
    bounds="negative accuracy",
    adjacency="add-remove-one",
    assumptions=(INDEPENDENT, "delta = 0"),
    pure_only=True,
)
def npv_upper(epsilon: Number, prior: Number) -> Number:
    """The upper bound of thudi2022 Corollary 1 on negative accuracy under epsilon-DP."""
    return (1.0 - prior) / (1.0 - prior + exp(-1.0 * epsilon) * prior)


@formula("npv-lower", "1 / (1 + exp(eps) p / (1 - p))", f"{THUDI} Corollary 1")
def npv_lower(epsilon: Number, prior: Number) -> Number:
    """The lower bound of thudi2022 Corollary 1 on negative accuracy under epsilon-DP."""
    return (1.0 - prior) / (1.0 - prior + exp(epsilon) * prior)


@computed(
    "ppv-upper-delta",
    "1 / (1 + exp(-eps) (1 - p) / p - delta exp(-eps) (1 - p) / mass)",
    f"{THUDI} Theorem 2",
    bounds="positive accuracy",
)
def ppv_upper_delta(epsilon: float, delta: float, prior: float, mass: float) -> float:
    """The bound of thudi2022 Theorem 2 on positive accuracy under (epsilon, delta)-DP, as printed.

    `mass` stands for P(S | x). The bound is 1 where the printed one exceeds 1 or is not positive.
    """
    shrink = math.exp(-epsilon) * (1.0 - prior)
    denominator = 1.0 + shrink / prior - delta * shrink / mass
    return min(1.0, 1.0 / denominator) if denominator > 0 else 1.0


@formula("sablayrolles", "p + eps / 4", f"Sablayrolles et al. 2019, in {THUDI} Table 1", bounds="positive accuracy")
def sablayrolles(epsilon: Number, prior: Number) -> Number:
    """The bound of Sablayrolles et al. (2019) on positive accuracy, as thudi2022 Table 1 lists it."""
    return prior + epsilon / 4.0


@formula(
    "mahloujifar",
    "1 / (1 + exp(-eps))",
    f"Mahloujifar et al. 2022, in {THUDI} Section 2.3",
    bounds="positive accuracy",
    assumptions=("prior 1/2, all other records fixed",),
)
def mahloujifar(epsilon: Number) -> Number:
    """The bound of Mahloujifar et al. (2022) on positive accuracy at prior 1/2 where all other records are fixed."""
    return 1.0 / (1.0 + exp(-1.0 * epsilon))


@formula("erlingsson-accuracy", "1 - exp(-eps) / 2", f"Erlingsson et al. 2019, in {THUDI} Table 1", bounds="accuracy")
def erlingsson_accuracy(epsilon: Number) -> Number:
    """The bound on accuracy that follows from Erlingsson et al. (2019), as thudi2022 Table 1 lists it."""
    return 1.0 - exp(-1.0 * epsilon) / 2.0


@formula("humphries-accuracy-as-listed", "1 + exp(-eps)", f"{THUDI} Table 1 and Section 7.4")
def humphries_accuracy_as_listed(epsilon: Number) -> Number:
    """The bound on accuracy from humphries2020 as thudi2022 Table 1 prints it; it is above 1 for every epsilon."""
    return 1.0 + exp(-1.0 * epsilon)


@formula("ppv-advantage", "1 / (1 + exp(-eps) (1 - p) / p) - p", f"{THUDI} Section 7.5, without the factor 2")
def ppv_advantage(epsilon: Number, prior: Number) -> Number:
    """The difference between the bound `ppv_upper` on positive accuracy and the prior (thudi2022 Section 7.5)."""
    return ppv_upper(epsilon, prior) - prior


@formula("ppv-advantage-slope-sign", "exp(-eps/2) - p - exp(-eps) (1 - p)", f"{THUDI} Section 7.5, differentiated")
def ppv_advantage_slope_sign(epsilon: Number, prior: Number) -> Number:
    """A number with the sign of the derivative of `ppv_advantage` by the prior.

    The derivative is u / (p + u (1 - p))^2 - 1, with u = exp(-eps).
    """
    return exp(epsilon / -2.0) - prior - exp(-1.0 * epsilon) * (1.0 - prior)


@formula("best-prior", "1 / (1 + exp(eps / 2))", "root of `ppv-advantage-slope-sign`")
def best_prior(epsilon: Number) -> Number:
    """The prior at which `ppv_advantage` is largest.

    >>> round(float(best_prior(2.0)), 4)
    0.2689
    """
    return 1.0 / (1.0 + exp(epsilon / 2.0))


@formula("group-upper", "1 - (1 + exp(eps) p / (1 - p))^(-g)", f"{THUDI} Corollary 3")
def group_upper(epsilon: Number, prior: Number, group: Number) -> Number:
    """The bound of thudi2022 Corollary 3 on the probability that the training set meets a group of `group` points."""
    return 1.0 - exp(group * log(npv_lower(epsilon, prior)))


@formula(
    "deletions", "ln B / ln L, L = 1 / (1 + exp(eps) (c/N) / (1 - c/N))", f"{THUDI} Corollary 2, with L by Corollary 1"
)
def deletions(epsilon: Number, kept: Number, points: Number, guarantee: Number) -> Number:
    """The number of deletions that keep B-MI unlearning (thudi2022 Corollary 2), L being Corollary 1's lower bound.

    `kept` of `points` records are drawn, and `guarantee` is B.
    """
    return log(guarantee) / log(npv_lower(epsilon, kept / points))


@formula("deletions-as-printed", "ln B / ln L, L = 1 / (1 + exp(-eps) (c/N) / (1 - c/N))", f"{THUDI} Corollary 2")
def deletions_as_printed(epsilon: Number, kept: Number, points: Number, guarantee: Number) -> Number:
    """The number of deletions that keep B-MI unlearning with the exponent's sign as thudi2022 Corollary 2 prints it."""
    return log(guarantee) / log(npv_upper(epsilon, kept / points))


@formula("absence-together", "P(neither in D | S) = q^2 / Z, Z = q^2 + p^2 + 2 p q exp(-eps), q = 1 - p", PARITY)
def absence_together(epsilon: Number, prior: Number) -> Number:
    """The probability that neither of two records was used, given that their parity is said to be even.

    Each record is used with probability `prior`; whether an even number of them was is told by randomised response of
    `epsilon`, and the answer was yes.
    """
    absent = 1.0 - prior
    return absent * absent / _even_share(epsilon, prior)


@formula("absence-apart", "P(x not in D | S)^2 = ((q^2 + p q exp(-eps)) / Z)^2", PARITY)
def absence_apart(epsilon: Number, prior: Number) -> Number:
    """The product of the probabilities that each of two records was not used, given that their parity is said to be
    even, by randomised response as in `absence_together`."""
    absent = 1.0 - prior
    one = (absent * absent + prior * absent * exp(-1.0 * epsilon)) / _even_share(epsilon, prior)
    return one * one


def _even_share(epsilon: Number, prior: Number) -> Number:
    """The probability of the answer "even", over that of a true answer."""
    absent = 1.0 - prior
    return absent * absent + prior * prior + 2.0 * prior * absent * exp(-1.0 * epsilon)


@formula("sub-sampling-effect", "(1 - t) / t", f"{THUDI} Figure 3")
def sub_sampling_effect(t: Number) -> Number:
    """The growth of the bound's term as the inclusion probability `t` falls (thudi2022 Figure 3)."""
    return (1.0 - t) / t


@formula("batch-sampling-effect", "exp(-t)", f"{THUDI} Figure 3")
def batch_sampling_effect(t: Number) -> Number:
    """The growth of the bound's term as the batch sampling rate `t` falls (thudi2022 Figure 3)."""
    return exp(-1.0 * t)


@formula("sampled-epsilon", "ln(1 + q (exp(eps) - 1))", "amplification by sampling, from the definition")
def sampled_epsilon(epsilon: Number, rate: Number) -> Number:
    """The epsilon of an epsilon-DP step whose batch has a record with probability `rate`, and else leaves it out.

    It is the exact one: randomized response reaches it.

    >>> round(float(sampled_epsilon(1.0, 0.1)), 4)
    0.1586
    """
    return log(1.0 + rate * expm1(epsilon))


@formula("log-inverse-npv-lower", "ln(1 + exp(eps) p / (1 - p))", f"{THUDI} Corollary 1")
def log_inverse_npv_lower(epsilon: Number, prior: Number) -> Number:
    """The natural logarithm of the inverse of `npv_lower`, the lower bound L of thudi2022 Corollary 1."""
    return -1.0 * log(npv_lower(epsilon, prior))
