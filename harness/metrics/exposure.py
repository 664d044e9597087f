"""Members exposed to an adversary who tolerates a false-positive rate (jayaraman2019 Tables 5-7), and in how many runs.

Runs are models trained anew on the same members. An adversary that guesses exposes a share of the members equal to
the rate in each run, and next to none in every run: the two ways to count differ most where nothing leaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from harness.arrays import Array
from harness.metrics.answers import Run
from harness.metrics.membership import FPR_LEVELS
from harness.metrics.metric import metric
from harness.metrics.value import Value

# The rates of jayaraman2019 Tables 5-7, as words in a metric's name, and the two ways to count over runs.
EXPOSURE_LEVELS = ("1pct", "2pct", "5pct")
EVERY, SOME = "exposed_in_every_run", "exposed_in_some_run"


def threshold_at(nonmember_scores: Array, fpr: float) -> float:
    """The score that members must exceed, the smallest with at most a share `fpr` of non-members above it.

    >>> float(threshold_at(np.array([0.1, 0.2, 0.3, 0.4]), 0.25))
    0.3
    """
    # The small number keeps a product that is whole but for rounding from being rounded down.
    allowed = int(np.floor(fpr * len(nonmember_scores) + 1e-9))
    place = len(nonmember_scores) - 1 - allowed
    return float(np.partition(nonmember_scores, place)[place]) if place >= 0 else -np.inf


def exposed_members(member_scores: Array, nonmember_scores: Array, fpr: float) -> Array:
    """Whether each member (m,) scores above what a share `fpr` of non-members, at most, scores above."""
    exposed: Array = member_scores > threshold_at(nonmember_scores, fpr)
    return exposed


def exposure(runs: Sequence[Run], how: str, fpr: float) -> Value:
    """The number of members exposed in every one (or in some) of the runs, each given as (member, non-member) scores.

    Its standard error is of drawing the records anew, for the same models: binomial over members, and, for the
    threshold that the non-members set, half of what the number changes between one standard error of the rate
    below it and one above. A number of zero has the error of one.
    """
    m, n = len(runs[0][0]), len(runs[0][1])

    def count_at(level: float) -> int:
        marks = np.stack([exposed_members(inside, outside, level) for inside, outside in runs])
        return int((marks.all(axis=0) if how == EVERY else marks.any(axis=0)).sum())

    spread = float(np.sqrt(fpr * (1 - fpr) / n))
    count, low, high = (count_at(level) for level in (fpr, max(0.0, fpr - spread), fpr + spread))
    binomial = np.sqrt(max(count, 1) * max(m - count, 1) / m)
    return Value(float(count), float(np.hypot(binomial, (high - low) / 2)), m * len(runs))


for _how in (EVERY, SOME):
    for _level in EXPOSURE_LEVELS:
        _text = f"members {_how.replace('_', ' ')} at a false-positive rate of {_level.replace('pct', '%')}"
        metric(f"{_how}_at_{_level}_fpr", _text, scope="runs", high=math.inf, fpr=FPR_LEVELS[_level])(
            partial(exposure, how=_how, fpr=FPR_LEVELS[_level])
        )
