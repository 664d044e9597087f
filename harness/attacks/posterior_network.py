"""The attack by one shadow model and one classifier of Salem et al. 2018, LRN in rahimian2021 Section 2.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, AttackResult, Fitted, ShadowOutputs, Target
from harness.attacks.networks import StackedNetworks, train_stacked
from harness.attacks.seen import PosteriorAttack
from harness.hashing import generator
from harness.metrics.answers import Answers

SECONDS_PER_STEP = 1.2e-4


@ATTACKS.register
class PosteriorNetwork(PosteriorAttack):
    """One network for all classes learns from shadow models to tell members by the posterior, without the label."""

    kind: Literal["posterior-network"] = "posterior-network"
    pool: str = "shadows"
    """The pool of shadow models, declared under `experiment.pools`; the papers have one."""
    order: Literal["as-answered", "sorted"] = "as-answered"
    """Whether elements of the posterior keep their places, or are sorted, the largest first (Salem et al. 2018)."""
    hidden: tuple[int, ...] = (64,)
    """Hidden layers of the classifier."""
    learning_rate: float = Field(default=0.001, gt=0)
    """Adam's step size."""
    batch_size: int = Field(default=100, gt=0)
    """Records a step."""
    epochs: int = Field(default=50, gt=0)
    """Passes over the shadow models' outputs."""
    summary: ClassVar[str] = "a classifier of shadow models' posteriors (LRN)"
    reads_features: ClassVar[bool] = True

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

    def ordered(self, posteriors: Array) -> Array:
        """The classifier's inputs (k, n_classes)."""
        found: Array = posteriors if self.order == "as-answered" else -np.sort(-posteriors, axis=1)
        return found.astype(np.float32)

    def fit(self, shadows: Sequence[ShadowOutputs], n_classes: int, seed: int) -> Fitted:
        """Train the classifier on what the shadow models say of records they were trained on, and of others."""
        sets = [(s.inside, 1) for s in shadows] + [(s.outside, 0) for s in shadows]
        inputs = np.concatenate([self.ordered(np.exp(o.log_probabilities)) for o, _ in sets])
        marks = np.concatenate([np.full(len(o), mark, dtype=np.int64) for o, mark in sets])
        return train_stacked(
            [inputs],
            [marks],
            self.hidden,
            self.learning_rate,
            self.batch_size,
            self.epochs,
            generator(seed, "attack network"),
        ).arrays()

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        network = StackedNetworks.from_arrays(fitted)
        inside, outside = (_log_odds(network.logits(0, self.ordered(p))) for p in self.seen(target))
        return self.kept(Answers(inside, outside, inside > 0, outside > 0))


def _log_odds(logits: Array) -> Array:
    found: Array = logits[:, 1] - logits[:, 0]
    return found
