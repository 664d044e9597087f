"""The attack by one shadow model and one classifier of Salem et al. 2018, LRN in rahimian2021 Section 2.1."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted
from harness.attacks.learned import LearnedAttack
from harness.attacks.networks import StackedNetworks
from harness.attacks.pool import Pool
from harness.attacks.posterior_base import PosteriorAttack
from harness.attacks.target import AttackResult, Target
from harness.metrics.answers import Answers


@ATTACKS.register
class PosteriorNetwork(PosteriorAttack, LearnedAttack):
    """One network for all classes learns from shadow models to tell members by the posterior, without the label.

    The papers have one shadow model.
    """

    kind: Literal["posterior-network"] = "posterior-network"
    order: Literal["as-answered", "sorted"] = "as-answered"
    """Whether elements of the posterior keep their places, or are sorted, the largest first (Salem et al. 2018)."""
    summary: ClassVar[str] = "a classifier of shadow models' posteriors (LRN)"
    reads_features: ClassVar[bool] = True

    def order_posteriors(self, posteriors: Array) -> Array:
        """The classifier's inputs (k, n_classes)."""
        inputs: Array = posteriors if self.order == "as-answered" else -np.sort(-posteriors, axis=1)
        return inputs.astype(np.float32)

    def fit(self, pool: Pool, seed: int) -> Fitted:
        """Train the classifier on what the shadow models say of records they were trained on, and of others."""
        sets = [(s.members, 1) for s in pool] + [(s.nonmembers, 0) for s in pool]
        inputs = np.concatenate([self.order_posteriors(np.exp(o.log_probabilities)) for o, _ in sets])
        marks = np.concatenate([np.full(len(o), mark, dtype=np.int64) for o, mark in sets])
        return self.train_networks([inputs], [marks], seed, "attack network")

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        network = StackedNetworks.from_arrays(fitted)
        inside, outside = (_log_odds(network.logits(0, self.order_posteriors(p))) for p in self.posteriors(target))
        return self.pack_answers(Answers(inside, outside, inside > 0, outside > 0))


def _log_odds(logits: Array) -> Array:
    log_odds: Array = logits[:, 1] - logits[:, 0]
    return log_odds
