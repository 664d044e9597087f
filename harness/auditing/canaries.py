"""Records for an audit: ordinary ones, and a canary with a column of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.arrays import Array
from harness.errors import HarnessError
from harness.hashing import generator

CANARY_SIZE = 10.0
"""The canary's value in its column: its gradient is far above a clipping norm of 1, so that it is clipped to it."""


@dataclass(frozen=True)
class CanaryRecords:
    """Features (n, d) and labels (n,) in which the last record is the canary, or an ordinary record in its place.

    Where the canary has a column of its own, the last, this is 0 for every other record. What a linear model's weights
    on it become is therefore the canary's gradients and noise, and nothing else: a canary in the gradient, put there by
    way of the data (a Dirac canary; Nasr et al. 2021). Without the canary the column sees noise alone, as if the record
    were not there.
    """

    features: Array
    labels: Array
    canary: Array
    """(d,)"""
    canary_label: int
    own_column: bool = True
    dropped: bool = False
    """Whether a run without the canary has one record fewer (add/remove-one neighbours), not another in its place."""

    @property
    def column(self) -> int:
        """Index of the canary's own column."""
        return self.features.shape[1] - 1

    def relabel_against(self, initial: Sequence[Array]) -> CanaryRecords:
        """The records with that label of the canary which a model of these weights finds least likely, so that its
        gradient is largest."""
        predict = getattr(initial, "predict_proba", None)
        outputs = predict(self.canary[None])[0] if predict else self.canary @ initial[0] + initial[1]
        return replace(self, canary_label=int(np.argmin(outputs)))

    def records(self, with_canary: bool) -> tuple[Array, Array]:
        """Copies of the features and labels of a run with the canary, or of one without it."""
        features, labels = self.features.copy(), self.labels.copy()
        if with_canary:
            features[-1], labels[-1] = self.canary, self.canary_label
        elif self.dropped:
            return features[:-1], labels[:-1]
        return features, labels


def canary_records(
    n: int = 64,
    d: int = 8,
    seed: int = 0,
    size: float = CANARY_SIZE,
    own_column: bool = True,
    dropped: bool = False,
) -> CanaryRecords:
    """`n` records of `d` columns of normal numbers, of two classes that a plane divides, and a canary.

    Without `own_column` all columns are filled, and the canary is the last record in the other class. Raises
    HarnessError for fewer than four records or two columns.
    """
    if n < 4 or d < 2:
        raise HarnessError(f"audit: {n} records of {d} columns are too few; at least 4 of 2 are needed")
    rng = generator(seed, "canary records", n, d)
    features = rng.normal(size=(n, d)).astype(np.float32)
    if own_column:
        features[:, -1] = 0
    labels = (features @ rng.normal(size=d) > 0).astype(np.int64)
    if not own_column:
        return CanaryRecords(
            features, labels, features[-1].copy(), int(1 - labels[-1]), own_column=False, dropped=dropped
        )
    canary = np.zeros(d, dtype=np.float32)
    canary[-1] = size
    return CanaryRecords(features, labels, canary, 1)
