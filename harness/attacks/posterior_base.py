"""What attacks on posteriors see of a target that may answer labels alone."""

from __future__ import annotations

from typing import Literal

import numpy as np

from harness.arrays import Array
from harness.attacks.attack import ScoringAttack
from harness.attacks.target import Target


class PosteriorAttack(ScoringAttack):
    """Base of attacks on the posterior of a record, whatever its label is."""

    labels_as: Literal["one-hot"] | None = None
    """What stands for the posterior where a target answers labels alone: all of it on the answered one. Without this,
    such a target is refused."""

    @property
    def access(self) -> Literal["posteriors", "labels"]:
        return "posteriors" if self.labels_as is None else "labels"

    def posteriors(self, target: Target) -> tuple[Array, Array]:
        """Posteriors of the members (m, n_classes) and of the non-members (n, n_classes), or what stands for them."""
        if target.oracle.answers == "posteriors":
            inside, outside = (np.exp(o.log_probabilities) for o in (target.members, target.nonmembers))
            return inside, outside
        every = np.eye(target.oracle.n_classes, dtype=np.float32)
        inside, outside = (every[target.oracle.labels(features)] for features in target.features())
        return inside, outside
