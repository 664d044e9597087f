"""One file a split; importing this package registers them all."""

from harness.data.splits import attribute, joint, kmeans, quarters, random, sub_sample

__all__ = ["attribute", "joint", "kmeans", "quarters", "random", "sub_sample"]
