"""Means of results that also depend on which of a few equally likely outcomes was drawn for each.

Such as which of four clusters of records a split made the members. The mean is that over the outcomes, not over those
that happened to be drawn more often.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.inference.arrays import Array
from harness.inference.betting import Stream, check_range
from harness.inference.t_test import Estimate, combine_estimates, estimate


def stratified_estimate(values: Array, errors: Array, drawn: Array, outcomes: int) -> Estimate:
    """Estimate stratified by the outcome that was drawn, (n,) int from 0, once each outcome was drawn twice."""
    if np.bincount(drawn, minlength=outcomes).min() < 2:
        return estimate(values, errors)
    strata = [np.flatnonzero(drawn == outcome) for outcome in range(outcomes)]
    parts = [(1 / outcomes, estimate(values[s], errors[s])) for s in strata]
    return replace(combine_estimates(parts, len(values)), repeat_values=values)


def adjust_for_outcomes(values: Array, drawn: Array, outcomes: int) -> Array:
    """(n,) values, less what earlier ones say of the outcome that was drawn against all outcomes alike.

    Values before this one alone say what to take off, and it is zero on average over the outcomes, so whatever they
    say each value keeps its mean given the past, which is what a martingale asks for.
    """
    return values - _outcome_shifts(values, drawn, outcomes)[0]


def repeats_to_see_outcomes(drawn: Array, outcomes: int) -> int:
    """Number of first repeats in which each outcome was drawn; at most four times the number of outcomes."""
    first = [np.flatnonzero(drawn == outcome)[:1] for outcome in range(outcomes)]
    cap = min(4 * outcomes, len(drawn))
    return min(cap, 1 + max((int(at[0]) if len(at) else cap) for at in first))


def adjusted_stream(values: Array, low: float, high: float, drawn: Array, outcomes: int) -> Stream:
    """The values from `low` to `high`, adjusted for outcomes, with the range that each had before it was drawn.

    Raises ValueError for a value that is outside of the range.
    """
    check_range(values, low, high)
    taken, least, greatest = _outcome_shifts(values, drawn, outcomes)
    return Stream(values - taken, low - greatest, high - least)


def _outcome_shifts(values: Array, drawn: Array, outcomes: int) -> tuple[Array, Array, Array]:
    """What is subtracted from each value for its outcome, and the least and the most it could have been: (n,) each."""
    taken = np.zeros((3, len(values)))
    sums, counts = np.zeros(outcomes), np.zeros(outcomes)
    for i, (value, outcome) in enumerate(zip(values, drawn, strict=True)):
        if i:
            known = np.where(counts > 0, sums / np.maximum(counts, 1), sums.sum() / i)
            known -= known.mean()
            taken[:, i] = known[outcome], known.min(), known.max()
        sums[outcome] += value
        counts[outcome] += 1
    return taken[0], taken[1], taken[2]
