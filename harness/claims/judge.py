"""How points of a claim are tested, and combined to the outcome of one of its parts. Never touches a model.

Each direction is tested at alpha / 2, so a point supports a claim just when its 95% interval clears the
margin, and the chance of a wrong verdict in either direction together is at most alpha. How a mean over
repeats is tested is the design's business (`harness.claims.design`).

A claim for *all* grid points is an intersection: it is supported when every point supports it, each at
that level (an intersection-union test, which needs no correction), and opposed when one point opposes
it at that level over the number of points (Bonferroni). For *some* grid point it is the other way round.
Between the two lies a claim for at least k of m points, such as nine in ten entries of a printed table: k
points that each support it at the level over m - k + 1, or m - k + 1 that each oppose it at the level over k
(the partial conjunction test: Benjamini and Heller 2008, "Screening for partial conjunction hypotheses").
A claim of several parts is an intersection of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.claims.ends import clearer_end
from harness.claims.evidence import Measurements
from harness.claims.operands import (
    OWNER_SET,
    AxisValue,
    FormulaValue,
    MetricOperand,
    MetricSeries,
    Number,
    PointQuantifier,
    Quantifier,
)
from harness.claims.reasons import Found, Reason, place_of, reason_in_words
from harness.claims.statistics import MeanEstimate, SequentialEstimate, detectable, repeats_needed
from harness.claims.verdict import BoundStatus, Outcome, Point
from harness.coordinates import Cell
from harness.coordinates import text as place_text
from harness.formulas import formula_named
from harness.privacy.accounting import to_replace_one

LEVEL = 0.95
FEWEST_ESTIMATED = 2
"""Repeats without which a mean has no error."""
FAR = 10_000
"""Repeats past which a projection is not worth telling."""
Right = MetricSeries | FormulaValue | AxisValue | Number
"""A right side, where it names one curve at most."""
Where = Mapping[str, Any]


@dataclass(frozen=True)
class PointResult:
    """One place that a claim looks at: what was found there, and the cells whose repeats it was found on."""

    point: Point
    effect: MeanEstimate
    cells: frozenset[Cell]
    holds: Array | None = None
    """(n,) bool: whether what is claimed of the mean holds of each repeat; None where it says nothing of one repeat."""
    among: int | None = None
    """Repeats of these cells, where it is of some of them alone: of those that draw one owner set."""
    decided_on: frozenset[Cell] = frozenset()
    """Further cells that it stands on, more repeats of which would tell nothing."""

    @property
    def repeats(self) -> int:
        """Repeats that its cells have."""
        return self.among or self.point.repeats


@dataclass(frozen=True)
class PartResult:
    """The outcome of one part of a claim and the evidence for it."""

    outcome: Outcome
    why: Reason
    points: tuple[Point, ...] = ()
    deciding: Point | None = None
    test: str = ""
    correction: str = ""
    looks: tuple[PointResult, ...] = ()
    quantifier: PointQuantifier = "all"
    needed: int = 0
    """At how many of the points it has to hold."""
    p_value: float | None = None
    """Of the outcome, corrected for the points looked at; none where it is inconclusive or exact."""
    support: float = 1.0
    """One-sided p-value of the part, corrected for the points looked at, against 'it does not hold'."""
    oppose: float = 1.0
    """The same against 'it holds', corrected for the claim's parts too."""
    attacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By arm, those that it is about; an empty one, or none: the models themselves."""
    absent: int = 0
    """Points beside the `looks` of which nothing is known."""

    def levels(self, alpha: float, parts: int) -> tuple[float, float]:
        """One-sided levels at which each of the points needed has to support it, and each of those that refute it to
        oppose it, where the claim has so many parts."""
        m = max(1, len(self.looks) + self.absent)
        k = {"all": m, "some": 1}.get(self.quantifier, self.needed)
        return alpha / (m - k + 1), alpha / parts / k

    @property
    def exact(self) -> bool:
        """Whether it is about numbers that are the same in every run."""
        return self.why.found == "counted"

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        return self.why.text()


@dataclass(frozen=True)
class Part:
    """Which part of a claim is judged, and at what level."""

    index: int
    """From 0."""
    parts: int
    """How many the claim has."""
    alpha: float
    """One-sided."""
    fewest: int = 2
    """Repeats below which a point decides nothing."""


def not_run(words: str) -> PartResult:
    """A part of which the profile runs too little."""
    return PartResult("not run", reason_in_words(words))


def unknown(words: str, test: str = "none") -> PartResult:
    """A part that nothing was found of, in words why."""
    return PartResult("inconclusive", reason_in_words(words), (), None, test, "none")


def as_one_series(right: Any) -> Right:
    """A right side that names one curve at most, as such."""
    return right.curve if isinstance(right, MetricOperand) else right


def gap(
    evidence: Measurements, left: MetricSeries, right: Right, where: Where
) -> tuple[MeanEstimate, float, MeanEstimate]:
    """Estimate of the left side, value of the right side, and estimate of left - right."""
    own = evidence.mean(left, where)
    if isinstance(right, MetricSeries):
        return own, evidence.mean(right, where).mean, evidence.gap(left, right, where)
    if isinstance(right, FormulaValue):
        value = evidence.formula(right, left, where)
    elif isinstance(right, AxisValue):
        value = evidence.coordinates(left, where)[right.axis]
    else:
        value = right.value
    return own, value, own.shifted(-value)


def compare_at(
    evidence: Measurements, index: int, left: MetricSeries, relation: str, right: Right, margin: float, where: Where
) -> PointResult:
    """`left RELATION right + margin` at one place."""
    own, value, difference = gap(evidence, left, right, where)
    upward = relation in (">", ">=")

    def distance(left_minus_right: MeanEstimate) -> MeanEstimate:
        return left_minus_right.shifted(-margin) if upward else left_minus_right.shifted(margin, -1.0)

    least, effect = own, distance(difference)
    if (below := evidence.from_below(left)) is None:
        comparison = point(index, where, own.mean, value + margin, effect)
    else:
        least, _, from_below = gap(evidence, below, right, where)
        ends = (distance(from_below), effect) if upward else (effect, distance(from_below))
        effect = clearer_end(*ends)
        comparison = _between_ends(index, where, own.mean, value + margin, effect, *ends)
        comparison = comparison.model_copy(update={"left_from_below": least.mean})
    if isinstance(right, FormulaValue):
        comparison = _with_bound(comparison, right, least, own, left, where, evidence)
    curves = [left, right] if isinstance(right, MetricSeries) else [left]
    holds = None if effect.each is None else effect.each >= 0 if relation in (">=", "<=") else effect.each > 0
    return PointResult(comparison, effect, evidence.cells(curves, where), holds)


def _between_ends(
    index: int, where: Where, left: float, right: float, effect: MeanEstimate, low: MeanEstimate, high: MeanEstimate
) -> Point:
    """A point whose effect is known between two estimates: the lower one supports the claim, the higher opposes it."""
    interval = low.interval(LEVEL)[0], high.interval(LEVEL)[1]
    return point(index, where, left, right, effect, interval, low.p_above(0), high.p_below(0))


def _status(from_below: MeanEstimate, from_above: MeanEstimate, bound: float) -> BoundStatus:
    if from_below.p_above(bound) <= (1 - LEVEL) / 2:
        return "broken"
    return "held" if from_above.p_below(bound) <= (1 - LEVEL) / 2 else "undecided"


def _with_bound(
    comparison: Point,
    right: FormulaValue,
    from_below: MeanEstimate,
    from_above: MeanEstimate,
    left: MetricSeries,
    where: Where,
    evidence: Measurements,
) -> Point:
    """The same with how the measured side stands to the bound, as printed, converted, and as trained."""
    bound = formula_named(right.formula)
    if bound.bounds is None or "epsilon" not in bound.parameters or "epsilon" in right.given:
        return comparison
    delta = evidence.arm(left.arm).delta
    epsilon = evidence.coordinates(left, where)["epsilon"]
    printed = corrected = evidence.formula(right, left, where)
    replace = bound.adjacency == "replace-one"
    if replace:
        twice, more = to_replace_one(epsilon, delta)
        corrected = evidence.formula(right, left, where, epsilon=twice, delta=more)
    more_: dict[str, Any] = {
        "bound": printed,
        "bound_status": _status(from_below, from_above, printed),
        "bound_corrected": corrected,
        "bound_corrected_status": _status(from_below, from_above, corrected),
    }
    trained = evidence.epsilon_as_trained(left, where, replace)
    if trained is not None:
        least, most = trained
        value = evidence.formula(right, left, where, epsilon=most)
        more_ |= {
            "epsilon_as_trained": None if math.isinf(most) else most,
            "least_epsilon_as_trained": None if math.isinf(least) else least,
            "bound_as_trained": value,
            "bound_as_trained_status": _status(from_below, from_above, value),
        }
    return comparison.model_copy(update=more_)


def close(
    evidence: Measurements, index: int, left: MetricSeries, right: Right, tolerance: float, where: Where
) -> PointResult:
    """`|left - right| < tolerance` at one place, by two one-sided tests."""
    own, value, difference = gap(evidence, left, right, where)
    curves = [left, right] if isinstance(right, MetricSeries) else [left]
    return equivalent(index, where, own.mean, value, difference, tolerance, evidence.cells(curves, where))


def equivalent(
    index: int,
    where: Where,
    left: float,
    right: float,
    difference: MeanEstimate,
    tolerance: float,
    cells: frozenset[Cell],
) -> PointResult:
    """Whether a difference is within a tolerance."""
    inside = max(difference.p_above(-tolerance), difference.p_below(tolerance))
    outside = min(1.0, 2 * min(difference.p_above(tolerance), difference.p_below(-tolerance)))
    low, high = difference.interval(LEVEL)
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    interval = (tolerance - max(abs(low), abs(high)), tolerance - nearest)
    effect = difference.shifted(tolerance, -1.0) if difference.mean >= 0 else difference.shifted(tolerance)
    holds = None if difference.each is None else np.abs(difference.each) < tolerance
    return PointResult(point(index, where, left, right, effect, interval, inside, outside), effect, cells, holds)


def any_of(looks: Sequence[PointResult]) -> PointResult:
    """Supported where one of the looks is, at a level shared by all; opposed where every one is. Shows the clearest."""
    best = min(looks, key=lambda look: look.point.p_support)
    support = min(1.0, best.point.p_support * len(looks))
    oppose = max(look.point.p_oppose for look in looks)
    corrected = best.point.model_copy(update={"p_support": support, "p_oppose": oppose})
    return PointResult(
        corrected, best.effect, frozenset().union(*(look.cells for look in looks)), in_each(looks, np.logical_or)
    )


def some_owner_set(
    evidence: Measurements, left: MetricSeries, where: Where, part: Part, look: Callable[[Measurements], PointResult]
) -> PointResult:
    """What is found at a place of the owner set that shows it most clearly, of those that the left arm's split draws.

    The j-th that is drawn is tested at a level of 1 / (j (j + 1)) of the whole, which adds up to it however many there
    are. Nothing opposes a claim of this kind: there may be owner sets that no repeat has drawn.
    """
    among = len(evidence.series(left, where).values)
    looks = []
    for number, size in enumerate(evidence.owner_sets(left.arm), 1):
        of_one = evidence.of_owner_set(left.arm, size)
        if len(of_one.series(left, where).values) >= FEWEST_ESTIMATED:
            one = look(of_one)
            at = {**(one.point.at or {}), OWNER_SET: size}
            looks.append((replace(one, point=one.point.model_copy(update={"at": at}), among=among), number))
    if not looks:
        looks = [(look(evidence), 1)]
    weighted = []
    for one, number in looks:
        enough = one.point.repeats >= part.fewest
        p_support = min(1.0, one.point.p_support * number * (number + 1)) if enough else 1.0
        weighted.append(replace(one, point=one.point.model_copy(update={"p_support": p_support, "p_oppose": 1.0})))
    return min(weighted, key=lambda one: (one.point.p_support, -one.point.effect))


def in_each(looks: Sequence[PointResult], how: np.ufunc) -> Array | None:
    """(n,) whether one of several (`np.logical_or`), or all of them (`np.logical_and`), hold in each repeat that all of
    them have."""
    known = [look.holds for look in looks if look.holds is not None]
    if len(known) < len(looks):
        return None
    n = min(map(len, known))
    held: Array = how.reduce([holds[:n] for holds in known])
    return held


def point(
    index: int,
    where: Where,
    left: float,
    right: float,
    effect: MeanEstimate,
    interval: tuple[float, float] | None = None,
    support: float | None = None,
    oppose: float | None = None,
) -> Point:
    """What was found at a place; by default the effect is claimed to be above 0."""
    low, high = effect.interval(LEVEL) if interval is None else interval
    others = {name: value for name, value in where.items() if name != "epsilon"}
    epsilon = where.get("epsilon")
    return Point(
        expectation=index,
        epsilon=None if epsilon is None or math.isinf(epsilon) else epsilon,
        at=others or None,
        left=left,
        right=right,
        effect=effect.mean,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
        p_support=effect.p_above(0) if support is None else support,
        p_oppose=effect.p_below(0) if oppose is None else oppose,
        repeats=effect.n,
    )


def over_grid(
    evidence: Measurements,
    part: Part,
    curves: Sequence[MetricSeries],
    at: Mapping[str, Sequence[Any]] | None,
    test: str,
    some: frozenset[str],
    look: Callable[[Where], Sequence[PointResult]],
) -> PartResult:
    """Judge at every place of the grid: `look` gives the alternatives at one place.

    Args:
        some: axes, and kinds of names, along which one alternative is enough.
    """
    if gone := evidence.missing(curves):
        return not_run(f"the profile runs no {', no '.join(gone)}")
    grid = evidence.grid(curves, at)
    if not grid:
        asked = "; ".join(
            ", ".join(place_text({axis: value}) for value in values) for axis, values in (at or {}).items()
        )
        return not_run(f"the profile runs none of the grid points asked for ({asked or 'none is finite'})")
    axes = frozenset(grid[0])
    if "epsilon" not in axes and "epsilon" in dict(curves[0].at):  # nothing varies with it: where the first side is
        grid = [{**place, "epsilon": dict(curves[0].at)["epsilon"]} for place in grid]
    return combine(
        _group_by_axes([(place, alternative) for place in grid for alternative in look(place)], axes, some, part),
        part,
        test,
    )


def _group_by_axes(
    looks: Sequence[tuple[Where, PointResult]], axes: frozenset[str], some: frozenset[str], part: Part
) -> tuple[list[PointResult], Quantifier]:
    """Looks to combine, and how: where some axes are for all and others for some, one look a group of the latter."""
    along = axes & some
    names = some - axes
    if not along and not names:
        return [look for _, look in looks], "all"
    if along == axes:
        return [look for _, look in looks], "some"
    groups: dict[Hashable, list[PointResult]] = {}
    for where, look in looks:
        groups.setdefault(tuple((k, v) for k, v in sorted(where.items()) if k not in along), []).append(look)
    return [any_of(group) if len(group) > 1 else group[0] for group in groups.values()], "all"


def combine(
    looks: tuple[Sequence[PointResult], PointQuantifier], part: Part, test: str, share: float = 1.0, absent: int = 0
) -> PartResult:
    """The outcome of a part from what was found at its points.

    Args:
        share: of the points, at which it has to hold where the quantifier is `share`; rounded up.
        absent: further points, of which nothing is known.
    """
    found_at, quantifier = looks
    points = tuple(look.point for look in found_at)
    m, alpha = len(points) + absent, part.alpha
    k = {"all": m, "some": 1}.get(quantifier, at_least(share, m))
    enough = [look.point.repeats >= part.fewest or look.effect.of_records for look in found_at]
    supports = [p.p_support if many else 1.0 for p, many in zip(points, enough, strict=True)]
    opposes = [p.p_oppose if many else 1.0 for p, many in zip(points, enough, strict=True)]
    # Of the k points that support it most clearly, and of the m - k + 1 that oppose it most clearly, the last; of
    # several that are alike, the first.
    tie = -1 if k == m else 1
    there = range(len(points))
    hard = sorted(there, key=lambda i: (supports[i], points[i].p_support, tie * i))[min(k, len(points)) - 1]
    against = sorted(there, key=lambda i: (opposes[i], -tie * i))[min(m - k, len(points) - 1)]
    support = min(1.0, supports[hard] * (m - k + 1)) if k <= len(points) else 1.0
    oppose = min(1.0, opposes[against] * k * part.parts) if m - k < len(points) else 1.0
    if quantifier == "all":
        correction = f"every one of {m} points at alpha/2; Bonferroni over {m * part.parts} to oppose"
    elif quantifier == "some":
        correction = f"Bonferroni over {m} points to support; every one of {m} points to oppose"
    else:
        correction = (
            f"partial conjunction: {k} of {m} points at alpha/2 over {m - k + 1}; to oppose, {m - k + 1} of them at "
            f"alpha/2 over {k * part.parts}"
        )

    def conclude(outcome: Outcome, how: Found, place: int, p_value: float | None = None, **more: Any) -> PartResult:
        both = None if p_value is None else 2 * p_value
        rows, decided = tuple(found_at), points[place]
        if quantifier == "share":
            more |= {"needed": k, "looked_at": m}
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
            k,
            both,
            support,
            oppose,
            absent=absent,
        )

    if support <= alpha:
        return conclude("reproduced", "holds", hard, support)
    if oppose <= alpha:
        return conclude("violated", "fails", against, oppose)
    if not enough[hard]:
        return conclude("inconclusive", "few", hard, repeats=points[hard].repeats, fewest=part.fewest)
    return conclude("inconclusive", "undecided", hard, **_outlook(found_at[hard].effect, alpha / (m - k + 1)))


def at_least(share: float, points: int) -> int:
    """How many of so many points a share of them is, rounded up."""
    return max(1, math.ceil(share * points - 1e-9))


def _reason(how: Found, quantifier: PointQuantifier, index: int, decides: Point, more: Mapping[str, Any]) -> Reason:
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
    """What more repeats would do, and what the present ones could have shown."""
    if isinstance(effect, SequentialEstimate):
        return {} if effect.brief else {"repeats": effect.n, "enough": effect.projected(level, FAR) or None}
    needed, smallest = repeats_needed(effect, level), detectable(effect, level)
    enough = needed if needed and needed <= FAR else None
    return {"enough": enough, "detectable": smallest, "fewest": None if smallest is None else effect.n}
