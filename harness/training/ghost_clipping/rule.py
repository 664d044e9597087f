"""What book-keeping asks of a layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import tensorflow as tf

from harness.training.layer import Activation, Layer, Shape

Tensor = Any


@dataclass(frozen=True)
class Step:
    """What one step of all replicates shares: its number, and the keys of each replicate's random numbers."""

    number: Tensor
    """() int64, counted over the whole training."""
    keys: Tensor
    """(replicates,) int64."""

    def draw_uniform(self, replicates: int, shape: Sequence[Any], purpose: int) -> Tensor:
        """(replicates, *shape) uniform in [0, 1): a function of each replicate's key, the step and `purpose`."""
        number = self.number * 1024 + purpose
        drawn = [
            tf.random.stateless_uniform(shape, tf.stack([self.keys[r], number]), alg="philox")
            for r in range(replicates)
        ]
        return tf.stack(drawn)


class GhostLayer(ABC):
    """The forward and backward pass of one layer for a stack of replicates.

    `square_norms` and `gradients` are asked only of layers with weights; others (pooling, dropout, flattening) leave
    them as they are here.

    `delta` is the derivative of each record's own loss (not yet clipped) by the layer's output, then
    by its value before the activation.
    """

    layer: ClassVar[type[Layer]]

    def __init__(self, layer: Any, shape: Shape, replicates: int, index: int) -> None:
        self.config, self.shape, self.replicates, self.index = layer, shape, replicates, index
        self.weights: list[Any] = []

    @abstractmethod
    def forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, Any]:
        """Outputs (replicates, records, ...), and whatever the backward pass needs."""

    @abstractmethod
    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        """`delta` at the inputs, from `delta` before the activation."""

    def before_activation(self, delta: Tensor, cache: Any) -> Tensor:
        """`delta` before the activation, from `delta` at the outputs."""
        return delta

    def square_norms(self, delta: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Squared norm of each record's gradient by this layer's weights, and what `gradients` may reuse."""
        raise NotImplementedError

    def remembers(self, memo: Any) -> bool:
        """Whether `gradients` takes from a memo all that it needs."""
        return False

    def gradients(self, delta: Tensor, scale: Tensor | None, cache: Any, memo: Any) -> list[Tensor]:
        """Sum over records of `scale` (replicates, records) times the record's gradient, for each weight."""
        raise NotImplementedError


def activate(activation: Activation, value: Tensor) -> Tensor:
    """Apply an activation.

    Only functions whose value does not depend on an entry's place in the array: TensorFlow's sigmoid and
    exponential differ in the last digit between full vector registers and the remainder, and a model's
    result would depend on what it is stacked with. Hence sigmoid by way of tanh.
    """
    if activation == "sigmoid":
        return 0.5 * (tf.tanh(0.5 * value) + 1.0)
    functions = {"relu": tf.nn.relu, "tanh": tf.tanh, "linear": tf.identity}
    return functions[activation](value)


def activation_delta(activation: Activation, delta: Tensor, outputs: Tensor) -> Tensor:
    """`delta` before an activation whose `outputs` are known."""
    if activation == "relu":
        return tf.raw_ops.ReluGrad(gradients=delta, features=outputs)
    if activation == "tanh":
        return tf.raw_ops.TanhGrad(y=outputs, dy=delta)
    if activation == "sigmoid":
        return delta * (outputs * (1.0 - outputs))  # TensorFlow's own op multiplies remainders in another order
    return delta


def sum_of_squares(value: Tensor, axes: Sequence[int] = (-1,)) -> Tensor:
    """Sum of squares over `axes`."""
    return tf.reduce_sum(value * value, axis=list(axes))
