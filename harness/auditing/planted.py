"""DP-SGD for logistic regression written out in NumPy, with bugs that people have shipped: what an audit has to find.

Without a bug it is as private as its accountant says. With one it still runs and learns, and claims the same epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.arrays import Array
from harness.auditing.engines import LEARNING_RATE, Question
from harness.auditing.trials import TrainMany
from harness.hashing import generator

Bug = Literal["none", "noise-over-batch", "batch-clipping", "layer-unclipped", "noise-reused", "wrong-rate"]
BUGS: dict[Bug, str] = {
    "none": "as it should be",
    "noise-over-batch": "noise divided by the batch size once more (tramer2025 Section 6.1)",
    "batch-clipping": "the mean gradient is clipped instead of each record's",
    "layer-unclipped": "norms are of the bias alone, so the kernel's gradients are hardly clipped",
    "noise-reused": "noise is drawn once and added at every step",
    "wrong-rate": "every record is in every batch, the accounting is for the sampling rate",
}
CLIP = 1.0


@dataclass(frozen=True)
class Trained:
    """What a run leaves: its weights, and for who sees all steps, the noisy gradients of each (steps, d, 2)."""

    weights: list[Array]
    steps: Array

    def __getitem__(self, i: int) -> Array:
        return self.weights[i]


def trains(question: Question, bug: Bug = "none") -> TrainMany:
    """Training of two-class logistic regression with the noise that the claimed epsilon asks for, and the bug."""
    sigma = question.noise_multiplier()

    def many(jobs: Sequence[tuple[Array, Array, int]]) -> list[Trained]:
        return [_train(x, y, seed, question, sigma, bug) for x, y, seed in jobs]

    return many


def _train(x: Array, y: Array, seed: int, question: Question, sigma: float, bug: Bug) -> Trained:
    rng = generator(seed, "planted")
    n, d = x.shape
    batch = question.batch_size
    rate = 1.0 if bug == "wrong-rate" else batch / n
    kernel, bias, steps = np.zeros((d, 2)), np.zeros(2), []
    reused = rng.normal(size=(d + 1, 2))
    for _ in range(question.epochs * (n // batch)):
        chosen = rng.random(n) < rate
        logits = x[chosen] @ kernel + bias
        p = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        error = p - np.eye(2)[y[chosen]]  # gradient of each record's loss by its logits
        # The gradient by the kernel is the outer product of features and error; by the bias it is the error.
        squares = (error**2).sum(axis=1) * (1 + (x[chosen] ** 2).sum(axis=1))
        if bug == "layer-unclipped":
            squares = (error**2).sum(axis=1)
        share = np.minimum(1, CLIP / np.sqrt(np.maximum(squares, 1e-30)))
        if bug == "batch-clipping":
            share = np.ones(len(error))
        scaled = error * share[:, None]
        gradient = np.concatenate([x[chosen].T @ scaled, scaled.sum(axis=0)[None]]) / batch
        if bug == "batch-clipping":
            gradient *= min(1, CLIP / max(1e-30, float(np.sqrt((gradient**2).sum()))))
        noise = reused if bug == "noise-reused" else rng.normal(size=(d + 1, 2))
        deviation = sigma * CLIP / batch / (batch if bug == "noise-over-batch" else 1)
        gradient = gradient + deviation * noise
        steps.append(gradient[:d])
        kernel, bias = kernel - LEARNING_RATE * gradient[:d], bias - LEARNING_RATE * gradient[d]
    return Trained([kernel, bias], np.stack(steps))


def of_all_steps(model: Trained, column: int, label: int) -> float:
    """Of who sees every step: how much the gradients on the canary's column vary over the steps, and speak for it.

    Steps of a sound run vary by their noise whether the canary is in or not. Where noise is reused they differ by the
    canary's gradients alone, which come and go with the batches.
    """
    seen = model.steps[:, column, 1 - label] - model.steps[:, column, label]
    return float(seen.std())
