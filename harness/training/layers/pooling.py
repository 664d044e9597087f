"""The layers that pool over windows of an image."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.training.layer import LAYERS, Layer, Shape
from harness.training.layers.convolution import image_shape, windows


class Pool(Layer):
    """Base of the pooling layers; windows that would leave the image are left out."""

    size: int = Field(default=2, gt=0)
    """Height and width of the window."""
    stride: int | None = Field(default=None, gt=0)
    """Step of the window; default: its size."""
    ghost_module: ClassVar[str] = "harness.training.ghost_clipping.pooling"

    @property
    def step(self) -> int:
        """The stride in effect."""
        return self.stride or self.size

    def output_shape(self, shape: Shape) -> Shape:
        return (*image_shape(shape, self.size, self.step, "valid", self.plugin_name()), shape[2])

    def forward(self, weights: Sequence[Array], inputs: Array) -> Array:
        return self.reduce(windows(inputs, self.size, self.step))

    @abstractmethod
    def reduce(self, patches: Array) -> Array:
        """Reduce patches (n, height, width, channels, size, size) over their last two axes."""


@LAYERS.register
class MaxPool(Pool):
    """Pooling by the maximum of each window."""

    kind: Literal["max-pool"] = "max-pool"

    def reduce(self, patches: Array) -> Array:
        reduced: Array = patches.max(axis=(4, 5))
        return reduced


@LAYERS.register
class AveragePool(Pool):
    """Pooling by the mean of each window."""

    kind: Literal["average-pool"] = "average-pool"

    def reduce(self, patches: Array) -> Array:
        reduced: Array = patches.mean(axis=(4, 5), dtype=np.float32)
        return reduced
