"""The shadow model attack of Shokri et al. 2017 (humphries2020 Section 2.1)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted, MembershipAttack
from harness.attacks.learned import LearnedAttack
from harness.attacks.networks import StackedNetworks
from harness.attacks.pool import Pool
from harness.metrics.answers import Answers, Outputs


@ATTACKS.register
class Shokri(LearnedAttack, MembershipAttack):
    """One attack network per class learns from shadow models to tell members by the probability vector."""

    kind: Literal["shokri"] = "shokri"
    learning_rate: float = Field(default=0.01, gt=0)
    """Adam's step size."""
    epochs: int = Field(default=100, gt=0)
    """Passes over the shadow outputs of a class."""

    summary: ClassVar[str] = "shadow models (Shokri et al.)"

    def fit(self, pool: Pool, seed: int) -> Fitted:
        """Train the attack networks; class c sees the shadow outputs of records labelled c."""
        inputs, targets = [], []
        sets = [(s.members, 1) for s in pool] + [(s.nonmembers, 0) for s in pool]
        for label in range(pool.n_classes):
            chosen = [o.log_probabilities[o.labels == label] for o, _ in sets]
            inputs.append(np.exp(np.concatenate(chosen)).astype(np.float32))
            marks = [np.full(len(c), mark) for c, (_, mark) in zip(chosen, sets, strict=True)]
            targets.append(np.concatenate(marks).astype(np.int64))
        return self.train_networks(inputs, targets, seed, "attack networks")

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
