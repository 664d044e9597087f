"""Attacks whose decision small networks learn from a pool of shadow models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import Fitted, ScoringAttack
from harness.attacks.networks import train_stacked
from harness.hashing import generator

SECONDS_PER_STEP = 1.2e-4


class LearnedAttack(ScoringAttack):
    """What such networks are and how they are trained, by Adam."""

    pool: str = "shadows"
    """The pool of shadow models, declared under `experiment.pools`."""
    hidden: tuple[int, ...] = (64,)
    """Hidden layers of each network."""
    learning_rate: float = Field(default=0.001, gt=0)
    """Adam's step size."""
    batch_size: int = Field(default=100, gt=0)
    """Records a step."""
    epochs: int = Field(default=50, gt=0)
    """Passes over the shadow models' outputs that a network learns from."""

    @property
    def shadow_pool(self) -> str | None:
        return self.pool

    @property
    def learns_for(self) -> int:
        return self.epochs

    def shorten(self, epochs: int) -> Self:
        return self if epochs >= self.epochs else self.model_copy(update={"epochs": epochs})

    def fitting_seconds(self, records: int) -> float:
        return self.epochs * records / self.batch_size * SECONDS_PER_STEP

    def train_networks(self, inputs: Sequence[Array], marks: Sequence[Array], seed: int, purpose: str) -> Fitted:
        """One network for each of the inputs (n_i, d), which are of members where the mark (n_i,) is 1."""
        rng = generator(seed, purpose)
        return train_stacked(inputs, marks, self.hidden, self.learning_rate, self.batch_size, self.epochs, rng).arrays()
