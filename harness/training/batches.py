"""The batches of a training: which records take part in which step."""

from __future__ import annotations

import numpy as np

from harness.arrays import Array
from harness.hashing import generator
from harness.training.settings import Training


def batches(n: int, training: Training, seed: int) -> Array:
    """The record indices of every step, (steps, width) int32; -1 fills up a batch that is smaller than the widest.

    With sampling `shuffle` each epoch is a fresh permutation, cut into batches of `batch_size`; records that make no
    whole batch are left out. With `poisson` there are as many steps, and each record is in each of them with
    probability batch_size / n.
    """
    rng = generator(seed, "batches")
    per_epoch = n // training.batch_size
    if training.sampling == "poisson":
        return _poisson_batches(rng, n, per_epoch * training.epochs, training.batch_size / n)
    rows = [
        rng.permutation(n)[: per_epoch * training.batch_size].reshape(per_epoch, training.batch_size)
        for _ in range(training.epochs)
    ]
    order: Array = np.concatenate(rows).astype(np.int32)
    return order


def _poisson_batches(rng: np.random.Generator, n: int, steps: int, rate: float) -> Array:
    """The record indices of `steps` batches that are drawn by Poisson sampling, (steps, width) int32."""
    # A Poisson sample is a uniformly random subset of binomial size, which is drawn faster than a coin a record.
    sizes = rng.binomial(n, rate, size=steps)
    width = max(2, int(sizes.max(initial=1)))  # batches of images may be cut in two
    order = np.full((steps, width), -1, np.int32)
    for step, size in enumerate(sizes):
        order[step, :size] = rng.choice(n, size=size, replace=False, shuffle=False)
    return order
