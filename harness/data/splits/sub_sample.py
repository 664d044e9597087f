"""The split by coin: each candidate record is a member with one probability (thudi2022 Section 3, Figures 4-9)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.data.split import SPLITS, Draw, Sizes
from harness.data.splits.random import Random


@SPLITS.register
class SubSample(Random):
    """Of `sizes.members` records, the same in every repeat, a share of `probability` is drawn anew each time.

    Members are trained on and the others are the non-members, so there is no non-owner set (`sizes.nonmembers` is 0).
    """

    kind: Literal["sub-sample"] = "sub-sample"  # type: ignore[assignment]
    probability: float = Field(gt=0, lt=1)
    """P(1) of thudi2022: the chance with which a record is a member."""
    drawn: Literal["fixed-size", "coins"] = "fixed-size"
    """`fixed-size`: a uniformly random set of round(probability * sizes.members) records; `coins`: each record by a
    coin of its own, so that the number trained on varies (by its standard deviation, below a percent of 20,000)."""

    def refuses(self, sizes: Sizes) -> str | None:
        if sizes.nonmembers:
            return f"split 'sub-sample' divides sizes.members itself; take sizes.nonmembers ({sizes.nonmembers}) away"
        if not 0 < self.train_size(sizes) < sizes.members:
            return f"split 'sub-sample': a share of {self.probability:g} of {sizes.members} records is none, or all"
        return None

    def train_size(self, sizes: Sizes) -> int:
        return round(self.probability * sizes.members)

    @property
    def size_varies(self) -> bool:
        return self.drawn == "coins"

    def prior(self, sizes: Sizes) -> float:
        return self.probability

    @property
    def universe(self) -> Random:
        return Random(drop=self.drop)

    def divide(self, universe: Draw, rng: np.random.Generator) -> dict[str, Array]:
        n = len(universe.members)
        if self.drawn == "coins":
            inside = rng.random(n) < self.probability
        else:
            inside = np.zeros(n, dtype=bool)
            inside[rng.permutation(n)[: round(self.probability * n)]] = True
        return {"members": np.flatnonzero(inside), "nonmembers": np.flatnonzero(~inside)}
