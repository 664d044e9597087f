"""What an attack sees and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from harness.arrays import Array
from harness.config import Plugin, Registry
from harness.metrics.membership import MEMBERSHIP_METRICS, Value, membership_metrics

PROBABILITY_FLOOR = 1e-6
"""Losses are -ln(max(p, 1e-6)), as in the code released with jayaraman2019."""


@dataclass(frozen=True)
class Outputs:
    """A model's log-probabilities (n, n_classes) on a set of records, and their labels (n,)."""

    log_probabilities: Array
    labels: Array

    def losses(self) -> Array:
        """Cross-entropy of each record, (n,), with the probability floored at 1e-6."""
        own = np.take_along_axis(self.log_probabilities, self.labels[:, None], axis=1)[:, 0]
        return -np.maximum(own, np.log(PROBABILITY_FLOOR)).astype(np.float64)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class ShadowOutputs:
    """One shadow model's outputs on records it was trained on and on records it was not."""

    inside: Outputs
    outside: Outputs


@dataclass(frozen=True)
class Answers:
    """Scores (higher: more likely a member) and decisions (True: member) on both sets of records."""

    member_scores: Array
    nonmember_scores: Array
    member_decisions: Array
    nonmember_decisions: Array


Fitted = dict[str, Array]


class Target(ABC):
    """What an attack may ask of the model that it attacks."""

    @property
    @abstractmethod
    def members(self) -> Outputs:
        """The model's outputs on its training records."""

    @property
    @abstractmethod
    def nonmembers(self) -> Outputs:
        """The model's outputs on the records that are not."""

    @abstractmethod
    def features(self) -> tuple[Array, Array]:
        """Features of the members (m, d) and of the non-members (n, d), in the order of their outputs."""

    @abstractmethod
    def query(self, features: Array, labels: Array) -> Outputs:
        """The model's outputs on any records: features (k, d) and labels (k,)."""


@dataclass(frozen=True)
class Measured:
    """What an attack on one target gives: arrays to keep and metrics by name."""

    arrays: dict[str, Array]
    metrics: dict[str, Value]


class Attack(Plugin):
    """Base of all attacks."""

    access: ClassVar[Literal["posteriors", "labels"]] = "posteriors"
    """What the attack must be able to ask of the target."""
    knows_training_loss: ClassVar[bool] = False
    """Whether the adversary is given the target's mean training loss."""
    modules: ClassVar[tuple[str, ...]] = ()
    """Modules whose code decides the result; part of the measurement's name."""
    metrics: ClassVar[tuple[str, ...]] = ("advantage",)
    """Names of what the attack measures."""

    @property
    def shadow_pool(self) -> str | None:
        """Name of the pool of shadow models that the attack learns from, if any."""
        return None

    def fit(self, shadows: Sequence[ShadowOutputs], n_classes: int, seed: int) -> Fitted:
        """What the attack learns before it sees a target (named arrays; nothing by default)."""
        return {}

    @abstractmethod
    def measure(self, target: Target, fitted: Fitted) -> Measured:
        """Attack one target."""


class MembershipAttack(Attack):
    """Tells members from non-members, by the model's outputs on a record."""

    metrics: ClassVar[tuple[str, ...]] = MEMBERSHIP_METRICS

    @abstractmethod
    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        """Score and decide on every record."""

    def measure(self, target: Target, fitted: Fitted) -> Measured:
        """Keep scores and decisions, and what they are worth."""
        found = self.answer(target.members, target.nonmembers, fitted)
        arrays: dict[str, Array] = {
            "member_scores": found.member_scores.astype(np.float32),
            "nonmember_scores": found.nonmember_scores.astype(np.float32),
            "member_decisions": np.packbits(found.member_decisions),
            "nonmember_decisions": np.packbits(found.nonmember_decisions),
        }
        metrics = membership_metrics(
            found.member_scores, found.nonmember_scores, found.member_decisions, found.nonmember_decisions
        )
        return Measured(arrays, metrics)


ATTACKS: Registry[Attack] = Registry("attack")
