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

    The last column is 0 for every record but the canary. What a linear model's weights on it become is therefore the
    canary's gradients and noise, and nothing else: a canary in the gradient, put there by way of the data (a Dirac
    canary; Nasr et al. 2021). Without the canary the column sees noise alone, as if the record were not there.
    """

    features: Array
    labels: Array
    canary: Array
    """(d,)"""
    canary_label: int

    @property
    def column(self) -> int:
        """The canary's own."""
        return self.features.shape[1] - 1

    def relabel_against(self, initial: Sequence[Array]) -> CanaryRecords:
        """The same with the label that a linear model of these weights finds least likely: its gradient is largest."""
        return replace(self, canary_label=int(np.argmin(self.canary @ initial[0] + initial[1])))

    def with_canary(self) -> tuple[Array, Array]:
        """Features and labels of runs that have it."""
        features, labels = self.features.copy(), self.labels.copy()
        features[-1], labels[-1] = self.canary, self.canary_label
        return features, labels


def canary_records(n: int = 64, d: int = 8, seed: int = 0, size: float = CANARY_SIZE) -> CanaryRecords:
    """`n` records of `d` columns of normal numbers, of two classes that a plane divides, and a canary.

    Raises HarnessError for fewer than four records or two columns.
    """
    if n < 4 or d < 2:
        raise HarnessError(f"audit: {n} records of {d} columns are too few; at least 4 of 2 are needed")
    rng = generator(seed, "canary records", n, d)
    features = rng.normal(size=(n, d)).astype(np.float32)
    features[:, -1] = 0
    labels = (features @ rng.normal(size=d) > 0).astype(np.int64)
    canary = np.zeros(d, dtype=np.float32)
    canary[-1] = size
    return CanaryRecords(features, labels, canary, 1)
