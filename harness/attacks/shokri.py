"""The shadow model attack of Shokri et al. 2017 (humphries2020 Section 2.1, jayaraman2019 Section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted, MembershipAttack
from harness.attacks.learned import LearnedAttack
from harness.attacks.networks import StackedNetworks
from harness.attacks.pool import Pool
from harness.attacks.target import AttackResult, Target
from harness.errors import HarnessError
from harness.metrics.answers import Answers, Outputs

Side = tuple[Outputs, Array | None]
"""Outputs on the members, or on the non-members, and the features of these records where they are seen."""


@ATTACKS.register
class Shokri(LearnedAttack, MembershipAttack):
    """One attack network per class learns from shadow models to tell members by the probability vector."""

    kind: Literal["shokri"] = "shokri"
    learning_rate: float = Field(default=0.01, gt=0)
    """Adam's step size."""
    epochs: int = Field(default=100, gt=0)
    """Passes over the shadow outputs of a class."""

    sees: Literal["confidences", "record-and-confidences"] = "confidences"
    """What a network is given: the probability vector, as in the code released with jayaraman2019; or the record, as
    models see it, and then that vector, as in its text."""
    added_later: ClassVar[dict[str, Any]] = {"sees": "confidences"}
    summary: ClassVar[str] = "shadow models (Shokri et al.)"

    @property
    def reads_features(self) -> bool:  # type: ignore[override]
        """Whether it asks for features of records."""
        return self.sees == "record-and-confidences"

    def fit(self, pool: Pool, seed: int) -> Fitted:
        """Train the attack networks; class c sees the shadow outputs of records labelled c."""
        inputs, targets = [], []
        members, nonmembers = zip(*(self._sides(shadow) for shadow in pool), strict=True)
        sets = [(side, 1) for side in members] + [(side, 0) for side in nonmembers]
        for label in range(pool.n_classes):
            chosen = [self._inputs(outputs, features, outputs.labels == label) for (outputs, features), _ in sets]
            inputs.append(np.concatenate(chosen).astype(np.float32))
            marks = [np.full(len(c), mark) for c, (_, mark) in zip(chosen, sets, strict=True)]
            targets.append(np.concatenate(marks).astype(np.int64))
        return self.train_networks(inputs, targets, seed, "attack networks")

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        return self.pack_answers(self._answers(self._sides(target), fitted))

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        """By the probability vectors alone. Raises HarnessError where networks have learned from records too."""
        if self.reads_features:
            raise HarnessError(f"attack {self.plugin_name()}: sees is {self.sees}, so outputs alone have no answer")
        return self._answers(((outputs, None) for outputs in (members, nonmembers)), fitted)

    def _answers(self, sides: Iterable[Side], fitted: Fitted) -> Answers:
        networks = StackedNetworks.from_arrays(fitted)
        inside, outside = (self._log_odds(networks, outputs, features) for outputs, features in sides)
        return Answers(inside, outside, inside > 0, outside > 0)

    def _sides(self, target: Target) -> Iterator[Side]:
        """Outputs and, where they are seen, features of the members, and of the non-members."""
        features = target.features() if self.reads_features else (None, None)
        return zip((target.members, target.nonmembers), features, strict=True)

    def _inputs(self, outputs: Outputs, features: Array | None, chosen: Array) -> Array:
        """What a network is given of chosen records (n,) bool: (k, d)."""
        confidences: Array = np.exp(outputs.log_probabilities[chosen])
        return confidences if features is None else np.concatenate([features[chosen], confidences], axis=1)

    def _log_odds(self, networks: StackedNetworks, outputs: Outputs, features: Array | None) -> Array:
        scores = np.zeros(len(outputs))
        for label in range(outputs.log_probabilities.shape[1]):
            chosen = outputs.labels == label
            logits = networks.logits(label, self._inputs(outputs, features, chosen))
            scores[chosen] = logits[:, 1] - logits[:, 0]
        return scores
