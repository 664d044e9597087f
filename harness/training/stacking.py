"""The number of models to train as one stack. It decides speed, not results, so it is no part of a cell's name."""

from __future__ import annotations

import math
import os

from harness.training.forward import placed_layers
from harness.training.model import Model
from harness.training.settings import Training

STACK_BYTES = 1 << 22
"""What the state and the activations of a stack may take: beyond a core's caches a stack is slower, not faster."""
MEMORY_SHARE = 0.1
"""Share of the machine's memory that the data of a stack may take."""
# How many records a model is taken to be trained on, and the largest stack.
ASSUMED_RECORDS = 50_000
MOST = 64


def stack_size(model: Model, training: Training, n_features: int, n_classes: int) -> int:
    """The number of models of a shape that share a core's caches, and whose data fit into memory; at least 1.

    Under Poisson sampling it is always 1: a stack's widest batch would decide how sums are grouped, and a model's last
    digits would depend on what it is stacked with.
    """
    if training.sampling == "poisson":
        return 1
    placed = placed_layers(model, n_features, n_classes)
    parameters = sum(math.prod(s) for p in placed for s in p.layer.weight_shapes(p.shape))
    activations = training.batch_size * sum(math.prod(p.shape) for p in placed)
    memory = MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    fitting = min(STACK_BYTES / (4 * (6 * parameters + 3 * activations)), memory / (4 * ASSUMED_RECORDS * n_features))
    return max(1, min(MOST, int(fitting)))
