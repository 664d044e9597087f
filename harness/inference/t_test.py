"""The t-test of means over repeats.

A repeat (its own split, initialisation, batches and noise) is the unit of replication. The standard
error of a mean is the larger of what the repeats show and what the finite sample of records in each
repeat implies, so that a handful of repeats that happen to agree is not taken for certainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from harness.inference.arrays import Array
from harness.inference.estimates import MeanEstimate
from harness.inference.shares import fewest_repeats, least_p_value
from harness.inference.skewness import hall_transform, inverse_hall_transform, moments_of_all

POWER = 0.8
"""The chance with which `repeats_needed` and `detectable_effect` want an effect to be found."""
MANY = 1e9
"""The degrees of freedom of an error that is known, not estimated from repeats."""
FURTHER = 4.0
"""The number that, over n, is the share by which skewness is corrected for further than it shows: a few values show
less than they come from. With it, tests of 6 to 40 exponential values, and of less skewed ones, are wrong on the margin
in at most 5.0% of cases; without it, of six, in 5.9%. More skewed ones stay beyond it. Chosen on simulated values
(docs/statistics.md)."""


@dataclass(frozen=True)
class Estimate(MeanEstimate):
    """A mean over a number of repeats that was fixed beforehand: Student's t, corrected for skewed run results.

    A value is excluded only where Student's test and that test after Hall's transform both exclude it. `dof` are the
    degrees of freedom, 0 where no spread can be known (fewer than two repeats). `skewness` is that of the mean, as it
    is corrected for.
    """

    mean: float = 0.0
    stderr: float = 0.0
    dof: float = 0.0
    n: int = 0
    skewness: float = 0.0
    repeat_values: Array | None = field(default=None, compare=False, repr=False)
    rarest: float = 1.0
    """N, at least 1: no p-value is smaller than `least_p_value` says."""

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
        """The larger p-value of Student's test and of that after Hall's transform, for an effect above 0.

        It is at least the `least_p_value` of so many repeats.
        """
        if self.dof <= 0:
            return 1.0
        least = 0.0 if self.of_records else float(least_p_value(self.n, self.rarest))
        if self.stderr == 0:
            return least if effect > 0 else 1.0
        distance = effect / self.stderr
        return max(least, float(special.stdtr(self.dof, -min(distance, hall_transform(distance, skewness)))))

    def shift(self, by: float, sign: float = 1.0) -> Estimate:
        each = None if self.repeat_values is None else sign * self.repeat_values + by
        return replace(self, mean=sign * self.mean + by, skewness=sign * self.skewness, repeat_values=each)


def estimate(values: Array, record_stderr: Array | None = None) -> Estimate:
    """The estimate of a mean from a number of values that was fixed beforehand.

    Args:
        values: (n,) independent values of one distribution, n at least 1.
        record_stderr: (n,) each value's own standard error, where it is known; the error of the mean is not taken to be
            smaller than these imply. None: the values are exact.

    Returns:
        The estimate, by Student's t with n - 1 degrees of freedom, corrected for skewness (Hall 1992).

    Raises:
        ValueError: without values.

    >>> import numpy as np
    >>> mean = estimate(np.array([0.31, 0.28, 0.35, 0.30, 0.33, 0.29]))
    >>> round(mean.mean, 4), round(mean.stderr, 4), mean.dof
    (0.31, 0.0106, 5)
    >>> [round(end, 3) for end in mean.interval(0.95)]
    [0.283, 0.422]
    >>> round(mean.p_above(0.28), 4)
    0.0186
    """
    if not len(values):
        raise ValueError("no values: the mean of none is not known")
    n = len(values)
    mean, stderr, skewness = moments_of_all(np.asarray(values, np.float64), record_stderr)
    return Estimate(mean, stderr, n - 1, n, skewness * (1 + FURTHER / n), values)


def combine_estimates(parts: Sequence[tuple[float, Estimate]], n: int) -> Estimate:
    """The estimate of a weighted sum of independent means.

    Args:
        parts: each mean's weight and estimate.
        n: how many repeats the sum counts as.

    Returns:
        The estimate, with the degrees of freedom of Satterthwaite (1946) and Welch (1947): 0 where a part has none.

    >>> import numpy as np
    >>> one, other = estimate(np.array([0.2, 0.3, 0.25])), estimate(np.array([0.5, 0.4, 0.45]))
    >>> total = combine_estimates([(0.5, one), (0.5, other)], 3)
    >>> round(total.mean, 4), round(total.stderr, 4), round(total.dof, 4)
    (0.35, 0.0204, 4.0)
    """
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
    rarest = max(part.rarest for _, part in parts)
    return Estimate(mean, stderr, dof, n, third / stderr**3 if stderr else 0.0, rarest=rarest)


def difference(left: Estimate, right: Estimate) -> Estimate:
    """The estimate of left - right, of two independent means (Welch 1947).

    >>> import numpy as np
    >>> left, right = estimate(np.array([0.5, 0.4, 0.45, 0.47])), estimate(np.array([0.2, 0.3, 0.25]))
    >>> gap = difference(left, right)
    >>> round(gap.mean, 4), round(gap.dof, 2), round(gap.p_above(0.0), 4)
    (0.205, 3.94, 0.0061)
    """
    return combine_estimates([(1.0, left), (-1.0, right)], min(left.n, right.n))


def repeats_needed(effect: MeanEstimate, alpha: float) -> int | None:
    """The number of repeats at which a one-sided test finds an effect of the present size and spread with power 0.8.

    Args:
        effect: what is known of the effect.
        alpha: the level of the test, between 0 and 1.

    Returns:
        The number, by the normal approximation, at least one more than there are; None where the effect is 0 or its
        spread is not known.

    >>> import numpy as np
    >>> repeats_needed(estimate(np.array([0.1, -0.05, 0.12, 0.02, -0.03])), 0.025)
    45
    """
    if effect.n < 2 or effect.mean == 0 or effect.stderr == 0:
        return None
    spread = effect.stderr * math.sqrt(effect.n)
    reach = float(-special.ndtri(alpha) - special.ndtri(1 - POWER))
    least = fewest_repeats(alpha, getattr(effect, "rarest", 1.0))
    return max(effect.n + 1, least, math.ceil((reach * spread / abs(effect.mean)) ** 2))


def detectable_effect(effect: MeanEstimate, alpha: float) -> float | None:
    """The smallest effect that a one-sided t-test finds with power 0.8 at the present repeats and spread.

    Args:
        effect: what is known of the effect.
        alpha: the level of the test, between 0 and 1.

    Returns:
        The effect, by the sum of the two quantiles of Student's t; None where the spread is not known.

    >>> import numpy as np
    >>> round(detectable_effect(estimate(np.array([0.1, -0.05, 0.12, 0.02, -0.03])), 0.025), 4)
    0.1263
    """
    if effect.n < 2 or effect.stderr == 0:
        return None
    dof = getattr(effect, "dof", effect.n - 1)
    return float((-special.stdtrit(dof, alpha) - special.stdtrit(dof, 1 - POWER)) * effect.stderr)
