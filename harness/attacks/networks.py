"""Many small classifiers of one shape trained as one stack of matrices, in NumPy.

The attack networks of Shokri et al. are tiny (2-64-2 on Adult): a framework's overhead per step is
larger than the work. Stacking the networks of all classes into (k, ., .) arrays shares it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.arrays import Array

BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-7


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
        value = outputs[-1] @ weights[layer] + weights[layer + 1]
        last = layer + 2 == len(weights)
        outputs.append(value if last else np.maximum(value, 0))
    return outputs


def gradients(weights: Sequence[Array], inputs: Array, targets: Array) -> list[Array]:
    """Gradient of each network's mean cross-entropy, for inputs (k, n, d) and targets (k, n) in {0, 1}."""
    outputs = forward(weights, inputs)
    logits = outputs[-1]
    shifted = np.exp(logits - logits.max(axis=2, keepdims=True))
    delta = shifted / shifted.sum(axis=2, keepdims=True)
    delta[np.arange(len(targets))[:, None], np.arange(targets.shape[1])[None], targets] -= 1
    delta /= targets.shape[1]
    found: list[Array] = []
    for layer in range(len(weights) - 2, -1, -2):
        before = outputs[layer // 2]
        found = [before.transpose(0, 2, 1) @ delta, delta.sum(axis=1, keepdims=True), *found]
        if layer:
            delta = (delta @ weights[layer].transpose(0, 2, 1)) * (before > 0)
    return found


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
    for width in sorted(set(widths[steps > 0].tolist())):
        _train_group(np.flatnonzero(widths == width), steps, orders, inputs, targets, weights, learning_rate)
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
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    done = 0
    for stop in sorted(set(steps[members].tolist())):
        active = members[steps[members] >= stop]
        w, m, v = ([a[active] for a in group] for group in (weights, first, second))
        for step in range(done, stop):
            x = np.stack([inputs[i][orders[i][step]] for i in active])
            y = np.stack([targets[i][orders[i][step]] for i in active])
            correction = np.sqrt(1 - BETA2 ** (step + 1)) / (1 - BETA1 ** (step + 1))
            for a, g in enumerate(gradients(w, x, y)):
                m[a] += (1 - BETA1) * (g - m[a])
                v[a] += (1 - BETA2) * (g * g - v[a])
                w[a] -= learning_rate * correction * m[a] / (np.sqrt(v[a]) + ADAM_EPSILON)
        for whole, part in zip((weights, first, second), (w, m, v), strict=True):
            for a, values in enumerate(part):
                whole[a][active] = values
        done = stop


def _order(n: int, batch_size: int, epochs: int, rng: np.random.Generator) -> Array:
    if n == 0:
        return np.zeros((0, 0), np.int64)
    size = min(batch_size, n)
    per_epoch = n // size
    rows = [rng.permutation(n)[: per_epoch * size].reshape(per_epoch, size) for _ in range(epochs)]
    return np.concatenate(rows)
