"""Architectures as data: a multilayer perceptron and logistic (softmax) regression."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.config import Plugin, Registry

Activation = Literal["relu", "tanh", "sigmoid"]
Weights = list[Array]


class Model(Plugin):
    """Base of all architectures: dense layers from features to one logit a class."""

    l2: float = Field(default=0.0, ge=0)
    """Coefficient of the sum of squared kernel entries added to the loss."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """Widths of the hidden layers."""

    @property
    @abstractmethod
    def hidden_activation(self) -> Activation:
        """Activation of the hidden layers."""


MODELS: Registry[Model] = Registry("model")


@MODELS.register
class Mlp(Model):
    """Fully connected network."""

    kind: Literal["mlp"] = "mlp"
    hidden: tuple[int, ...] = (256, 256)
    """Width of each hidden layer."""
    activation: Activation = "relu"
    """Activation of the hidden layers."""
    summary: ClassVar[str] = "fully connected network"

    @property
    def widths(self) -> tuple[int, ...]:
        return self.hidden

    @property
    def hidden_activation(self) -> Activation:
        return self.activation


@MODELS.register
class Logistic(Model):
    """Logistic regression: softmax over one linear layer."""

    kind: Literal["logistic"] = "logistic"
    summary: ClassVar[str] = "logistic (softmax) regression"

    @property
    def widths(self) -> tuple[int, ...]:
        return ()

    @property
    def hidden_activation(self) -> Activation:
        return "relu"


def initial_weights(model: Model, n_features: int, n_classes: int, rng: np.random.Generator) -> Weights:
    """Glorot-uniform kernels and zero biases, alternating, as Keras initialises Dense layers."""
    weights: Weights = []
    sizes = (n_features, *model.widths, n_classes)
    for fan_in, fan_out in itertools.pairwise(sizes):
        limit = np.sqrt(6.0 / (fan_in + fan_out))
        weights.append(rng.uniform(-limit, limit, size=(fan_in, fan_out)).astype(np.float32))
        weights.append(np.zeros(fan_out, dtype=np.float32))
    return weights


def log_probabilities(model: Model, weights: Weights, features: Array) -> Array:
    """Log-softmax outputs (n, n_classes) float32 of the network on `features` (n, d).

    A NumPy forward pass, so that attacks and reports need no TensorFlow to query a stored model.
    """
    hidden = features.astype(np.float32)
    for layer in range(0, len(weights), 2):
        hidden = hidden @ weights[layer] + weights[layer + 1]
        if layer + 2 < len(weights):
            hidden = _ACTIVATIONS[model.hidden_activation](hidden)
    shifted = hidden - hidden.max(axis=1, keepdims=True)
    result: Array = (shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))).astype(np.float32)
    return result


_ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 0.5 * (np.tanh(0.5 * x) + 1.0),
}
