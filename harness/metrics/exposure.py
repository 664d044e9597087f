"""Members exposed to an adversary who tolerates a false-positive rate (jayaraman2019 Tables 5-7), and in how many runs.

Runs are models trained anew on the same members. An adversary that guesses exposes a share of the members equal to
the rate in each run, and next to none in every run: the two ways to count differ most where nothing leaks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.arrays import Array
from harness.metrics.membership import FPR_LEVELS, Value

EXPOSURE_LEVELS = ("1pct", "2pct", "5pct")
EVERY, SOME = "exposed_in_every_run", "exposed_in_some_run"
EXPOSURE_METRICS = tuple(f"{how}_at_{level}_fpr" for how in (EVERY, SOME) for level in EXPOSURE_LEVELS)


def threshold_at(nonmember_scores: Array, fpr: float) -> float:
    """The score that members must exceed: the smallest with at most a share `fpr` of non-members above it."""
    allowed = int(np.floor(fpr * len(nonmember_scores) + 1e-9))
    ordered = np.sort(nonmember_scores)
    return float(ordered[len(ordered) - 1 - allowed]) if allowed < len(ordered) else -np.inf


def exposed(member_scores: Array, nonmember_scores: Array, fpr: float) -> Array:
    """Whether each member (m,) scores above what a share `fpr` of non-members, at most, scores above."""
    found: Array = member_scores > threshold_at(nonmember_scores, fpr)
    return found


def exposure(runs: Sequence[tuple[Array, Array]]) -> dict[str, Value]:
    """Numbers of members exposed in every one and in some of the runs, each given as (member, non-member) scores.

    Standard errors are of drawing the records anew, for the same models: binomial over members, and, for the
    threshold that the non-members set, half of what a number changes between one standard error of the rate
    below it and one above. A number of zero has the error of one.
    """
    m, n = len(runs[0][0]), len(runs[0][1])

    def counts(fpr: float) -> tuple[int, int]:
        marks = np.stack([exposed(inside, outside, fpr) for inside, outside in runs])
        return int(marks.all(axis=0).sum()), int(marks.any(axis=0).sum())

    found = {}
    for level in EXPOSURE_LEVELS:
        fpr = FPR_LEVELS[level]
        spread = float(np.sqrt(fpr * (1 - fpr) / n))
        low, high = counts(max(0.0, fpr - spread)), counts(fpr + spread)
        for i, how in enumerate((EVERY, SOME)):
            count = counts(fpr)[i]
            binomial = np.sqrt(max(count, 1) * max(m - count, 1) / m)
            found[f"{how}_at_{level}_fpr"] = Value(
                float(count), float(np.hypot(binomial, (high[i] - low[i]) / 2)), m * len(runs)
            )
    return found
