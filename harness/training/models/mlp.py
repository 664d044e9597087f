"""The multilayer perceptron."""

from __future__ import annotations

from typing import ClassVar, Literal

from harness.training.layer import Activation, Layer
from harness.training.layers.dense import Dense
from harness.training.model import MODELS, Model


@MODELS.register
class Mlp(Model):
    """A fully connected network."""

    kind: Literal["mlp"] = "mlp"
    hidden: tuple[int, ...] = (256, 256)
    """Width of each hidden layer."""
    activation: Activation = "relu"
    """Activation of the hidden layers."""
    summary: ClassVar[str] = "fully connected network"

    def layers(self, n_classes: int) -> tuple[Layer, ...]:
        hidden = (Dense(units=width, activation=self.activation) for width in self.hidden)
        return (*hidden, Dense(units=n_classes, activation="linear"))
