"""The substitute for Texas-100, where that cannot be had: hospital stays drawn from a stated distribution.

Each of the 100 procedures has as many stays as in the published labels, 236 to 3,046. A stay is of the kind of its
procedure, or, for a share of stays, of the kind of any stay's procedure, drawn at random; feature j is set with
probability 1 / (1 + exp(-(frequency_j + spread * tendency_cj))) for a stay of kind c, all independently; frequency_j ~
N(-6.5, 2), tendency_cj ~ N(0, 1). Most features are rare: a stay has about 80 of the 6,169. Share and spread were set
so that a network on 10,000 records that stops early lands near rahimian2021's accuracies on members and others, 0.86
(by the gap attack's 0.65 in Table 7) and 0.56: of the shares 0.24 and 0.28 and the spreads 1.0 and 1.1, two networks
each. No attack was looked at.
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

# The parameters of the distribution: mean and spread of a feature's frequency, and how far classes differ.
FREQUENCY, VARIETY, SPREAD = -6.5, 2.0, 1.0
UNLIKE = 0.24
"""Share of stays whose kind is drawn at random."""
# fmt: off
SIZES = (
    341, 329, 876, 340, 434, 381, 268, 263, 262, 318, 459, 618, 505, 236, 2488, 256, 525, 244, 845, 546,
    334, 1636, 443, 241, 988, 309, 310, 376, 428, 342, 2317, 348, 614, 469, 1508, 342, 989, 551, 385, 559,
    414, 452, 510, 552, 273, 1243, 304, 2192, 258, 891, 1013, 1336, 262, 303, 271, 309, 313, 1201, 704, 853,
    291, 423, 299, 244, 448, 2686, 1151, 295, 516, 262, 344, 316, 2687, 237, 313, 668, 370, 257, 897, 290,
    312, 1072, 357, 367, 432, 274, 299, 340, 276, 319, 421, 1299, 581, 1599, 2345, 726, 270, 2080, 3046, 244,
)
# fmt: on
"""Stays of each procedure, 1 to 100, in the published labels (`texas/100/labels` of privacytrustlab's archive)."""
# The seed of the table.
SEED = 6169
LEVELS = 2**32
"""Chances are rounded to so many levels: draws of 32 bits, half the time and memory of doubles."""


def chances(rng: np.random.Generator, classes: int, features: int, spread: float) -> Array:
    """The number of draws, of LEVELS equally likely ones, that set a feature for a stay of a class.

    The numbers are (classes, features) uint32.
    """
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
    canonical_sha256: ClassVar[str | None] = "d65752da4cf68381f4eff67eb5d0bb09173153fc51fb19b8342cdf35751b15cd"
    sources: ClassVar[tuple[Source, ...]] = (Source("generated from a seed", ()),)

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table, drawn; there is nothing to read."""
        rng = generator(SEED, "texas100-substitute")
        limits = chances(rng, cls.classes, cls.features, SPREAD)
        procedures = rng.permutation(np.repeat(np.arange(cls.classes), SIZES))[: cls.rows]
        kinds = np.where(rng.random(cls.rows) < UNLIKE, rng.permutation(procedures), procedures)
        values = np.empty((cls.rows, cls.features + 1), np.uint8)
        values[:, 0] = procedures + 1
        for row, kind in zip(values, kinds, strict=True):
            row[1:] = rng.integers(LEVELS, size=cls.features, dtype=np.uint32) < limits[kind]
        return pd.DataFrame(values, columns=[LABEL, *(f"f{i:04d}" for i in range(cls.features))])
