"""What an auditor is: it turns scores of trials into a lower bound on epsilon."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from harness.arrays import Array
from harness.config import Plugin, Registry
from harness.errors import HarnessError


@dataclass(frozen=True)
class Trials:
    """Scores of a canary (higher: more likely in) by runs that had it, (m,), and by runs that had not, (n,)."""

    inside: Array
    outside: Array

    def __post_init__(self) -> None:
        for name, scores in (("with", self.inside), ("without", self.outside)):
            if len(scores) < 2:
                raise HarnessError(f"audit: {len(scores)} runs {name} the canary; at least 2 are needed")
            if not np.isfinite(scores).all():
                odd = int(np.flatnonzero(~np.isfinite(scores))[0])
                raise HarnessError(f"audit: run {odd} {name} the canary has the score {scores[odd]}, no number")


@dataclass(frozen=True)
class OneRun:
    """Scores of many canaries in one run, (k,), and which of them a fair coin put in, (k,) bool."""

    scores: Array
    inside: Array

    def __post_init__(self) -> None:
        if self.scores.shape != self.inside.shape:
            raise HarnessError(f"audit: {len(self.scores)} scores for {len(self.inside)} canaries; each needs one")
        if len(self.scores) < 2 or not np.isfinite(self.scores).all():
            raise HarnessError("audit: one run needs at least 2 canaries, each with a score that is a number")


@dataclass(frozen=True)
class Bound:
    """At confidence `level`, the mechanism is not (epsilon', delta)-DP for any epsilon' below `epsilon`."""

    auditor: str
    epsilon: float
    level: float
    why: str
    """The numbers that it rests on."""
    assumes: str = ""
    """What has to hold besides independent runs; empty: nothing."""


class Auditor(Plugin):
    """Base of all auditors."""

    sees: ClassVar[Literal["many runs", "one run"]] = "many runs"

    @abstractmethod
    def bound(self, trials: Trials, delta: float, level: float = 0.95) -> Bound:
        """A lower bound on epsilon that is above the truth in at most a share 1 - level of audits."""


AUDITORS: Registry[Auditor] = Registry("auditor")


def check_question(delta: float, level: float) -> None:
    """Raises HarnessError for a delta outside [0, 1) or a level outside (0, 1)."""
    if not 0 <= delta < 1:
        raise HarnessError(f"audit: delta is {delta:g}; it has to be at least 0 and below 1")
    if not 0 < level < 1:
        raise HarnessError(f"audit: level is {level:g}; it has to lie between 0 and 1, such as 0.95")


def log_ratio(true_rate: float, false_rate: float, delta: float) -> float:
    """ln((true_rate - delta) / false_rate), at least 0: epsilon implied by two rates (Kairouz, Oh, Viswanath 2015)."""
    if true_rate <= delta:
        return 0.0
    if false_rate <= 0:
        return float("inf")
    return max(0.0, float(np.log((true_rate - delta) / false_rate)))
