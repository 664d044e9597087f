"""The base of layers: their shapes, their initial weights and their forward pass in NumPy.

A forward pass without TensorFlow lets attacks and reports query a stored model anywhere; each engine
holds its own forward and backward pass of the same layer.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import numpy as np

from harness.arrays import Array
from harness.config import Plugin, Registry

# The shape of a record, or of a weight.
Shape = tuple[int, ...]
# The activations that a layer may have.
Activation = Literal["relu", "tanh", "sigmoid", "linear"]


class Layer(Plugin):
    """Base of all layers. Shapes leave out the batch axis: (d,) for vectors, (height, width, channels) for images."""

    ghost_module: ClassVar[str] = ""
    """Module with the layer's forward and backward pass for the engine `fast`."""

    @abstractmethod
    def output_shape(self, shape: Shape) -> Shape:
        """The shape of a record after the layer. Raises ValueError where the layer does not fit `shape`."""

    def weight_shapes(self, shape: Shape) -> tuple[Shape, ...]:
        """The shapes of kernel and bias for inputs of `shape`; empty for a layer without weights."""
        return ()

    def operations(self, shape: Shape) -> int:
        """The number of multiplications that the kernel takes part in for one record; for estimates of time."""
        kernels = self.weight_shapes(shape)
        return math.prod(kernels[0]) * math.prod(self.output_shape(shape)[:-1]) if kernels else 0

    def fans(self, shape: Shape) -> tuple[int, int]:
        """The fan-in and the fan-out of the kernel, for its initialisation."""
        kernel, _ = self.weight_shapes(shape)
        receptive = math.prod(kernel[:-2])
        return kernel[-2] * receptive, kernel[-1] * receptive

    @abstractmethod
    def forward(self, weights: Sequence[Array], inputs: Array) -> Array:
        """The outputs (n, ...) of the layer for inputs (n, ...), in evaluation mode."""


# The registered layers by the `kind` that a spec writes.
LAYERS: Registry[Layer] = Registry("layer")

# Each activation in NumPy; the sigmoid is by way of tanh, as engines have it (`ghost_clipping.rule.activate`).
ACTIVATE: dict[Activation, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 0.5 * (np.tanh(0.5 * x) + 1.0),
    "linear": lambda x: x,
}
