"""Means of results that also depend on which of a few equally likely outcomes was drawn for each.

An example is which of four clusters of records a split made the members. The mean is that over the outcomes, not over
those that happened to be drawn more often.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.inference.arrays import Array
from harness.inference.streams import Stream, check_range
from harness.inference.t_test import Estimate, combine_estimates, estimate


def stratified_estimate(values: Array, errors: Array, drawn: Array, outcomes: int) -> Estimate:
    """The estimate of a mean over outcomes alike, from a number of values that was fixed beforehand.

    Args:
        values: (n,), n at least 1.
        errors: (n,) each value's own standard error; zeros where values are exact.
        drawn: (n,) int, from 0: which outcome was drawn for each.
        outcomes: how many there are, each as likely as the others.

    Returns:
        The estimate, stratified by outcome once each was drawn twice; until then that of the plain mean.

    >>> values, drawn = np.array([0.1, 0.3, 0.9, 1.1, 1.0]), np.array([0, 0, 1, 1, 1])
    >>> mean = stratified_estimate(values, np.zeros(5), drawn, 2)
    >>> round(mean.mean, 4), round(mean.stderr, 4)
    (0.6, 0.0577)
    """
    if np.bincount(drawn, minlength=outcomes).min() < 2:
        return estimate(values, errors)
    strata = [np.flatnonzero(drawn == outcome) for outcome in range(outcomes)]
    parts = [(1 / outcomes, estimate(values[s], errors[s])) for s in strata]
    return replace(combine_estimates(parts, len(values)), repeat_values=values)


def adjust_for_outcomes(values: Array, drawn: Array, outcomes: int) -> Array:
    """The values, (n,), less what earlier ones say of the outcome that was drawn against all outcomes alike.

    Values before this one alone say what to take off, and it is zero on average over the outcomes, so whatever they
    say each value keeps its mean given the past, which is what a martingale asks for.

    Args:
        values: (n,) in the order in which they were drawn.
        drawn: (n,) int, from 0: which outcome was drawn for each.
        outcomes: how many there are, each as likely as the others.

    >>> adjust_for_outcomes(np.array([0.2, 0.8, 0.8, 0.2]), np.array([0, 1, 1, 0]), 2).tolist()
    [0.2, 0.8, 0.5, 0.5]
    """
    return values - _outcome_shifts(values, drawn, outcomes)[0]


def repeats_to_see_outcomes(drawn: Array, outcomes: int) -> int:
    """The number of first repeats in which each outcome was drawn; at most four times the number of outcomes.

    Args:
        drawn: (n,) int, from 0.
        outcomes: how many there are.

    >>> repeats_to_see_outcomes(np.array([0, 1, 0, 2, 1]), 3)
    4
    """
    first = [np.flatnonzero(drawn == outcome)[:1] for outcome in range(outcomes)]
    cap = min(4 * outcomes, len(drawn))
    return min(cap, 1 + max((int(at[0]) if len(at) else cap) for at in first))


def adjusted_stream(values: Array, low: float, high: float, drawn: Array, outcomes: int) -> Stream:
    """The stream of values adjusted for outcomes, with the range that each had before it was drawn.

    Args:
        values: (n,) in the order in which they were drawn.
        low: the smallest value possible, known before any was drawn.
        high: the largest.
        drawn: (n,) int, from 0: which outcome was drawn for each.
        outcomes: how many there are, each as likely as the others.

    Raises:
        ValueError: if a value is outside of the range by more than rounding.

    >>> stream = adjusted_stream(np.array([0.2, 0.8, 0.8, 0.2]), 0.0, 1.0, np.array([0, 1, 1, 0]), 2)
    >>> stream.values.round(2).tolist(), stream.lows.round(2).tolist()
    ([0.2, 0.8, 0.5, 0.5], [0.0, 0.0, -0.3, -0.3])
    """
    check_range(values, low, high)
    taken, least, greatest = _outcome_shifts(values, drawn, outcomes)
    return Stream(values - taken, low - greatest, high - least)


def _outcome_shifts(values: Array, drawn: Array, outcomes: int) -> tuple[Array, Array, Array]:
    """The number that is subtracted from each value for its outcome, and the least and the most it could have been.

    They are (n,) each. The least and the most give the range that each adjusted value had before it was drawn.
    """
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
