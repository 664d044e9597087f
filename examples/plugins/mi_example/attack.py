"""The gap attack (rahimian2021 Section 5.3): it needs labels alone."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from harness.plugins import ATTACKS, Answers, MembershipAttack, Outputs


@ATTACKS.register
class Gap(MembershipAttack):
    """Member iff the record is classified correctly."""

    kind: Literal["gap"] = "gap"
    summary: ClassVar[str] = "gap attack"
    access: ClassVar[Literal["posteriors", "labels"]] = "labels"

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: dict[str, Any]) -> Answers:
        inside, outside = (o.log_probabilities.argmax(axis=1) == o.labels for o in (members, nonmembers))
        return Answers(inside.astype(float), outside.astype(float), inside, outside)
