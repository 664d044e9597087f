"""Correlation of two series."""

from __future__ import annotations

import math

import numpy as np

from harness.inference.arrays import Array


def pearson(left: Array, right: Array) -> float:
    """Pearson correlation of two series, (k,); not-a-number where one of them does not vary."""
    if len(left) < 3 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return math.nan
    return float(np.corrcoef(left, right)[0, 1])
