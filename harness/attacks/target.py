"""What an attack sees of a model, and what it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from harness.arrays import Array
from harness.defences import Oracle
from harness.errors import HarnessError
from harness.metrics import Outputs, Value


class Target(ABC):
    """What an attack may ask of the model that it attacks, or of a shadow model, whose members it knows.

    What a defence answers comes by `oracle` alone; outputs on records exist where posteriors are answered. What a
    target does not have it refuses by HarnessError.
    """

    @property
    def oracle(self) -> Oracle:
        """The model with what defends it in front."""
        raise HarnessError("an attack asked a model about records of its own, and this one answers no such questions")

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
        raise HarnessError("an attack asked for test records, and this model has none")

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
        raise HarnessError("an attack asked for features of test records, and this model has none")

    def labels(self) -> tuple[Array, Array]:
        """The true classes of the members (m,) and of the non-members (n,), which the adversary knows."""
        return self.members.labels, self.nonmembers.labels

    def gradient_norms(self) -> tuple[Array, Array]:
        """Norm of the gradient of the loss in all weights, on the members (m,) and on the non-members (n,)."""
        raise HarnessError("an attack asked for gradients, and this model does not show its weights")

    def query(self, features: Array, labels: Array) -> Outputs:
        """The model's outputs on any records: features (k, d) and labels (k,)."""
        return Outputs(self.oracle.log_probabilities(features), labels)


@dataclass(frozen=True)
class AttackResult:
    """What an attack on one target gives: arrays to keep and metrics by name."""

    arrays: dict[str, Array]
    metrics: dict[str, Value]
