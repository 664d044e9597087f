"""Where the decisions of an attack on scores come from: the attack's own rule, a rehearsal, or nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from harness.arrays import Array
from harness.attacks.target import AttackResult, Target
from harness.errors import HarnessError
from harness.identity import THRESHOLD_FROM
from harness.metrics import Answers
from harness.metrics.membership import best_threshold
from harness.metrics.metric import depends_on_decisions

if TYPE_CHECKING:
    from harness.attacks.attack import ScoringAttack

ThresholdFrom = Literal["rule", "rehearsal", "none"]


class ThresholdPolicy:
    """The attack's own rule decides, as its answers say already."""

    needs_rehearsal: ClassVar[bool] = False
    """Whether the attack has to attack one more target first; that it does is part of its name."""

    def leaves_out(self, metric: str) -> bool:
        """Whether tables have no row of a metric that was measured."""
        return False

    def decide(
        self, attack: ScoringAttack, result: AttackResult, target: Target, rehearsed: AttackResult | None
    ) -> AttackResult:
        """What is kept of an attack on a target, from what it gave and, where one is needed, its rehearsal."""
        return result


class NoThreshold(ThresholdPolicy):
    """Nobody is called a member: scores are as by the rule, and tables have nothing that depends on decisions."""

    def leaves_out(self, metric: str) -> bool:
        return depends_on_decisions(metric)


class Rehearsal(ThresholdPolicy):
    """The threshold is the best (TPR - FPR) on one more target, whose members the adversary knows."""

    needs_rehearsal: ClassVar[bool] = True

    def decide(
        self, attack: ScoringAttack, result: AttackResult, target: Target, rehearsed: AttackResult | None
    ) -> AttackResult:
        """The result with the decisions of that threshold. Raises HarnessError where either keeps no scores."""
        assert rehearsed is not None
        return decide_from(attack, best_threshold(*_scores_of(attack, rehearsed)), result, target)


THRESHOLD_POLICIES: dict[ThresholdFrom, ThresholdPolicy] = {
    "rule": ThresholdPolicy(),
    "rehearsal": Rehearsal(),
    "none": NoThreshold(),
}


def decide_from(attack: ScoringAttack, threshold: float, result: AttackResult, target: Target) -> AttackResult:
    """A result with the decisions, and what they are worth, that a threshold on its scores gives.

    What does not depend on decisions stays as it was measured. Raises HarnessError where no scores were kept.
    """
    inside, outside = scores = _scores_of(attack, result)
    before = [
        np.unpackbits(_kept_array(attack, result, name))[: len(of)].astype(bool)
        for name, of in zip(("member_decisions", "nonmember_decisions"), scores, strict=True)
    ]
    after = [of >= threshold for of in scores]
    was, now = (attack.worth(Answers(inside, outside, *decided), target) for decided in (before, after))
    changed = {name: value for name, value in now.items() if value != was[name]}
    decisions = {"member_decisions": np.packbits(after[0]), "nonmember_decisions": np.packbits(after[1])}
    return AttackResult({**result.arrays, **decisions}, {**result.metrics, **changed})


def _scores_of(attack: ScoringAttack, result: AttackResult) -> tuple[Array, Array]:
    return _kept_array(attack, result, "member_scores"), _kept_array(attack, result, "nonmember_scores")


def _kept_array(attack: ScoringAttack, result: AttackResult, name: str) -> Array:
    if name not in result.arrays:
        raise HarnessError(
            f"attack {attack.plugin_name()}: {THRESHOLD_FROM} is rehearsal, and its results keep no {name}"
        )
    return result.arrays[name]
