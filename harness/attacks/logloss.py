"""The loss threshold attack of Yeom et al. 2018 (humphries2020 Section 2.1, "logloss attack")."""

from __future__ import annotations

from typing import ClassVar, Literal

from harness.attacks.attack import ATTACKS, Answers, Attack, Fitted, Outputs


@ATTACKS.register
class Logloss(Attack):
    """Member iff the record's loss is at most the target's mean training loss, which the adversary knows."""

    kind: Literal["logloss"] = "logloss"
    summary: ClassVar[str] = "loss threshold (Yeom et al.)"
    knows_training_loss: ClassVar[bool] = True
    modules: ClassVar[tuple[str, ...]] = ("harness.attacks.logloss", "harness.attacks.attack")

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        inside, outside = members.losses(), nonmembers.losses()
        threshold = inside.mean()
        return Answers(-inside, -outside, inside <= threshold, outside <= threshold)
