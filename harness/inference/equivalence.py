"""Tests of equivalence, which tell whether a mean is nearer to 0 than a tolerance."""

from __future__ import annotations

from harness.inference.estimates import MeanEstimate


def equivalence_p_values(difference: MeanEstimate, tolerance: float) -> tuple[float, float]:
    """One-sided p-values that speak for, and against, a mean that lies within the tolerance of 0.

    The first is by two one-sided tests, of which the larger p-value counts (Schuirmann 1987). The second is by either
    of two tests, which share the level.

    Args:
        difference: what is known of the mean.
        tolerance: at least 0.

    >>> import numpy as np
    >>> from harness.inference import estimate
    >>> mean = estimate(np.array([0.02, -0.01, 0.01, 0.0, 0.03, -0.02]))
    >>> [round(p, 4) for p in equivalence_p_values(mean, 0.05)]
    [0.001, 1.0]
    """
    inside = max(difference.p_above(-tolerance), difference.p_below(tolerance))
    outside = min(1.0, 2 * min(difference.p_above(tolerance), difference.p_below(-tolerance)))
    return inside, outside
