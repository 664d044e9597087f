"""Dropout, where each record of each replicate has a mask of its own."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from harness.training.ghost_clipping.rule import GhostLayer, Step, Tensor


class DropoutRule(GhostLayer):
    """The rule of dropout, whose masks derive from each replicate's key, the step and the layer's place."""

    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        drawn = step.draw_uniform(self.replicates, tf.shape(inputs)[1:], self.index)
        mask = tf.cast(drawn >= self.config.rate, tf.float32) / (1.0 - self.config.rate)
        return inputs * mask, mask

    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        return delta * cache


# The name under which a program finds the rule of a layer's module.
RULE = DropoutRule
