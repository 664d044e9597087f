"""The split in which the members of each class are one of its two clusters (humphries2020, Section 4.3)."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
from pydantic import Field
from threadpoolctl import threadpool_limits

from harness.arrays import Array
from harness.data.encoding import Encoded
from harness.data.split import SPLITS, Owners, Sizes, TableSource, TableSplit
from harness.errors import SplitError

LISTED_CLASSES = 12
"""Up to so many classes, every assignment of clusters is looked at: 4,096."""
CLUSTERINGS = 10
"""How often classes are clustered anew where no assignment of their clusters gives sets that are large enough."""


@SPLITS.register
class KMeansPerClass(TableSplit):
    """k-means with two clusters in each class; one cluster of each class makes up the owner set.

    Which cluster goes where is drawn uniformly among the assignments whose two sets are large enough for the spec's
    sizes; where there is none, classes are clustered anew. `owner: smaller` keeps those assignments whose owner set
    is the smaller one (the paper does so for COMPAS). Clustering sees the features alone, as the model will.
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

    def seconds(self) -> float:
        return 6.0

    def owners(self, source: TableSource, encoded: Encoded, sizes: Sizes, rng: np.random.Generator) -> Owners:
        n, need = len(encoded.labels), sizes.members + sizes.test
        n_classes = len(encoded.classes)
        largest = n // 2 if self.owner == "smaller" else n
        choose = _draw_from_list if n_classes <= LISTED_CLASSES else _draw_by_counting
        # k-means ends in one of several local minima, some of which may leave no set that is large enough.
        for _ in range(CLUSTERINGS):
            cluster = self._cluster(encoded, int(rng.integers(2**31)))
            of_each = [np.bincount(encoded.labels[cluster == k], minlength=n_classes) for k in (0, 1)]
            drawn = choose(np.stack(of_each, axis=1), need, min(largest, n - sizes.nonmembers), rng)
            if drawn is not None:
                assignment, outcome, outcomes = drawn
                return Owners(cluster == assignment[encoded.labels], outcome, outcomes)
        raise SplitError(
            f"split kmeans-per-class: no assignment of clusters gives {need} owner records (members + test) and "
            f"{sizes.nonmembers} non-owner records, in {CLUSTERINGS} clusterings; make the sizes smaller"
        )

    def _cluster(self, encoded: Encoded, seed: int) -> Array:
        """The cluster of each record in its class, (n,) of 0 and 1. Raises SplitError for a class of equal records."""
        from sklearn.cluster import KMeans

        cluster = np.zeros(len(encoded.labels), dtype=np.int64)
        for label in range(len(encoded.classes)):
            of_class = encoded.labels == label
            records = encoded.features[of_class]
            if not (records != records[0]).any():
                raise SplitError(
                    f"split kmeans-per-class: the {len(records)} records of class {encoded.classes[label]!r} are all "
                    "the same, and two clusters are wanted of each class; leave the class out, or take another split"
                )
            # One thread: the order of a parallel sum would make labels depend on the machine's load.
            with threadpool_limits(limits=1):
                kmeans = KMeans(2, n_init=self.n_init, random_state=seed).fit(records)
            # Clusters are numbered by their first coordinate's mean, not by k-means' arbitrary order.
            order = np.lexsort(kmeans.cluster_centers_.T)
            cluster[of_class] = np.argsort(order)[kmeans.labels_]
        return cluster


Drawn = tuple[Array, int, int]
"""A cluster for each class (n_classes,), which of the allowed assignments it is, and how many there are.

The last two are 0 and 1 where they are too many to count as outcomes of which each may come up again."""


def _draw_from_list(counts: Array, low: int, high: int, rng: np.random.Generator) -> Drawn | None:
    """One of the assignments whose owner set has from `low` to `high` records, each as likely; None: there is none.

    `counts` are the records of each class in either cluster, (n_classes, 2).
    """
    classes = np.arange(len(counts))
    allowed = []
    for number, choice in enumerate(product((0, 1), repeat=len(counts))):
        assignment = np.asarray(choice)
        if low <= int(counts[classes, assignment].sum()) <= high:
            allowed.append((assignment, number))
    if not allowed:
        return None
    assignment, number = allowed[int(rng.integers(len(allowed)))]
    return assignment, number, len(allowed)


def _draw_by_counting(counts: Array, low: int, high: int, rng: np.random.Generator) -> Drawn | None:
    """One of the assignments that `_draw_from_list` draws from, each as likely, without listing 2^classes of them.

    `ways[c][s]` is the number (up to scale) of ways in which the classes from c on give s owner records; the clusters
    are then drawn class by class, each in proportion to the ways that are left.
    """
    total = int(counts.sum())
    last = np.zeros(total + 1)
    last[0] = 1.0
    ways = [last]
    for first, second in counts[::-1]:
        after = ways[-1]
        here = np.zeros(total + 1)
        here[first:] += after[: total + 1 - first]
        here[second:] += after[: total + 1 - second]
        ways.append(here / max(1.0, here.max()))  # 2^classes would run out of range
    ways.reverse()
    allowed = ways[0][low : high + 1]
    if high < low or not allowed.sum() > 0:
        return None
    left = low + int(rng.choice(len(allowed), p=allowed / allowed.sum()))
    assignment = np.zeros(len(counts), dtype=np.int64)
    for c, sizes in enumerate(counts):
        chances = np.array([ways[c + 1][left - size] if size <= left else 0.0 for size in sizes])
        assignment[c] = int(rng.random() * chances.sum() >= chances[0])
        left -= int(sizes[assignment[c]])
    return assignment, 0, 1
