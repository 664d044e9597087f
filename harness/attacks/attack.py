"""The contract of an attack: what it is fitted on, what it asks of a target, and what it answers."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from typing import ClassVar, Literal, Self

import numpy as np

from harness.arrays import Array
from harness.attacks.pool import Pool
from harness.attacks.target import AttackResult, Target
from harness.attacks.threshold import THRESHOLD_POLICIES, ThresholdFrom, ThresholdPolicy
from harness.config import Plugin, Registry
from harness.identity import THRESHOLD_FROM
from harness.metrics import Answers, Outputs, Value, metrics_of
from harness.metrics.metric import measure_answers

Fitted = dict[str, Array]
"""What an attack has learned, by name; it is stored, and given to the attack for each target."""


class Attack(Plugin):
    """Base of all attacks."""

    reads_features: ClassVar[bool] = False
    """Whether it asks for features of records, which are then needed wherever it is run."""
    needs_halves: ClassVar[bool] = False
    """Whether its pool has to be one of halves."""

    @property
    def access(self) -> Literal["posteriors", "labels"]:
        """What a target has to answer for it."""
        return "posteriors"

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of what the attack measures on one target."""
        return ("advantage",)

    @property
    def threshold_policy(self) -> ThresholdPolicy:
        """Where its decisions come from."""
        return THRESHOLD_POLICIES["rule"]

    @property
    def shadow_pool(self) -> str | None:
        """Name of the pool of shadow models that the attack learns from, if any."""
        return None

    @property
    def learns_for(self) -> int | None:
        """Epochs for which the attack's own model learns; None: it has none."""
        return None

    def shorten(self, epochs: int) -> Self:
        """The same attack that learns for at most so many epochs; attacks that do not learn are as they were."""
        return self

    def fitting(self) -> Self:
        """The same attack as far as it matters for what it learns; those that are alike in it learn once."""
        return self

    def fitting_seconds(self, records: int) -> float:
        """Estimated core-seconds to learn from so many shadow records."""
        return 0.01

    def refuses(self, pool_count: int) -> str | None:
        """Why it cannot learn from a pool of so many models, or None."""
        return None

    def fit(self, pool: Pool, seed: int) -> Fitted:
        """What the attack learns from its shadow models before it sees a target; nothing by default."""
        return {}

    @abstractmethod
    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        """Attack one target."""


class ScoringAttack(Attack):
    """Tells members from non-members by a score of each record."""

    threshold_from: ThresholdFrom = "rule"
    """Which scores are called members: `rule`, as the attack says; `rehearsal`, those from the threshold on that is
    best (TPR - FPR) on one more target of the same arm and place, of which the adversary knows the members; `none`, no
    threshold is chosen: tables have no row of what depends on one, and claims cannot name it."""

    @property
    def measures(self) -> tuple[str, ...]:
        return metrics_of("attack")

    @property
    def threshold_policy(self) -> ThresholdPolicy:
        return THRESHOLD_POLICIES[self.threshold_from]

    def content(self) -> dict[str, object]:
        """What is hashed into a cell's name: a rehearsal alone, since without a threshold scores are as by the rule."""
        content = super().content()
        if not self.threshold_policy.needs_rehearsal:
            del content[THRESHOLD_FROM]
        return content

    def worth(self, answers: Answers, target: Target) -> dict[str, Value]:
        """What scores and decisions on a target are worth, by the name of the metric."""
        return measure_answers(answers)

    def pack_answers(self, answers: Answers) -> AttackResult:
        """Scores and decisions, packed, and what they are worth."""
        arrays: dict[str, Array] = {
            "member_scores": answers.member_scores.astype(np.float32),
            "nonmember_scores": answers.nonmember_scores.astype(np.float32),
            "member_decisions": np.packbits(answers.member_decisions),
            "nonmember_decisions": np.packbits(answers.nonmember_decisions),
        }
        return AttackResult(arrays, measure_answers(answers))


class MembershipAttack(ScoringAttack):
    """The same by the model's outputs on the record, whichever record it is."""

    @abstractmethod
    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        """Score and decide on every record."""

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        """Keep scores and decisions, and what they are worth."""
        return self.pack_answers(self.answer(target.members, target.nonmembers, fitted))


def by_rule(attack: Attack) -> Attack:
    """The same attack with its own rule for decisions, where it has them from a rehearsal; else the attack itself."""
    if not attack.threshold_policy.needs_rehearsal:
        return attack
    return attack.model_copy(update={THRESHOLD_FROM: "rule"})


def table_metrics(attack: Attack) -> tuple[str, ...]:
    """Names of those of an attack's measures that tables have and claims may name."""
    return tuple(name for name in attack.measures if not attack.threshold_policy.leaves_out(name))


def fault_of_form(cls: type[Attack]) -> str | None:
    """What of a class is not of the form by which attacks are run; None where nothing is."""
    if issubclass(cls, ScoringAttack):
        own, kept = (one.model_fields[THRESHOLD_FROM] for one in (cls, ScoringAttack))
        if (own.annotation, own.default) != (kept.annotation, kept.default):
            return f"every attack on scores has {THRESHOLD_FROM} already; call the field by another name"
    for former, now in FORMER.items():
        if hasattr(cls, former):
            return f"{former} is not asked any more; write {now}"
    try:
        inspect.signature(cls.fit).bind(None, None, 0)
    except TypeError:
        return "what an attack learns is fit(pool, seed), and its pool gives all else; give fit these parameters"
    return None


FORMER = {
    "fit_asking": "fit(pool, seed), whose models have an oracle and features()",
    "fit_halves": "fit(pool, seed), whose pool has candidates and masks",
    "needs_answers": "access",
}
"""What attacks of earlier versions have, and what says the same now."""


class AttackRegistry(Registry[Attack]):
    """The known attacks, each of the form by which attacks are run."""

    def register(self, cls: type[Attack]) -> type[Attack]:
        """Raises TypeError for a class that would be run by methods that it does not have."""
        if (fault := fault_of_form(cls)) is not None:
            raise TypeError(f"{cls.__module__}.{cls.__qualname__}: {fault}")
        return super().register(cls)


ATTACKS = AttackRegistry("attack")
