"""The softmax regression."""

from __future__ import annotations

from typing import ClassVar, Literal

from harness.training.layer import Layer
from harness.training.layers.dense import Dense
from harness.training.model import MODELS, Model


@MODELS.register
class Logistic(Model):
    """Logistic regression: softmax over one linear layer."""

    kind: Literal["logistic"] = "logistic"
    summary: ClassVar[str] = "logistic (softmax) regression"

    def layers(self, n_classes: int) -> tuple[Layer, ...]:
        return (Dense(units=n_classes, activation="linear"),)
