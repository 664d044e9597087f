"""Numbers of a table with what they are called exchanged, within each repeat."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.claims.design import Series
from harness.claims.evidence import Measurements
from harness.claims.operands import MetricSeries
from harness.claims.samples import CurveSample, Samples
from harness.claims.series import is_of_runs
from harness.controls.worlds import ControlFacts
from harness.coordinates import Place, Where, place
from harness.hashing import generator

Point = tuple[MetricSeries, Place]
"""A side of a comparison at a place."""


class _FixedSample(CurveSample):
    """Numbers of a curve that are given."""

    def __init__(self, samples: Samples, point: Point, series: Series) -> None:
        super().__init__(samples, point[0], dict(point[1]))
        self._given = series

    def first(self, n: int | None) -> Series:
        return self._given.take_first(n)


class GivenSamples(Samples):
    """Samples of a table in which the numbers of some sides are given."""

    def __init__(self, table: Measurements, given: Mapping[Point, Series]) -> None:
        super().__init__(table)
        self._given = {point: _FixedSample(self, point, series) for point, series in given.items()}

    def of_curve(self, curve: MetricSeries, where: Where, owner_set: float | None = None) -> CurveSample:
        given = self._given.get((curve, place(where))) if owner_set is None else None
        return super().of_curve(curve, where, owner_set) if given is None else given


def exchanged(
    samples: Samples, groups: Sequence[tuple[str, Sequence[Point]]], facts: ControlFacts, draw: int
) -> dict[Point, Series]:
    """The numbers of points with their names exchanged: in each repeat those of a group are dealt out anew.

    Groups of as many points that have one name are dealt out alike, so that places of one repeat stay together. A
    group of a single point, a difference of two metrics, has its sign tossed.
    """
    given = {}
    for name, points in groups:
        series = [samples.series(curve, dict(where)) for curve, where in points]
        n = min(len(one.values) for one in series)
        rng = generator(0, "control", facts.seed, "exchanged", draw, name, len(points))
        if len(points) == 1:
            signs = np.where(rng.random(n) < 0.5, -1.0, 1.0)
            low, high = min(series[0].low, -series[0].high), max(series[0].high, -series[0].low)
            given[points[0]] = replace(series[0].take_first(n), values=series[0].values[:n] * signs, low=low, high=high)
            continue
        order = np.argsort(rng.random((len(points), n)), axis=0)
        values = np.take_along_axis(np.stack([one.values[:n] for one in series]), order, axis=0)
        errors = np.take_along_axis(np.stack([one.errors[:n] for one in series]), order, axis=0)
        low, high = min(one.low for one in series), max(one.high for one in series)
        for place_, point in enumerate(points):
            own = series[place_].take_first(n)
            given[point] = replace(own, values=values[place_], errors=errors[place_], low=low, high=high)
    return given


def can_be_exchanged(points: Collection[Point]) -> bool:
    """Whether repeats tell how the points' numbers vary, which those of several runs together do not."""
    return not any(is_of_runs(curve.metric) for curve, _ in points)
