"""Convolutions: per-example norms from unfolded patches, by whichever of two routes is cheaper.

With patches P (positions, window) and deltas D (positions, filters), a record's kernel gradient is
P' D. Either it is formed (its cost: positions * window * filters), or its norm is taken as
<P P', D D'> without forming it (positions^2 * (window + filters); Bu et al. 2022, mixed ghost clipping).

P is never laid out whole where the window moves by whole multiples of its stride: the image is shifted once for each
column of the window, and the rows of the window are slices of that, a block of P each. That is a third of the memory
for a window of three, and several times faster than TensorFlow's own patches. Where filters are few beside the window,
not even slices are copied: in place of the image the deltas are shifted, once for each row of the window, and all rows
of the gradient are one product. A stride is made one by moving the pixels between two positions into the channels.
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from harness.training.ghost_clipping.dense import sum_over_records
from harness.training.ghost_clipping.rule import GhostLayer, Step, Tensor, activate, activation_delta, sum_of_squares
from harness.training.layers.convolution import padded_extent


class ConvolutionRule(GhostLayer):
    """The rule of a convolution: kernel (replicates, k, k, channels, filters) and bias (replicates, 1, filters)."""

    def __init__(self, layer: Any, shape: Any, replicates: int, index: int) -> None:
        super().__init__(layer, shape, replicates, index)
        self.extent = layer.output_shape(shape)[:2]
        self.positions = math.prod(self.extent)
        self.window = layer.kernel**2 * shape[2]
        formed = self.window * layer.filters
        self.forms_gradients = formed <= self.positions * (self.window + layer.filters)
        self.blocks = layer.kernel // layer.stride if layer.kernel % layer.stride == 0 else 0
        """Shifts along an axis that make up the window; 0 where it is not so many strides wide."""
        self.moves_deltas = 0 < 2 * layer.filters * self.blocks <= self.window
        """Whether the rows of the window are shifts of the deltas where gradients are formed."""

    def _options(self) -> dict[str, Any]:
        return {"strides": self.config.stride, "padding": self.config.padding.upper()}

    def _map_replicates(self, function: Any, *stacks: Tensor) -> Tensor:
        """Apply `function` to each replicate by itself: convolutions have no axis for several kernels."""
        slices = [function(*(s[r] for s in stacks)) for r in range(self.replicates)]
        return tf.stack(slices) if self.replicates > 1 else slices[0][None]  # a stack of one would be a copy

    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        kernel, bias = self.weights
        value = self._map_replicates(lambda x, k: tf.nn.conv2d(x, k, **self._options()), inputs, kernel)
        # The bias goes to all replicates at once: added to each, TensorFlow may fuse it into some of the convolutions,
        # and a fused sum differs in its last digit on some processors.
        outputs = activate(self.config.activation, value + bias[:, :, None, None])
        return outputs, (inputs, outputs)

    def before_activation(self, delta: Tensor, cache: Any) -> Tensor:
        return activation_delta(self.config.activation, delta, cache[1])

    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        inputs = cache[0]

        def backward_one(d: Tensor, kernel: Tensor) -> Tensor:
            sizes = tf.shape(inputs)[1:]
            options = {**self._options(), "strides": [1, self.config.stride, self.config.stride, 1]}
            return tf.raw_ops.Conv2DBackpropInput(input_sizes=sizes, filter=kernel, out_backprop=d, **options)

        return self._map_replicates(backward_one, delta, self.weights[0])

    def _patches(self, inputs: Tensor) -> list[Tensor]:
        """The parts of the window, (replicates, records, positions, part) each, in the order of `_kernel`."""
        flat = tf.reshape(inputs, (-1, *self.shape))
        k, s = self.config.kernel, self.config.stride
        if not self.blocks:
            parts = [tf.image.extract_patches(flat, [1, k, k, 1], [1, s, s, 1], [1] * 4, self.config.padding.upper())]
        else:
            shifted = self._columns(flat)
            parts = [shifted[:, i : i + self.extent[0]] for i in range(self.blocks)]
        return [tf.reshape(part, (self.replicates, -1, self.positions, self.window // len(parts))) for part in parts]

    def _columns(self, images: Tensor) -> Tensor:
        """The pixels that each column of the window sees, (n, height + blocks - 1, width, blocks * channels)."""
        padded = self._pad(images)
        if self.config.stride > 1:
            padded = tf.nn.space_to_depth(padded, self.config.stride)
        width = self.extent[1]
        return tf.concat([padded[:, :, j : j + width] for j in range(self.blocks)], axis=-1)

    def _form_gradients(self, inputs: Tensor, flat: Tensor) -> Tensor:
        """The kernel's gradient of each record (replicates, records, a, b), in the order of `_kernel`."""
        if not self.moves_deltas:
            parts = [tf.matmul(part, flat, transpose_a=True) for part in self._patches(inputs)]
            return tf.concat(parts, axis=-2)
        columns = self._columns(tf.reshape(inputs, (-1, *self.shape)))
        width, more = self.extent[1], self.blocks - 1
        rows = [(i * width, (more - i) * width) for i in range(self.blocks)]
        moved = tf.concat([tf.pad(flat, [(0, 0), (0, 0), zeros, (0, 0)]) for zeros in rows], axis=-1)
        seen = tf.reshape(columns, (self.replicates, -1, self.positions + more * width, columns.shape[-1]))
        return tf.matmul(seen, moved, transpose_a=True)

    def _pad(self, images: Tensor) -> Tensor:
        """The pixels that the windows see, and zeros behind the last so that each axis is a multiple of the stride."""
        k, s = self.config.kernel, self.config.stride
        zeros = []
        for axis, positions in enumerate(self.extent):
            size, needed = self.shape[axis], (positions - 1) * s + k
            before = padded_extent(size, k, s, self.config.padding)[1][0]
            zeros.append((before, max(0, needed - before - size)))
        height, width = ((p - 1) * s + k for p in self.extent)
        return tf.pad(images, [(0, 0), *zeros, (0, 0)])[:, :height, :width]

    def _kernel(self, gradient: Tensor) -> Tensor:
        """The sum of what `_form_gradients` gives, (replicates, window * filters), in the order of the kernel."""
        k, s, b, channels, filters = (
            self.config.kernel,
            self.config.stride,
            self.blocks,
            self.shape[2],
            self.config.filters,
        )
        if self.moves_deltas:
            moved = tf.reshape(gradient, (self.replicates, b, s, s, channels, b, filters))
            gradient = tf.transpose(moved, (0, 5, 2, 1, 3, 4, 6))
        elif b and s > 1:
            moved = tf.reshape(gradient, (self.replicates, b, b, s, s, channels, filters))
            gradient = tf.transpose(moved, (0, 1, 3, 2, 4, 5, 6))
        return tf.reshape(gradient, (self.replicates, k, k, channels, filters))

    def square_norms(self, delta: Tensor, cache: Any) -> tuple[Tensor, Any]:
        flat = tf.reshape(delta, (self.replicates, -1, self.positions, self.config.filters))
        biases = tf.reduce_sum(flat, axis=2)
        if self.forms_gradients:
            formed = self._form_gradients(cache[0], flat)
            return sum_of_squares(formed, (-2, -1)) + sum_of_squares(biases), (formed, biases)
        grams = tf.add_n([tf.matmul(part, part, transpose_b=True) for part in self._patches(cache[0])])
        grams *= tf.matmul(flat, flat, transpose_b=True)
        return tf.reduce_sum(grams, axis=[-2, -1]) + sum_of_squares(biases), (None, biases)

    def remembers(self, memo: Any) -> bool:
        return memo is not None and memo[0] is not None

    def gradients(self, delta: Tensor, scale: Tensor | None, cache: Any, memo: Any) -> list[Tensor]:
        shape = (self.replicates, self.config.kernel, self.config.kernel, self.shape[2], self.config.filters)
        if scale is None:
            flat = tf.reshape(delta, (self.replicates, -1, self.config.filters))
            return [self._kernel_gradient(cache[0], delta, shape), sum_over_records(flat, None)]
        formed, biases = memo
        bias = sum_over_records(biases, scale)
        if formed is not None:
            records = tf.reshape(formed, (self.replicates, -1, self.window * self.config.filters))
            return [self._kernel(sum_over_records(records, scale)), bias]
        return [self._kernel_gradient(cache[0], delta * scale[..., None, None, None], shape), bias]

    def _kernel_gradient(self, inputs: Tensor, delta: Tensor, shape: tuple[int, ...]) -> Tensor:
        """The kernel's gradient summed over records, by TensorFlow's own operation, which forms none of a record."""
        options = {**self._options(), "strides": [1, self.config.stride, self.config.stride, 1]}
        return self._map_replicates(
            lambda x, d: tf.raw_ops.Conv2DBackpropFilter(input=x, filter_sizes=shape[1:], out_backprop=d, **options),
            inputs,
            delta,
        )


# The name under which a program finds the rule of a layer's module.
RULE = ConvolutionRule
