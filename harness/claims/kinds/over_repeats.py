"""What kinds that compute one number of many curves in each repeat share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.arrays import Array
from harness.claims.design import Series
from harness.claims.evidence import Evidence
from harness.claims.judge import Finding, Look, Part, Where, combine, point
from harness.claims.operands import Curve

Place = tuple[Curve, Where]


def stacked(evidence: Evidence, places: Sequence[Place]) -> Array:
    """(places, repeats), of the repeats that every place has."""
    series = [evidence.series(curve, where).values for curve, where in places]
    n = min(map(len, series))
    return np.stack([values[:n] for values in series])


def series_of(values: Array) -> Series:
    """(n,) numbers, one a repeat, whose error is what repeats show."""
    return Series(values, np.zeros(len(values)))


def decided_by(
    evidence: Evidence, part: Part, places: Sequence[Place], values: Array, against: float, sign: float, test: str
) -> Finding:
    """Whether the mean of one number a repeat is above (`sign` 1) or below (-1) a number."""
    found = evidence.design.mean(series_of(values))
    effect = found.shifted(-sign * against, sign)
    cells = frozenset().union(*(evidence.cells([curve], where) for curve, where in places))
    return combine(([Look(point(part.index, {}, found.mean, against, effect), effect, cells)], "all"), part, test)
