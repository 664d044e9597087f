"""Pooling, which has no weights.

A window's maximum is the maximum over its rows of the maxima along them, and each of these a fold over two operands at
a time. Of each fold the lead is kept, by how much the later operand is above the former: its gradient goes where the
lead is positive, else on to the former, which is what ReLU's own gradient computes. So ties go to the first pixel of a
window, row by row, as in TensorFlow's operation that tells the places of maxima, in a third of its time.

TensorFlow's other gradient of a maximum is not used: of many graphs traced alike, one in thirty differed in the last
digit for as long as it lived. Probably it comes in two implementations, and which of them a graph gets depends on the
order in which its nodes are visited, and that on addresses in memory.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from harness.training.ghost_clipping.rule import GhostLayer, Step, Tensor
from harness.training.layers.pooling import MaxPool

# The axes of images (n, height, width, channels) that windows move along.
ROWS, COLUMNS = 1, 2


class PoolRule(GhostLayer):
    """The rule of pooling; to a layer without weights replicates are more records."""

    def __init__(self, layer: Any, shape: Any, replicates: int, index: int) -> None:
        super().__init__(layer, shape, replicates, index)
        self.folds = isinstance(layer, MaxPool) and layer.step in (1, layer.size)

    def _options(self) -> dict[str, Any]:
        size, step = self.config.size, self.config.step
        return {"ksize": [1, size, size, 1], "strides": [1, step, step, 1], "padding": "VALID"}

    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        flat = tf.reshape(inputs, (-1, *self.shape))
        argmax: Any
        if self.folds:
            pooled, argmax = self._maxima(flat)
        elif isinstance(self.config, MaxPool):
            pooled, argmax = tf.raw_ops.MaxPoolWithArgmax(input=flat, **self._options())
        else:
            pooled, argmax = tf.raw_ops.AvgPool(value=flat, **self._options()), None
        shape = (self.replicates, -1, *self.config.output_shape(self.shape))
        return tf.reshape(pooled, shape), (flat, argmax)

    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        flat, argmax = cache
        gradient = tf.reshape(delta, (-1, *self.config.output_shape(self.shape)))
        if self.folds:
            back = self._hand_back(gradient, argmax)
        elif isinstance(self.config, MaxPool):
            back = tf.raw_ops.MaxPoolGradWithArgmax(input=flat, grad=gradient, argmax=argmax, **self._options())
        else:
            back = tf.raw_ops.AvgPoolGrad(orig_input_shape=tf.shape(flat), grad=gradient, **self._options())
        return tf.reshape(back, (self.replicates, -1, *self.shape))

    def _maxima(self, images: Tensor) -> tuple[Tensor, list[list[Tensor]]]:
        """The maxima (n, height, width, c) of images, and the leads of the folds along columns and along rows."""
        leads: list[list[Tensor]] = []
        for axis in (COLUMNS, ROWS):
            best, *others = self._take_apart(images, axis)
            leads.append([])
            for other in others:
                leads[-1].append(other - best)
                best = tf.maximum(best, other)
            images = best
        return images, leads

    def _hand_back(self, gradient: Tensor, leads: list[list[Tensor]]) -> Tensor:
        """The gradient (n, height, width, c) of maxima, at the pixels that they were taken from."""
        for axis, along in ((ROWS, leads[1]), (COLUMNS, leads[0])):
            parts = []
            for lead in reversed(along):
                parts.append(tf.raw_ops.ReluGrad(gradients=gradient, features=lead))
                gradient -= parts[-1]
            gradient = self._put_together([gradient, *reversed(parts)], axis)
        return gradient

    def _take_apart(self, images: Tensor, axis: int) -> list[Tensor]:
        """The first pixels of all windows along an axis, the second ones, and so on."""
        size, positions, channels = self.config.size, self._positions(axis), images.shape[-1]
        if self.config.step == 1:
            return [_part(images, axis, i, i + positions) for i in range(size)]
        whole = _part(images, axis, 0, size * positions)
        if axis == COLUMNS:
            beside = tf.reshape(whole, (-1, whole.shape[ROWS], positions, size * channels))
            return [beside[..., i * channels : (i + 1) * channels] for i in range(size)]
        pixels: list[Tensor] = tf.unstack(
            tf.reshape(whole, (-1, positions, size, whole.shape[COLUMNS], channels)), axis=2
        )
        return pixels

    def _put_together(self, parts: list[Tensor], axis: int) -> Tensor:
        """The sum of parts as `_take_apart` gives them, each at the pixels that it came from."""
        size, positions, extent = self.config.size, self._positions(axis), self.shape[axis - 1]
        if self.config.step == 1:
            return tf.add_n([_pad(part, axis, i, extent - positions - i) for i, part in enumerate(parts)])
        shape = [-1, *parts[0].shape[1:]]
        shape[axis] = size * positions
        together = tf.concat(parts, axis=3) if axis == COLUMNS else tf.stack(parts, axis=2)
        return _pad(tf.reshape(together, shape), axis, 0, extent - size * positions)

    def _positions(self, axis: int) -> int:
        """The number of windows along an axis."""
        positions: int = self.config.output_shape(self.shape)[axis - 1]
        return positions


def _part(images: Tensor, axis: int, start: int, end: int) -> Tensor:
    """The pixels from `start` to `end` along an axis."""
    return images[:, start:end] if axis == ROWS else images[:, :, start:end]


def _pad(images: Tensor, axis: int, before: int, after: int) -> Tensor:
    """The images with so many zeros before and after them along an axis; no copy where there are none."""
    if not before and not after:
        return images
    return tf.pad(images, [(before, after) if i == axis else (0, 0) for i in range(4)])


# The name under which a program finds the rule of a layer's module.
RULE = PoolRule
