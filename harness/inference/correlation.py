"""The correlation of two series."""

from __future__ import annotations

import math

import numpy as np

from harness.inference.arrays import Array


def pearson(left: Array, right: Array) -> float:
    """Pearson's correlation of two series, (k,) each.

    It is not-a-number for fewer than three values, and where one series does not vary.

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 4)
    0.5
    """
    if len(left) < 3 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return math.nan
    return float(np.corrcoef(left, right)[0, 1])
