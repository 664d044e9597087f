"""The gap attack: whom the model gets right it was trained on (Yeom et al. 2018; rahimian2021 Section 5.3)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.attacks.attack import ATTACKS, Fitted, ScoringAttack
from harness.attacks.target import AttackResult, Target
from harness.metrics.answers import Answers


@ATTACKS.register
class Gap(ScoringAttack):
    """Member iff the answered label is the record's own; one question a record.

    On as many members as non-members its accuracy is (1 + accuracy on members - accuracy on non-members) / 2.
    """

    kind: Literal["gap"] = "gap"
    access: ClassVar[Literal["posteriors", "labels"]] = "labels"
    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "member iff the answered label is right"

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        right = [
            target.oracle.labels(features) == labels
            for features, labels in zip(target.features(), target.labels(), strict=True)
        ]
        return self.pack_answers(Answers(right[0].astype(np.float64), right[1].astype(np.float64), right[0], right[1]))
