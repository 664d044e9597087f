"""The arrays that metrics look at: a model's outputs on records, and an attack's answers about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.arrays import Array

PROBABILITY_FLOOR = 1e-6
"""Losses are -ln(max(p, 1e-6)), as in the code released with jayaraman2019."""


@dataclass(frozen=True)
class Outputs:
    """A model's log-probabilities (n, n_classes) on a set of records, and their labels (n,)."""

    log_probabilities: Array
    labels: Array

    def losses(self) -> Array:
        """The cross-entropy of each record, (n,), with the probability floored at 1e-6."""
        own = np.take_along_axis(self.log_probabilities, self.labels[:, None], axis=1)[:, 0]
        return -np.maximum(own, np.log(PROBABILITY_FLOOR)).astype(np.float64)

    def take(self, records: Array | slice) -> Outputs:
        """The outputs on chosen records alone: a mask (n,), indices, or a slice."""
        return Outputs(self.log_probabilities[records], self.labels[records])

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class ModelOutputs:
    """A target's outputs on its training records, on held-out records of the same kind, and on the non-members."""

    members: Outputs
    test: Outputs
    nonmembers: Outputs


@dataclass(frozen=True)
class Answers:
    """An attack's scores (higher: more likely a member) and decisions (True: member) on both sets of records."""

    member_scores: Array
    nonmember_scores: Array
    member_decisions: Array
    nonmember_decisions: Array

    def take(self, members: Array, nonmembers: Array) -> Answers:
        """The answers on chosen records alone: masks (m,) of the members and (n,) of the non-members, or indices."""
        return Answers(
            self.member_scores[members],
            self.nonmember_scores[nonmembers],
            self.member_decisions[members],
            self.nonmember_decisions[nonmembers],
        )


Run = tuple[Array, Array]
"""One model's scores of its members (m,) and of the non-members (n,); runs share both sets of records."""
