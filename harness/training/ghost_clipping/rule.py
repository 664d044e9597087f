"""The base of layers' rules: what book-keeping asks of a layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import tensorflow as tf

from harness.training.layer import Activation, Layer, Shape

# A tensor of TensorFlow, which has no types.
Tensor = Any


@dataclass(frozen=True)
class Step:
    """A step of all replicates: its number, and the keys of each replicate's random numbers."""

    number: Tensor
    """() int64, counted over the whole training."""
    keys: Tensor
    """(replicates,) int64."""

    def draw_uniform(self, replicates: int, shape: Sequence[Any], purpose: int) -> Tensor:
        """Numbers (replicates, *shape) uniform in [0, 1), from each replicate's key, the step and `purpose`."""
        # Purposes are places of layers: with fewer than 1024 layers no two steps share a stream.
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
        """The outputs (replicates, records, ...), and whatever the backward pass needs."""

    @abstractmethod
    def backward(self, delta: Tensor, cache: Any) -> Tensor:
        """The `delta` at the inputs, from that before the activation."""

    def before_activation(self, delta: Tensor, cache: Any) -> Tensor:
        """The `delta` before the activation, from that at the outputs."""
        return delta

    def square_norms(self, delta: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """The squared norm of each record's gradient by this layer's weights, and what `gradients` may reuse."""
        raise NotImplementedError

    def remembers(self, memo: Any) -> bool:
        """Whether `gradients` takes from a memo all that it needs."""
        return False

    def gradients(self, delta: Tensor, scale: Tensor | None, cache: Any, memo: Any) -> list[Tensor]:
        """The sum over records of `scale` (replicates, records) times the record's gradient, for each weight."""
        raise NotImplementedError


def activate(activation: Activation, value: Tensor) -> Tensor:
    """The value of an activation.

    It uses only functions whose value does not depend on an entry's place in the array: TensorFlow's sigmoid and
    exponential differ in the last digit between full vector registers and the remainder, and a model's
    result would depend on what it is stacked with. Hence sigmoid by way of tanh.
    """
    if activation == "sigmoid":
        return 0.5 * (tf.tanh(0.5 * value) + 1.0)
    functions = {"relu": tf.nn.relu, "tanh": tf.tanh, "linear": tf.identity}
    return functions[activation](value)


def activation_delta(activation: Activation, delta: Tensor, outputs: Tensor) -> Tensor:
    """The `delta` before an activation whose `outputs` are known."""
    if activation == "relu":
        return tf.raw_ops.ReluGrad(gradients=delta, features=outputs)
    if activation == "tanh":
        return tf.raw_ops.TanhGrad(y=outputs, dy=delta)
    if activation == "sigmoid":
        return delta * (outputs * (1.0 - outputs))  # TensorFlow's own op multiplies remainders in another order
    return delta


def sum_of_squares(value: Tensor, axes: Sequence[int] = (-1,)) -> Tensor:
    """The sum of squares over `axes`."""
    return tf.reduce_sum(value * value, axis=list(axes))
