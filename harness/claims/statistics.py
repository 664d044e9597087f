"""Inference on means over repeats.

A repeat (its own split, initialisation, batches and noise) is the unit of replication. The standard
error of a mean is the larger of what the repeats show and what the finite sample of records in each
repeat implies, so that a handful of repeats that happen to agree is not taken for certainty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.arrays import Array

POWER = 0.8


@dataclass(frozen=True)
class Estimate:
    """A mean over `n` repeats, its standard error and degrees of freedom (0: no spread can be known)."""

    mean: float
    stderr: float
    dof: float
    n: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Two-sided Student interval; infinite with fewer than two repeats."""
        if self.dof <= 0:
            return (-math.inf, math.inf)
        half = float(stats.t.ppf(0.5 + level / 2, self.dof)) * self.stderr
        return (self.mean - half, self.mean + half)

    def p_above(self, value: float) -> float:
        """One-sided p-value of H0: mean <= value (1 with fewer than two repeats)."""
        return self._tail(self.mean - value)

    def p_below(self, value: float) -> float:
        """One-sided p-value of H0: mean >= value (1 with fewer than two repeats)."""
        return self._tail(value - self.mean)

    def _tail(self, effect: float) -> float:
        if self.dof <= 0:
            return 1.0
        if self.stderr == 0:
            return 0.0 if effect > 0 else 1.0
        return float(stats.t.sf(effect / self.stderr, self.dof))

    def shifted(self, by: float, sign: float = 1.0) -> Estimate:
        """The estimate of `sign * mean + by`."""
        return Estimate(sign * self.mean + by, self.stderr, self.dof, self.n)


def estimate(values: Array, record_stderr: Array | None = None) -> Estimate:
    """Estimate of a mean from one value a repeat, (n,), and each repeat's record-sampling error, (n,)."""
    n = len(values)
    between = float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else 0.0
    within = 0.0
    if record_stderr is not None and n:
        within = float(math.sqrt(np.mean(np.square(record_stderr)) / n))
    return Estimate(float(np.mean(values)), max(between, within), n - 1, n)


def difference(left: Estimate, right: Estimate) -> Estimate:
    """Estimate of left - right for independent arms (Welch-Satterthwaite degrees of freedom)."""
    a, b = left.stderr**2, right.stderr**2
    stderr = math.sqrt(a + b)
    if left.dof <= 0 or right.dof <= 0:
        dof = 0.0
    elif stderr == 0:
        dof = min(left.dof, right.dof)
    else:
        dof = (a + b) ** 2 / (a**2 / left.dof + b**2 / right.dof)
    return Estimate(left.mean - right.mean, stderr, dof, min(left.n, right.n))


def repeats_needed(found: Estimate, alpha: float) -> int | None:
    """Repeats at which a one-sided test of level `alpha` finds an effect of the present size and spread
    with power 0.8; None where the effect is zero or its spread unknown."""
    if found.dof <= 0 or found.mean == 0 or found.stderr == 0:
        return None
    spread = found.stderr * math.sqrt(found.n)
    reach = float(stats.norm.isf(alpha) + stats.norm.isf(1 - POWER))
    return max(found.n + 1, math.ceil((reach * spread / abs(found.mean)) ** 2))


def pearson(left: Array, right: Array) -> float:
    """Pearson correlation of two series, (k,); not-a-number where one of them does not vary."""
    if len(left) < 3 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return math.nan
    return float(np.corrcoef(left, right)[0, 1])
