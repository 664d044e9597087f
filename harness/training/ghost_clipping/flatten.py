"""Flattening, which only renames axes."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from harness.training.ghost_clipping.rule import GhostLayer, Step, Tensor


class FlattenRule(GhostLayer):
    """The rule of flattening, from (replicates, records, h, w, c) to (replicates, records, h * w * c)."""

    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        return tf.reshape(inputs, (self.replicates, -1, math.prod(self.shape))), None

    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        return tf.reshape(delta, (self.replicates, -1, *self.shape))


# The name under which a program finds the rule of a layer's module.
RULE = FlattenRule
