"""Members of each class are one of its two clusters (humphries2020, Section 4.3)."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
from pydantic import Field
from threadpoolctl import threadpool_limits

from harness.data.encoding import Encoded
from harness.data.split import SPLITS, Owners, Sizes, TableSource, TableSplit
from harness.errors import HarnessError


@SPLITS.register
class KMeansPerClass(TableSplit):
    """k-means with two clusters in each class; one cluster of each class makes up the owner set.

    Which cluster goes where is drawn uniformly among the assignments whose two sets are large enough
    for the spec's sizes. `owner: smaller` keeps those assignments whose owner set is the smaller one
    (the paper does so for COMPAS). Clustering sees the features alone, as the model will.
    """

    kind: Literal["kmeans-per-class"] = "kmeans-per-class"
    n_init: int = Field(default=10, ge=1)
    """Restarts of k-means; the best is kept (10 was scikit-learn's default when the paper was written)."""
    owner: Literal["random", "smaller"] = "random"
    """Which assignments may be drawn."""
    drop: tuple[str, ...] = ()
    """Columns removed before encoding."""

    def drops(self) -> tuple[str, ...]:
        return self.drop

    def owners(self, source: TableSource, encoded: Encoded, sizes: Sizes, rng: np.random.Generator) -> Owners:
        from sklearn.cluster import KMeans

        n, n_classes = len(encoded.labels), len(encoded.classes)
        cluster = np.zeros(n, dtype=np.int64)
        seed = int(rng.integers(2**31))
        for label in range(n_classes):
            of_class = encoded.labels == label
            # One thread: the order of a parallel sum would make labels depend on the machine's load.
            with threadpool_limits(limits=1):
                found = KMeans(2, n_init=self.n_init, random_state=seed).fit(encoded.features[of_class])
            # Clusters are numbered by their first coordinate's mean, not by k-means' arbitrary order.
            order = np.lexsort(found.cluster_centers_.T)
            cluster[of_class] = np.argsort(order)[found.labels_]
        need = sizes.members + sizes.test
        allowed = []
        for number, assignment in enumerate(product((0, 1), repeat=n_classes)):
            mask = cluster == np.asarray(assignment)[encoded.labels]
            inside = int(mask.sum())
            if inside >= need and n - inside >= sizes.nonmembers and (self.owner == "random" or 2 * inside <= n):
                allowed.append((mask, number))
        if not allowed:
            raise HarnessError(
                f"split kmeans-per-class: no assignment of clusters gives {need} owner records "
                f"(members + test) and {sizes.nonmembers} non-owner records; make the sizes smaller"
            )
        mask, number = allowed[int(rng.integers(len(allowed)))]
        return Owners(mask, number, len(allowed))
