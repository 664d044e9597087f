"""The layer that makes vectors of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from harness.arrays import Array
from harness.training.layer import LAYERS, Layer, Shape


@LAYERS.register
class Flatten(Layer):
    """Flattening: a record of any shape becomes one vector."""

    kind: Literal["flatten"] = "flatten"
    ghost_module: ClassVar[str] = "harness.training.ghost_clipping.flatten"

    def output_shape(self, shape: Shape) -> Shape:
        return (math.prod(shape),)

    def forward(self, weights: Sequence[Array], inputs: Array) -> Array:
        return inputs.reshape(len(inputs), -1)
