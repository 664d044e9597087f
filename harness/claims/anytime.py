"""Means of run results under optional stopping: confidence sequences that hold however often one looks.

The t-test martingale with a Gaussian mixture over the standardised effect (Lai 1976; Wang and Ramdas,
"Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance", 2024): for
independent Gaussian values of unknown mean and spread, and a prior N(0, 1/c^2) on mean / spread,

    M_n(m) = sqrt(c^2 / (n + c^2)) ((A + n d^2) / (A + n d^2 c^2 / (n + c^2)))^(n / 2),
    d = mean_n - m,  A = (n - 1) s_n^2,

is a martingale that starts at 1 where m is the true mean. By Ville's inequality it ever reaches 1/alpha
with probability at most alpha, so {m : M_n(m) < 1/alpha} covers the mean at all n at once.

As in the fixed design, a value is excluded only if it is so too after Hall's transform of d for skewed run
results; taking the nearer of both distances makes M_n smaller, so what Ville's inequality promises stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.arrays import Array
from harness.claims.statistics import Mean, Moments, corrected, moments, uncorrected

PRIOR_PRECISION = 0.25
"""c^2. Effects of run results are of the order of two of their standard deviations, where this decides
soonest; chosen on simulated Gaussian values before any claim was judged with it."""
FIRST_LOOK = 6
"""Fewer repeats decide nothing: runs that jump between two outcomes all land on one of them, and look certain,
once in eight times for four repeats, once in 32 for six (docs/statistics.md)."""


@dataclass(frozen=True)
class Anytime(Mean):
    """A mean over the first n repeats, for every n up to the last one looked at."""

    moments: Moments

    @property
    def mean(self) -> float:
        return float(self.moments.means[-1])

    @property
    def stderr(self) -> float:
        return float(self.moments.stderrs[-1])

    @property
    def n(self) -> int:
        return len(self.moments.means)

    @property
    def _counts(self) -> Array:
        return np.arange(1, self.n + 1)

    def log_martingale(self, value: float) -> Array:
        """(n,) log M_1(value), log M_2(value), ..."""
        return _log_martingale(self._counts, self.moments.means - value, self.moments.stderrs)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The part common to the confidence sets of all looks so far; infinite where none is bounded yet."""
        n, errors, skewness = self._counts, self.moments.stderrs, self.moments.skewnesses
        shrunk = PRIOR_PRECISION / (n + PRIOR_PRECISION)
        ratio = np.power(np.square(1.0 / (1.0 - level)) / shrunk, 1.0 / n)
        unbounded = (ratio * shrunk >= 1) | (n < FIRST_LOOK)
        reach = np.sqrt((n - 1) * (ratio - 1) / np.where(unbounded, 1.0, 1 - ratio * shrunk))  # in standard errors
        below = np.where(unbounded, math.inf, np.maximum(reach, uncorrected(reach, skewness)) * errors)
        above = np.where(unbounded, math.inf, np.maximum(reach, -uncorrected(-reach, skewness)) * errors)
        lows, highs = self.moments.means - below, self.moments.means + above
        low, high = float(lows.max()), float(highs.min())
        return (low, high) if low <= high else (float(lows[-1]), float(highs[-1]))

    def p_above(self, value: float) -> float:
        """Half of the smallest 1 / M_n(value) of those looks whose mean is above `value` (at most 1).

        It is at most alpha / 2 just when the confidence sequence of level 1 - alpha has cleared `value`.
        """
        return self._p(value, 1.0)

    def p_below(self, value: float) -> float:
        """As `p_above`, for means below `value`."""
        return self._p(value, -1.0)

    def _p(self, value: float, sign: float) -> float:
        distance = sign * (self.moments.means - value)
        ps = _one_sided(self._counts, distance, self.moments.stderrs, sign * self.moments.skewnesses)
        return float(ps.min())

    def projected(self, alpha: float, most: int) -> int | None:
        """Repeats, of at most `most`, at which a one-sided test at `alpha` tells the mean from 0 if mean, spread and
        skewness stay as they are; None where there are none."""
        n = np.arange(max(self.n, FIRST_LOOK), most + 1)
        if not len(n):
            return None
        fewer = np.sqrt(self.n / n)
        sign = math.copysign(1.0, self.mean)
        skewnesses = sign * float(self.moments.skewnesses[-1]) * fewer
        ps = _one_sided(n, np.full(len(n), abs(self.mean)), self.stderr * fewer, skewnesses)
        enough = n[ps <= alpha]
        return int(enough[0]) if len(enough) else None

    def shifted(self, by: float, sign: float = 1.0) -> Anytime:
        """The estimate of `sign * mean + by`."""
        found = self.moments
        return Anytime(Moments(sign * found.means + by, found.stderrs, sign * found.skewnesses))


def _log_martingale(n: Array, distance: Array, errors: Array) -> Array:
    """log M_n, of means over n repeats (k,), their distance from the value tested (k,) and standard errors (k,)."""
    square = n * np.square(distance)
    around = (n - 1) * n * np.square(errors)
    shrunk = PRIOR_PRECISION / (n + PRIOR_PRECISION)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (around + square) / (around + square * shrunk)
    ratio = np.where(np.isfinite(ratio), ratio, 1.0)  # no spread, no distance: no evidence
    return np.asarray(0.5 * np.log(shrunk) + 0.5 * n * np.log(ratio))


def _one_sided(n: Array, distance: Array, errors: Array, skewnesses: Array) -> Array:
    """(k,) half of 1 / M_n at the nearer of the distance and its transform by skewness; 1 where that is not above 0."""
    known = errors > 0
    standardised = np.where(known, distance, 0.0) / np.where(known, errors, 1.0)
    nearer = np.where(known, np.minimum(distance, corrected(standardised, skewnesses) * errors), distance)
    evidence = np.maximum(0.0, _log_martingale(n, nearer, errors))
    counted = (nearer > 0) & (n >= FIRST_LOOK)
    return np.asarray(np.where(counted, 0.5 * np.exp(-evidence), 1.0))


def anytime(values: Array, record_stderr: Array) -> Anytime:
    """From one value a repeat in the order they were drawn, (n,), and each one's record-sampling error, (n,)."""
    return Anytime(moments(values, record_stderr))


def first_decision(alpha: float) -> int:
    """Repeats below which no data, however clear, decide at level `alpha`."""
    n = FIRST_LOOK
    while 0.5 * (n - 1) * math.log((n + PRIOR_PRECISION) / PRIOR_PRECISION) < math.log(1 / alpha):
        n += 1
    return n
