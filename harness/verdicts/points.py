"""The points of a judged claim as they are published."""

from __future__ import annotations

import math

from harness.claims.judgement import Judgement
from harness.claims.results import PartResult
from harness.claims.testing import Look
from harness.claims.verdict import Point
from harness.inference.shares import share_at_least
from harness.verdicts.bounds import bounds_at


def points_of(judgement: Judgement, look: Look, alpha: float) -> list[Point]:
    """All points as the look's own method sees them, with the shares and intervals that need no assumption, and with
    how they stand to a bound on what an attack can do."""
    points, sequential = [], look.method.name == "sequential"
    for by_t_test, bounded in zip(judgement.by_t_test, judgement.bounded, strict=True):
        for index, one in enumerate(by_t_test.points):
            extra_fields: dict[str, object] = {}
            if index < len(by_t_test.point_results):
                extra_fields |= bounds_at(by_t_test.shown_results[index], look)
                result = by_t_test.point_results[index]
                # Several sides that start at other repeats are not in step.
                in_step = result.contrast is not None or not look.samples.table.index.is_later
                if (holds := result.holds if in_step else None) is not None:
                    count = int(holds.sum())
                    extra_fields |= {"holds": count, "share": share_at_least(count, len(holds), alpha / 2, sequential)}
            # Where the ranges alone are tested on another scale, an interval on it is none of this effect.
            if index < len(bounded.points) and _is_of_same_number(by_t_test, bounded, index):
                free = bounded.points[index]
                extra_fields |= {"free_low": free.low, "free_high": free.high}
            points.append(one.model_copy(update=extra_fields))
    return points


def _is_of_same_number(one: PartResult, other: PartResult, index: int) -> bool:
    """Whether two tests estimate the same number at a place, if by other estimators: of the same contrast, or, where
    what is tested is a statistic of many series, with the same estimate."""
    effects = one.points[index].effect, other.points[index].effect
    contrasts = [
        result.point_results[index].contrast if index < len(result.point_results) else None for result in (one, other)
    ]
    if contrasts[0] is not None or contrasts[1] is not None:
        return contrasts[0] == contrasts[1]
    return math.isclose(*effects, rel_tol=1e-6, abs_tol=1e-9)
