"""Many small classifiers of one shape trained as one stack of matrices, in NumPy.

The attack networks of Shokri et al. are tiny (2-64-2 on Adult): a framework's overhead per step is
larger than the work. Stacking the networks of all classes into (k, ., .) arrays shares it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.arrays import Array

BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-7
CACHED = 1 << 17
"""Parameters of networks that are trained side by side: with their gradients and Adam's moments they are to stay in a
core's cache. How many go together changes no number."""
GATHERED = 1 << 20
"""Numbers of inputs that are collected at a time."""


@dataclass(frozen=True)
class StackedNetworks:
    """Weights of k ReLU networks: kernels (k, fan_in, fan_out) and biases (k, 1, fan_out) in turn."""

    weights: tuple[Array, ...]

    def arrays(self) -> dict[str, Array]:
        """Named arrays for storage."""
        return {f"w{i}": w for i, w in enumerate(self.weights)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> StackedNetworks:
        """The inverse of `arrays`."""
        return cls(tuple(arrays[f"w{i}"] for i in range(len(arrays))))

    def logits(self, index: int, inputs: Array) -> Array:
        """Outputs (n, 2) of network `index` on inputs (n, d)."""
        outputs: Array = forward([w[index : index + 1] for w in self.weights], inputs[None])[-1][0]
        return outputs


def forward(weights: Sequence[Array], inputs: Array) -> list[Array]:
    """Layer outputs, the inputs (k, n, d) first and the logits (k, n, 2) last."""
    outputs = [inputs]
    for layer in range(0, len(weights), 2):
        value = outputs[-1] @ weights[layer]
        value += weights[layer + 1]
        if layer + 2 < len(weights):
            np.maximum(value, 0, out=value)
        outputs.append(value)
    return outputs


def gradients(
    weights: Sequence[Array], inputs: Array, targets: Array, into: Sequence[Array] | None = None
) -> list[Array]:
    """Gradient of each network's mean cross-entropy, for inputs (k, n, d) and targets (k, n) in {0, 1}.

    With `into`, arrays like the weights, it is written there.
    """
    outputs = forward(weights, inputs)
    grads = [np.empty_like(w) for w in weights] if into is None else list(into)
    delta = outputs[-1]
    delta -= delta.max(axis=2, keepdims=True)
    np.exp(delta, out=delta)
    delta /= delta.sum(axis=2, keepdims=True)
    networks, records = np.arange(len(targets))[:, None], np.arange(targets.shape[1])[None]
    delta[networks, records, targets] -= 1
    delta /= targets.shape[1]
    for layer in range(len(weights) - 2, -1, -2):
        before = outputs[layer // 2]
        np.matmul(before.transpose(0, 2, 1), delta, out=grads[layer])
        np.add.reduce(delta, axis=1, keepdims=True, out=grads[layer + 1])
        if layer:
            delta = delta @ weights[layer].transpose(0, 2, 1)
            delta *= before > 0
    return grads


def train_stacked(
    inputs: Sequence[Array],
    targets: Sequence[Array],
    hidden: tuple[int, ...],
    learning_rate: float,
    batch_size: int,
    epochs: int,
    rng: np.random.Generator,
) -> StackedNetworks:
    """Train one two-class network per entry of `inputs` [(n_k, d)] and `targets` [(n_k,)] with Adam.

    Each network passes `epochs` times over its own records; one that has fewer finishes earlier. A
    network without records keeps its initial weights.
    """
    k, d = len(inputs), inputs[0].shape[1]
    weights: list[Array] = []
    sizes = (d, *hidden, 2)
    for fan_in, fan_out in itertools.pairwise(sizes):
        limit = np.sqrt(6 / (fan_in + fan_out))
        weights.append(rng.uniform(-limit, limit, (k, fan_in, fan_out)).astype(np.float32))
        weights.append(np.zeros((k, 1, fan_out), np.float32))
    orders = [_order(len(x), batch_size, epochs, rng) for x in inputs]
    steps = np.array([len(order) for order in orders])
    widths = np.array([order.shape[1] for order in orders])
    # Networks with less than a batch of records have batches of another width, and a stack of their own.
    together = max(1, CACHED // sum(w[0].size for w in weights))
    for width in sorted(set(widths[steps > 0].tolist())):
        alike = np.flatnonzero(widths == width)
        for start in range(0, len(alike), together):
            _train_group(alike[start : start + together], steps, orders, inputs, targets, weights, learning_rate)
    return StackedNetworks(tuple(weights))


def _train_group(
    members: Array,
    steps: Array,
    orders: Sequence[Array],
    inputs: Sequence[Array],
    targets: Sequence[Array],
    weights: Sequence[Array],
    learning_rate: float,
) -> None:
    """Train the networks `members` of the stack in place; those with fewer steps drop out as they finish."""
    shapes = [w.shape[1:] for w in weights]
    state = np.zeros((3, len(members), sum(map(math.prod, shapes))), np.float32)
    for whole, part in zip(weights, _views(state[0], shapes), strict=True):
        part[:] = whole[members]
    done = 0
    for stop in sorted(set(steps[members].tolist())):
        chosen = np.flatnonzero(steps[members] >= stop)
        # One array of all parameters: Adam is a few operations on it, and layers are views.
        values, first, second = (np.ascontiguousarray(part) for part in state[:, chosen])
        gradient, scratch = np.empty_like(values), np.empty_like(values)
        layers, into = _views(values, shapes), _views(gradient, shapes)
        for step, x, y in _batches([(inputs[i], targets[i], orders[i]) for i in members[chosen]], done, stop):
            gradients(layers, x, y, into)
            correction = np.sqrt(1 - BETA2 ** (step + 1)) / (1 - BETA1 ** (step + 1))
            _adam(values, first, second, gradient, learning_rate * correction, scratch)
        state[:, chosen] = values, first, second
        done = stop
    for whole, part in zip(weights, _views(state[0], shapes), strict=True):
        whole[members] = part


def _views(parameters: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Parts (k, ...) of all parameters (k, p), one for each of `shapes`."""
    ends = list(itertools.accumulate(map(math.prod, shapes), initial=0))
    # Of rows cut from longer ones only the strides differ, so these are views.
    return [
        parameters[:, start:end].reshape(len(parameters), *shape)
        for (start, end), shape in zip(itertools.pairwise(ends), shapes, strict=True)
    ]


def _batches(
    networks: Sequence[tuple[Array, Array, Array]], start: int, stop: int
) -> Iterator[tuple[int, Array, Array]]:
    """The number of each step with its batches (k, n, d) and targets (k, n); collected for many steps at a time."""
    inputs, _, order = networks[0]
    at_once = max(1, GATHERED // (len(networks) * order.shape[1] * inputs.shape[1]))
    for begin in range(start, stop, at_once):
        end = min(stop, begin + at_once)
        x = np.stack([inputs[order[begin:end]] for inputs, _, order in networks], axis=1)
        y = np.stack([targets[order[begin:end]] for _, targets, order in networks], axis=1)
        yield from zip(range(begin, end), x, y, strict=True)


def _adam(weights: Array, first: Array, second: Array, gradient: Array, rate: float, scratch: Array) -> None:
    """One step of Adam in place; all arrays are of one shape, and `gradient` and `scratch` are overwritten."""
    np.subtract(gradient, first, out=scratch)
    scratch *= 1 - BETA1
    first += scratch
    gradient *= gradient
    gradient -= second
    gradient *= 1 - BETA2
    second += gradient
    np.sqrt(second, out=scratch)
    scratch += ADAM_EPSILON
    np.multiply(first, rate, out=gradient)
    gradient /= scratch
    weights -= gradient


def _order(n: int, batch_size: int, epochs: int, rng: np.random.Generator) -> Array:
    if n == 0:
        return np.zeros((0, 0), np.int64)
    size = min(batch_size, n)
    per_epoch = n // size
    rows = [rng.permutation(n)[: per_epoch * size].reshape(per_epoch, size) for _ in range(epochs)]
    return np.concatenate(rows)
