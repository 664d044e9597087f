"""Inference on means over repeats.

A repeat (its own split, initialisation, batches and noise) is the unit of replication. The standard
error of a mean is the larger of what the repeats show and what the finite sample of records in each
repeat implies, so that a handful of repeats that happen to agree is not taken for certainty.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import scipy
from scipy import special

from harness.inference.arrays import Array

POWER = 0.8
MANY = 1e9
"""Degrees of freedom of an error that is known, not estimated from repeats."""
FEWEST = 6
"""Repeats below which no test of a mean decides that knows nothing of the results' range. An outcome as likely as not
is missed by five repeats once in 32, more often than a verdict may be wrong in one direction; by six once in 64."""
FURTHER = 4.0
"""Over n: a few values show less skewness than they come from. With this, tests of 6 to 40 exponential values, and of
less skewed ones, are wrong on the margin in at most 5.0% of cases; without it, of six, in 5.9%. More skewed ones stay
beyond it. Chosen on simulated values (docs/statistics.md)."""

LEAST_SKEWNESS = 1e-200
"""Below it, none is corrected for: its inverse might not be a number."""


class MeanEstimate(ABC):
    """What is known of the mean of run results."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Mean over the repeats looked at."""

    @property
    @abstractmethod
    def stderr(self) -> float:
        """Its standard error."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Repeats looked at."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Two-sided interval; infinite where the spread is unknown."""

    @abstractmethod
    def p_above(self, value: float) -> float:
        """One-sided p-value of H0: mean <= value."""

    @abstractmethod
    def p_below(self, value: float) -> float:
        """One-sided p-value of H0: mean >= value."""

    @abstractmethod
    def shift(self, by: float, sign: float = 1.0) -> MeanEstimate:
        """The estimate of `sign * mean + by`."""

    @property
    def tested_repeats(self) -> int:
        """Repeats that its test is on, where that are fewer than were looked at."""
        return self.n

    @property
    def of_records(self) -> bool:
        """Whether its error is that of drawing records, known beforehand, so that repeats do not have to show it."""
        return False

    @property
    @abstractmethod
    def repeat_values(self) -> Array | None:
        """(n,) what is averaged, one number a repeat, as it was measured; None where there is no such number."""

    def is_positive(self, or_zero: bool = False) -> Array | None:
        """(n,) whether that is above 0, or not below it with `or_zero`, in each repeat; None where it is not known."""
        values = self.repeat_values
        return None if values is None else values >= 0 if or_zero else values > 0


class SequentialEstimate(MeanEstimate):
    """A mean that may be looked at after any number of repeats, and says how many more would tell."""

    def guess_repeats(self, alpha: float, sign: float) -> int:
        """A guess at the first repeats that tell it to be above 0 (`sign` 1), or below it (-1), at a one-sided level:
        what a look at them decides, computed from all repeats, which last digits can move. At least 1."""
        return self.n

    @abstractmethod
    def project_repeats(self, alpha: float, max_repeats: int) -> int | None:
        """Repeats, of at most `max_repeats`, at which a one-sided test at `alpha` tells the mean from 0 if further
        results are like those there are; None where there are none."""


def hall_transform(distance: float | Array, skewness: float | Array, slope: float = 0.0) -> float | Array:
    """Hall's transform (1992) of a standardised distance (mean - value) / stderr, monotone in it.

    Where run results are skewed, by `skewness` of their mean, Student's distribution is nearer to this than to
    the distance itself. The inverse is `inverse_hall_transform`.

    The transform is a cubic that is flat about -3 / `skewness`, where it says nearly the same of all distances, and
    ever steeper beyond. With a `slope` above 0 (at most 1) it is a line of that slope from where it would have less.
    """
    past = _part_past_slope(distance, skewness, slope)
    near = distance - past
    return near + skewness * near**2 / 3 + skewness**2 * near**3 / 27 + skewness / 6 + slope * past


def _part_past_slope(distance: float | Array, skewness: float | Array, slope: float) -> float | Array:
    """The part of a distance that lies where the cubic's slope, (1 + skewness distance / 3)^2, is below `slope`."""
    if not slope:
        return 0.0
    none = np.abs(skewness) < LEAST_SKEWNESS
    safe = np.where(none, 1.0, skewness)
    return np.where(none, 0.0, np.minimum(0.0, 1 + safe * distance / 3 - math.sqrt(slope)) * 3 / safe)


def inverse_hall_transform(value: float | Array, skewness: float | Array, slope: float = 0.0) -> Array:
    """The distance whose `hall_transform` is `value`."""
    none = np.abs(skewness) < LEAST_SKEWNESS
    safe = np.where(none, 1.0, skewness)
    grown = safe * (value - safe / 6)
    past, least = 0.0, slope**1.5 - 1
    if slope:
        past = np.minimum(0.0, grown - least) / safe / slope
        grown = np.maximum(grown, least)
    small = np.abs(grown) < 0.5  # there the cube root of 1 + grown is near 1, which would be taken off again
    root = np.where(small, np.expm1(np.log1p(np.where(small, grown, 0.0)) / 3), np.cbrt(1 + grown) - 1)
    return np.where(none, value, 3 / safe * root + past)


@dataclass(frozen=True)
class Estimate(MeanEstimate):
    """A mean over a number of repeats that was fixed beforehand: Student's t, corrected for skewed run results.

    A value is excluded only where Student's test and the same test after Hall's transform both exclude it. `dof`:
    degrees of freedom; 0 where no spread can be known (fewer than two repeats). `skewness`: of the mean, as it is
    corrected for.
    """

    mean: float = 0.0
    stderr: float = 0.0
    dof: float = 0.0
    n: int = 0
    skewness: float = 0.0
    repeat_values: Array | None = field(default=None, compare=False, repr=False)

    @property
    def of_records(self) -> bool:
        return self.dof >= MANY / 2

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        if self.dof <= 0:
            return (-math.inf, math.inf)
        reach = float(special.stdtrit(self.dof, 0.5 + level / 2))
        below = max(reach, float(inverse_hall_transform(reach, self.skewness)))
        above = max(reach, -float(inverse_hall_transform(-reach, self.skewness)))
        return (self.mean - below * self.stderr, self.mean + above * self.stderr)

    def p_above(self, value: float) -> float:
        return self._tail(self.mean - value, self.skewness)

    def p_below(self, value: float) -> float:
        return self._tail(value - self.mean, -self.skewness)

    def _tail(self, effect: float, skewness: float) -> float:
        if self.dof <= 0:
            return 1.0
        if self.stderr == 0:
            return 0.0 if effect > 0 else 1.0
        distance = effect / self.stderr
        return float(special.stdtr(self.dof, -min(distance, hall_transform(distance, skewness))))

    def shift(self, by: float, sign: float = 1.0) -> Estimate:
        each = None if self.repeat_values is None else sign * self.repeat_values + by
        return Estimate(sign * self.mean + by, self.stderr, self.dof, self.n, sign * self.skewness, each)


@dataclass(frozen=True)
class Moments:
    """Of the mean over the first 1, 2, ... repeats, (..., n) each."""

    means: Array
    stderrs: Array
    """At least what the finite sample of records in each repeat implies."""
    skewnesses: Array
    """Third central moment of the mean over its standard error cubed; 0 with fewer than three repeats."""


def moments(values: Array, record_stderr: Array | None = None) -> Moments:
    """From one value a repeat, (..., n), and each repeat's record-sampling error, (..., n)."""
    if values.ndim > 1:
        return _moments(values, record_stderr)
    errors = None if record_stderr is None else np.asarray(record_stderr, np.float64).tobytes()
    return _moments_of_bytes(np.asarray(values, np.float64).tobytes(), errors)


@lru_cache(4096)
def _moments_of_bytes(values: bytes, record_stderr: bytes | None) -> Moments:
    """By content: the claims of a spec ask for the same results, at the same looks, again and again."""
    known = _moments(np.frombuffer(values), None if record_stderr is None else np.frombuffer(record_stderr))
    for array in (known.means, known.stderrs, known.skewnesses):
        array.setflags(write=False)  # it is shared
    return known


def _moments(values: Array, record_stderr: Array | None) -> Moments:
    n = np.arange(1, values.shape[-1] + 1)
    centre = np.mean(values, -1, keepdims=True) if len(n) else 0.0  # sums of powers of values near zero lose no digits
    moved = values - centre
    square = moved * moved
    sums = [np.cumsum(power, -1) for power in (moved, square, square * moved)]
    means = sums[0] / n
    squares = np.maximum(0.0, sums[1] - n * np.square(means))
    squares[squares <= 1e-24 * np.maximum.accumulate(np.square(values), -1)] = 0.0  # rounding of equal values
    between = np.sqrt(squares / np.maximum(1, n - 1) / n)
    within = 0.0 if record_stderr is None else np.sqrt(np.cumsum(np.square(record_stderr), -1) / n / n)
    stderrs = np.maximum(between, within)
    third = (sums[2] - 3 * means * sums[1] + 2 * n * means**3) * n / np.maximum(1, (n - 1) * (n - 2))  # unbiased
    known = (n > 2) & (stderrs > 0) & (squares > 0)
    skewnesses = np.where(known, third / n**2 / np.where(known, stderrs, 1.0) ** 3, 0.0)
    return Moments(means + centre, stderrs, skewnesses)


def estimate(values: Array, record_stderr: Array | None = None) -> Estimate:
    """Estimate of a mean from one value a repeat, (n,), and each repeat's record-sampling error, (n,)."""
    running, n = moments(values, record_stderr), len(values)
    skewness = float(running.skewnesses[-1]) * (1 + FURTHER / n)
    return Estimate(float(running.means[-1]), float(running.stderrs[-1]), n - 1, n, skewness, values)


def combine_estimates(parts: Sequence[tuple[float, Estimate]], n: int) -> Estimate:
    """Estimate, from `n` repeats, of a weighted sum of independent means (Welch-Satterthwaite degrees of freedom)."""
    squares = [(weight * part.stderr) ** 2 for weight, part in parts]
    stderr = math.sqrt(sum(squares))
    if any(part.dof <= 0 for _, part in parts):
        dof = 0.0
    elif stderr == 0:
        dof = min(part.dof for _, part in parts)
    else:
        dof = sum(squares) ** 2 / sum(v**2 / part.dof for v, (_, part) in zip(squares, parts, strict=True))
    third = sum(weight**3 * part.skewness * part.stderr**3 for weight, part in parts)
    mean = sum(weight * part.mean for weight, part in parts)
    return Estimate(mean, stderr, dof, n, third / stderr**3 if stderr else 0.0)


def difference(left: Estimate, right: Estimate) -> Estimate:
    """Estimate of left - right for independent arms."""
    return combine_estimates([(1.0, left), (-1.0, right)], min(left.n, right.n))


def repeats_needed(effect: MeanEstimate, alpha: float) -> int | None:
    """Repeats at which a one-sided test of level `alpha` finds an effect of the present size and spread
    with power 0.8; None where the effect is zero or its spread unknown."""
    if effect.n < 2 or effect.mean == 0 or effect.stderr == 0:
        return None
    spread = effect.stderr * math.sqrt(effect.n)
    reach = float(-special.ndtri(alpha) - special.ndtri(1 - POWER))
    return max(effect.n + 1, math.ceil((reach * spread / abs(effect.mean)) ** 2))


def detectable_effect(effect: MeanEstimate, alpha: float) -> float | None:
    """The smallest effect that a one-sided t-test of level `alpha` finds with power 0.8 at the present repeats and
    spread; None where the spread is unknown."""
    if effect.n < 2 or effect.stderr == 0:
        return None
    dof = getattr(effect, "dof", effect.n - 1)
    return float((-special.stdtrit(dof, alpha) - special.stdtrit(dof, 1 - POWER)) * effect.stderr)


def pearson(left: Array, right: Array) -> float:
    """Pearson correlation of two series, (k,); not-a-number where one of them does not vary."""
    if len(left) < 3 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return math.nan
    return float(np.corrcoef(left, right)[0, 1])


def rarity_bound(n: int, alpha: float) -> float:
    """N, where an outcome that is drawn once in N repeats, or more often, is missed by `n` repeats with a chance of at
    most `alpha`."""
    return 1 / -math.expm1(math.log(alpha) / n)


def share_at_least(holds: int, n: int, alpha: float, looked: bool = False) -> float:
    """Lower confidence bound of the share of all repeats in which something holds that held in `holds` of `n`.

    Exact for a number of repeats fixed beforehand (Clopper and Pearson 1934): n of n mean at least alpha^(1/n). With
    `looked`, for repeats that were added while one looked: the beta-binomial mixture (Robbins 1970), in which a share p
    is excluded once B(holds + 1, n - holds + 1) / (p^holds (1 - p)^(n - holds)) reaches 1 / alpha.
    """
    if holds == 0:
        return 0.0
    if not looked:
        return float(special.betaincinv(holds, n - holds + 1, alpha))
    mixture = float(special.betaln(holds + 1, n - holds + 1))

    def excess(p: float) -> float:
        return mixture - float(special.xlogy(holds, p) + special.xlog1py(n - holds, -p)) + math.log(alpha)

    return float(scipy.optimize.brentq(excess, 1e-300, holds / n)) if excess(holds / n) < 0 else 0.0
