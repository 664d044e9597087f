"""Skewed results: their mean's first three moments, and Hall's transform, which corrects a test for the third."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.inference.arrays import Array

LEAST_SKEWNESS = 1e-200
"""The skewness below which none is corrected for: its inverse might not be a number."""


def hall_transform(distance: float | Array, skewness: float | Array, slope: float = 0.0) -> float | Array:
    """The transform of Hall (1992) of a standardised distance (mean - value) / stderr, monotone in it.

    Where values are skewed, Student's distribution is nearer to that of the transform than to that of the distance.

    The transform is a cubic that is flat about -3 / `skewness`, where it says nearly the same of all distances, and
    ever steeper beyond. With a `slope` above 0 (at most 1) it is a line of that slope from where it would have less.

    Args:
        distance: (...) or a number.
        skewness: (...) of the mean: the third central moment over its standard error cubed.
        slope: the least slope, from 0 to 1.

    Returns:
        (...) the transform. `inverse_hall_transform` is its inverse.

    >>> [round(hall_transform(distance, 0.5), 4) for distance in (-2.0, 0.0, 2.0)]
    [-1.3241, 0.0833, 2.8241]
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
    """The distance, (...), whose `hall_transform` is `value`.

    >>> round(float(inverse_hall_transform(2.8241, 0.5)), 3)
    2.0
    """
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
class Moments:
    """The moments of the mean over the first 1, 2, ... repeats, (..., n) each."""

    means: Array
    stderrs: Array
    """The standard errors, at least what the finite sample of records in each repeat implies."""
    skewnesses: Array
    """The third central moments of the mean over its standard error cubed; 0 with fewer than three repeats."""


def moments(values: Array, record_stderr: Array | None = None) -> Moments:
    """The mean, standard error and skewness of the mean, of the first 1, 2, ... values.

    Args:
        values: (..., n) in the order in which they were drawn.
        record_stderr: (..., n) each value's own standard error; None: the values are exact.

    Returns:
        The moments, (..., n) each. Those of one series, (n,), are kept and shared, and cannot be written to.

    >>> running = moments(np.array([0.2, 0.4, 0.9]))
    >>> running.means.round(4).tolist()
    [0.2, 0.3, 0.5]
    >>> running.stderrs.round(4).tolist()
    [0.0, 0.1, 0.2082]
    >>> running.skewnesses.round(4).tolist()
    [0.0, 0.0, 0.6651]
    """
    if values.ndim > 1:
        return _moments(values, record_stderr)
    errors = None if record_stderr is None else np.asarray(record_stderr, np.float64).tobytes()
    return _moments_of_bytes(np.asarray(values, np.float64).tobytes(), errors)


@lru_cache(4096)
def _moments_of_bytes(values: bytes, record_stderr: bytes | None) -> Moments:
    """The moments of arrays, kept by content: claims ask for one spec's results, at the same looks, again and again."""
    known = _moments(np.frombuffer(values), None if record_stderr is None else np.frombuffer(record_stderr))
    for array in (known.means, known.stderrs, known.skewnesses):
        array.setflags(write=False)  # it is shared
    return known


def _moments(values: Array, record_stderr: Array | None) -> Moments:
    """The moments of series, (..., n), computed for all looks at once."""
    n = np.arange(1, values.shape[-1] + 1)
    centre = np.mean(values, -1, keepdims=True) if len(n) else 0.0  # sums of powers of values near zero lose no digits
    moved = values - centre
    square = moved * moved
    sums = [np.cumsum(power, -1) for power in (moved, square, square * moved)]
    means = sums[0] / n
    # Running sums of powers give the moments of all looks in one pass.
    squares = np.maximum(0.0, sums[1] - n * np.square(means))
    squares[squares <= 1e-24 * np.maximum.accumulate(np.square(values), -1)] = 0.0  # rounding of equal values
    between = np.sqrt(squares / np.maximum(1, n - 1) / n)
    within = 0.0 if record_stderr is None else np.sqrt(np.cumsum(np.square(record_stderr), -1) / n / n)
    stderrs = np.maximum(between, within)
    third = (sums[2] - 3 * means * sums[1] + 2 * n * means**3) * n / np.maximum(1, (n - 1) * (n - 2))  # unbiased
    known = (n > 2) & (stderrs > 0) & (squares > 0)
    skewnesses = np.where(known, third / n**2 / np.where(known, stderrs, 1.0) ** 3, 0.0)
    return Moments(means + centre, stderrs, skewnesses)


def moments_of_all(values: Array, record_stderr: Array | None = None) -> tuple[float, float, float]:
    """The last of the `moments` of one series: mean, standard error and skewness of the mean of all values.

    Args:
        values: (n,), n at least 1.
        record_stderr: (n,) each value's own standard error; None: the values are exact.

    >>> [round(one, 4) for one in moments_of_all(np.array([0.2, 0.4, 0.9]))]
    [0.5, 0.2082, 0.6651]
    """
    n = len(values)
    centre = float(values.sum()) / n
    moved = values - centre
    square = moved * moved
    mean, squares = float(moved.sum()) / n, float(square.sum())
    third = float((square * moved).sum()) - 3 * mean * squares + 2 * n * mean * mean * mean
    third *= n / max(1, (n - 1) * (n - 2))
    squares = max(0.0, squares - n * mean * mean)
    largest = float(np.abs(values).max())
    if squares <= 1e-24 * largest * largest:  # rounding of equal values
        squares = 0.0
    stderr = math.sqrt(squares / max(1, n - 1) / n)
    if record_stderr is not None:
        stderr = max(stderr, math.sqrt(float(np.square(record_stderr).sum())) / n)
    known = n > 2 and stderr > 0 and squares > 0
    return mean + centre, stderr, third / n**2 / stderr / stderr / stderr if known else 0.0
