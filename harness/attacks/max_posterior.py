"""The attack without learning of Salem et al. 2018, LRN-Free in rahimian2021 Section 2.1, Equation (2)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from harness.attacks.attack import ATTACKS, Fitted
from harness.attacks.posterior_base import PosteriorAttack
from harness.attacks.target import AttackResult, Target
from harness.metrics.answers import Answers


@ATTACKS.register
class MaxPosterior(PosteriorAttack):
    """Member iff the largest element of the posterior is at least a threshold, whatever the record's label is."""

    kind: Literal["max-posterior"] = "max-posterior"
    threshold: float = Field(default=0.9, gt=0, le=1)
    """T of Equation (2), for decisions; AUC and accuracies at the best threshold do not depend on it."""
    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "largest posterior above a threshold (LRN-Free)"

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        inside, outside = (posterior.max(axis=1) for posterior in self.posteriors(target))
        return self.pack_answers(Answers(inside, outside, inside >= self.threshold, outside >= self.threshold))
