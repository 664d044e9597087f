"""Confidence sequences by betting, for means of bounded results, whatever their distribution.

Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024). Whoever bets a share f of a
capital on each of values y_1, y_2, ... of at least `low` being above m has

    K_n(m) = prod_t (1 + f (y_t - m) / (m - low))

after n of them, a martingale that starts at 1 where m is the true mean, and a supermartingale where the true mean is
below m; it never is negative, for f up to 1. By Ville's inequality it ever reaches 1/alpha with probability at most
alpha, so H0: mean <= m is rejected once it does. Only the range of the values is used, and that their mean given the
past is the same: neither normality, nor a spread, nor how seldom an outcome is drawn. The capital here is divided
beforehand over several shares (`SHARES`); the sum of martingales is one.

The sum of two means is tested on independent results of each by the product of their capitals: H0: mean_1 + mean_2 <= m
says that mean_1 <= m_1 and mean_2 <= m - m_1 for some m_1, so the smallest product over m_1 is what is sure to have
been won. The logarithm of K_n is convex in m, which bounds that smallest product from below between the points of a
lattice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from harness.inference.arrays import Array
from harness.inference.estimates import SequentialEstimate
from harness.inference.streams import Stream

SHARES = np.array([1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125])
"""The shares of the capital that are bet."""
WEIGHTS = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
"""The division of the capital over `SHARES`. Results of runs vary little beside their range, where the whole bet wins
most; the others are for the effects at which it is lost. It was chosen on simulated values (uneven division, even ones,
one share, the paper's plug-in bets) before any claim was judged (docs/statistics.md)."""
LATTICE = 64
"""The number of steps in which the space between two streams' floors is divided where their sum is tested."""
LARGEST = 1e280
"""The largest product of bets that is trusted; the least is its inverse."""
SAME = 1e-6
"""The difference of logarithms of capitals below which `log_capitals` tells them apart, and not products."""
PLACES = 100
"""The number of numbers of repeats that are looked at first when one is sought."""
_LOG_WEIGHTS = np.log(WEIGHTS)[:, None]


def log_capitals(stream: Stream, tested: Array) -> Array:
    """The logarithms of what bets multiply the capital by, (k, shares, n), at means (k,) above the floor."""
    with np.errstate(divide="ignore"):
        log_growth: Array = np.log1p(_bets(stream, tested))
    return log_growth


def _bets(stream: Stream, tested: Array) -> Array:
    """The gain of a bet of each share of the capital, (k, shares, n), at means (k,)."""
    gain = (stream.values - tested[:, None]) / (tested[:, None] - stream.lows)
    gain = np.maximum(gain, -1.0)  # rounding of a value at its lowest
    payoffs: Array = SHARES[:, None] * gain[:, None, :]
    return payoffs


def _log_capital_in_products(stream: Stream, tested: Array) -> Array:
    """The logarithm of the capital over all shares, (k, n), to about ten digits.

    It takes a tenth of the time of `mix_shares`, and is not-a-number at all looks for means at which a product is too
    large or too small for that.
    """
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        products = np.cumprod(1.0 + _bets(stream, tested), axis=-1)
        lost = products == 0.0  # the whole bet, on a value at its lowest
        trusted = ((products < LARGEST) & (lost | (products > 1 / LARGEST))).all(axis=(1, 2))
        log_capital: Array = np.log(np.matmul(WEIGHTS, products))
        log_capital[~trusted] = math.nan
    return log_capital


def mix_shares(log_capital: Array) -> Array:
    """The logarithm of the capital over all shares, (..., n), from that of each share, (..., shares, n)."""
    weighed = log_capital + _LOG_WEIGHTS
    # The largest is taken out before powers are taken, and put back after: capitals may be too large for a number.
    largest = weighed.max(axis=-2)
    safe = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        log_mixture: Array = safe + np.log(np.exp(weighed - safe[..., None, :]).sum(axis=-2))
    return log_mixture


@dataclass(frozen=True)
class BettingMean(SequentialEstimate):
    """The betting estimate of a mean, or of the sum of two independent means, plus a number (`offset`).

    `repeat_values` is not computed with.
    """

    streams: tuple[Stream, ...]
    """One stream, or two of the same length."""
    offset: float = 0.0
    repeat_values: Array | None = field(default=None, compare=False)
    last_look_only: bool = False
    """Whether what is won at the last look alone counts, so that 1 / p is an e-value."""

    @property
    def mean(self) -> float:
        return float(sum(stream.values.mean() for stream in self.streams)) + self.offset

    @property
    def stderr(self) -> float:
        if self.n < 2:
            return 0.0
        return math.sqrt(sum(float(stream.values.var(ddof=1)) / self.n for stream in self.streams))

    @property
    def n(self) -> int:
        return len(self.streams[0].values)

    def log_capital(self, value: float) -> Array:
        """The logarithm of the capital against H0: mean <= value, at each look: (n,)."""
        return self._capital(value - self.offset, None)

    def _capital(self, tested: float, total: Array | None) -> Array:
        """The logarithm of the capital at each look, or after `total` (k,) results that go on like those there are."""
        space = tested - sum(stream.floor for stream in self.streams)
        shown = self.n if total is None else len(total)
        if math.isinf(space):  # no lowest value: nothing to bet against
            return np.full(shown, -math.inf)
        if space <= 1e-12:  # the hypothesis leaves at most the lowest value itself
            above = self.mean - self.offset > tested + 1e-9
            return np.full(shown, math.inf if above or space < -1e-9 else 0.0)

        def capital_of(stream: Stream, at: Array) -> Array:
            each = log_capitals(stream, at)
            return mix_shares(np.cumsum(each, axis=-1) if total is None else each.mean(axis=-1, keepdims=True) * total)

        if len(self.streams) == 1:
            log_capital: Array = capital_of(self.streams[0], np.array([tested]))[0]
            return log_capital
        first, second = self.streams
        at = self._lattice(space)
        return convex_lower_bounds(capital_of(first, at) + capital_of(second, tested - at))

    def _lattice(self, space: float) -> Array:
        """The means of the first stream to test where both streams share a `space` above their floors."""
        means: Array = self.streams[0].floor + space * np.arange(1, LATTICE) / LATTICE
        return means

    def _rejects(self, value: float, alpha: float, won: float) -> bool:
        """Whether `p_above` of a value is at most `alpha`; `won` is what `_approximate_log_capitals` gives for it."""
        # Written so that not-a-number, of which nothing is known, goes the exact way too.
        if not abs(won + math.log(alpha)) > SAME:
            return self.p_above(value) <= alpha
        return won > -math.log(alpha)

    def _approximate_log_capitals(self, tested: Array) -> Array:
        """The logarithm of the largest capital so far against each of some means, (k,), to about ten digits.

        It is not-a-number where products cannot give it.
        """
        space = tested - sum(stream.floor for stream in self.streams)
        known = np.isfinite(space) & (space > 1e-9)
        largest = np.full(len(tested), math.nan)
        if self.last_look_only or not self.n or not known.any():
            return largest
        if len(self.streams) == 1:
            largest[known] = _log_capital_in_products(self.streams[0], tested[known]).max(axis=-1)
            return largest
        first, second = self.streams
        for i in np.flatnonzero(known):
            at = self._lattice(float(space[i]))
            capital = _log_capital_in_products(first, at) + _log_capital_in_products(second, tested[i] - at)
            if not np.isnan(capital).any():
                largest[i] = convex_lower_bounds(capital).max()
        return largest

    def p_above(self, value: float) -> float:
        """One over the largest capital so far, at most 1, which is a p-value that is valid whenever one stops."""
        if not self.n:
            return 1.0
        capital = self.log_capital(value)
        won = float(capital[-1] if self.last_look_only else capital.max())
        return math.exp(-won) if won > 0 else 1.0

    def p_below(self, value: float) -> float:
        return self.shift(0.0, -1.0).p_above(-value)

    def guess_repeats(self, alpha: float, sign: float) -> int:
        enough = self.shift(0.0, sign).log_capital(0.0) >= -math.log(alpha)
        return 1 + int(enough.argmax()) if enough.any() else self.n

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The ends of the means that no look rejects; of the whole range where none is rejected."""
        low = self._least_mean((1 - level) / 2)
        high = -self.shift(0.0, -1.0)._least_mean((1 - level) / 2)
        return low, high

    def _least_mean(self, alpha: float) -> float:
        """The smallest mean that is not rejected at a one-sided level, rounded down."""
        low = sum(stream.floor for stream in self.streams) + self.offset
        if math.isinf(low):
            return low
        high = self.mean
        at_once = 4 if len(self.streams) == 1 else 1  # many means of one stream take little longer than one
        for left in range(14, 0, -at_once):
            means = _means_between(low, high, min(at_once, left))
            won = self._approximate_log_capitals(np.array(means[1:-1]) - self.offset)
            least, greatest = 0, len(means) - 1
            while greatest - least > 1:
                middle = (least + greatest) // 2
                if self._rejects(means[middle], alpha, float(won[middle - 1])):
                    least = middle
                else:
                    greatest = middle
            low, high = means[least], means[greatest]
        return low

    def project_repeats(self, alpha: float, max_repeats: int) -> int | None:
        """The number of repeats at which a one-sided test at `alpha` tells the mean from 0, as `SequentialEstimate` has
        it."""
        if max_repeats < self.n or not self.n:
            return None
        toward = self if self.mean >= 0 else self.shift(0.0, -1.0)

        def first_enough(total: Array) -> int:
            enough = toward._capital(-toward.offset, total) >= -math.log(alpha)
            return int(np.argmax(enough)) if enough.any() else len(total)

        # What is won grows with the repeats once anything is, so most of them need no look.
        step = max(1, (max_repeats - self.n) // PLACES)
        some = np.append(np.arange(self.n, max_repeats, step), max_repeats)
        place = first_enough(some)
        if place == len(some):
            return None
        between = np.arange(some[place - 1] + 1 if place else self.n, some[place] + 1)
        return int(between[first_enough(between)])

    def shift(self, by: float, sign: float = 1.0) -> BettingMean:
        """The estimate of `sign * mean + by`."""
        streams = self.streams if sign > 0 else tuple(stream.negate() for stream in self.streams)
        each = None if self.repeat_values is None else sign * self.repeat_values + by
        return replace(self, streams=streams, offset=sign * self.offset + by, repeat_values=each)


def _means_between(low: float, high: float, times: int) -> list[float]:
    """The ends and the places between them after halving so many times, in order."""
    places = [low, high]
    for _ in range(times):
        middles = [(a + b) / 2 for a, b in pairwise(places)]
        places = [place for pair in zip(places, middles, strict=False) for place in pair] + [high]
    return places


def convex_lower_bounds(heights: Array) -> Array:
    """The lower bounds, (n,), of convex functions whose heights (k, n) are known at evenly spaced places.

    The least value lies beside the lowest of these heights. The bound is where the lines through the known heights on
    either side meet.
    """
    k, n = heights.shape
    lowest = np.argmin(heights, axis=0)
    columns = np.arange(n)

    def height(step: int) -> Array:
        place = lowest + step
        inside = (place >= 0) & (place < k)
        return np.where(inside, heights[np.clip(place, 0, k - 1), columns], np.nan)

    around = {step: height(step) for step in (-2, -1, 0, 1, 2)}
    lower = around[0]
    for side in (-1, 1):  # the cell towards `side`, from the lowest place to the next
        inner = around[0] - around[-side]  # rise a step of the line through the lowest and its other neighbour
        outer = around[side] - around[2 * side]  # the same, seen from the far end of the cell
        with np.errstate(invalid="ignore"):
            reach = (around[side] - around[0] + outer) / (inner + outer)  # where both lines meet, in steps
            met = around[0] + inner * np.clip(reach, 0.0, 1.0)
            alone = np.where(
                np.isnan(inner), around[side] + outer, around[0] + inner
            )  # one line only, to the cell's end
            parallel = ~np.isfinite(reach)
        bound = np.where(np.isnan(inner) | np.isnan(outer) | parallel, alone, met)
        lower = np.fmin(lower, bound)
    return lower


def bet_on_streams(streams: Sequence[Stream], each: Array | None = None) -> BettingMean:
    """The betting estimate of the mean of one stream, or of the sum of the means of two independent ones.

    Args:
        streams: one or two; of streams of different lengths, as many values as the shortest has.
        each: (n,) what the estimate gives as `repeat_values`; it is not computed with.

    Returns:
        The estimate (Waudby-Smith and Ramdas 2024): its intervals hold at all numbers of values at once, whatever the
        distribution, if the mean given the past is always the same.

    Raises:
        ValueError: of no stream, or of more than two.

    >>> from harness.inference import bounded_stream
    >>> won = bounded_stream(np.array([0.9, 0.8, 1.0, 0.7, 0.9, 0.8, 0.9, 1.0]), 0.0, 1.0)
    >>> lost = bounded_stream(np.array([0.3, 0.2, 0.4, 0.3, 0.1, 0.3, 0.2, 0.2]), 0.0, 1.0)
    >>> mean = bet_on_streams([won])
    >>> [round(end, 3) for end in mean.interval(0.95)], round(mean.p_above(0.5), 4)
    ([0.506, 0.969], 0.0228)
    >>> gap = bet_on_streams([won, lost.negate()])
    >>> round(gap.mean, 4), round(gap.p_above(0.0), 4)
    (0.625, 0.0017)
    """
    if len(streams) not in (1, 2):
        raise ValueError(f"{len(streams)} streams; give one, or two whose means are added")
    n = min(len(stream.values) for stream in streams)
    return BettingMean(tuple(stream.take_first(n) for stream in streams), repeat_values=each)
