"""Many thresholds at once, each at its share of the error."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.arrays import Array
from harness.auditing.auditor import AUDITORS, Auditor, Bound, Trials, check_question, log_ratio
from harness.metrics.value import rate_at_least, rate_at_most


def ranks(n: int) -> list[int]:
    """1, 2, 4, ... up to half of n."""
    return [2**i for i in range(max(1, int(np.log2(max(2, n // 2))) + 1)) if 2**i <= max(1, n // 2)]


@AUDITORS.register
class AllThresholds(Auditor):
    """The best of the thresholds that leave 1, 2, 4, ... of one group beyond them, corrected for trying them all.

    A threshold at the k-th largest score of runs without the canary is passed by at most a Beta(k, n - k + 1) share of
    all such runs, whatever the distribution (order statistics); runs with the canary are independent of it. Each
    threshold, direction and rate has its share of the error (Bonferroni).
    """

    kind: Literal["all-thresholds"] = "all-thresholds"
    summary: ClassVar[str] = "exact intervals over all thresholds, corrected"

    def bound(self, trials: Trials, delta: float, level: float = 0.95) -> Bound:
        check_question(delta, level)
        sides = ((trials.outside, trials.inside, "without"), (-trials.inside, -trials.outside, "with"))
        tries = sum(len(ranks(len(own))) for own, _, _ in sides)
        each = 1 - (1 - level) / (2 * tries)
        best, why = 0.0, "no threshold tells them apart"
        for own, other, name in sides:
            for k in ranks(len(own)):
                epsilon, hits = self._bound_at(own, other, k, each, delta)
                if epsilon > best:
                    best = epsilon
                    why = f"at the score that {k - 1} of {len(own)} runs {name} pass, {hits} of {len(other)} others do"
        return Bound(self.plugin_name(), best, level, f"{why} ({tries} thresholds tried)")

    def _bound_at(self, own: Array, other: Array, k: int, each: float, delta: float) -> tuple[float, int]:
        threshold = np.sort(own)[len(own) - k]
        hits = int((other > threshold).sum())
        return log_ratio(rate_at_least(hits, len(other), each), rate_at_most(k - 1, len(own), each), delta), hits
