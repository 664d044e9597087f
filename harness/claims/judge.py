"""Judge expectations on a measurement table. Never touches a model.

Each direction is tested at alpha / 2, so a point supports a claim just when its 95% interval clears the
margin, and the chance of a wrong verdict in either direction together is at most alpha.

A claim for *all* grid points is an intersection: it is supported when every point supports it, each at
that level (an intersection-union test, which needs no correction), and opposed when one point opposes
it at that level over the number of points (Bonferroni). For *some* grid point it is the other way round.
A claim of several parts is an intersection of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.bounds import BOUNDS
from harness.claims.expectation import (
    BoundValue,
    Close,
    Compare,
    Correlation,
    Count,
    Measured,
    Monotone,
    Operand,
    Order,
    Quantifier,
    TrainingExpectation,
    measured_operands,
)
from harness.claims.statistics import Estimate, difference, estimate, pearson, repeats_needed
from harness.claims.verdict import BoundStatus, Outcome, Point
from harness.errors import HarnessError
from harness.privacy.accounting import to_replace_one

LEVEL = 0.95


@dataclass(frozen=True)
class Finding:
    """The outcome of one part of a claim and the evidence for it."""

    outcome: Outcome
    reason: str
    points: tuple[Point, ...]
    deciding: Point | None
    test: str
    correction: str


class Evidence:
    """A measurement table, indexed by what claims ask of it."""

    def __init__(self, table: pd.DataFrame, delta: float) -> None:
        self.delta = delta
        self._groups = dict(iter(table.groupby(["arm", "attack", "metric", "epsilon"])))
        self.epsilons = sorted(float(e) for e in table["epsilon"].unique())

    def series(self, operand: Measured, epsilon: float) -> tuple[Array, Array]:
        """Values and record-sampling errors by repeat, (n,) each. Raises HarnessError where there are none."""
        epsilon = epsilon if operand.epsilon is None else operand.epsilon
        values, errors = self._one(operand, operand.metric, epsilon)
        if operand.minus is not None:
            other, other_errors = self._one(operand, operand.minus, epsilon)
            values, errors = values - other, np.hypot(errors, other_errors)
        return values * operand.times, errors * operand.times

    def _one(self, operand: Measured, metric: str, epsilon: float) -> tuple[Array, Array]:
        key = (operand.arm, operand.attack or "", metric, epsilon)
        if key not in self._groups:
            raise HarnessError(f"no measurements of {operand.text()} at epsilon {epsilon:g}; run `harness run` again")
        group = self._groups[key].sort_values("repeat")
        return group["value"].to_numpy(float), group["stderr"].to_numpy(float)

    def estimate(self, operand: Measured, epsilon: float) -> Estimate:
        """Mean over repeats of a measured operand."""
        return estimate(*self.series(operand, epsilon))

    def counts(self, arm: str, name: str) -> Array:
        """Every value that a count took, sorted. Raises HarnessError for an unknown count."""
        found = [g["value"].to_numpy(float) for k, g in self._groups.items() if k[:3] == (arm, "", f"count_{name}")]
        if not found:
            raise HarnessError(f"arm {arm!r} counts no {name!r}")
        return np.asarray(np.unique(np.concatenate(found)))

    def grid(self, at: Sequence[float] | None) -> list[float]:
        """The measured epsilons among `at` (default: every finite one)."""
        if at is None:
            return [e for e in self.epsilons if math.isfinite(e)]
        return [e for e in self.epsilons if e in at]


def judge(expectation: TrainingExpectation, evidence: Evidence, alpha: float, index: int, parts: int) -> Finding:
    """Judge one part of a claim that has `parts` parts, at two-sided significance level `alpha`."""
    alpha = alpha / 2
    if isinstance(expectation, Count):
        return _judge_count(expectation, evidence, index)
    if isinstance(expectation, Correlation):
        return _judge_correlation(expectation, evidence, alpha, index, parts)
    grid = evidence.grid(expectation.at)
    fixed = [o.epsilon for o in measured_operands(expectation)]
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
        compared = [_compare(one, evidence, epsilon, index) for one, epsilon in pairs]
        test = "one-sided t-tests of differences of means over repeats (paired within an arm, Welch between arms)"
        return _combine([p[0] for p in compared], [p[1] for p in compared], "all", alpha, parts, test)
    if fixed and None not in fixed:  # nothing varies over the grid
        grid = [float(fixed[0] or 0)]
    if isinstance(expectation, Compare):
        points = [_compare(expectation, evidence, epsilon, index) for epsilon in grid]
        test = "one-sided t-test of the mean over repeats (paired within an arm, Welch between arms)"
        estimates = [p[1] for p in points]
    else:
        points = [_close(expectation, evidence, epsilon, index) for epsilon in grid]
        test = "two one-sided t-tests (equivalence) of the mean over repeats"
        estimates = [p[1] for p in points]
    return _combine([p[0] for p in points], estimates, expectation.quantifier, alpha, parts, test)


def _gap(evidence: Evidence, left: Measured, right: Operand, epsilon: float) -> tuple[Estimate, float, Estimate]:
    """Estimate of the left side, value of the right side, and estimate of left - right.

    Two series of one arm come from the same models and are paired by repeat; two arms are independent.
    """
    own = evidence.estimate(left, epsilon)
    if not isinstance(right, Measured):
        value = (
            float(BOUNDS[right.bound].advantage(epsilon, evidence.delta))
            if isinstance(right, BoundValue)
            else right.value
        )
        return own, value, own.shifted(-value)
    other = evidence.estimate(right, epsilon)
    if left.arm != right.arm:
        return own, other.mean, difference(own, other)
    (a, a_error), (b, b_error) = evidence.series(left, epsilon), evidence.series(right, epsilon)
    return own, other.mean, estimate(a - b, np.hypot(a_error, b_error))


def _compare(e: Compare, evidence: Evidence, epsilon: float, index: int) -> tuple[Point, Estimate]:
    left, value, gap = _gap(evidence, e.left, e.right, epsilon)
    upward = e.relation in (">", ">=")
    effect = gap.shifted(-e.margin) if upward else gap.shifted(e.margin, -1.0)
    point = _point(index, epsilon, left.mean, value + e.margin, effect, effect.p_above(0), effect.p_below(0))
    if isinstance(e.right, BoundValue):
        point = _with_bound(point, e.right, left, epsilon, evidence.delta)
    return point, effect


def _status(left: Estimate, bound: float) -> BoundStatus:
    if left.p_above(bound) <= (1 - LEVEL) / 2:
        return "broken"
    return "held" if left.p_below(bound) <= (1 - LEVEL) / 2 else "undecided"


def _with_bound(point: Point, operand: BoundValue, left: Estimate, epsilon: float, delta: float) -> Point:
    bound = BOUNDS[operand.bound]
    printed = float(bound.advantage(epsilon, delta))
    corrected = printed
    if bound.adjacency == "replace-one":
        corrected = float(bound.advantage(*to_replace_one(epsilon, delta)))
    return point.model_copy(
        update={
            "bound": printed,
            "bound_status": _status(left, printed),
            "bound_corrected": corrected,
            "bound_corrected_status": _status(left, corrected),
        }
    )


def _close(e: Close, evidence: Evidence, epsilon: float, index: int) -> tuple[Point, Estimate]:
    left, value, gap = _gap(evidence, e.left, e.right, epsilon)
    inside = max(gap.p_above(-e.tolerance), gap.p_below(e.tolerance))
    outside = min(gap.p_above(e.tolerance), gap.p_below(-e.tolerance))
    effect = Estimate(e.tolerance - abs(gap.mean), gap.stderr, gap.dof, gap.n)
    return _point(index, epsilon, left.mean, value, effect, inside, min(1.0, 2 * outside)), effect


def _point(
    index: int, epsilon: float | None, left: float, right: float, effect: Estimate, support: float, oppose: float
) -> Point:
    low, high = effect.interval(LEVEL)
    return Point(
        expectation=index, epsilon=None if epsilon is None or math.isinf(epsilon) else epsilon,
        left=left, right=right, effect=effect.mean,
        low=low if math.isfinite(low) else None, high=high if math.isfinite(high) else None,
        p_support=support, p_oppose=oppose, repeats=effect.n,
    )  # fmt: skip


def _combine(
    points: list[Point], estimates: list[Estimate], quantifier: Quantifier, alpha: float, parts: int, test: str
) -> Finding:
    k = len(points)
    by_support = max(range(k), key=lambda i: points[i].p_support)
    by_oppose = min(range(k), key=lambda i: points[i].p_oppose)
    if quantifier == "all":
        hard, hard_needs = by_support, alpha
        support = points[by_support].p_support <= alpha
        oppose = points[by_oppose].p_oppose <= alpha / (k * parts)
        against = by_oppose
        correction = f"every one of {k} points at alpha/2; Bonferroni over {k * parts} to oppose"
    else:
        hard = min(range(k), key=lambda i: points[i].p_support)
        hard_needs = alpha / k
        support = points[hard].p_support <= hard_needs
        against = max(range(k), key=lambda i: points[i].p_oppose)
        oppose = points[against].p_oppose <= alpha / parts
        correction = f"Bonferroni over {k} points to support; every one of {k} points to oppose"
    if min(p.repeats for p in points) < 2:
        reason = "one repeat shows no spread; at least two are needed"
        return Finding("inconclusive", reason, tuple(points), points[hard], test, correction)
    if support:
        decisive = points[hard]
        word = "at every point" if quantifier == "all" else "at some point"
        reason = f"holds {word}; {'weakest' if quantifier == 'all' else 'strongest'} {_where(decisive)}"
        return Finding("reproduced", reason, tuple(points), decisive, test, correction)
    if oppose:
        word = "fails" if quantifier == "all" else "fails at every point; least clearly"
        return Finding(
            "violated", f"{word} {_where(points[against])}", tuple(points), points[against], test, correction
        )
    needed = repeats_needed(estimates[hard], hard_needs)
    more = f"; about {needed} repeats would decide if the effect stays" if needed else ""
    return Finding(
        "inconclusive", f"undecided {_where(points[hard])}{more}", tuple(points), points[hard], test, correction
    )


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
    test = "one-sided t-test of Fisher's z of the per-repeat correlation over epsilon"
    if len(grid) < 3:
        return Finding(
            "not run", f"a correlation needs 3 epsilons, the profile runs {len(grid)}", (), None, test, "none"
        )
    left = np.stack([evidence.series(e.left, epsilon)[0] for epsilon in grid])
    right = np.stack([evidence.series(e.right, epsilon)[0] for epsilon in grid])
    found = np.array([pearson(left[:, r], right[:, r]) for r in range(left.shape[1])])
    found = found[np.isfinite(found)]
    if len(found) < 2:
        reason = "fewer than two repeats have a correlation (a metric does not vary over epsilon)"
        return Finding("inconclusive", reason, (), None, test, "none")
    z = estimate(np.arctanh(np.clip(found, -0.999999, 0.999999)))
    effect = z.shifted(-math.atanh(e.above))
    point = _point(index, None, math.tanh(z.mean), e.above, effect, effect.p_above(0), effect.p_below(0))
    finding = _combine([point], [effect], "all", alpha, parts, test)
    span = f"{len(grid)} epsilons in {len(found)} repeats"
    mean = f"mean correlation {math.tanh(z.mean):.2f} over {span}, against {e.above:g}"
    return Finding(finding.outcome, mean, finding.points, finding.deciding, test, finding.correction)
