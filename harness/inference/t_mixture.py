"""Confidence sequences of means of run results, which may be looked at after every repeat.

The t-test martingale with a Gaussian mixture over the standardised effect (Lai 1976; Wang and Ramdas,
"Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance", 2024): for
independent Gaussian values of unknown mean and spread, and a prior N(0, 1/c^2) on mean / spread,

    M_n(m) = sqrt(c^2 / (n + c^2)) ((A + n d^2) / (A + n d^2 c^2 / (n + c^2)))^(n / 2),
    d = mean_n - m,  A = (n - 1) s_n^2,

is a martingale that starts at 1 where m is the true mean. By Ville's inequality it ever reaches 1/alpha
with probability at most alpha, so {m : M_n(m) < 1/alpha} covers the mean at all n at once. That rests on the shape of
the results: an outcome that is drawn seldom may not have been seen when one stops (`rarity_bound`). What does not is
`harness.inference.betting`.

So where N is given, no p-value of n repeats is smaller than the chance that all of them miss an outcome drawn once in N
(`least_p_value`): however alike a few repeats are, such an outcome may be missing among them.

As in the fixed design, a value is excluded only if it is so too after Hall's transform of d for skewed run
results; taking the nearer of both distances makes M_n smaller, so what Ville's inequality promises stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from harness.inference.arrays import Array
from harness.inference.estimates import FEWEST, SequentialEstimate
from harness.inference.shares import least_p_value
from harness.inference.skewness import Moments, hall_transform, inverse_hall_transform, moments

PRIOR_PRECISION = 0.25
"""The constant c^2 of the prior. Effects of run results are of the order of two of their standard deviations, where
this decides soonest; chosen on simulated Gaussian values before any claim was judged with it."""
LEAST_SLOPE = 0.25
"""The least slope of Hall's transform, which is flat at some distance else, so that repeats far from the margin decided
nothing. It is the largest of those tried with which means on the margin are told from it as seldom as without (within
2%) or more seldom, on simulated values (docs/statistics.md)."""
LATER = 0.25
"""The share of the stake on later repeats, where a split draws outcomes that have to be learned; chosen on simulated
outcomes that differ much, some and not at all (docs/statistics.md)."""


def t_mixture_ends(moments: Moments, level: float = 0.95, rarest: float = 1.0) -> tuple[Array, Array]:
    """The ends of the confidence sets of many series at once, all looks of each together.

    The set is the intersection over looks, widened to hold the mean of all values where later ones took it out:
    infinite where no look bounds it, the last look's set where the intersection is empty.

    Args:
        moments: those of values (..., n).
        level: the level of confidence, between 0 and 1.
        rarest: N, at least 1: so few repeats bound nothing that all of them might miss an outcome drawn once in N.

    Returns:
        Lower ends, (...), and upper ends, (...).

    >>> from harness.inference import moments
    >>> values = np.array([[0.1, 0.2, 0.1, 0.3, 0.2, 0.1, 0.2], [0.5, 0.4, 0.6, 0.5, 0.5, 0.4, 0.6]])
    >>> low, high = t_mixture_ends(moments(values))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.046, 0.364], [0.425, 0.636])
    """
    errors, skewness = moments.stderrs, moments.skewnesses
    n = np.arange(1, errors.shape[-1] + 1)
    shrunk = PRIOR_PRECISION / (n + PRIOR_PRECISION)
    ratio = np.power(np.square(1.0 / (1.0 - level)) / shrunk, 1.0 / n)
    unbounded = (ratio * shrunk >= 1) | (n < FEWEST) | (least_p_value(n, rarest) > (1 - level) / 2)
    reach = np.sqrt((n - 1) * (ratio - 1) / np.where(unbounded, 1.0, 1 - ratio * shrunk))  # in standard errors
    below = np.where(
        unbounded, math.inf, np.maximum(reach, inverse_hall_transform(reach, skewness, LEAST_SLOPE)) * errors
    )
    above = np.where(
        unbounded, math.inf, np.maximum(reach, -inverse_hall_transform(-reach, skewness, LEAST_SLOPE)) * errors
    )
    lows, highs = moments.means - below, moments.means + above
    low, high = lows.max(-1), highs.min(-1)
    common, last = low <= high, moments.means[..., -1]
    low, high = np.minimum(low, last), np.maximum(high, last)
    return np.where(common, low, lows[..., -1]), np.where(common, high, highs[..., -1])


@dataclass(frozen=True)
class TMixtureCS(SequentialEstimate):
    """The confidence sequence of a mean over the first n repeats, for every n up to the number looked at."""

    moments: Moments
    repeat_values: Array | None = field(default=None, compare=False, repr=False)
    last_look_only: bool = False
    """Whether what the last look alone shows counts: M_n, an e-value, is then 1 / (2 p)."""
    rarest: float = 1.0
    """N, at least 1: no p-value is smaller than `least_p_value` says."""

    @property
    def mean(self) -> float:
        return float(self.moments.means[-1])

    @property
    def stderr(self) -> float:
        return float(self.moments.stderrs[-1])

    @property
    def n(self) -> int:
        return len(self.moments.means)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The ends of the part that is common to the confidence sets of all looks; infinite where none is bounded."""
        low, high = t_mixture_ends(self.moments, level, self.rarest)
        return float(low), float(high)

    def p_above(self, value: float) -> float:
        """The half of the smallest 1 / M_n(value) of those looks whose mean is above `value` (at most 1).

        It is at most alpha / 2 just when the confidence sequence of level 1 - alpha has cleared `value`.
        """
        return self._p(value, 1.0)

    def p_below(self, value: float) -> float:
        """The half of the smallest 1 / M_n(value) of those looks whose mean is below `value` (at most 1)."""
        return self._p(value, -1.0)

    def _p(self, value: float, sign: float) -> float:
        won = self.martingale(value, sign)
        return float(0.5 / max(0.5, won[-1] if self.last_look_only else won.max(initial=0.0)))

    def guess_repeats(self, alpha: float, sign: float) -> int:
        return _first_won(self.martingale(0.0, sign), alpha)

    def martingale(self, value: float | Array, sign: float) -> Array:
        """The martingale M_n(value) where the mean is above (`sign` 1) or below (-1) a value, else 0.

        It is (n,), or (k, n) for values (k, 1).
        """
        n, distance = np.arange(1, self.n + 1), sign * (self.moments.means - value)
        return _martingale(n, distance, self.moments.stderrs, sign * self.moments.skewnesses, self.rarest)

    def project_repeats(self, alpha: float, max_repeats: int) -> int | None:
        n = np.arange(max(self.n, FEWEST), max_repeats + 1)
        if not len(n):
            return None
        fewer = np.sqrt(self.n / n)
        sign = math.copysign(1.0, self.mean)
        skewnesses = sign * float(self.moments.skewnesses[-1]) * fewer
        won = _martingale(n, np.full(len(n), abs(self.mean)), self.stderr * fewer, skewnesses, self.rarest)
        enough = n[0.5 / np.maximum(won, 0.5) <= alpha]
        return int(enough[0]) if len(enough) else None

    def shift(self, by: float, sign: float = 1.0) -> TMixtureCS:
        """The estimate of `sign * mean + by`."""
        running = self.moments
        each = None if self.repeat_values is None else sign * self.repeat_values + by
        return replace(
            self,
            moments=Moments(sign * running.means + by, running.stderrs, sign * running.skewnesses),
            repeat_values=each,
        )


@dataclass(frozen=True)
class TwoStakeCS(SequentialEstimate):
    """The confidence sequence of a mean with a divided stake: `LATER` of it is bet by repeats after the first few.

    What a split draws is taken off by what earlier repeats say of it, which the first know least of: they vary by as
    much as the outcomes differ, later ones much less, and the t-test takes all to have one spread. Where outcomes
    differ little, nothing is gained by leaving the first out. Which it is need not be known: the sum of both
    martingales is one.
    """

    whole: TMixtureCS
    later: TMixtureCS
    left_out: int

    @property
    def _parts(self) -> list[TMixtureCS]:
        return [self.whole, self.later] if self.later.n >= FEWEST else [self.whole]

    @property
    def mean(self) -> float:
        return self._parts[-1].mean

    @property
    def stderr(self) -> float:
        return min(part.stderr for part in self._parts)

    @property
    def n(self) -> int:
        return self.whole.n

    @property
    def tested_repeats(self) -> int:
        return self._parts[-1].n

    @property
    def repeat_values(self) -> Array | None:
        return self.whole.repeat_values

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The ends of the means that no look has excluded; infinite where none is bounded yet."""
        alpha = (1 - level) / 2
        return -self.shift(0.0, -1.0)._greatest_mean(alpha), self._greatest_mean(alpha)

    def _greatest_mean(self, alpha: float) -> float:
        """The largest mean that no look excludes, rounded up."""
        step = max(self.stderr, 1e-9)
        # Steps twice as long each, eight in one call, which takes hardly longer than one.
        for first in range(0, 40, 8):
            excluded = self._excludes(self.mean + step * 2.0 ** np.arange(first, first + 8), alpha)
            if excluded.any():
                step *= 2.0 ** (first + int(excluded.argmax()))
                break
        else:
            return math.inf
        low, high = self.mean, self.mean + step
        for _ in range(6):  # as 30 halvings
            grid = low + (high - low) * np.arange(33) / 32
            kept = int(np.append(self._excludes(grid[1:-1], alpha), True).argmax())
            low, high = grid[kept], grid[kept + 1]
        return float(high)

    def _excludes(self, values: Array, alpha: float) -> Array:
        """Whether each of some means is excluded from below, (k,) bool."""
        won = self.martingale(values[:, None], -1.0)
        largest = won[:, -1] if self.whole.last_look_only else won.max(axis=1, initial=0.0)
        return np.asarray(0.5 / np.maximum(largest, 0.5) <= alpha)

    def p_above(self, value: float) -> float:
        return self._p(value, 1.0)

    def p_below(self, value: float) -> float:
        return self._p(value, -1.0)

    def _p(self, value: float, sign: float) -> float:
        won = self.martingale(value, sign)
        return float(0.5 / max(0.5, won[-1] if self.whole.last_look_only else won.max(initial=0.0)))

    def guess_repeats(self, alpha: float, sign: float) -> int:
        return _first_won(self.martingale(0.0, sign), alpha)

    def martingale(self, value: float | Array, sign: float) -> Array:
        """The martingale of the whole stake, as `TMixtureCS.martingale` has that of one."""
        won = self.whole.martingale(value, sign)
        if len(self._parts) > 1:
            won = (1 - LATER) * won
            won[..., self.left_out :] += LATER * self.later.martingale(value, sign)
        return won

    def project_repeats(self, alpha: float, max_repeats: int) -> int | None:
        whole = self.whole.project_repeats(alpha * (1 - LATER), max_repeats)
        later = self.later.project_repeats(alpha * LATER, max_repeats - self.left_out) if len(self._parts) > 1 else None
        repeats = [n for n in (whole, None if later is None else later + self.left_out) if n is not None]
        return min(repeats, default=None)

    def shift(self, by: float, sign: float = 1.0) -> TwoStakeCS:
        """The estimate of `sign * mean + by`."""
        return TwoStakeCS(self.whole.shift(by, sign), self.later.shift(by, sign), self.left_out)


def two_stake_cs(values: Array, record_stderr: Array, left_out: int, rarest: float = 1.0) -> TwoStakeCS:
    """The confidence sequence of a mean with a share of the stake on the values after the first few.

    Args:
        values: (n,) in the order in which they were drawn.
        record_stderr: (n,) each value's own standard error; zeros where values are exact.
        left_out: how many first values the share `LATER` of the stake leaves out.
        rarest: N, at least 1: no p-value is smaller than `least_p_value` says.

    Returns:
        The confidence sequence: its martingale is the weighted sum of that of all values and that of the later ones.

    >>> values = np.array([0.9, 0.1, 0.31, 0.28, 0.35, 0.30, 0.33, 0.29, 0.32, 0.31])
    >>> both, whole = two_stake_cs(values, np.zeros(10), 2), t_mixture_cs(values, np.zeros(10))
    >>> round(both.p_above(0.2), 4), round(whole.p_above(0.2), 4)
    (0.0002, 0.3451)
    """
    later = t_mixture_cs(values[left_out:], record_stderr[left_out:], rarest)
    return TwoStakeCS(t_mixture_cs(values, record_stderr, rarest), later, left_out)


def _first_won(won: Array, alpha: float) -> int:
    """The number of first repeats at which a martingale, (n,), has won 1 / (2 alpha); all of them where it has not."""
    enough = won >= 0.5 / alpha
    return 1 + int(enough.argmax()) if enough.any() else len(won)


def _log_martingale(n: Array, distance: Array, errors: Array) -> Array:
    """The logarithm of M_n, for means over n repeats (k,), by their distance from the value tested and their errors."""
    square = n * np.square(distance)
    around = (n - 1) * n * np.square(errors)
    shrunk = PRIOR_PRECISION / (n + PRIOR_PRECISION)
    below = around + square * shrunk
    known = (below > 0) & np.isfinite(below)
    ratio = np.where(known, around + square, 1.0) / np.where(known, below, 1.0)  # no spread, no distance: no evidence
    return np.asarray(0.5 * np.log(shrunk) + 0.5 * n * np.log(ratio))


def _martingale(n: Array, distance: Array, errors: Array, skewnesses: Array, rarest: float) -> Array:
    """The martingale M_n at the nearer of distance and its transform by skewness, (k,); 0 where that is not above 0.

    It is at most what makes 1 / (2 M_n) the `least_p_value` of so many repeats.
    """
    if not (distance > 0).any():  # so it is on one side of nearly every point
        return np.zeros(np.broadcast_shapes(distance.shape, errors.shape))
    known = errors > 0
    standardised = np.where(known, distance, 0.0) / np.where(known, errors, 1.0)
    transformed = hall_transform(standardised, skewnesses, LEAST_SLOPE)
    nearer = np.where(known, np.minimum(distance, transformed * errors), distance)
    counted = (nearer > 0) & (n >= FEWEST)
    # A power of e above 709 is too large for a number; a p-value of e^-700 says all that there is to say.
    most = np.minimum(700.0, -np.log(2 * np.maximum(least_p_value(n, rarest), 1e-305)))
    return np.asarray(np.where(counted, np.exp(np.minimum(_log_martingale(n, nearer, errors), most)), 0.0))


def t_mixture_cs(values: Array, record_stderr: Array, rarest: float = 1.0) -> TMixtureCS:
    """The confidence sequence of a mean, which may be looked at after every value.

    Args:
        values: (n,) independent values of one distribution, in the order in which they were drawn.
        record_stderr: (n,) each value's own standard error; zeros where values are exact.
        rarest: N, at least 1: no p-value is smaller than `least_p_value` says.

    Returns:
        The confidence sequence, by the t-test martingale with a Gaussian mixture (Lai 1976; Wang and Ramdas 2024).

    >>> values = np.array([0.31, 0.28, 0.35, 0.30, 0.33, 0.29, 0.32, 0.31])
    >>> mean = t_mixture_cs(values, np.zeros(8))
    >>> [round(end, 3) for end in mean.interval(0.95)]
    [0.278, 0.356]
    >>> round(mean.p_above(0.0), 6), mean.p_above(0.4)
    (4e-06, 1.0)
    >>> mean.shift(-0.29).project_repeats(0.025, 100)
    16
    """
    return TMixtureCS(moments(values, record_stderr), values, rarest=rarest)
