"""Convolutions: per-example norms from unfolded patches, by whichever of two routes is cheaper.

With patches P (positions, window) and deltas D (positions, filters), a record's kernel gradient is
P' D. Either it is formed (its cost: positions * window * filters), or its norm is taken as
<P P', D D'> without forming it (positions^2 * (window + filters); Bu et al. 2022, mixed ghost clipping).
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from harness.training.bookkeeping.dense import sum_over_records
from harness.training.bookkeeping.rule import Rule, Step, Tensor, activate, activation_delta, sum_of_squares


class ConvolutionRule(Rule):
    """Kernel (replicates, k, k, channels, filters) and bias (replicates, 1, filters)."""

    def __init__(self, layer: Any, shape: Any, replicates: int, index: int) -> None:
        super().__init__(layer, shape, replicates, index)
        self.positions = math.prod(layer.output_shape(shape)[:2])
        self.window = layer.kernel**2 * shape[2]
        formed = self.window * layer.filters
        self.forms_gradients = formed <= self.positions * (self.window + layer.filters)

    def _options(self) -> dict[str, Any]:
        return {"strides": self.config.stride, "padding": self.config.padding.upper()}

    def _each(self, function: Any, *stacks: Tensor) -> Tensor:
        """Apply `function` to each replicate: convolutions have no axis for several kernels."""
        return tf.stack([function(*(s[r] for s in stacks)) for r in range(self.replicates)])

    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        kernel, bias = self.weights
        value = self._each(lambda x, k: tf.nn.conv2d(x, k, **self._options()), inputs, kernel)
        # The bias goes to all replicates at once: added to each, TensorFlow may fuse it into some of the convolutions,
        # and a fused sum differs in its last digit on some processors.
        outputs = activate(self.config.activation, value + bias[:, :, None, None])
        return outputs, (inputs, outputs)

    def before_activation(self, delta: Tensor, cache: Any) -> Tensor:
        return activation_delta(self.config.activation, delta, cache[1])

    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        inputs = cache[0]

        def one(d: Tensor, kernel: Tensor) -> Tensor:
            sizes = tf.shape(inputs)[1:]
            options = {**self._options(), "strides": [1, self.config.stride, self.config.stride, 1]}
            return tf.raw_ops.Conv2DBackpropInput(input_sizes=sizes, filter=kernel, out_backprop=d, **options)

        return self._each(one, delta, self.weights[0])

    def _patches(self, inputs: Tensor) -> Tensor:
        """(replicates, records, positions, window), the window in the kernel's order."""
        flat = tf.reshape(inputs, (-1, *self.shape))
        k, s = self.config.kernel, self.config.stride
        patches = tf.image.extract_patches(flat, [1, k, k, 1], [1, s, s, 1], [1, 1, 1, 1], self.config.padding.upper())
        return tf.reshape(patches, (self.replicates, -1, self.positions, self.window))

    def square_norms(self, delta: Tensor, cache: Any) -> tuple[Tensor, Any]:
        flat = tf.reshape(delta, (self.replicates, -1, self.positions, self.config.filters))
        biases = tf.reduce_sum(flat, axis=2)
        patches = self._patches(cache[0])
        if self.forms_gradients:
            formed = tf.matmul(patches, flat, transpose_a=True)
            return sum_of_squares(formed, (-2, -1)) + sum_of_squares(biases), (formed, biases)
        grams = tf.matmul(patches, patches, transpose_b=True) * tf.matmul(flat, flat, transpose_b=True)
        return tf.reduce_sum(grams, axis=[-2, -1]) + sum_of_squares(biases), (None, biases)

    def gradients(self, delta: Tensor, scale: Tensor | None, cache: Any, memo: Any) -> list[Tensor]:
        shape = (self.replicates, self.config.kernel, self.config.kernel, self.shape[2], self.config.filters)
        if scale is None:
            flat = tf.reshape(delta, (self.replicates, -1, self.config.filters))
            return [self._kernel_gradient(cache[0], delta, shape), sum_over_records(flat, None)]
        formed, biases = memo
        bias = sum_over_records(biases, scale)
        if formed is not None:
            records = tf.reshape(formed, (self.replicates, -1, self.window * self.config.filters))
            return [tf.reshape(sum_over_records(records, scale), shape), bias]
        return [self._kernel_gradient(cache[0], delta * scale[..., None, None, None], shape), bias]

    def _kernel_gradient(self, inputs: Tensor, delta: Tensor, shape: tuple[int, ...]) -> Tensor:
        options = {**self._options(), "strides": [1, self.config.stride, self.config.stride, 1]}
        return self._each(
            lambda x, d: tf.raw_ops.Conv2DBackpropFilter(input=x, filter_sizes=shape[1:], out_backprop=d, **options),
            inputs,
            delta,
        )


RULE = ConvolutionRule
