"""What an attack sees and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from harness.arrays import Array
from harness.config import Plugin, Registry
from harness.defences import Oracle
from harness.errors import HarnessError
from harness.identity import THRESHOLD_FROM
from harness.metrics import Answers, Outputs, Value, metrics_of
from harness.metrics.metric import depends_on_decisions, measure_answers


@dataclass(frozen=True)
class ShadowOutputs:
    """One shadow model's outputs on records it was trained on and on records it was not."""

    inside: Outputs
    outside: Outputs


@dataclass(frozen=True)
class InOutModel:
    """One in/out shadow model: what it says of all candidate records and others, and which it was trained on."""

    candidates: Outputs
    """(n,) in the order of members, then non-members, of the split; or of the universe, where coins divide one."""
    test: Outputs
    trained_on: Array
    """(n,) bool."""
    oracle: Oracle | None = None
    """The model itself, where the attack asks shadow models about records of its own making."""
    features: Array | None = None
    """(n, d), of the candidate records, for the same attacks."""

    def __post_init__(self) -> None:
        if len(self.trained_on) != len(self.candidates):
            raise HarnessError(
                f"a model of the pool: a mask of {len(self.trained_on)} records does not fit its outputs, which are of "
                f"{len(self.candidates)}; masks and outputs have to be of the same records, in the same order"
            )


@dataclass(frozen=True)
class ShadowModel:
    """One shadow model that the adversary, whose it is, asks what it likes."""

    oracle: Oracle
    inside: tuple[Array, Array]
    """Features (k, d) and labels (k,) of the records that it was trained on."""
    outside: tuple[Array, Array]
    """The same of records that it was not."""


Fitted = dict[str, Array]


class Target(ABC):
    """What an attack may ask of the model that it attacks.

    What a defence answers comes by `oracle` alone; outputs on records exist where posteriors are answered.
    """

    @property
    def oracle(self) -> Oracle:
        """The model with what defends it in front."""
        raise NotImplementedError("this target answers no further questions")

    @property
    def seed(self) -> int:
        """Root of the attack's own random choices on this target."""
        return 0

    @property
    @abstractmethod
    def members(self) -> Outputs:
        """The model's outputs on its training records."""

    @property
    @abstractmethod
    def nonmembers(self) -> Outputs:
        """The model's outputs on the records that are not."""

    @property
    def test(self) -> Outputs:
        """The model's outputs on records of which everybody knows that they are not members."""
        raise NotImplementedError("this target has no such records")

    @property
    def places(self) -> tuple[Array, Array]:
        """Where members and non-members stand among the candidate records, in the order of their outputs."""
        m, n = len(self.members), len(self.nonmembers)
        return np.arange(m), np.arange(m, m + n)

    @abstractmethod
    def features(self) -> tuple[Array, Array]:
        """Features of the members (m, d) and of the non-members (n, d), in the order of their outputs."""

    def test_features(self) -> Array:
        """Features of the records of `test` (k, d)."""
        raise NotImplementedError("this target has no such records")

    def labels(self) -> tuple[Array, Array]:
        """The true classes of the members (m,) and of the non-members (n,), which the adversary knows."""
        return self.members.labels, self.nonmembers.labels

    def gradient_norms(self) -> tuple[Array, Array]:
        """Norm of the gradient of the loss in all weights, on the members (m,) and on the non-members (n,)."""
        raise NotImplementedError("this target does not show its weights")

    def query(self, features: Array, labels: Array) -> Outputs:
        """The model's outputs on any records: features (k, d) and labels (k,)."""
        return Outputs(self.oracle.log_probabilities(features), labels)


@dataclass(frozen=True)
class AttackResult:
    """What an attack on one target gives: arrays to keep and metrics by name."""

    arrays: dict[str, Array]
    metrics: dict[str, Value]


class Attack(Plugin):
    """Base of all attacks."""

    access: ClassVar[Literal["posteriors", "labels"]] = "posteriors"
    """What the attack must be able to ask of the target."""
    asks_shadows: ClassVar[bool] = False
    """Whether it asks shadow models about records of its own making; then it learns by `fit_asking`, else by `fit`; or
    from a pool of halves by `fit_halves`, of models that can be asked."""
    reads_features: ClassVar[bool] = False
    """Whether it asks for features of records, which are then needed wherever it is run."""

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of what the attack measures on one target."""
        return ("advantage",)

    @property
    def table_metrics(self) -> tuple[str, ...]:
        """Names of those of `measures` that tables have and claims may name."""
        return self.measures

    def leaves_out(self, metric: str) -> bool:
        """Whether tables have no row of a metric that was measured."""
        return False

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

    needs_halves: ClassVar[bool] = False
    """Whether its pool has to be one of halves; then it learns by `fit_halves`, else by `fit`."""

    def refuses(self, pool_count: int) -> str | None:
        """Why it cannot learn from a pool of so many models, or None."""
        return None

    @property
    def needs_answers(self) -> Literal["posteriors", "labels"]:
        """What the target has to answer for it."""
        return self.access

    def fit_asking(self, shadows: Sequence[ShadowModel], seed: int) -> Fitted:
        """What the attack learns from shadow models that it may ask, before it sees a target."""
        return {}

    def fit_halves(self, models: Sequence[InOutModel], seed: int) -> Fitted:
        """What the attack learns from a pool of halves before it sees a target."""
        return {}

    def fit(self, shadows: Sequence[ShadowOutputs], n_classes: int, seed: int) -> Fitted:
        """What the attack learns before it sees a target (named arrays; nothing by default)."""
        return {}

    @abstractmethod
    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        """Attack one target."""


class ScoringAttack(Attack):
    """Tells members from non-members by a score of each record."""

    threshold_from: Literal["rule", "rehearsal", "none"] = "rule"
    """Which scores are called members: `rule`, as the attack says; `rehearsal`, those from the threshold on that is
    best (TPR - FPR) on one more target of the same arm and place, of which the adversary knows the members; `none`, no
    threshold is chosen: tables have no row of what depends on one, and claims cannot name it."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Raises TypeError for an attack that has a field of the same name for something else."""
        super().__pydantic_init_subclass__(**kwargs)
        if THRESHOLD_FROM in vars(cls).get("__annotations__", {}):
            raise TypeError(f"{cls.__module__}.{cls.__qualname__}: every attack on scores has {THRESHOLD_FROM} already")

    @property
    def measures(self) -> tuple[str, ...]:
        return metrics_of("attack")

    @property
    def table_metrics(self) -> tuple[str, ...]:
        return tuple(name for name in self.measures if not self.leaves_out(name))

    def leaves_out(self, metric: str) -> bool:
        return self.threshold_from == "none" and depends_on_decisions(metric)

    def content(self) -> dict[str, object]:
        """What is hashed into a cell's name: a rehearsal alone, since without a threshold scores are as by the rule."""
        content = super().content()
        if content[THRESHOLD_FROM] != "rehearsal":
            del content[THRESHOLD_FROM]
        return content

    def by_rule(self) -> Self:
        """The same attack with its own rule for decisions."""
        if self.threshold_from != "rehearsal":
            return self
        return self.model_copy(update={THRESHOLD_FROM: "rule"})

    def decide_from(self, threshold: float, result: AttackResult, target: Target) -> AttackResult:
        """A result with the decisions, and what they are worth, that a threshold on its scores gives.

        What does not depend on decisions stays as it was measured. Raises HarnessError where no scores were kept.
        """
        try:
            inside, outside = result.arrays["member_scores"], result.arrays["nonmember_scores"]
            before = [
                np.unpackbits(result.arrays[name])[: len(scores)].astype(bool)
                for name, scores in (("member_decisions", inside), ("nonmember_decisions", outside))
            ]
        except KeyError as error:
            raise HarnessError(
                f"attack {self.plugin_name()}: {THRESHOLD_FROM} is rehearsal, and its results keep no {error.args[0]}"
            ) from None
        after = [scores >= threshold for scores in (inside, outside)]
        was, now = (self.worth(Answers(inside, outside, *decided), target) for decided in (before, after))
        changed = {name: value for name, value in now.items() if value != was[name]}
        decisions = {"member_decisions": np.packbits(after[0]), "nonmember_decisions": np.packbits(after[1])}
        return AttackResult({**result.arrays, **decisions}, {**result.metrics, **changed})

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


ATTACKS: Registry[Attack] = Registry("attack")
