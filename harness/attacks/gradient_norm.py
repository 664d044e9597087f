"""Norm of the loss's gradient in the weights (Nasr, Shokri and Houmansadr 2019, Section III-A), by a threshold."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.attacks.attack import ATTACKS, Fitted, ScoringAttack
from harness.attacks.target import AttackResult, Target
from harness.metrics.answers import Answers


@ATTACKS.register
class GradientNorm(ScoringAttack):
    """Member iff training on the record would hardly move the weights, which the adversary has.

    The threshold is the mean norm over members, which the adversary is given, as the loss attack is given the mean
    training loss.
    """

    kind: Literal["gradient-norm"] = "gradient-norm"
    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "norm of the gradient in the weights (white-box)"

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        inside, outside = target.gradient_norms()
        threshold = float(np.mean(inside))
        return self.pack_answers(Answers(-inside, -outside, inside <= threshold, outside <= threshold))
