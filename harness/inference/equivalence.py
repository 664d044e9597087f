"""Equivalence: whether a mean is nearer to 0 than a tolerance."""

from __future__ import annotations

from harness.inference.estimates import MeanEstimate


def equivalence_p_values(difference: MeanEstimate, tolerance: float) -> tuple[float, float]:
    """One-sided p-values that speak for, and against, a mean that lies within the tolerance of 0."""
    inside = max(difference.p_above(-tolerance), difference.p_below(tolerance))
    outside = min(1.0, 2 * min(difference.p_above(tolerance), difference.p_below(-tolerance)))
    return inside, outside
