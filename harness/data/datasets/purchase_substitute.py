"""The substitute for Purchase-100, where that cannot be had: shoppers drawn from a stated distribution.

Item j is bought by a shopper of class c with probability 1 / (1 + exp(-(popularity_j + spread * taste_cj))), all
bought independently; popularity_j ~ N(-0.7, 1), taste_cj ~ N(0, 1). The spread was set so that models on 10,000
records of unit length, without privacy, land near the paper's accuracies on members and others (jayaraman2019:
regression 0.942 and 0.695, network 0.982 and 0.605).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.data.dataset import DATASETS
from harness.data.datasets.privacytrustlab import LABEL, LabelledBits
from harness.data.sources import Source
from harness.hashing import generator

# The parameters of the distribution, and the seed of the table.
POPULARITY, SPREAD = -0.7, 0.82
SEED = 100


@DATASETS.register
class PurchaseSubstitute(LabelledBits):
    """A table of the size that jayaraman2019 uses: 197,324 shoppers, 100 items, 100 classes; drawn, not measured."""

    kind: Literal["purchase100-substitute"] = "purchase100-substitute"
    display: ClassVar[str] = "substitute for Purchase-100 (generated)"
    stands_in_for: ClassVar[str | None] = "purchase100"
    rows: ClassVar[int] = 197324
    features: ClassVar[int] = 100
    classes: ClassVar[int] = 100
    canonical_sha256: ClassVar[str | None] = "20b94cfe89b2f1b708dd8c3963b6a80e8034e3795a474b632a1a2b0ff67c9e70"
    sources: ClassVar[tuple[Source, ...]] = (Source("generated from a seed", ()),)

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table, drawn; there is nothing to read."""
        rng = generator(SEED, "purchase100-substitute")
        popularity = rng.normal(POPULARITY, 1.0, cls.features)
        taste = rng.normal(0.0, 1.0, (cls.classes, cls.features))
        style = rng.integers(cls.classes, size=cls.rows)
        chances = 1 / (1 + np.exp(-(popularity + SPREAD * taste)))
        bits = rng.random((cls.rows, cls.features)) < chances[style]
        values = np.concatenate([style[:, None] + 1, bits], axis=1).astype(np.uint8)
        return pd.DataFrame(values, columns=[LABEL, *(f"f{i:04d}" for i in range(cls.features))])
