"""The shadow model attack of Shokri et al. 2017 (humphries2020 Section 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted, MembershipAttack, ShadowOutputs
from harness.attacks.networks import StackedNetworks, train_stacked
from harness.hashing import generator
from harness.metrics.answers import Answers, Outputs

SECONDS_PER_STEP = 1.2e-4


@ATTACKS.register
class Shokri(MembershipAttack):
    """One attack network per class learns from shadow models to tell members by the probability vector."""

    kind: Literal["shokri"] = "shokri"
    pool: str = "shadows"
    """The pool of shadow models, declared under `experiment.pools`."""
    hidden: tuple[int, ...] = (64,)
    """Hidden layers of each attack network."""
    learning_rate: float = Field(default=0.01, gt=0)
    """Adam's step size."""
    batch_size: int = Field(default=100, gt=0)
    """Records a step."""
    epochs: int = Field(default=100, gt=0)
    """Passes over the shadow outputs of a class."""

    summary: ClassVar[str] = "shadow models (Shokri et al.)"

    @property
    def shadow_pool(self) -> str | None:
        return self.pool

    @property
    def learns_for(self) -> int:
        return self.epochs

    def shortened(self, epochs: int) -> Self:
        return self if epochs >= self.epochs else self.model_copy(update={"epochs": epochs})

    def fitting_seconds(self, records: int) -> float:
        return self.epochs * records / self.batch_size * SECONDS_PER_STEP

    def fit(self, shadows: Sequence[ShadowOutputs], n_classes: int, seed: int) -> Fitted:
        """Train the attack networks; class c sees the shadow outputs of records labelled c."""
        inputs, targets = [], []
        sets = [(s.inside, 1) for s in shadows] + [(s.outside, 0) for s in shadows]
        for label in range(n_classes):
            chosen = [o.log_probabilities[o.labels == label] for o, _ in sets]
            inputs.append(np.exp(np.concatenate(chosen)).astype(np.float32))
            marks = [np.full(len(c), mark) for c, (_, mark) in zip(chosen, sets, strict=True)]
            targets.append(np.concatenate(marks).astype(np.int64))
        networks = train_stacked(
            inputs,
            targets,
            self.hidden,
            self.learning_rate,
            self.batch_size,
            self.epochs,
            generator(seed, "attack networks"),
        )
        return networks.arrays()

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        networks = StackedNetworks.from_arrays(fitted)
        inside, outside = (_log_odds(networks, o) for o in (members, nonmembers))
        return Answers(inside, outside, inside > 0, outside > 0)


def _log_odds(networks: StackedNetworks, outputs: Outputs) -> Array:
    scores = np.zeros(len(outputs))
    for label in range(outputs.log_probabilities.shape[1]):
        chosen = outputs.labels == label
        logits = networks.logits(label, np.exp(outputs.log_probabilities[chosen]))
        scores[chosen] = logits[:, 1] - logits[:, 0]
    return scores
