"""Convolutional networks: the papers' own by name, or any sequence of layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

import harness.training.layers  # noqa: F401  (registers the layers)
from harness.training.layer import LAYERS, Layer, Shape
from harness.training.layers.convolution import Conv2d
from harness.training.layers.dense import Dense
from harness.training.layers.flatten import Flatten
from harness.training.layers.pooling import MaxPool
from harness.training.model import MODELS, Model

if TYPE_CHECKING:
    AnyLayer = Layer
else:
    AnyLayer = LAYERS.union()


def _tanh(*layers: tuple[int, int, int, Any]) -> tuple[Layer, ...]:
    """One convolution with tanh for each of filters, kernel, stride and padding."""
    return tuple(Conv2d(filters=f, kernel=k, stride=s, padding=p, activation="tanh") for f, k, s, p in layers)


def _blocks(widths: tuple[int, ...], activation: Any) -> tuple[Layer, ...]:
    """Two 3 x 3 convolutions and a 2 x 2 maximum, once for each width."""
    stack: list[Layer] = []
    for width in widths:
        stack += [Conv2d(filters=width, activation=activation), Conv2d(filters=width, activation=activation), MaxPool()]
    return tuple(stack)


# The papers' networks by name, without the last dense layer.
NETWORKS: dict[str, tuple[Layer, ...]] = {
    # rahimian2021 Figure 1: 3 x 3 convolutions, 2 x 2 pooling of stride 2, two dense layers (widths are not printed).
    "vgg-like": (*_blocks((32, 64), "relu"), Flatten(), Dense(units=128)),
    "vgg-like-half": (*_blocks((16, 32), "relu"), Flatten(), Dense(units=64)),
    # The networks on which the DP literature compares: Papernot et al. 2020, Tempered sigmoid activations, Table 1.
    "tanh-mnist": (
        *_tanh((16, 8, 2, "same")),
        MaxPool(size=2, stride=1),
        *_tanh((32, 4, 2, "valid")),
        MaxPool(size=2, stride=1),
        Flatten(),
        Dense(units=32, activation="tanh"),
    ),
    # Ibid., Table 2.
    "tanh-cifar10": (*_blocks((32, 64, 128), "tanh"), Flatten(), Dense(units=128, activation="tanh")),
}


@MODELS.register
class Cnn(Model):
    """A convolutional network over images stored as rows of pixels."""

    kind: Literal["cnn"] = "cnn"
    image: tuple[int, int, int]
    """Height, width and channels of a record."""
    network: Literal["vgg-like", "vgg-like-half", "tanh-mnist", "tanh-cifar10"] | None = None
    """A network of the papers; or give `hidden`."""
    hidden: tuple[AnyLayer, ...] = Field(default=())
    """The layers before the last dense one, which gives the logits."""
    summary: ClassVar[str] = "convolutional network"

    @model_validator(mode="after")
    def _check_one_of_both(self) -> Cnn:
        if (self.network is None) == (not self.hidden):
            raise ValueError(f"give either network (one of {', '.join(NETWORKS)}) or hidden (a list of layers)")
        shape: Shape = self.image
        for layer in self.layers(2):
            shape = layer.output_shape(shape)
        return self

    def layers(self, n_classes: int) -> tuple[Layer, ...]:
        hidden = self.hidden if self.network is None else NETWORKS[self.network]
        return (*hidden, Dense(units=n_classes, activation="linear"))

    def input_shape(self, n_features: int) -> Shape:
        if math.prod(self.image) != n_features:
            raise ValueError(f"images of shape {self.image} have {math.prod(self.image)} numbers, records {n_features}")
        return self.image
