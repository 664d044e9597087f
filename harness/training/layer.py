"""What a layer is: its shapes, its initial weights and its forward pass in NumPy.

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

Shape = tuple[int, ...]
Activation = Literal["relu", "tanh", "sigmoid", "linear"]


class Layer(Plugin):
    """Base of all layers. Shapes leave out the batch axis: (d,) for vectors, (height, width, channels) for images."""

    ghost_module: ClassVar[str] = ""
    """Module with the layer's forward and backward pass for the engine `fast`."""

    @abstractmethod
    def output_shape(self, shape: Shape) -> Shape:
        """Shape of a record after this layer. Raises ValueError where the layer does not fit `shape`."""

    def weight_shapes(self, shape: Shape) -> tuple[Shape, ...]:
        """Shapes of kernel and bias for inputs of `shape`; empty for a layer without weights."""
        return ()

    def operations(self, shape: Shape) -> int:
        """Multiplications that the kernel takes part in for one record; for estimates of time."""
        kernels = self.weight_shapes(shape)
        return math.prod(kernels[0]) * math.prod(self.output_shape(shape)[:-1]) if kernels else 0

    def fans(self, shape: Shape) -> tuple[int, int]:
        """Fan-in and fan-out of the kernel, for its initialisation."""
        kernel, _ = self.weight_shapes(shape)
        receptive = math.prod(kernel[:-2])
        return kernel[-2] * receptive, kernel[-1] * receptive

    @abstractmethod
    def forward(self, weights: Sequence[Array], inputs: Array) -> Array:
        """Outputs (n, ...) of the layer for inputs (n, ...), in evaluation mode."""


LAYERS: Registry[Layer] = Registry("layer")

ACTIVATE: dict[Activation, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 0.5 * (np.tanh(0.5 * x) + 1.0),
    "linear": lambda x: x,
}
