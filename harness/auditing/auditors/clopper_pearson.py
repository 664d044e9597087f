"""Exact intervals of both error rates at one threshold (Jagielski, Ullman, Oprea 2020; Nasr et al. 2021)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.auditing.auditor import AUDITORS, Auditor, Bound, Trials, check_question, log_ratio
from harness.metrics.value import rate_at_least, rate_at_most


@AUDITORS.register
class ClopperPearson(Auditor):
    """One threshold, fixed beforehand or chosen on runs of its own; assumes nothing of the scores."""

    kind: Literal["clopper-pearson"] = "clopper-pearson"
    threshold: float | None = None
    """Scores above it say that the canary is in. None: the best one for the first `chosen_on` of the runs, which
    do not count for the bound."""
    chosen_on: float = Field(default=0.2, gt=0, lt=1)
    """Share of the runs by which the threshold is chosen."""
    summary: ClassVar[str] = "exact intervals at one threshold"

    def bound(self, trials: Trials, delta: float, level: float = 0.95) -> Bound:
        check_question(delta, level)
        inside, outside, threshold = trials.inside, trials.outside, self.threshold
        if threshold is None:
            first, second = (max(1, round(self.chosen_on * len(s))) for s in (inside, outside))
            threshold = best_threshold(inside[:first], outside[:second], delta)
            inside, outside = inside[first:], outside[second:]
        hits, false = int((inside > threshold).sum()), int((outside > threshold).sum())
        m, n = len(inside), len(outside)
        each = 1 - (1 - level) / 2
        # Both directions read the same two intervals, each at half of the error.
        tpr, fpr = rate_at_least(hits, m, each), rate_at_most(false, n, each)
        epsilon = max(log_ratio(tpr, fpr, delta), log_ratio(1 - fpr, 1 - tpr, delta))
        return Bound(
            self.plugin_name(), epsilon, level, f"{hits} of {m} with and {false} of {n} without above {threshold:.4g}"
        )


def best_threshold(inside: Array, outside: Array, delta: float) -> float:
    """The score at which the rates, each moved half a run towards the middle, imply the largest epsilon."""
    best, chosen = -1.0, float(np.median(np.concatenate([inside, outside])))
    m, n = len(inside), len(outside)
    for threshold in np.unique(np.concatenate([inside, outside])):
        tpr, fpr = (np.sum(inside > threshold) + 0.5) / (m + 1), (np.sum(outside > threshold) + 0.5) / (n + 1)
        # Less what the two rates may be wrong by, or the extremes would win by chance.
        error = np.hypot(np.sqrt((1 - tpr) / (tpr * m)), np.sqrt((1 - fpr) / (fpr * n)))
        other = np.hypot(np.sqrt(tpr / ((1 - tpr) * m)), np.sqrt(fpr / ((1 - fpr) * n)))
        epsilon = max(log_ratio(tpr, fpr, delta) - 2 * error, log_ratio(1 - fpr, 1 - tpr, delta) - 2 * other)
        if epsilon > best:
            best, chosen = epsilon, float(threshold)
    return chosen
