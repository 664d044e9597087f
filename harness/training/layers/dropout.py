"""The dropout layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from harness.arrays import Array
from harness.training.layer import LAYERS, Layer, Shape


@LAYERS.register
class Dropout(Layer):
    """Dropout: training zeroes each entry with probability `rate` and scales the rest by 1 / (1 - rate)."""

    kind: Literal["dropout"] = "dropout"
    rate: float = Field(default=0.5, ge=0, lt=1)
    ghost_module: ClassVar[str] = "harness.training.ghost_clipping.dropout"

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def forward(self, weights: Sequence[Array], inputs: Array) -> Array:
        return inputs
