"""Conversions between variants of DP and k-fold composition: jayaraman2019 Table 1 against exact values.

The worst eps-DP mechanism for every divergence here is randomized response, which reveals a bit with odds exp(eps).
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from harness.formulas.formula import computed, formula, whole_number
from harness.formulas.numbers import Number, exp, expm1, log, sqrt

TABLE = "jayaraman2019 Table 1"
"""The source of the rows that this module transcribes, as reports print it."""


@formula("advanced", "eps sqrt(2 k ln(1/delta)) + k eps (exp(eps) - 1)", f"{TABLE}, advanced composition")
def advanced(epsilon: Number, k: Number, log_inverse_delta: Number) -> Number:
    """The total epsilon of `k` steps of `epsilon` each by advanced composition (jayaraman2019 Table 1).

    >>> round(float(advanced(0.1, 10.0, 11.5)), 4)
    1.6217
    """
    return epsilon * sqrt(2.0 * k * log_inverse_delta) + k * epsilon * expm1(epsilon)


@formula("cdp", "eps sqrt(2 k ln(1/delta)) + k eps (exp(eps) - 1) / 2", f"{TABLE}, CDP")
def cdp(epsilon: Number, k: Number, log_inverse_delta: Number) -> Number:
    """The total epsilon of `k` steps of `epsilon` each by concentrated DP (jayaraman2019 Table 1)."""
    return epsilon * sqrt(2.0 * k * log_inverse_delta) + k * epsilon * expm1(epsilon) / 2.0


@formula("zcdp", "eps sqrt(2 k ln(1/delta)) + k eps^2 / 2", f"{TABLE}, zCDP")
def zcdp(epsilon: Number, k: Number, log_inverse_delta: Number) -> Number:
    """The total epsilon of `k` steps of `epsilon` each by zero-concentrated DP (jayaraman2019 Table 1)."""
    return epsilon * sqrt(2.0 * k * log_inverse_delta) + k * epsilon * epsilon / 2.0


@formula("cdp-composed", "k m + tau sqrt(2 k ln(1/delta))", f"{TABLE}, CDP")
def cdp_composed(mean: Number, tau: Number, k: Number, log_inverse_delta: Number) -> Number:
    """The epsilon of `k` steps that are (mean, tau)-CDP each (jayaraman2019 Table 1)."""
    return k * mean + tau * sqrt(2.0 * k * log_inverse_delta)


@formula("zcdp-composed", "k (xi + rho) + 2 sqrt(k rho ln(1/delta)), xi = m - tau^2/2, rho = tau^2/2", f"{TABLE}, zCDP")
def zcdp_composed(mean: Number, tau: Number, k: Number, log_inverse_delta: Number) -> Number:
    """The epsilon of `k` steps that are (mean, tau)-CDP each, by way of (xi, rho)-zCDP (Bun and Steinke 2016)."""
    rho = tau * tau / 2.0
    return k * (mean - rho) + k * rho + 2.0 * sqrt(k * rho * log_inverse_delta)


@formula("rdp", "4 eps sqrt(2 k ln(1/delta)), where ln(1/delta) >= eps^2 k", f"{TABLE}, RDP")
def rdp(epsilon: Number, k: Number, log_inverse_delta: Number) -> Number:
    """The total epsilon of `k` steps of `epsilon` each by Renyi DP, in the table's domain (jayaraman2019 Table 1)."""
    return 4.0 * epsilon * sqrt(2.0 * k * log_inverse_delta)


@formula("randomized-response-loss", "eps tanh(eps/2)", "expected privacy loss of randomized response")
def randomized_response_loss(epsilon: Number) -> Number:
    """The expected privacy loss of randomized response, the largest of any eps-DP mechanism."""
    return epsilon * expm1(epsilon) / (exp(epsilon) + 1.0)


@formula("randomized-response-variance", "eps^2 / cosh(eps/2)^2", "variance of the loss of randomized response")
def randomized_response_variance(epsilon: Number) -> Number:
    """The variance of the privacy loss of randomized response."""
    e = exp(epsilon)
    return 4.0 * epsilon * epsilon * e / ((1.0 + e) * (1.0 + e))


@formula(
    "randomized-response-renyi",
    "eps + ln[(1 + exp((1 - 2a) eps)) / (1 + exp(-eps))] / (a - 1)",
    "Renyi divergence of order a of randomized response",
)
def randomized_response_renyi(epsilon: Number, alpha: Number) -> Number:
    """The Renyi divergence of order `alpha` (above 1) of randomized response, the largest of any eps-DP mechanism."""
    rest = (1.0 + exp((1.0 - 2.0 * alpha) * epsilon)) / (1.0 + exp(-1.0 * epsilon))
    return epsilon + log(rest) / (alpha - 1.0)


@computed(
    "randomized-response-log-moment",
    "ln E[exp((a - 1) loss)] / (a - 1), the loss eps or -eps",
    "cumulant generating function of the loss of randomized response, summed up",
)
def randomized_response_log_moment(epsilon: float, alpha: float) -> float:
    """The logarithm of the mean of exp((alpha - 1) loss), over alpha - 1, of randomized response; `alpha` is above 1.

    The loss is epsilon with probability exp(epsilon) / (1 + exp(epsilon)), and -epsilon otherwise.

    >>> round(randomized_response_log_moment(3.0, 2.0), 4)
    2.9515
    """
    log_chances = -np.logaddexp(0.0, [-epsilon, epsilon])
    losses = np.array([epsilon, -epsilon])
    return float(scipy.special.logsumexp(log_chances + (alpha - 1) * losses)) / (alpha - 1)


@computed(
    "rdp-numerical",
    "min over a > 1 of k D_a + ln(1/delta) / (a - 1), D_a of randomized response",
    "the conversion of jayaraman2019 Table 1, at the best order",
)
def rdp_numerical(epsilon: float, k: float, log_inverse_delta: float) -> float:
    """The total epsilon of `k` steps of `epsilon` each by Renyi DP, each step taken at its Renyi divergence.

    The divergence of an epsilon-DP step is at most that of randomized response; the sum over steps is converted to
    (total, delta)-DP at the order that gives the least total.
    """

    def total(log_order: float) -> float:
        order = math.exp(log_order)  # alpha - 1
        divergence = float(randomized_response_renyi(epsilon, 1.0 + order))
        return float(k * divergence + log_inverse_delta / order)

    grid = np.linspace(-12.0, 12.0, 481)
    least = int(np.argmin([total(x) for x in grid]))
    ends = float(grid[max(least - 1, 0)]), float(grid[min(least + 1, len(grid) - 1)])
    found = scipy.optimize.minimize_scalar(total, bounds=ends, method="bounded", options={"xatol": 1e-10})
    return min(float(found.fun), total(float(grid[least])))


@computed(
    "composed-delta",
    "sum_l C(k,l) (exp((k-l) eps) - exp(total + l eps))_+ / (1 + exp(eps))^k",
    "Kairouz, Oh and Viswanath 2015, Theorem 3.3 (delta of the worst k-fold composition)",
)
def composed_delta(total: float, epsilon: float, k: float) -> float:
    """The smallest delta for which every k-fold composition of eps-DP mechanisms is (total, delta)-DP.

    It is the sum of Kairouz, Oh and Viswanath (2015), Theorem 3.3. Raises ValueError unless `k` is a whole number from
    1 to a million.

    >>> round(composed_delta(1.0, 0.5, 2), 6), round(composed_delta(0.5, 0.5, 2), 6)
    (0.0, 0.152452)
    """
    # By logarithms: binomial coefficients and powers of e of many steps are too large for a number, while their
    # product is at most 1.
    lost = np.arange(0, whole_number("k", k, 1, 1_000_000) + 1)
    log_choose = scipy.special.gammaln(k + 1) - scipy.special.gammaln(lost + 1) - scipy.special.gammaln(k - lost + 1)
    scale = log_choose - k * np.logaddexp(0.0, epsilon)
    first, second = (k - lost) * epsilon, total + lost * epsilon
    kept = first > second
    terms = scale[kept] + first[kept] + np.log(-np.expm1(second[kept] - first[kept]))
    return float(math.exp(scipy.special.logsumexp(terms))) if len(terms) else 0.0


@formula("exp-minus-one", "exp(eps) - 1", "definition")
def exp_minus_one(epsilon: Number) -> Number:
    """The number exp(epsilon) - 1, at full precision for a small epsilon."""
    return expm1(epsilon)


@computed("composed-delta-share", "composed-delta / delta", "Kairouz, Oh and Viswanath 2015, Theorem 3.3")
def composed_delta_share(total: float, epsilon: float, k: float, log_inverse_delta: float) -> float:
    """The smallest delta of the worst k-fold composition at `total`, as a share of the delta that is claimed.

    A share of at most 1 means that the claim holds.
    """
    return composed_delta(float(total), epsilon, k) * math.exp(log_inverse_delta)


@computed("composed-delta-share-rdp", "composed-delta-share of the RDP row, 0 where ln(1/delta) < eps^2 k", TABLE)
def composed_delta_share_rdp(epsilon: float, k: float, log_inverse_delta: float) -> float:
    """The share `composed_delta_share` at the total epsilon of the RDP row of jayaraman2019 Table 1.

    It is 0 outside of the domain that the table gives the row, of which the table claims nothing.
    """
    if log_inverse_delta < epsilon**2 * k:
        return 0.0
    return composed_delta_share(float(rdp(epsilon, k, log_inverse_delta)), epsilon, k, log_inverse_delta)
