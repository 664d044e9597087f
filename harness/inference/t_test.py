"""Inference on means over repeats.

A repeat (its own split, initialisation, batches and noise) is the unit of replication. The standard
error of a mean is the larger of what the repeats show and what the finite sample of records in each
repeat implies, so that a handful of repeats that happen to agree is not taken for certainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from scipy import special

from harness.inference.arrays import Array
from harness.inference.estimates import MeanEstimate
from harness.inference.skewness import hall_transform, inverse_hall_transform, moments

POWER = 0.8
MANY = 1e9
"""Degrees of freedom of an error that is known, not estimated from repeats."""
FURTHER = 4.0
"""Over n: a few values show less skewness than they come from. With this, tests of 6 to 40 exponential values, and of
less skewed ones, are wrong on the margin in at most 5.0% of cases; without it, of six, in 5.9%. More skewed ones stay
beyond it. Chosen on simulated values (docs/statistics.md)."""


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
