"""A claim about the owner set that shows it most clearly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.claims.evidence import Measurements
from harness.claims.operands import OWNER_SET, MetricSeries
from harness.claims.results import Part, PointResult
from harness.coordinates import Where

FEWEST_ESTIMATED = 2
"""Repeats without which a mean has no error."""


def some_owner_set(
    evidence: Measurements, left: MetricSeries, where: Where, part: Part, look: Callable[[Measurements], PointResult]
) -> PointResult:
    """The result at a place for the owner set that shows it most clearly, among those that the left arm's split draws.

    The j-th owner set is tested at 1 / (j (j + 1)) of the level; these add up to the level however many are drawn.
    Nothing opposes such a claim: some owner sets may not have been drawn.
    """
    repeats_among = len(evidence.series(left, where).values)
    point_results = []
    for number, size in enumerate(evidence.owner_sets(left.arm), 1):
        of_one = evidence.of_owner_set(left.arm, size)
        if len(of_one.series(left, where).values) >= FEWEST_ESTIMATED:
            one = look(of_one)
            at = {**(one.point.at or {}), OWNER_SET: size}
            point_results.append(
                (replace(one, point=one.point.model_copy(update={"at": at}), repeats_among=repeats_among), number)
            )
    if not point_results:
        point_results = [(look(evidence), 1)]
    weighted = []
    for one, number in point_results:
        enough = one.point.repeats >= part.fewest
        p_support = min(1.0, one.point.p_support * number * (number + 1)) if enough else 1.0
        weighted.append(replace(one, point=one.point.model_copy(update={"p_support": p_support, "p_oppose": 1.0})))
    return min(weighted, key=lambda one: (one.point.p_support, -one.point.effect))
