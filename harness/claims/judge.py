"""Judge expectations on a measurement table. Never touches a model.

Each direction is tested at alpha / 2, so a point supports a claim just when its 95% interval clears the
margin, and the chance of a wrong verdict in either direction together is at most alpha. How a mean over
repeats is tested is the design's business (`harness.claims.design`).

A claim for *all* grid points is an intersection: it is supported when every point supports it, each at
that level (an intersection-union test, which needs no correction), and opposed when one point opposes
it at that level over the number of points (Bonferroni). For *some* grid point it is the other way round.
A claim of several parts is an intersection of its parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.bounds import BOUNDS
from harness.claims.anytime import Anytime
from harness.claims.design import Series
from harness.claims.evidence import Evidence
from harness.claims.expectation import (
    BoundValue,
    Close,
    Collapse,
    Compare,
    Correlation,
    Count,
    Either,
    Measured,
    Monotone,
    Operand,
    Order,
    Quantifier,
    Table,
    TrainingExpectation,
    measured_operands,
)
from harness.claims.statistics import Mean, detectable, pearson, repeats_needed
from harness.claims.verdict import BoundStatus, Outcome, Point
from harness.privacy.accounting import to_replace_one

LEVEL = 0.95
FAR = 10_000
"""Repeats past which a projection is not worth telling."""
Cell = tuple[str, float]
"""An arm at an epsilon."""


@dataclass(frozen=True)
class Look:
    """One place that a claim looks at: what was found there, and the cells whose repeats it was found on."""

    point: Point
    effect: Mean
    cells: frozenset[Cell]


@dataclass(frozen=True)
class Finding:
    """The outcome of one part of a claim and the evidence for it."""

    outcome: Outcome
    reason: str
    points: tuple[Point, ...]
    deciding: Point | None
    test: str
    correction: str
    looks: tuple[Look, ...] = ()
    quantifier: Quantifier = "all"
    p_value: float | None = None
    """Of the outcome, corrected for the points looked at; none where it is inconclusive or exact."""


def judge(expectation: TrainingExpectation, evidence: Evidence, alpha: float, index: int, parts: int) -> Finding:
    """Judge one part of a claim that has `parts` parts, at two-sided significance level `alpha`."""
    alpha = alpha / 2
    if isinstance(expectation, Count):
        return _judge_count(expectation, evidence, index)
    if isinstance(expectation, Correlation):
        return _judge_correlation(expectation, evidence, alpha, index, parts)
    grid = evidence.grid(expectation.at)
    operands = measured_operands(expectation)
    test = evidence.test(operands)
    fixed = [o.epsilon for o in operands]
    missing = sorted({e for e in fixed if e is not None} - set(evidence.epsilons))
    if missing or not grid:
        asked = ", ".join(f"{e:g}" for e in missing or expectation.at or ())
        return Finding(
            "not run", f"the profile runs {'no' if missing else 'none of the'} epsilon {asked}", (), None, "", ""
        )
    if isinstance(expectation, Order | Monotone):
        pairs = expectation.comparisons(grid)
        if not pairs:
            return Finding("not run", "a trend needs two epsilons, the profile runs one", (), None, "", "")
        looks = [_compare(one, evidence, epsilon, index) for one, epsilon in pairs]
        return _combine(looks, "all", alpha, parts, f"one-sided {test}")
    if isinstance(expectation, Table):
        looks = [_close(one, evidence, epsilon, index) for one, epsilon in expectation.entries(grid)]
        test = f"each entry's equivalence by two one-sided tests: {test}"
        return _combine(looks, "all", alpha, parts, test)
    if isinstance(expectation, Either):
        looks = [_either(expectation, evidence, epsilon, index) for epsilon in grid]
        test = f"of either side, Bonferroni over them: one-sided {test}"
        return _combine(looks, "all", alpha, parts, test)
    if isinstance(expectation, Collapse):
        looks = _collapse(expectation, evidence, grid, index)
        if not looks:
            return Finding("not run", "no two arms have noise multipliers that overlap", (), None, "", "")
        return _combine(looks, "all", alpha, parts, f"above one end and below the other: {test}")
    if fixed and None not in fixed:  # nothing varies over the grid
        grid = [float(fixed[0] or 0)]
    if isinstance(expectation, Compare):
        looks = [_compare(expectation, evidence, epsilon, index) for epsilon in grid]
        test = f"one-sided {test}"
    else:
        looks = [_close(expectation, evidence, epsilon, index) for epsilon in grid]
        test = f"equivalence by two one-sided tests: {test}"
    return _combine(looks, expectation.quantifier, alpha, parts, test)


def _gap(evidence: Evidence, left: Measured, right: Operand, epsilon: float) -> tuple[Mean, float, Mean]:
    """Estimate of the left side, value of the right side, and estimate of left - right."""
    own = evidence.mean(left, epsilon)
    if isinstance(right, Measured):
        return own, evidence.mean(right, epsilon).mean, evidence.gap(left, right, epsilon)
    known = isinstance(right, BoundValue)
    value = float(BOUNDS[right.bound].advantage(epsilon, evidence.delta)) if known else right.value  # type: ignore[union-attr]
    return own, value, own.shifted(-value)


def _cells(expectation: TrainingExpectation, epsilon: float) -> frozenset[Cell]:
    return frozenset((o.arm, epsilon if o.epsilon is None else o.epsilon) for o in measured_operands(expectation))


def _compare(e: Compare, evidence: Evidence, epsilon: float, index: int) -> Look:
    left, value, gap = _gap(evidence, e.left, e.right, epsilon)
    upward = e.relation in (">", ">=")
    effect = gap.shifted(-e.margin) if upward else gap.shifted(e.margin, -1.0)
    point = _point(
        index, epsilon, left.mean, value + e.margin, effect, effect.interval(LEVEL), effect.p_above(0),
        effect.p_below(0),
    )  # fmt: skip
    if isinstance(e.right, BoundValue):
        point = _with_bound(point, e.right, left, e.left.arm, epsilon, evidence)
    return Look(point, effect, _cells(e, epsilon))


def _status(left: Mean, bound: float) -> BoundStatus:
    if left.p_above(bound) <= (1 - LEVEL) / 2:
        return "broken"
    return "held" if left.p_below(bound) <= (1 - LEVEL) / 2 else "undecided"


def _with_bound(
    point: Point, operand: BoundValue, left: Mean, arm: str, epsilon: float, evidence: Evidence
) -> Point:  # fmt: skip
    bound, delta = BOUNDS[operand.bound], evidence.delta
    printed = float(bound.advantage(epsilon, delta))
    corrected = printed
    replace = bound.adjacency == "replace-one"
    if replace:
        corrected = float(bound.advantage(*to_replace_one(epsilon, delta)))
    found: dict[str, Any] = {
        "bound": printed,
        "bound_status": _status(left, printed),
        "bound_corrected": corrected,
        "bound_corrected_status": _status(left, corrected),
    }
    trained = evidence.epsilon_as_trained(arm, epsilon, replace)
    if trained is not None:
        value = float(bound.advantage(trained, delta))
        found |= {
            "epsilon_as_trained": None if math.isinf(trained) else trained,
            "bound_as_trained": value,
            "bound_as_trained_status": _status(left, value),
        }
    return point.model_copy(update=found)


def _close(e: Close, evidence: Evidence, epsilon: float, index: int) -> Look:
    left, value, gap = _gap(evidence, e.left, e.right, epsilon)
    return _equivalent(gap, e.tolerance, left.mean, value, epsilon, index, _cells(e, epsilon))


def _equivalent(
    gap: Mean, tolerance: float, left: float, right: float, epsilon: float, index: int, cells: frozenset[Cell]
) -> Look:  # fmt: skip
    inside = max(gap.p_above(-tolerance), gap.p_below(tolerance))
    outside = min(1.0, 2 * min(gap.p_above(tolerance), gap.p_below(-tolerance)))
    low, high = gap.interval(LEVEL)
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    interval = (tolerance - max(abs(low), abs(high)), tolerance - nearest)
    effect = gap.shifted(tolerance, -1.0) if gap.mean >= 0 else gap.shifted(tolerance)
    return Look(_point(index, epsilon, left, right, effect, interval, inside, outside), effect, cells)


def _either(e: Either, evidence: Evidence, epsilon: float, index: int) -> Look:
    """Supported where one side is, at a level shared by all; opposed where every side is. Shows the clearest side."""
    sides = [_compare(one, evidence, epsilon, index) for one in e.of]
    best = min(sides, key=lambda look: look.point.p_support)
    support = min(1.0, best.point.p_support * len(sides))
    oppose = max(look.point.p_oppose for look in sides)
    point = best.point.model_copy(update={"p_support": support, "p_oppose": oppose})
    return Look(point, best.effect, frozenset().union(*(look.cells for look in sides)))


def _collapse(e: Collapse, evidence: Evidence, grid: list[float], index: int) -> list[Look]:
    """One look for each two arms and epsilon of the first whose noise multiplier is between two of the second."""
    noisy = [epsilon for epsilon in grid if math.isfinite(epsilon)]
    looks = []
    for own, other in permutations(e.operands(), 2):
        curve = sorted((evidence.noise(other.arm, epsilon), epsilon) for epsilon in noisy)
        for epsilon in noisy:
            place = evidence.noise(own.arm, epsilon)
            around = [(a[1], b[1]) for a, b in pairwise(curve) if a[0] <= place <= b[0]]
            if around:
                looks.append(_between(e, evidence, index, own, epsilon, other, around[0]))
    return looks


def _between(
    e: Collapse, evidence: Evidence, index: int, own: Measured, epsilon: float, other: Measured,
    around: tuple[float, float],
) -> Look:  # fmt: skip
    """Whether one arm's value lies between another's at two epsilons: the side that is nearer to failing is shown."""
    left = evidence.series(own, epsilon)
    ends = [evidence.series(other, at) for at in around]
    low, high = sorted(ends, key=lambda end: evidence.design.mean(end).mean)
    above = evidence.gap_of(own.arm, other.arm, left, low).shifted(e.tolerance)
    below = evidence.gap_of(own.arm, other.arm, left, high).shifted(e.tolerance, -1.0)
    support = max(side.p_above(0) for side in (above, below))
    oppose = min(1.0, 2 * min(side.p_below(0) for side in (above, below)))
    effect, end = min(((above, low), (below, high)), key=lambda pair: pair[0].mean)
    cells = frozenset({(own.arm, epsilon), *((other.arm, at) for at in around)})
    values = evidence.design.mean(left).mean, evidence.design.mean(end).mean
    return Look(_point(index, epsilon, *values, effect, effect.interval(LEVEL), support, oppose), effect, cells)


def _point(
    index: int, epsilon: float | None, left: float, right: float, effect: Mean, interval: tuple[float, float],
    support: float, oppose: float,
) -> Point:  # fmt: skip
    low, high = interval
    return Point(
        expectation=index, epsilon=None if epsilon is None or math.isinf(epsilon) else epsilon,
        left=left, right=right, effect=effect.mean,
        low=low if math.isfinite(low) else None, high=high if math.isfinite(high) else None,
        p_support=support, p_oppose=oppose, repeats=effect.n,
    )  # fmt: skip


def _combine(looks: list[Look], quantifier: Quantifier, alpha: float, parts: int, test: str) -> Finding:
    points = tuple(look.point for look in looks)
    k = len(points)
    if quantifier == "all":
        hard = max(range(k), key=lambda i: points[i].p_support)
        against = min(range(k), key=lambda i: points[i].p_oppose)
        support, oppose = points[hard].p_support, min(1.0, points[against].p_oppose * k * parts)
        level = alpha
        correction = f"every one of {k} points at alpha/2; Bonferroni over {k * parts} to oppose"
    else:
        hard = min(range(k), key=lambda i: points[i].p_support)
        against = max(range(k), key=lambda i: points[i].p_oppose)
        support, oppose = min(1.0, points[hard].p_support * k), min(1.0, points[against].p_oppose * parts)
        level = alpha / k
        correction = f"Bonferroni over {k} points to support; every one of {k} points to oppose"

    def found(outcome: Outcome, reason: str, place: int, p_value: float | None = None) -> Finding:
        return Finding(
            outcome, reason, points, points[place], test, correction, tuple(looks), quantifier,
            None if p_value is None else min(1.0, 2 * p_value),
        )  # fmt: skip

    if min(p.repeats for p in points) < 2:
        return found("inconclusive", "one repeat shows no spread; at least two are needed", hard)
    if support <= alpha:
        word = "at every point; weakest" if quantifier == "all" else "at some point; strongest"
        return found("reproduced", f"holds {word} {_where(points[hard])}", hard, support)
    if oppose <= alpha:
        word = "fails" if quantifier == "all" else "fails at every point; least clearly"
        return found("violated", f"{word} {_where(points[against])}", against, oppose)
    return found("inconclusive", f"undecided {_where(points[hard])}{_outlook(looks[hard].effect, level)}", hard)


def _outlook(effect: Mean, level: float) -> str:
    """What more repeats would do, and what the present ones could have shown."""
    if isinstance(effect, Anytime):
        enough = effect.projected(level, FAR)
        return f" after {effect.n} repeats" + (f"; about {enough} would decide if the effect stays" if enough else "")
    needed, smallest = repeats_needed(effect, level), detectable(effect, level)
    more = f"; about {needed} repeats would decide if the effect stays" if needed else ""
    return more if smallest is None else f"{more}; {effect.n} repeats find one of {smallest:.2g} (power 0.8)"


def _where(point: Point) -> str:
    at = "" if point.epsilon is None else f"at epsilon {point.epsilon:g}: "
    low = "-inf" if point.low is None else f"{point.low:.3g}"
    high = "inf" if point.high is None else f"{point.high:.3g}"
    return f"{at}{point.left:.3g} against {point.right:.3g}, effect {point.effect:.3g} [{low}, {high}]"


def _judge_count(e: Count, evidence: Evidence, index: int) -> Finding:
    points, wrong = [], []
    for name, printed in e.equals.items():
        found = evidence.counts(e.arm, name)
        right = len(found) == 1 and found[0] == printed
        if not right:
            shown = ", ".join(f"{v:,.0f}" for v in found[:6]) + (", ..." if len(found) > 6 else "")
            wrong.append(f"{name} is {shown} (printed: {printed:,})")
        worst = float(found[np.abs(found - printed).argmax()])
        points.append(
            Point(
                expectation=index,
                left=worst,
                right=printed,
                effect=0.0 - abs(worst - printed),
                low=None,
                high=None,
                p_support=0.0 if right else 1.0,
                p_oppose=1.0 if right else 0.0,
                repeats=1,
            )
        )
    reason = "; ".join(wrong) if wrong else f"all {len(points)} counts are as printed in every repeat"
    worst_point = min(points, key=lambda p: p.effect)
    outcome: Outcome = "violated" if wrong else "reproduced"
    return Finding(outcome, reason, tuple(points), worst_point, "exact count", "none")


def _judge_correlation(e: Correlation, evidence: Evidence, alpha: float, index: int, parts: int) -> Finding:
    grid = evidence.grid(e.at)
    test = f"one-sided {evidence.design.test}, of Fisher's z of each repeat's correlation over epsilon"
    if len(grid) < 3:
        return Finding(
            "not run", f"a correlation needs 3 epsilons, the profile runs {len(grid)}", (), None, test, "none"
        )
    left, right = (_stacked(evidence, operand, grid) for operand in (e.left, e.right))
    repeats = min(left.shape[1], right.shape[1])
    found = np.array([pearson(left[:, r], right[:, r]) for r in range(repeats)])
    found = found[np.isfinite(found)]
    cells = frozenset((operand.arm, epsilon) for operand in (e.left, e.right) for epsilon in grid)
    if len(found) < 2:
        reason = "fewer than two repeats have a correlation (a metric does not vary over epsilon)"
        return Finding("inconclusive", reason, (), None, test, "none")
    z = evidence.design.mean(Series(np.arctanh(np.clip(found, -0.999999, 0.999999)), np.zeros(len(found))))
    effect = z.shifted(-math.atanh(e.above))
    point = _point(
        index, None, math.tanh(z.mean), e.above, effect, effect.interval(LEVEL), effect.p_above(0), effect.p_below(0)
    ).model_copy(update={"repeats": repeats})
    finding = _combine([Look(point, effect, cells)], "all", alpha, parts, test)
    span = f"{len(grid)} epsilons in {len(found)} repeats"
    return replace(finding, reason=f"mean correlation {math.tanh(z.mean):.2f} over {span}, against {e.above:g}")


def _stacked(evidence: Evidence, operand: Measured, grid: list[float]) -> Array:
    """(epsilons, repeats), of the repeats that every epsilon has."""
    series = [evidence.series(operand, epsilon).values for epsilon in grid]
    n = min(map(len, series))
    return np.stack([values[:n] for values in series])
