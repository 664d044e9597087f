"""Points of a claim that a profile leaves out: of which nothing is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.claims.evidence import Measurements
from harness.claims.operands import MetricSeries
from harness.coordinates import Level


def count_points_left_out(
    evidence: Measurements, curves: Sequence[MetricSeries], at: Mapping[str, Sequence[Level]] | None = None
) -> int:
    """Number of places of the declared grid, among `at`, that the profile leaves out: of which nothing is known.

    A place is declared where all of the curves that vary along epsilon have it.
    """
    axes = [axis for axis in evidence.axes if any(axis in evidence.axes_of(curve) for curve in curves)]
    if "epsilon" not in axes:
        return 0
    along = [curve for curve in curves if "epsilon" in evidence.axes_of(curve)]
    measured = [frozenset(evidence.levels(curve, "epsilon")) for curve in along]
    lost = [frozenset[Level](evidence.arm(curve.arm).epsilons_left_out) for curve in along]
    declared = [own | left_out for own, left_out in zip(measured, lost, strict=True)]
    asked = (at or {}).get("epsilon")
    absent = {
        epsilon
        for epsilon in frozenset.intersection(*declared) - frozenset.intersection(*measured)
        if (math.isfinite(float(epsilon)) if asked is None else epsilon in asked)
    }
    others = evidence.choices_along([axis for axis in axes if axis != "epsilon"], curves, at)
    return len(absent) * math.prod(map(len, others))
