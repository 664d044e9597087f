"""The fully connected layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from harness.arrays import Array
from harness.training.layer import ACTIVATE, LAYERS, Activation, Layer, Shape


@LAYERS.register
class Dense(Layer):
    """A fully connected layer, activation(x W + b) for vectors x."""

    kind: Literal["dense"] = "dense"
    units: int = Field(gt=0)
    """Width of the output."""
    activation: Activation = "relu"
    ghost_module: ClassVar[str] = "harness.training.ghost_clipping.dense"

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 1:
            raise ValueError(f"a dense layer takes vectors, not records of shape {shape}; put a flatten layer before")
        return (self.units,)

    def weight_shapes(self, shape: Shape) -> tuple[Shape, ...]:
        return (shape[0], self.units), (self.units,)

    def forward(self, weights: Sequence[Array], inputs: Array) -> Array:
        return ACTIVATE[self.activation](inputs @ weights[0] + weights[1])
