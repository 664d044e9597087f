"""Many canaries in one run, each in by a fair coin (Steinke, Nasr, Jagielski 2023)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import scipy
from pydantic import Field

from harness.auditing.auditor import AUDITORS, Auditor, Bound, OneRun, Trials, check_question
from harness.errors import HarnessError

LARGEST = 50.0


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Chance of at least so many right guesses under (epsilon, delta)-DP (Steinke et al. 2023, Theorem 5.2).

    `canaries` were put in by fair coins, `guesses` of them were guessed at and `right` of these rightly.
    """
    q = 1 / (1 + np.exp(-epsilon))
    tail = float(scipy.stats.binom.sf(right - 1, guesses, q))
    if delta == 0 or right == 0:
        return min(1.0, tail)
    i = np.arange(1, right + 1)
    below = np.cumsum(scipy.stats.binom.pmf(right - i, guesses, q))  # chance of right - i up to right - 1
    return min(1.0, tail + float((below / i).max()) * 2 * canaries * delta)


@AUDITORS.register
class OneRunAuditor(Auditor):
    """Guess the canaries with the highest and the lowest scores, and count what is right."""

    kind: Literal["one-run"] = "one-run"
    sees: ClassVar[Literal["many runs", "one run"]] = "one run"
    guessed: float = Field(default=0.2, gt=0, le=1)
    """Share of the canaries guessed at, half as in and half as out; fixed before the scores are seen."""
    summary: ClassVar[str] = "many canaries in one run"

    def bound(self, trials: Trials, delta: float, level: float = 0.95) -> Bound:
        raise HarnessError("audit: the auditor 'one-run' needs many canaries in one run, and has one canary in many")

    def bound_of_one(self, run: OneRun, delta: float, level: float = 0.95) -> Bound:
        """A lower bound on epsilon from one run."""
        check_question(delta, level)
        order = np.argsort(-run.scores, kind="stable")
        k = max(1, round(self.guessed * len(order) / 2))
        right = int(run.inside[order[:k]].sum() + (~run.inside[order[-k:]]).sum())
        guesses = 2 * k
        epsilon = largest_refused(len(order), guesses, right, delta, 1 - level)
        return Bound(
            self.plugin_name(), epsilon, level, f"{right} of {guesses} guesses right, of {len(order)} canaries"
        )


def largest_refused(canaries: int, guesses: int, right: int, delta: float, alpha: float) -> float:
    """Largest epsilon at which so many right guesses have at most the chance alpha; 0 where none is refused."""
    if p_value(canaries, guesses, right, 0.0, delta) > alpha:
        return 0.0
    low, high = 0.0, LARGEST
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(canaries, guesses, right, middle, delta) <= alpha else (low, middle)
    return low
