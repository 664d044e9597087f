"""Member iff classified correctly, by the outputs that are kept; the package's own `gap` asks the target for labels."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from harness.plugins import ATTACKS, Answers, MembershipAttack, Outputs


@ATTACKS.register
class Correct(MembershipAttack):
    """Member iff the record is classified correctly."""

    kind: Literal["correct"] = "correct"
    summary: ClassVar[str] = "member iff classified correctly"

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: dict[str, Any]) -> Answers:
        inside, outside = (o.log_probabilities.argmax(axis=1) == o.labels for o in (members, nonmembers))
        return Answers(inside.astype(float), outside.astype(float), inside, outside)
