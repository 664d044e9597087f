"""How what is found at the points of a claim is combined to the outcome of one of its parts.

A claim for *all* grid points is an intersection: it is supported when every point supports it, each at
its level (an intersection-union test, which needs no correction), and opposed when one point opposes
it at that level over the number of points (Bonferroni). For *some* grid point it is the other way round.
Between the two lies a claim for at least k of m points, such as nine in ten entries of a printed table: k
points that each support it at the level over m - k + 1, or m - k + 1 that each oppose it at the level over k
(the partial conjunction test: Benjamini and Heller 2008, "Screening for partial conjunction hypotheses").
A claim of several parts is an intersection of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from harness.arrays import Array
from harness.claims.evidence import Measurements
from harness.claims.operands import MetricSeries, PointQuantifier, Quantifier
from harness.claims.points_left_out import count_points_left_out
from harness.claims.reasons import Found, Reason, place_of
from harness.claims.results import Part, PartResult, PointResult, not_run
from harness.claims.verdict import Outcome, Point
from harness.coordinates import Level, Where
from harness.coordinates import text as place_text
from harness.inference import MeanEstimate, SequentialEstimate, detectable_effect, partial_conjunction, repeats_needed

FAR = 10_000
"""Repeats past which a projection is not worth telling."""


def combine_alternatives(point_results: Sequence[PointResult], absent: int = 0) -> PointResult:
    """The result where one of several alternatives is enough.

    It is supported where one alternative is, by Bonferroni, and opposed where all are. Its point is that of the
    clearest one.

    `absent`: number of further alternatives of which nothing is known; with any, it cannot be opposed.
    """
    best = min(point_results, key=lambda look: look.point.p_support)
    alternatives = len(point_results) + absent
    support = partial_conjunction([look.point.p_support for look in point_results], 1, alternatives)
    oppose = partial_conjunction([look.point.p_oppose for look in point_results], alternatives, alternatives)
    corrected = best.point.model_copy(update={"p_support": support, "p_oppose": oppose})
    return PointResult(
        corrected,
        best.effect,
        frozenset().union(*(look.cells for look in point_results)),
        combine_by_repeat(point_results, np.logical_or),
    )


def combine_by_repeat(point_results: Sequence[PointResult], how: np.ufunc) -> Array | None:
    """Whether one (`np.logical_or`) or all (`np.logical_and`) of several results hold in each repeat, (n,) bool; None
    where one of them does not say."""
    known = [look.holds for look in point_results if look.holds is not None]
    if len(known) < len(point_results):
        return None
    n = min(map(len, known))
    held: Array = how.reduce([holds[:n] for holds in known])
    return held


def over_grid(
    evidence: Measurements,
    part: Part,
    curves: Sequence[MetricSeries],
    at: Mapping[str, Sequence[Level]] | None,
    test: str,
    some: frozenset[str],
    look: Callable[[Where], Sequence[PointResult]],
    absent_alternatives: int = 0,
) -> PartResult:
    """Judge a part of a claim at every place of the grid.

    Args:
        look: gives one or more results at a place, all of which must hold, except along what `some` lists.
        some: axes, and kinds of names, along which one alternative is enough.
        absent_alternatives: at each place, further alternatives of which nothing is known.
    """
    if gone := evidence.unmeasured_axes(curves):
        return not_run(f"the profile runs no {', no '.join(gone)}")
    grid = evidence.grid(curves, at)
    if not grid:
        asked = "; ".join(
            ", ".join(place_text({axis: value}) for value in values) for axis, values in (at or {}).items()
        )
        return not_run(f"the profile runs none of the grid points asked for ({asked or 'none is finite'})")
    absent = count_points_left_out(evidence, curves, at)
    mixed = bool(some & frozenset(grid[0])) and not frozenset(grid[0]) <= some
    if mixed and (absent or absent_alternatives):
        return not_run("the profile leaves out alternatives of which one would be enough")
    axes = frozenset(grid[0])
    if "epsilon" not in axes and "epsilon" in dict(curves[0].at):  # nothing varies with it: where the first side is
        grid = [{**place, "epsilon": dict(curves[0].at)["epsilon"]} for place in grid]
    point_results = [(place, alternative) for place in grid for alternative in look(place)]
    results, quantifier = _group_by_axes(point_results, axes, some, absent_alternatives)
    if quantifier == "some":  # each alternative at each place is one
        at_a_place = len(results) // len(grid) + absent_alternatives
        absent = (len(grid) + absent) * at_a_place - len(results)
    return combine((results, quantifier), part, test, absent=absent)


def _group_by_axes(
    point_results: Sequence[tuple[Where, PointResult]], axes: frozenset[str], some: frozenset[str], absent: int
) -> tuple[list[PointResult], Quantifier]:
    """The results to combine, and the quantifier over them. Where only some axes are for all, there is one result per
    group of the others."""
    along = axes & some
    names = some - axes
    if not along and not names:
        return [look for _, look in point_results], "all"
    if along == axes:
        return [look for _, look in point_results], "some"
    groups: dict[Hashable, list[PointResult]] = {}
    for where, look in point_results:
        groups.setdefault(tuple((k, v) for k, v in sorted(where.items()) if k not in along), []).append(look)
    several = [
        combine_alternatives(group, absent) if len(group) + absent > 1 else group[0] for group in groups.values()
    ]
    return several, "all"


def combine(
    point_results: tuple[Sequence[PointResult], PointQuantifier],
    part: Part,
    test: str,
    share: float = 1.0,
    absent: int = 0,
) -> PartResult:
    """The outcome of a part from the results at its points, given with the quantifier over them.

    Args:
        share: of the points, at which it has to hold where the quantifier is `share`; rounded up.
        absent: number of further points of which nothing is known.
    """
    results, quantifier = point_results
    points = tuple(look.point for look in results)
    m, alpha = len(points) + absent, part.alpha
    needed = {"all": m, "some": 1}.get(quantifier, needed_points(share, m))
    enough = [look.point.repeats >= part.fewest or look.effect.of_records for look in results]
    supports = [p.p_support if many else 1.0 for p, many in zip(points, enough, strict=True)]
    opposes = [p.p_oppose if many else 1.0 for p, many in zip(points, enough, strict=True)]
    # Of the k points that support it most clearly, and of the m - k + 1 that oppose it most clearly, the last; of
    # several that are alike, the first.
    tie = -1 if needed == m else 1
    indices = range(len(points))
    deciding_support = sorted(indices, key=lambda i: (supports[i], points[i].p_support, tie * i))[
        min(needed, len(points)) - 1
    ]
    deciding_oppose = sorted(indices, key=lambda i: (opposes[i], -tie * i))[min(m - needed, len(points) - 1)]
    support = partial_conjunction(supports, needed, m)
    oppose = min(1.0, partial_conjunction(opposes, m - needed + 1, m) * part.parts)
    if quantifier == "all":
        correction = f"every one of {m} points at alpha/2; Bonferroni over {m * part.parts} to oppose"
    elif quantifier == "some":
        correction = f"Bonferroni over {m} points to support; every one of {m} points to oppose"
    else:
        opposing = m - needed + 1
        correction = (
            f"partial conjunction: {needed} of {m} points at alpha/2 over {opposing}; to oppose, {opposing} of them at "
            f"alpha/2 over {needed * part.parts}"
        )

    def conclude(outcome: Outcome, how: Found, place: int, p_value: float | None = None, **more: object) -> PartResult:
        both = None if p_value is None else 2 * p_value
        rows, decided = tuple(results), points[place]
        if quantifier == "share":
            more |= {"needed": needed, "looked_at": m}
        reason = _reason(how, quantifier, place, decided, more)
        return PartResult(
            outcome,
            reason,
            points,
            decided,
            test,
            correction,
            rows,
            quantifier,
            needed,
            both,
            support,
            oppose,
            absent=absent,
        )

    if support <= alpha:
        return conclude("reproduced", "holds", deciding_support, support)
    if oppose <= alpha:
        return conclude("violated", "fails", deciding_oppose, oppose)
    if absent and quantifier == "all" and max(supports) <= alpha:
        return conclude("inconclusive", "partly", deciding_support, absent=absent)
    if not enough[deciding_support]:
        return conclude(
            "inconclusive", "few", deciding_support, repeats=points[deciding_support].repeats, fewest=part.fewest
        )
    return conclude(
        "inconclusive",
        "undecided",
        deciding_support,
        **_outlook(results[deciding_support].effect, alpha / (m - needed + 1)),
    )


def needed_points(share: float, points: int) -> int:
    """A share of a number of points as a whole number, rounded up, at least 1."""
    return max(1, math.ceil(share * points - 1e-9))


def _reason(how: Found, quantifier: PointQuantifier, index: int, decides: Point, more: Mapping[str, object]) -> Reason:
    return Reason(
        found=how,
        quantifier=quantifier,
        point=index,
        at=place_of(decides.epsilon, decides.at),
        left=decides.left,
        right=decides.right,
        effect=decides.effect,
        low=decides.low,
        high=decides.high,
        **more,
    )


def _outlook(effect: MeanEstimate, level: float) -> dict[str, float | None]:
    """Fields of a reason that say what more repeats would do, and what the present ones could have shown."""
    if isinstance(effect, SequentialEstimate):
        return (
            {} if effect.skip_intervals else {"repeats": effect.n, "enough": effect.project_repeats(level, FAR) or None}
        )
    needed, smallest = repeats_needed(effect, level), detectable_effect(effect, level)
    enough = needed if needed and needed <= FAR else None
    return {"enough": enough, "detectable": smallest, "fewest": None if smallest is None else effect.n}
