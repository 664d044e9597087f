"""The loss threshold attack of Yeom et al. 2018 (humphries2020 Section 2.1, "logloss attack")."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted, MembershipAttack
from harness.metrics.answers import Answers, Outputs


@ATTACKS.register
class Logloss(MembershipAttack):
    """Member iff the record's loss is at most the target's mean training loss, which the adversary knows."""

    kind: Literal["logloss"] = "logloss"
    loss_of: Literal["log-probabilities", "float32-probabilities"] = "log-probabilities"
    """What the model answers: probabilities of single precision are exactly 1 above about 1 - 3e-8, so that records
    of which a model is that sure cannot be told apart."""
    added_later: ClassVar[dict[str, Any]] = {"loss_of": "log-probabilities"}
    summary: ClassVar[str] = "loss threshold (Yeom et al.)"

    def losses(self, outputs: Outputs) -> Array:
        """The loss of each record, (n,), as far as the adversary can see it."""
        if self.loss_of == "log-probabilities":
            return outputs.losses()
        seen = np.exp(-outputs.losses()).astype(np.float32)
        losses: Array = -np.log(seen.astype(np.float64))
        return losses

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        inside, outside = self.losses(members), self.losses(nonmembers)
        threshold = inside.mean()
        return Answers(-inside, -outside, inside <= threshold, outside <= threshold)
