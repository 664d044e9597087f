"""The arithmetic of a model outside of engines: its initial weights, and its outputs by NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.arrays import Array
from harness.training.layer import Layer, Shape
from harness.training.model import Model, Weights

FORWARD_BYTES = 1 << 26
"""Roughly what one slice of a forward pass may hold; many records are passed through in slices."""


@dataclass(frozen=True)
class Placed:
    """A layer with the shape of its inputs and the slots of its weights in the model's list."""

    layer: Layer
    shape: Shape
    first_weight: int
    n_weights: int

    def weights(self, weights: Weights) -> Weights:
        """The layer's own kernel and bias, of all the weights of the model."""
        return weights[self.first_weight : self.first_weight + self.n_weights]


def placed_layers(model: Model, n_features: int, n_classes: int) -> tuple[Placed, ...]:
    """The layers of a model with their input shapes.

    Raises ValueError where a layer does not fit the one before it, or the last gives not one logit a class.
    """
    shape, used, placed = model.input_shape(n_features), 0, []
    for layer in model.layers(n_classes):
        count = len(layer.weight_shapes(shape)) if layer.output_shape(shape) else 0
        placed.append(Placed(layer, shape, used, count))
        used, shape = used + count, layer.output_shape(shape)
    if shape != (n_classes,):
        raise ValueError(f"the model ends in shape {shape}, not in one logit for each of {n_classes} classes")
    return tuple(placed)


def initial_weights(model: Model, n_features: int, n_classes: int, rng: np.random.Generator) -> Weights:
    """The Glorot-uniform kernels and zero biases, alternating, as Keras initialises them."""
    weights: Weights = []
    for placed in placed_layers(model, n_features, n_classes):
        if placed.n_weights:
            kernel, bias = placed.layer.weight_shapes(placed.shape)
            limit = np.sqrt(6.0 / sum(placed.layer.fans(placed.shape)))
            weights.append(rng.uniform(-limit, limit, size=kernel).astype(np.float32))
            weights.append(np.zeros(bias, dtype=np.float32))
    return weights


def log_probabilities(model: Model, weights: Weights, features: Array) -> Array:
    """The log-softmax outputs (n, n_classes) float32 of the network on `features` (n, d)."""
    n_classes = len(weights[-1])
    placed = placed_layers(model, features.shape[1], n_classes)
    widest = max(int(np.prod(p.shape)) for p in placed)
    images = any(len(p.shape) > 1 for p in placed)
    size = max(1, FORWARD_BYTES // (4 * widest * (9 if images else 1))) if images else max(1, len(features))
    parts = []
    for start in range(0, max(1, len(features)), size):
        hidden = features[start : start + size].astype(np.float32)
        hidden = hidden.reshape(len(hidden), *placed[0].shape)
        for p in placed:
            hidden = p.layer.forward(p.weights(weights), hidden)
        parts.append(hidden)
    logits = np.concatenate(parts) if len(parts) > 1 else parts[0]
    # The largest logit is taken off first, so that no power of e overflows.
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: Array = (shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))).astype(np.float32)
    return result
