"""Two overlapping clouds of points, as many sub-populations as asked for."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from harness.plugins import DATASETS, GeneratorDataset


@DATASETS.register
class Blobs(GeneratorDataset):
    """Each class a normal cloud around its own centre; a sub-population moves both centres by its number."""

    kind: Literal["blobs"] = "blobs"
    features: int = 10
    """Numbers of a record."""
    populations: int = 3
    """Sub-populations."""
    distance: float = 1.0
    """Between the centres of the classes, in standard deviations."""
    display: ClassVar[str] = "blobs"

    @property
    def n_classes(self) -> int:
        return 2

    @property
    def n_components(self) -> int:
        return self.populations

    def sample(self, component: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        labels = rng.integers(2, size=len(component))
        records = rng.standard_normal((len(component), self.features))
        records[:, 0] += self.distance * labels
        records[:, 1] += 0.5 * component
        return records.astype(np.float32), labels.astype(np.int64)
