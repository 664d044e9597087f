"""What kinds that compute one number of many curves in each repeat share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.arrays import Array
from harness.claims.combine import combine
from harness.claims.design import Series
from harness.claims.evidence import Measurements
from harness.claims.operands import MetricSeries
from harness.claims.results import Part, PartResult, PointResult, point
from harness.coordinates import Where

SeriesAt = tuple[MetricSeries, Where]


def stack_repeats(evidence: Measurements, places: Sequence[SeriesAt]) -> Array:
    """(places, repeats), of the repeats that every place has."""
    series = [evidence.series(curve, where).values for curve, where in places]
    n = min(map(len, series))
    return np.stack([values[:n] for values in series])


def series_of(
    evidence: Measurements, places: Sequence[SeriesAt], values: Array, low: float = -math.inf, high: float = math.inf
) -> Series:
    """(n,) numbers between `low` and `high`, one a repeat, of what was measured at places: their error is what repeats
    show, and what the split drew is that of the places, where they are of one arm."""
    series = Series(values, np.zeros(len(values)), low=low, high=high)
    if len({curve.arm for curve, _ in places}) != 1:
        return series
    own = evidence.series(*places[0])
    if own.drawn is None or len(own.drawn) < len(values):
        return series
    return replace(series, drawn=own.drawn[: len(values)], outcomes=own.outcomes)


def judge_repeats(
    evidence: Measurements,
    part: Part,
    places: Sequence[SeriesAt],
    values: Array,
    against: float,
    sign: float,
    test: str,
) -> PartResult:
    """Whether the mean of one number a repeat, between -1 and 1, is above (`sign` 1) or below (-1) a number."""
    mean = evidence.design.mean(series_of(evidence, places, values, -1.0, 1.0))
    effect = mean.shift(-sign * against, sign)
    cells = frozenset().union(*(evidence.cells([curve], where) for curve, where in places))
    look = PointResult(point(part.index, {}, mean.mean, against, effect), effect, cells, effect.is_positive())
    return combine(([look], "all"), part, test)
