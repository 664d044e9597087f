"""Streams of values in the order in which they were drawn, each value with its range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.inference.arrays import Array


@dataclass(frozen=True)
class Stream:
    """A stream: values in the order in which they were drawn, each with the range that was known before."""

    values: Array
    """The values, (n,)."""
    lows: Array
    """The smallest that each value could have been, (n,); minus infinity where it has no such limit."""
    highs: Array
    """The largest that each value could have been, (n,); infinity where it has no such limit."""

    def negate(self) -> Stream:
        """The stream of the negated values."""
        return Stream(-self.values, -self.highs, -self.lows)

    def take_first(self, n: int) -> Stream:
        """The stream of the first `n` values."""
        return Stream(self.values[:n], self.lows[:n], self.highs[:n])

    @cached_property
    def floor(self) -> float:
        """The largest of the lower limits: no mean is below it. Minus infinity without values."""
        return float(self.lows.max(initial=-math.inf))


def bounded_stream(values: Array, low: float, high: float) -> Stream:
    """The stream of values that all have one range.

    Args:
        values: (n,) in the order in which they were drawn.
        low: the smallest value possible, known before any was drawn.
        high: the largest.

    Raises:
        ValueError: if a value is outside of the range by more than rounding.

    >>> bounded_stream(np.array([0.2, 0.7]), 0.0, 1.0).highs.tolist()
    [1.0, 1.0]
    >>> bounded_stream(np.array([0.2, 1.7]), 0.0, 1.0)
    Traceback (most recent call last):
        ...
    ValueError: results are 0.2 to 1.7, outside of the range 0 to 1
    """
    check_range(values, low, high)
    n = len(values)
    return Stream(values, np.full(n, low), np.full(n, high))


def check_range(values: Array, low: float, high: float) -> None:
    """Raise ValueError for a value that is outside of the range by more than rounding."""
    over = 1e-9 + 1e-9 * np.abs(values)
    if (values < low - over).any() or (values > high + over).any():
        raise ValueError(f"results are {values.min():g} to {values.max():g}, outside of the range {low:g} to {high:g}")
