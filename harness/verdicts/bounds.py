"""How a measured side stands to a bound on what an attack can do: as printed, converted, and as trained.

It is an annotation of points that are judged already, and decides nothing.
"""

from __future__ import annotations

import math

from harness.claims.operands import FormulaValue
from harness.claims.results import LEVEL, PointResult
from harness.claims.testing import Look
from harness.claims.verdict import BoundStatus
from harness.formulas import formula_named
from harness.inference.estimates import MeanEstimate
from harness.privacy.accounting import to_replace_one


def bounds_at(one: PointResult, look: Look) -> dict[str, object]:
    """Fields of a point that say how its left side stands to the bound on the right; empty where that is no bound."""
    contrast, own, table = one.contrast, one.own, look.samples.table
    if contrast is None or own is None or not isinstance(contrast.right, FormulaValue) or contrast.relation == "within":
        return {}
    right, left, where = contrast.right, contrast.left, contrast.where
    bound = formula_named(right.formula)
    if bound.bounds is None or right.times != 1 or "epsilon" not in bound.parameters or "epsilon" in right.given:
        return {}
    from_below = own if one.from_below is None else one.from_below
    known = table.arm(left.arm).delta
    delta = right.given.get("delta", 0.0) if known is None else known
    epsilon = table.coordinates(left, where)["epsilon"]
    printed = corrected = table.formula(right, left, where)
    replace = bound.adjacency == "replace-one"
    if replace:
        twice, more = to_replace_one(epsilon, delta)
        corrected = table.formula(right, left, where, epsilon=twice, delta=more)
    fields: dict[str, object] = {
        "bound": printed,
        "bound_status": _status(from_below, own, printed),
        "bound_corrected": corrected,
        "bound_corrected_status": _status(from_below, own, corrected),
    }
    trained = table.epsilon_as_trained(left, where, replace)
    if trained is not None:
        least, greatest = trained
        value = table.formula(right, left, where, epsilon=greatest)
        fields |= {
            "epsilon_as_trained": None if math.isinf(greatest) else greatest,
            "least_epsilon_as_trained": None if math.isinf(least) else least,
            "bound_as_trained": value,
            "bound_as_trained_status": _status(from_below, own, value),
        }
    return fields


def _status(from_below: MeanEstimate, from_above: MeanEstimate, bound: float) -> BoundStatus:
    if from_below.p_above(bound) <= (1 - LEVEL) / 2:
        return "broken"
    return "held" if from_above.p_below(bound) <= (1 - LEVEL) / 2 else "undecided"
