"""The comparisons of a claim at every place of its grid."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from harness.claims.contrasts import Comparisons, Either, Node, NotRun
from harness.claims.evidence import Measurements
from harness.claims.operands import MetricSeries, Quantifier
from harness.claims.points_left_out import count_points_left_out
from harness.coordinates import Level, Where
from harness.coordinates import text as place_text


def over_grid(
    table: Measurements,
    curves: Sequence[MetricSeries],
    at: Mapping[str, Sequence[Level]] | None,
    test: str,
    compare: Callable[[Where], Sequence[Node]],
    some: frozenset[str] = frozenset(),
    absent_alternatives: int = 0,
) -> Comparisons | NotRun:
    """What a part of a claim compares at every place of the grid on which its curves were measured.

    Args:
        at: values of axes to look at; of an axis that is not named all, of epsilon the finite ones.
        test: the test in words, with `{test}` for what a method says of a mean.
        compare: gives one or more comparisons at a place, all of which must hold, except along what `some` lists.
        some: axes, and kinds of names, along which one alternative is enough.
        absent_alternatives: at each place, further alternatives of which nothing is known.
    """
    if not curves:
        return NotRun("nothing that it compares is measured")
    if gone := table.unmeasured_axes(curves):
        return NotRun(f"the profile runs no {', no '.join(gone)}")
    grid = table.grid(curves, at)
    if not grid:
        asked = "; ".join(
            ", ".join(place_text({axis: value}) for value in values) for axis, values in (at or {}).items()
        )
        return NotRun(f"the profile runs none of the grid points asked for ({asked or 'none is finite'})")
    absent = count_points_left_out(table, curves, at)
    mixed = bool(some & frozenset(grid[0])) and not frozenset(grid[0]) <= some
    if mixed and (absent or absent_alternatives):
        return NotRun("the profile leaves out alternatives of which one would be enough")
    axes = frozenset(grid[0])
    if "epsilon" not in axes and "epsilon" in dict(curves[0].at):  # nothing varies with it: where the first side is
        grid = [{**place, "epsilon": dict(curves[0].at)["epsilon"]} for place in grid]
    nodes = [(place, node) for place in grid for node in compare(place)]
    groups, quantifier = _group_by_axes(nodes, axes, some, absent_alternatives)
    if quantifier == "some":  # each alternative at each place is one
        at_a_place = len(groups) // len(grid) + absent_alternatives
        absent = (len(grid) + absent) * at_a_place - len(groups)
    return Comparisons(tuple(groups), test, quantifier, absent=absent, draws=table.draws_outcomes(curves))


def _group_by_axes(
    nodes: Sequence[tuple[Where, Node]], axes: frozenset[str], some: frozenset[str], absent: int
) -> tuple[list[Node], Quantifier]:
    """What to combine, and the quantifier over it. Where only some axes are for all, there is one alternative per group
    of the others."""
    along = axes & some
    names = some - axes
    if not along and not names:
        return [node for _, node in nodes], "all"
    if along == axes:
        return [node for _, node in nodes], "some"
    groups: dict[Hashable, list[Node]] = {}
    for where, node in nodes:
        groups.setdefault(tuple((k, v) for k, v in sorted(where.items()) if k not in along), []).append(node)
    several = [Either(tuple(group), absent) if len(group) + absent > 1 else group[0] for group in groups.values()]
    return several, "all"
