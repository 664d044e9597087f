"""Pooling, which has no weights."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from harness.training.bookkeeping.rule import Rule, Step, Tensor
from harness.training.layers.pooling import MaxPool


class PoolRule(Rule):
    """Replicates are more records to a layer without weights.

    Maxima are taken with their places. With TensorFlow's other gradient of a maximum one graph in thirty, of many
    traced alike, differed in the last digit for as long as it lived. Probably it comes in two implementations, and
    which of them a graph gets depends on the order in which its nodes are visited, and that on addresses in memory.
    """

    def _options(self) -> dict[str, Any]:
        size, step = self.config.size, self.config.step
        return {"ksize": [1, size, size, 1], "strides": [1, step, step, 1], "padding": "VALID"}

    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        flat = tf.reshape(inputs, (-1, *self.shape))
        if isinstance(self.config, MaxPool):
            pooled, places = tf.raw_ops.MaxPoolWithArgmax(input=flat, **self._options())
        else:
            pooled, places = tf.raw_ops.AvgPool(value=flat, **self._options()), None
        shape = (self.replicates, -1, *self.config.output_shape(self.shape))
        return tf.reshape(pooled, shape), (flat, pooled, places)

    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        flat, pooled, places = cache
        gradient = tf.reshape(delta, tf.shape(pooled))
        if isinstance(self.config, MaxPool):
            found = tf.raw_ops.MaxPoolGradWithArgmax(input=flat, grad=gradient, argmax=places, **self._options())
        else:
            found = tf.raw_ops.AvgPoolGrad(orig_input_shape=tf.shape(flat), grad=gradient, **self._options())
        return tf.reshape(found, (self.replicates, -1, *self.shape))


RULE = PoolRule
