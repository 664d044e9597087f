"""The synthetic population of humphries2020, Section 5.3: m relabelled copies of one easy task."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.data.dataset import DATASETS, GeneratorDataset


@DATASETS.register
class Mixture(GeneratorDataset):
    """Equation (18): label y uniform in [m]; x_k ~ N(1, sigma) if k = (y + j - 2 mod m) + 1, else N(0, sigma).

    The paper writes N(0, sigma I); whether sigma is a variance or a standard deviation is unstated.
    """

    kind: Literal["mixture"] = "mixture"
    m: int = Field(default=20, ge=2)
    """Number of sub-populations, features and classes."""
    sigma: float = Field(default=0.01, ge=0)
    """Spread of the noise, read as `sigma_is` says."""
    sigma_is: Literal["standard-deviation", "variance"] = "standard-deviation"
    """How to read N(0, sigma I)."""

    display: ClassVar[str] = "mixture of Gaussians"
    draws: ClassVar[str | None] = "generator:dd7ea26bc08ae2de"

    @property
    def n_classes(self) -> int:
        return self.m

    @property
    def n_components(self) -> int:
        return self.m

    def sample(self, component: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """One record for each entry of `component` (n,), as the base class has it; all numbers count from 0."""
        n = len(component)
        labels = rng.integers(self.m, size=n)
        scale = self.sigma if self.sigma_is == "standard-deviation" else self.sigma**0.5
        features = rng.normal(0.0, scale, size=(n, self.m))
        # With y and j counted from 0 the index of the large feature is (y + j) mod m; the paper's
        # table in Figure 5 instead has label = row + j - 1, so row = y - j: a sign apart, and j
        # runs over all of [m] either way. Equation (18) is followed.
        features[np.arange(n), (labels + component) % self.m] += 1.0
        return features.astype(np.float32), labels.astype(np.int64)
