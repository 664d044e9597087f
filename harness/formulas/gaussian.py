"""The Gaussian mechanism: exact privacy profile, noise by several accountants, and attacks on one or many releases.

`mu` is the sensitivity over the standard deviation of the noise; after k releases it grows by the root of k.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy

from harness.arrays import Array
from harness.formulas.formula import computed, formula
from harness.formulas.numbers import Number, exp, log, nodes_and_weights, normal_cdf, sqrt
from harness.formulas.presence import times_in_epochs

# The sources of this module's formulas, as reports print them.
EXACT = "Balle and Wang 2018, Theorem 8"
RELEASED = "code released with jayaraman2019"
CANCELLED = 1e-4
"""Where two terms are as close as this share of them, their difference is computed as a whole."""
NODES, WEIGHTS = nodes_and_weights(16)
TINY = 1e-6
"""An epsilon below this is searched for anew, to as many digits."""


@formula("gaussian-delta", "Phi(mu/2 - eps/mu) - exp(eps) Phi(-mu/2 - eps/mu)", EXACT)
def gaussian_delta(epsilon: Number, mu: Number) -> Number:
    """The smallest delta at which the Gaussian mechanism is (epsilon, delta)-DP; on floats without cancellation."""
    if isinstance(epsilon, float) and isinstance(mu, float):
        if mu == 0:
            return 0.0
        if math.isinf(mu):
            return 1.0
        first = float(scipy.special.ndtr(mu / 2 - epsilon / mu))
        delta = first - math.exp(min(700.0, epsilon + float(scipy.special.log_ndtr(-mu / 2 - epsilon / mu))))
        return delta if delta > CANCELLED * first else math.exp(_log_delta(epsilon, mu))
    return normal_cdf(mu / 2.0 - epsilon / mu) - exp(epsilon) * normal_cdf(-1.0 * mu / 2.0 - epsilon / mu)


def _log_delta(epsilon: float, mu: float) -> float:
    """The logarithm of `gaussian_delta`: phi(a) (m(a) - m(a + mu)) with a = eps/mu - mu/2 and Mills' ratio m.

    The difference is the integral of -m' = 1 - t m(t), which has one sign, over pieces no longer than 1.
    """
    a = epsilon / mu - mu / 2
    if a < -5:  # delta is all but 1, and both terms are far apart
        ratio = math.sqrt(math.pi / 2) * float(scipy.special.erfcx((a + mu) / math.sqrt(2.0)))
        return math.log(float(scipy.special.ndtr(-a)) - math.exp(-a * a / 2) / math.sqrt(2 * math.pi) * ratio)
    near = min(mu, 60.0)
    pieces = math.ceil(near)
    t = a + near / pieces * (np.arange(pieces)[:, None] + (1 + NODES) / 2)
    ratio = math.sqrt(math.pi / 2) * scipy.special.erfcx(t / math.sqrt(2.0))
    # Far out 1 - t m(t) is a difference of equals, so its series is taken there.
    far = np.clip(t, 30.0, 1e150) ** 2
    slope = np.where(t < 30, 1 - np.minimum(t, 30) * ratio, (1 - (3 - 15 / far) / far) / far)
    total = near / pieces / 2 * float((slope @ WEIGHTS).sum())
    if mu > near:
        ends = scipy.special.erfcx(np.array([a + near, a + mu]) / math.sqrt(2.0))
        total += math.sqrt(math.pi / 2) * float(ends[0] - ends[1])
    return -a * a / 2 - 0.5 * math.log(2 * math.pi) + math.log(total)


@formula("privacy-loss-tail", "P(privacy loss > eps) = Phi(mu/2 - eps/mu)", "privacy loss is normal(mu^2/2, mu^2)")
def privacy_loss_tail(epsilon: Number, mu: Number) -> Number:
    """The probability that the Gaussian mechanism's privacy loss exceeds epsilon."""
    return normal_cdf(mu / 2.0 - epsilon / mu)


@formula("zcdp-epsilon", "rho + 2 sqrt(rho ln(1/delta)), rho = mu^2 / 2", "jayaraman2019 Table 1, column zCDP")
def zcdp_epsilon(mu: Number, log_inverse_delta: Number) -> Number:
    """The epsilon of the Gaussian mechanism by way of zCDP (jayaraman2019 Table 1)."""
    rho = mu * mu / 2.0
    return rho + 2.0 * sqrt(rho * log_inverse_delta)


@formula("cdp-epsilon", "m + tau sqrt(2 ln(1/delta)), m = mu^2 / 2, tau = mu", "jayaraman2019 Table 1, column CDP")
def cdp_epsilon(mu: Number, log_inverse_delta: Number) -> Number:
    """The epsilon of the Gaussian mechanism by way of CDP (jayaraman2019 Table 1)."""
    return mu * mu / 2.0 + mu * sqrt(2.0 * log_inverse_delta)


@formula("rdp-epsilon", "alpha mu^2 / 2 + ln(1/delta) / (alpha - 1)", "jayaraman2019 Table 1, column RDP")
def rdp_epsilon(mu: Number, log_inverse_delta: Number, alpha: Number) -> Number:
    """The epsilon of the Gaussian mechanism by way of RDP of order `alpha`, above 1 (jayaraman2019 Table 1)."""
    return alpha * mu * mu / 2.0 + log_inverse_delta / (alpha - 1.0)


def exact_noise_multiplier(epsilon: float, delta: float) -> float:
    """The smallest noise multiplier of one Gaussian release that is (epsilon, delta)-DP; infinite at delta 0.

    Raises ArithmeticError where it is beyond 1e150 or below 1e-150.
    """
    from scipy import optimize

    if delta <= 0:
        return math.inf
    low, high = 1e-6, 1e3
    while gaussian_delta(float(epsilon), low) > delta:
        low /= 1e3
        if low < 1e-150:
            raise ArithmeticError(f"the noise for epsilon {epsilon:g} at delta {delta:g} is beyond 1e150")
    while gaussian_delta(float(epsilon), high) < delta:
        high *= 1e3
        if high > 1e150:
            raise ArithmeticError(f"epsilon {epsilon:g} needs noise below 1e-150")
    precision = 1e-14 * min(1.0, low / 1e-6)  # brentq's is absolute, and a root below 1e-6 needs as many digits
    root = optimize.brentq(lambda mu: gaussian_delta(epsilon, mu) - delta, low, high, xtol=precision, maxiter=1000)
    return 1.0 / float(root)


@computed("noise-exact", "root of gaussian-delta(eps, 1/sigma) = delta", EXACT)
def noise_exact(epsilon: float, delta: float) -> float:
    """The least noise multiplier of one Gaussian release that is (epsilon, delta)-DP."""
    return exact_noise_multiplier(epsilon, delta)


@formula("noise-naive", "E sqrt(2 ln(1.25 E/delta)) / eps", RELEASED)
def noise_naive(epsilon: Number, delta: Number, epochs: Number) -> Number:
    """The noise multiplier by naive composition over epochs, as the code released with jayaraman2019 has it."""
    return epochs * sqrt(2.0 * log(1.25 * epochs / delta)) / epsilon


@formula("noise-advanced", "sqrt(E ln(2.5 E/delta)) (sqrt(ln(2/delta) + 2 eps) + sqrt(ln(2/delta))) / eps", RELEASED)
def noise_advanced(epsilon: Number, delta: Number, epochs: Number) -> Number:
    """The noise multiplier by advanced composition over epochs, as the code released with jayaraman2019 has it."""
    share = log(2.0 / delta)
    return sqrt(epochs * log(2.5 * epochs / delta)) * (sqrt(share + 2.0 * epsilon) + sqrt(share)) / epsilon


@formula("noise-zcdp", "sqrt(E/2) (sqrt(ln(1/delta) + eps) + sqrt(ln(1/delta))) / eps", RELEASED)
def noise_zcdp(epsilon: Number, delta: Number, epochs: Number) -> Number:
    """The noise multiplier by zCDP composition over epochs, as the code released with jayaraman2019 has it."""
    share = log(1.0 / delta)
    return sqrt(epochs / 2.0) * (sqrt(share + epsilon) + sqrt(share)) / epsilon


@formula("scaled-gaussian-tail", "P(X >= t) exp(t^2 / (2 sigma^2)), x = t / sigma", "definition")
def scaled_gaussian_tail(x: Number) -> Number:
    """The normal upper tail over its bound exp(-x^2/2): the bound holds where this is at most 1."""
    return normal_cdf(-1.0 * x) * exp(x * x / 2.0)


@formula("mean-attack-fpr", "P(N(0, k sigma^2) >= k/n) with s = sqrt(k) / (n sigma)", "tramer2025 Theorem 2")
def mean_attack_fpr(signal: Number) -> Number:
    """The false positive rate of the attack on noisy means at threshold k/n; its true positive rate is 1/2."""
    return normal_cdf(-1.0 * signal)


@formula("mean-attack-fpr-bound", "exp(-(k/n)^2 / (2 k sigma^2))", "tramer2025 Theorem 2")
def mean_attack_fpr_bound(signal: Number) -> Number:
    """The bound on `mean_attack_fpr` as tramer2025 Theorem 2 prints it."""
    return exp(-1.0 * signal * signal / 2.0)


@formula("classical-mu", "1 / sqrt(2 ln(1.25/delta))", "Dwork and Roth 2014, Theorem A.1, at eps = 1")
def classical_mu(log_inverse_delta: Number) -> Number:
    """The `mu` of the classical Gaussian mechanism that claims (1, delta)-DP."""
    return 1.0 / sqrt(2.0 * (log_inverse_delta + math.log(1.25)))


@formula("gaussian-rate-ratio", "Phi(mu - t) / Phi(-t)", "threshold t on a Gaussian of mean 0 or mu")
def gaussian_rate_ratio(threshold: Number, mu: Number) -> Number:
    """The TPR over FPR of the attack that says "member" above a threshold, in standard deviations of the noise."""
    return normal_cdf(mu - threshold) / normal_cdf(-1.0 * threshold)


@formula("threshold-ppv", "Phi_2(a) / (Phi_1(a) + Phi_2(a)), means 0 and -1", "thudi2022 Section 4.1")
def threshold_ppv(threshold: Number, sigma: Number) -> Number:
    """The positive accuracy of 'the final weight is at most `threshold`' (counted from the starting weight)."""
    member, other = normal_cdf((threshold + 1.0) / sigma), normal_cdf(threshold / sigma)
    return member / (member + other)


@formula("threshold-accuracy", "(Phi_2(a) + 1 - Phi_1(a)) / 2, means 0 and -1", "thudi2022 Section 4.1")
def threshold_accuracy(threshold: Number, sigma: Number) -> Number:
    """The accuracy of 'the final weight is at most `threshold`' (counted from the starting weight)."""
    return (normal_cdf((threshold + 1.0) / sigma) + 1.0 - normal_cdf(threshold / sigma)) / 2.0


@computed("gaussian-epsilon", "root in eps of gaussian-delta(eps, sqrt(steps)/sigma) = delta", EXACT)
def gaussian_epsilon(delta: float, steps: float, noise: float) -> float:
    """The exact epsilon of `steps` Gaussian mechanisms.

    Without amplification, batches cut from a permutation are one mechanism an epoch.
    """
    return epsilon_of_mu(steps**0.5 / noise, delta)


def epsilon_of_mu(mu: float, delta: float) -> float:
    """The smallest epsilon at that delta; `mu` is the root of the number of mechanisms over the noise multiplier.

    It is infinite for infinite mu, and at delta 0 for any. Raises ArithmeticError where it is beyond 1e300.
    """
    mu = float(mu)
    if math.isinf(mu):
        return math.inf
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    if delta <= 0:
        return math.inf
    if mu > 1e150:
        raise ArithmeticError(f"epsilon of mu {mu:g} is beyond 1e300")
    high, precision = 1.0, 1e-12
    while gaussian_delta(high, mu) > delta:
        high *= 2
    if gaussian_delta(TINY, mu) <= delta:
        while gaussian_delta(high / 2, mu) <= delta:
            high /= 2
        precision *= high
    epsilon = scipy.optimize.brentq(
        lambda e: gaussian_delta(float(e), mu) - delta, 0.0, high, xtol=precision, rtol=1e-12, maxiter=1000
    )
    return float(epsilon)


@lru_cache(4096)
def shuffled_epsilon(noise_multiplier: float, epochs: int, delta: float, replace: bool = False) -> float:
    """The epsilon of DP-SGD over batches cut from a permutation each epoch, without amplification.

    Each epoch is one Gaussian mechanism. A record's removal (its gradient becomes zero) moves an epoch's sum by at most
    the clipping norm, its replacement by another (`replace`) by at most twice that.
    """
    if noise_multiplier == 0:
        return math.inf
    return epsilon_of_mu((2 if replace else 1) * math.sqrt(epochs) / noise_multiplier, delta)


def batches_of_epoch(n: int, batch_size: int) -> tuple[int, float]:
    """The number of batches that an epoch cuts from a permutation of n records, and the share of records in them.

    Training leaves out the records that remain.

    >>> batches_of_epoch(1050, 100)
    (10, 0.9523809523809523)
    """
    batches = n // batch_size
    return batches, batches * batch_size / n


@lru_cache(4096)
def least_shuffled_epsilon(
    noise_multiplier: float, batches: int, epochs: int, delta: float, replace: bool = False, share: float = 1.0
) -> float:
    """The lower bound on `shuffled_epsilon`, whatever the accounting: some adversary tells neighbours apart so well.

    It is the larger of two. The sum over all batches of all epochs has a standard deviation of
    sigma sqrt(epochs batches) and is moved by d for each epoch that has the record, where d is 1, or 2 for a record
    that is replaced; so many epochs have it as a binomial variable of `epochs` and `share`. And in one epoch the
    largest of the batches' sums, as Chua et al. 2024 ("How private are DP-SGD implementations?", Section 4) have it
    for records whose gradients are all alike but one: it has the distribution Phi(x / sigma)^(batches - 1) Phi((x -
    a) / sigma), of a = 2 with the record and 1 without it (0 with another in its place); or 1 and 0 where the
    others' gradients are zero. Where the record is left out, a = 0.

    Args:
        batches: the number in an epoch (`batches_of_epoch`).
        share: the share of the records that are in an epoch's batches, drawn anew each epoch.
    """
    if noise_multiplier == 0:
        return math.inf
    moved = 2 if replace else 1
    if share == 1:
        together = epsilon_of_mu(moved * math.sqrt(epochs / batches) / noise_multiplier, delta)
    else:
        together = _epsilon_of_total(noise_multiplier * math.sqrt(epochs * batches), moved, epochs, share, delta)
    shifts = ((2.0, 0.0),) if replace else ((2.0, 1.0), (1.0, 0.0))
    return max(together, *(_epsilon_of_largest(noise_multiplier, batches, delta, *pair, share) for pair in shifts))


def _epsilon_of_total(deviation: float, moved: float, epochs: int, share: float, delta: float) -> float:
    """The epsilon that the sum of all epochs shows, of which each has the record with chance `share`."""
    cuts = np.linspace(-9 * deviation, moved * epochs + 9 * deviation, 4000)
    times, log_chances = times_in_epochs(epochs, share)
    shifted = (cuts[:, None] - moved * times) / deviation
    above, below = (
        scipy.special.logsumexp(scipy.special.log_ndtr(side * shifted) + log_chances, axis=1) for side in (-1, 1)
    )
    without = scipy.special.log_ndtr(-cuts / deviation), scipy.special.log_ndtr(cuts / deviation)
    return _epsilon_of_tails((above, below), without, delta)


def _epsilon_of_largest(
    sigma: float, batches: int, delta: float, with_it: float, without: float, share: float = 1.0
) -> float:
    """The epsilon that the largest of an epoch's sums shows."""
    cuts = np.linspace(-5 * sigma, with_it + sigma * (math.sqrt(2 * math.log(batches + 1)) + 9), 4000)

    def log_tails(shift: float) -> tuple[Array, Array]:
        """Logarithms (4000,) of the chances that the largest is above each cut, and that it is below."""
        above, below = [], []
        for weight, at in ((share, shift), (1 - share, 0.0)):
            if weight > 0:
                of_one = scipy.special.log_ndtr((cuts - at) / sigma)
                log_below = (batches - 1) * scipy.special.log_ndtr(cuts / sigma) + of_one
                below.append(math.log(weight) + log_below)
                above.append(math.log(weight) + np.log(-np.expm1(log_below)))
        return np.logaddexp.reduce(above), np.logaddexp.reduce(below)

    with np.errstate(divide="ignore"):
        return _epsilon_of_tails(log_tails(with_it), log_tails(without), delta)


def _epsilon_of_tails(with_it: tuple[Array, Array], without: tuple[Array, Array], delta: float) -> float:
    """The epsilon that the best of many thresholds shows; each gives a lower bound.

    Given are logarithms (k,) of the chances above and below each threshold, with the record and without it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.log(np.exp(with_it[0]) - delta) - without[0]
        below = np.log(np.exp(without[1]) - delta) - with_it[1]
    known = np.concatenate([above, below])
    return float(max(0.0, *known[np.isfinite(known)])) if np.isfinite(known).any() else 0.0


@formula("gaussian-delta-ratio", "gaussian-delta(eps, mu) / delta", EXACT)
def gaussian_delta_ratio(epsilon: Number, mu: Number, log_inverse_delta: Number) -> Number:
    """The exact delta of the Gaussian mechanism at epsilon, as a share of the delta claimed."""
    return gaussian_delta(epsilon, mu) * exp(log_inverse_delta)


@formula(
    "converted-tail-share",
    "P(loss > zcdp-epsilon) / delta = Phi(-sqrt(2 L)) exp(L), L = ln(1/delta)",
    "privacy loss is normal(mu^2/2, mu^2); jayaraman2019 Table 1, zCDP and CDP",
)
def converted_tail_share(log_inverse_delta: Number) -> Number:
    """The upper bound on `gaussian_delta_ratio` at the epsilon of zCDP or CDP; it does not depend on mu.

    The exact delta is P(loss > eps) less a positive term, and (eps - mu^2/2) / mu = sqrt(2 L) for either.
    """
    return scaled_gaussian_tail(sqrt(2.0 * log_inverse_delta))


@formula(
    "converted-tail-share-rdp",
    "P(loss > rdp-epsilon) / delta, t = (alpha - 1) mu",
    "privacy loss is normal(mu^2/2, mu^2); jayaraman2019 Table 1, RDP",
)
def converted_tail_share_rdp(t: Number, log_inverse_delta: Number) -> Number:
    """The upper bound on `gaussian_delta_ratio` at the epsilon that RDP of order alpha converts to, t = (alpha - 1) mu.

    There (eps - mu^2/2) / mu = x = t/2 + L/t, and L - x^2/2 = -(t/2 - L/t)^2 / 2.
    """
    half, rest = t / 2.0, log_inverse_delta / t
    x, gap = half + rest, half - rest
    return scaled_gaussian_tail(x) * exp(-0.5 * (gap * gap))
