"""How one point of a claim is tested. Never touches a model.

Each direction is tested at alpha / 2, so a point supports a claim just when its 95% interval clears the
margin, and the chance of a wrong verdict in either direction together is at most alpha. How a mean over
repeats is tested is the design's business (`harness.claims.design`); what points say together,
`harness.claims.combine`'s.
"""

from __future__ import annotations

import math

import numpy as np

from harness.claims.evidence import Measurements
from harness.claims.operands import AxisValue, FormulaValue, MetricOperand, MetricSeries, Number
from harness.claims.results import LEVEL, PointResult, point
from harness.claims.verdict import BoundStatus, Point
from harness.coordinates import Cell, Where
from harness.formulas import formula_named
from harness.inference import MeanEstimate, clearer_end, equivalence_p_values
from harness.privacy.accounting import to_replace_one

Right = MetricSeries | FormulaValue | AxisValue | Number
"""A right side, where it names one curve at most."""


def as_one_series(right: Right | MetricOperand) -> Right:
    """A right side that names at most one curve, as a series; others unchanged."""
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
    return own, value, own.shift(-value)


def compare_at(
    evidence: Measurements, index: int, left: MetricSeries, relation: str, right: Right, margin: float, where: Where
) -> PointResult:
    """`left RELATION right + margin` at one place."""
    own, value, difference = gap(evidence, left, right, where)
    upward = relation in (">", ">=")

    def distance(left_minus_right: MeanEstimate) -> MeanEstimate:
        return left_minus_right.shift(-margin) if upward else left_minus_right.shift(margin, -1.0)

    least, effect = own, distance(difference)
    if (below := evidence.lower_metric(left)) is None:
        comparison = point(index, where, own.mean, value + margin, effect)
    else:
        least, _, from_below = gap(evidence, below, right, where)
        ends = (distance(from_below), effect) if upward else (effect, distance(from_below))
        effect = clearer_end(*ends)
        comparison = _between_ends(index, where, own.mean, value + margin, effect, *ends)
        comparison = comparison.model_copy(update={"left_from_below": least.mean})
    if isinstance(right, FormulaValue) and not evidence.design.skip_intervals:  # both are shown and decide nothing
        comparison = _with_bound(comparison, right, least, own, left, where, evidence)
    curves = [left, right] if isinstance(right, MetricSeries) else [left]
    return PointResult(comparison, effect, evidence.cells(curves, where), effect.is_positive(relation in (">=", "<=")))


def _between_ends(
    index: int, where: Where, left: float, right: float, effect: MeanEstimate, low: MeanEstimate, high: MeanEstimate
) -> Point:
    """A point whose effect lies between two estimates: the lower one can support the claim, the higher oppose it."""
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
    """The point with how the measured side stands to the bound: as printed, converted, and as trained."""
    bound = formula_named(right.formula)
    if bound.bounds is None or right.times != 1 or "epsilon" not in bound.parameters or "epsilon" in right.given:
        return comparison
    known = evidence.arm(left.arm).delta
    delta = right.given.get("delta", 0.0) if known is None else known
    epsilon = evidence.coordinates(left, where)["epsilon"]
    printed = corrected = evidence.formula(right, left, where)
    replace = bound.adjacency == "replace-one"
    if replace:
        twice, more = to_replace_one(epsilon, delta)
        corrected = evidence.formula(right, left, where, epsilon=twice, delta=more)
    more_: dict[str, object] = {
        "bound": printed,
        "bound_status": _status(from_below, from_above, printed),
        "bound_corrected": corrected,
        "bound_corrected_status": _status(from_below, from_above, corrected),
    }
    trained = evidence.epsilon_as_trained(left, where, replace)
    if trained is not None:
        least, greatest = trained
        value = evidence.formula(right, left, where, epsilon=greatest)
        more_ |= {
            "epsilon_as_trained": None if math.isinf(greatest) else greatest,
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
    return compare_equivalence(index, where, own.mean, value, difference, tolerance, evidence.cells(curves, where))


def compare_equivalence(
    index: int,
    where: Where,
    left: float,
    right: float,
    difference: MeanEstimate,
    tolerance: float,
    cells: frozenset[Cell],
) -> PointResult:
    """Whether a difference is within a tolerance."""
    inside, outside = equivalence_p_values(difference, tolerance)
    low, high = difference.interval(LEVEL)
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    interval = (tolerance - max(abs(low), abs(high)), tolerance - nearest)
    effect = difference.shift(tolerance, -1.0) if difference.mean >= 0 else difference.shift(tolerance)
    holds = None if difference.repeat_values is None else np.abs(difference.repeat_values) < tolerance
    return PointResult(point(index, where, left, right, effect, interval, inside, outside), effect, cells, holds)
