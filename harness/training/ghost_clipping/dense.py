"""Dense layers: the norm of a record's gradient is the product of the norms of its input and its delta."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from harness.training.ghost_clipping.rule import GhostLayer, Step, Tensor, activate, activation_delta, sum_of_squares

NARROW = 4
"""An output so many times narrower than the input: its kernel's gradient is computed transposed, which is faster."""


class DenseRule(GhostLayer):
    """The rule of a dense layer: kernel (replicates, d, units) and bias (replicates, 1, units)."""

    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        kernel, bias = self.weights
        outputs = activate(self.config.activation, tf.matmul(inputs, kernel) + bias)
        return outputs, (inputs, outputs)

    def before_activation(self, delta: Tensor, cache: Any) -> Tensor:
        return activation_delta(self.config.activation, delta, cache[1])

    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        return tf.matmul(delta, self.weights[0], transpose_b=True)

    def square_norms(self, delta: Tensor, cache: Any) -> tuple[Tensor, Any]:
        # The gradient is the outer product of (input, 1) and delta (Goodfellow 2015).
        return (sum_of_squares(cache[0]) + 1.0) * sum_of_squares(delta), None

    def gradients(self, delta: Tensor, scale: Tensor | None, cache: Any, memo: Any) -> list[Tensor]:
        return [outer(cache[0], delta, scale), sum_over_records(delta, scale)]


def outer(inputs: Tensor, delta: Tensor, scale: Tensor | None) -> Tensor:
    """The sum over records of `scale` times the outer product of input and delta, (replicates, d, units)."""
    # The narrower of both is scaled: fewer products.
    if scale is not None and inputs.shape[-1] < delta.shape[-1]:
        inputs *= scale[..., None]
    elif scale is not None:
        delta *= scale[..., None]
    if inputs.shape[-1] >= NARROW * delta.shape[-1]:
        return tf.transpose(tf.matmul(delta, inputs, transpose_a=True), (0, 2, 1))
    return tf.matmul(inputs, delta, transpose_a=True)


def sum_over_records(value: Tensor, scale: Tensor | None) -> Tensor:
    """The sum over records, each times its `scale`, (replicates, 1, units).

    It is a product with a row of numbers and no reduction, whose sum TensorFlow orders by the number of replicates.
    """
    row = tf.ones(tf.shape(value)[:2]) if scale is None else scale
    return tf.matmul(row[:, None], value)


class FirstDenseRule(DenseRule):
    """A dense layer at the bottom: a column of ones in the data carries the bias in the kernel's last row.

    Data have known norms, so those are looked up, and the bias needs no operations of its own.
    `forward` takes the pair (records with their column of ones, squared norms of those).
    """

    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        records, norms = inputs
        outputs = activate(self.config.activation, tf.matmul(records, self.weights[0]))
        return outputs, (records, outputs, norms)

    def square_norms(self, delta: Tensor, cache: Any) -> tuple[Tensor, Any]:
        return cache[2] * sum_of_squares(delta), None

    def gradients(self, delta: Tensor, scale: Tensor | None, cache: Any, memo: Any) -> list[Tensor]:
        return [outer(cache[0], delta, scale)]


# The name under which a program finds the rule of a layer's module.
RULE = DenseRule
