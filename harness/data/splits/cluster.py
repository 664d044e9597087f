"""The split whose members are one cluster of the whole table, whatever their classes."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator
from threadpoolctl import threadpool_limits

from harness.arrays import Array
from harness.data.encoding import Encoded
from harness.data.split import SPLITS, Owners, Sizes, TableSource, TableSplit
from harness.errors import SplitError

# The seed.
SEED = 0
"""Of k-means: the clusters are those of the table, the same in every repeat."""


@SPLITS.register
class Cluster(TableSplit):
    """k-means divides the encoded table; the owner set is one of its clusters, numbered by size from the largest.

    Clustering sees the features alone, as the model will. It does not depend on the repeat, so claims are about that
    cluster. Which of two clusters of nearly the same size comes first may depend on the processor.
    """

    kind: Literal["cluster"] = "cluster"
    clusters: int = Field(ge=2)
    """How many there are."""
    cluster: int = Field(ge=0)
    """Which of them, the largest being 0."""
    n_init: int = Field(default=3, ge=1)
    """Restarts of k-means; the best is kept."""
    drop: tuple[str, ...] = ()
    """Columns removed before encoding."""

    @model_validator(mode="after")
    def _check_number(self) -> Cluster:
        if self.cluster >= self.clusters:
            raise ValueError(f"cluster {self.cluster}: of {self.clusters} clusters the last is {self.clusters - 1}")
        return self

    def drops(self) -> tuple[str, ...]:
        return self.drop

    def seconds(self) -> float:
        return 3.0

    def owners(self, source: TableSource, encoded: Encoded, sizes: Sizes, rng: np.random.Generator) -> Owners:
        return Owners(clusters_by_size(encoded.features, self.clusters, self.n_init) == self.cluster)


def clusters_by_size(features: Array, clusters: int, n_init: int) -> Array:
    """The cluster that each record of features (n, d) is in, (n,) int, the largest cluster being 0.

    Raises SplitError where there are fewer records than clusters.
    """
    from sklearn.cluster import KMeans

    if len(features) < clusters:
        raise SplitError(f"split cluster: {len(features)} rows cannot make {clusters} clusters")
    # One thread: the order of a parallel sum would make clusters depend on the machine's load.
    with threadpool_limits(limits=1):
        kmeans = KMeans(clusters, n_init=n_init, random_state=SEED).fit(features)
    counts = np.bincount(kmeans.labels_, minlength=clusters)
    by_size = np.lexsort((*kmeans.cluster_centers_.T, -counts))
    return np.asarray(np.argsort(by_size)[kmeans.labels_])
