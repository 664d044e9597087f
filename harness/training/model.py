"""Architectures as data: a model is a sequence of layers from a record's features to one logit a class."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from pydantic import Field

from harness.arrays import Array
from harness.config import Plugin, Registry
from harness.training.layer import Layer, Shape

Weights = list[Array]
"""Kernel and bias of each layer that has them, in order."""


class Model(Plugin):
    """Base of all architectures."""

    l2: float = Field(default=0.0, ge=0)
    """Coefficient of the sum of squared kernel entries added to the loss (never clipped: it sees no record)."""

    engine: ClassVar[str | None] = None
    """The one engine that trains it; None: any may."""

    @abstractmethod
    def layers(self, n_classes: int) -> tuple[Layer, ...]:
        """The layers; the last one gives the logits."""

    def input_shape(self, n_features: int) -> Shape:
        """The shape in which the layers see a record of `n_features` numbers. Raises ValueError where none fits."""
        return (n_features,)


# The registered architectures by the `kind` that a spec writes.
MODELS: Registry[Model] = Registry("model")
