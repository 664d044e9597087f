"""Where Texas-100 cannot be had: hospital stays drawn from a stated distribution.

A stay is of one of 100 kinds, equally likely; feature j is set with probability 1 / (1 + exp(-(frequency_j + spread *
tendency_cj))) for a stay of kind c, all independently; frequency_j ~ N(-6.5, 2), tendency_cj ~ N(0, 1). Most features
are rare: a stay has about 80 of the 6,169. The procedure is that of the kind, or, for a share of stays, one drawn at
random. Spread and share were set so that a network on 10,000 records that stops early lands near rahimian2021's
accuracies on members and others, 0.86 (by the gap attack's 0.65 in Table 7) and 0.56. A first table without the share
met the second alone: networks were right on all members, and attacks on them had AUCs above 0.9. No attack was looked
at for this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.dataset import DATASETS
from harness.data.datasets.privacytrustlab import LABEL, LabelledBits
from harness.data.sources import Source
from harness.hashing import generator

FREQUENCY, VARIETY, SPREAD = -6.5, 2.0, 1.0
UNLIKE = 0.28
"""Share of stays whose procedure is drawn at random."""
SEED = 6169
LEVELS = 2**32
"""Chances are rounded to so many levels: draws of 32 bits, half the time and memory of doubles."""


def chances(rng: np.random.Generator, classes: int, features: int, spread: float) -> Array:
    """(classes, features) uint32: of LEVELS equally likely draws, how many set a feature for a stay of a class."""
    frequency = rng.normal(FREQUENCY, VARIETY, features)
    tendency = rng.normal(0.0, 1.0, (classes, features))
    counts: Array = (
        np.rint(LEVELS / (1 + np.exp(-(frequency + spread * tendency)))).clip(max=LEVELS - 1).astype(np.uint32)
    )
    return counts


@DATASETS.register
class TexasSubstitute(LabelledBits):
    """A table of the published one's size: 67,330 stays, 6,169 features, 100 classes; drawn, not measured."""

    kind: Literal["texas100-substitute"] = "texas100-substitute"
    display: ClassVar[str] = "substitute for Texas-100 (generated)"
    stands_in_for: ClassVar[str | None] = "texas100"
    rows: ClassVar[int] = 67330
    features: ClassVar[int] = 6169
    classes: ClassVar[int] = 100
    canonical_sha256: ClassVar[str | None] = "4f9035c8987880f26a3ee88b5ae6592d3ea3d20122e9de84474bdd5492cf9bb2"
    sources: ClassVar[tuple[Source, ...]] = (Source("generated from a seed", ()),)

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """Draw the table; there is nothing to read."""
        rng = generator(SEED, "texas100-substitute")
        limits = chances(rng, cls.classes, cls.features, SPREAD)
        kinds = rng.integers(cls.classes, size=cls.rows)
        values = np.empty((cls.rows, cls.features + 1), np.uint8)
        values[:, 0] = np.where(rng.random(cls.rows) < UNLIKE, rng.integers(cls.classes, size=cls.rows), kinds) + 1
        for row, kind in zip(values, kinds, strict=True):
            row[1:] = rng.integers(LEVELS, size=cls.features, dtype=np.uint32) < limits[kind]
        return pd.DataFrame(values, columns=[LABEL, *(f"f{i:04d}" for i in range(cls.features))])
