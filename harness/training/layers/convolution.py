"""Two-dimensional convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from harness.arrays import Array
from harness.training.layer import ACTIVATE, LAYERS, Activation, Layer, Shape

# Whether zeros around an image keep its size, or windows that would leave it are left out.
Padding = Literal["same", "valid"]


def padded_extent(size: int, window: int, stride: int, padding: Padding) -> tuple[int, tuple[int, int]]:
    """The number of output positions along one axis, and the zeros put before and after it (TensorFlow's rule).

    >>> padded_extent(28, 8, 2, "same"), padded_extent(28, 8, 2, "valid")
    ((14, (3, 3)), (11, (0, 0)))
    """
    if padding == "valid":
        return (size - window) // stride + 1, (0, 0)
    positions = -(-size // stride)
    zeros = max(0, (positions - 1) * stride + window - size)
    return positions, (zeros // 2, zeros - zeros // 2)


def image_shape(shape: Shape, window: int, stride: int, padding: Padding, layer: str) -> Shape:
    """The height and width after a window has passed over an image. Raises ValueError where it does not fit."""
    if len(shape) != 3:
        raise ValueError(f"a {layer} layer takes images (height, width, channels), not records of shape {shape}")
    height, width = (padded_extent(size, window, stride, padding)[0] for size in shape[:2])
    if min(height, width) < 1:
        raise ValueError(f"a {layer} layer with a window of {window} does not fit into images of shape {shape}")
    return height, width


def windows(images: Array, size: int, stride: int) -> Array:
    """The windows of images (n, h, w, c), as (n, height, width, c, size, size); a view, not a copy."""
    axes: Any = (1, 2)
    view = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=axes)
    return view[:, ::stride, ::stride]


@LAYERS.register
class Conv2d(Layer):
    """A convolution, activation(x * K + b) for images x, K of shape (kernel, kernel, channels, filters)."""

    kind: Literal["conv2d"] = "conv2d"
    filters: int = Field(gt=0)
    """Channels of the output."""
    kernel: int = Field(default=3, gt=0)
    """Height and width of the window."""
    stride: int = Field(default=1, gt=0)
    padding: Padding = "same"
    activation: Activation = "relu"
    ghost_module: ClassVar[str] = "harness.training.ghost_clipping.convolution"

    @model_validator(mode="after")
    def _windows_touch(self) -> Conv2d:
        # TensorFlow's gradient of a kernel smaller than its stride writes past its memory on CPUs.
        if self.stride > self.kernel:
            raise ValueError(
                f"a stride of {self.stride} passes over pixels with a kernel of {self.kernel}; give at most that"
            )
        return self

    def output_shape(self, shape: Shape) -> Shape:
        return (*image_shape(shape, self.kernel, self.stride, self.padding, self.kind), self.filters)

    def weight_shapes(self, shape: Shape) -> tuple[Shape, ...]:
        return (self.kernel, self.kernel, shape[2], self.filters), (self.filters,)

    def forward(self, weights: Sequence[Array], inputs: Array) -> Array:
        margins = [padded_extent(s, self.kernel, self.stride, self.padding)[1] for s in inputs.shape[1:3]]
        padded = np.pad(inputs, [(0, 0), *margins, (0, 0)])
        patches = windows(padded, self.kernel, self.stride)
        outputs = np.tensordot(patches, weights[0], axes=([4, 5, 3], [0, 1, 2])) + weights[1]
        return ACTIVATE[self.activation](outputs)
