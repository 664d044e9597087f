"""One file a split; importing this package registers them all."""

from harness.data.splits import attribute, cluster, joint, kmeans, numeric_range, quarters, random, sub_sample

__all__ = ["attribute", "cluster", "joint", "kmeans", "numeric_range", "quarters", "random", "sub_sample"]
