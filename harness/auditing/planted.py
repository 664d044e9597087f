"""DP-SGD for logistic regression written out in NumPy, with bugs that people have shipped: what an audit has to find.

Without a bug it is as private as its accountant says. With one it still runs and learns, and claims the same epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from harness.arrays import Array
from harness.auditing.canaries import CanaryRecords
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


def planted_training(question: Question, bug: Bug = "none") -> TrainMany:
    """Training of two-class logistic regression with the noise that the claimed epsilon asks for, and the bug."""
    sigma = question.noise_multiplier()

    def train_many(jobs: Sequence[tuple[Array, Array, int]]) -> list[Trained]:
        return _train(jobs, question, sigma, bug)

    return train_many


def _train(jobs: Sequence[tuple[Array, Array, int]], question: Question, sigma: float, bug: Bug) -> list[Trained]:
    """All runs side by side; the random numbers of each are its own."""
    x, y = np.stack([job[0] for job in jobs]).astype(np.float64), np.stack([job[1] for job in jobs])
    runs, n, d = x.shape
    batch = question.batch_size
    count = question.epochs * (n // batch)
    rate = 1.0 if bug == "wrong-rate" else batch / n
    deviation = sigma * CLIP / batch / (batch if bug == "noise-over-batch" else 1)
    draws = [generator(job[2], "planted") for job in jobs]
    chosen = np.stack([rng.random((count, n)) < rate for rng in draws])
    noise = deviation * np.stack([rng.normal(size=(count, d + 1, 2)) for rng in draws])
    if bug == "noise-reused":
        noise = np.repeat(noise[:, :1], count, axis=1)
    ones, squares = np.concatenate([x, np.ones((runs, n, 1))], axis=2), 1 + (x**2).sum(axis=2)
    if bug == "layer-unclipped":
        squares = np.ones_like(squares)
    # With two classes the logits' errors are each other's opposite: those of class 0 say all. The gradient by kernel
    # and bias is the outer product of features, with a 1 after them, and the error.
    weights, steps, turned = np.zeros((runs, d + 1, 2)), [], ones.transpose(0, 2, 1).copy()
    for step in range(count):
        error = expit((ones @ (weights[:, :, :1] - weights[:, :, 1:]))[:, :, 0]) - (y == 0)
        error *= chosen[:, step]
        if bug != "batch-clipping":
            error *= np.minimum(1, CLIP / np.maximum(np.sqrt(2 * error**2 * squares), 1e-15))
        half = turned @ error[:, :, None] / batch
        if bug == "batch-clipping":
            norm = np.sqrt(2 * (half**2).sum(axis=(1, 2), keepdims=True))
            half *= np.minimum(1, CLIP / np.maximum(norm, 1e-15))
        gradient = np.concatenate([half, -half], axis=2) + noise[:, step]
        steps.append(gradient[:, :d])
        weights = weights - LEARNING_RATE * gradient
    seen = np.stack(steps, axis=1)
    return [Trained([weights[r, :d], weights[r, d]], seen[r]) for r in range(runs)]


def spread_of_steps(model: Trained, records: CanaryRecords) -> float:
    """Of who sees every step: how much the gradients on the canary's column vary from step to step.

    Steps of a sound run vary by their noise whether the canary is in or not. Where noise is reused they differ by the
    canary's gradients alone, which come and go with the batches.
    """
    return float(_canary_gradients(model, records).std())


def likelihood_of_steps(model: Trained, records: CanaryRecords, question: Question) -> float:
    """Of who sees every step: log of the likelihood ratio of the gradients on the canary's column, over all steps.

    A step is the canary's clipped gradient and noise with the chance of being sampled, else noise alone. What the
    weights make of the gradient's size is left out: it is clipped.
    """
    rate, size = question.batch_size / question.records, records.canary[records.column]
    step = np.sqrt(2) * CLIP / question.batch_size * size / np.sqrt(1 + size**2)
    variance = 2 * (question.noise_multiplier() * CLIP / question.batch_size) ** 2
    ratio = (_canary_gradients(model, records) * step - step**2 / 2) / variance
    return float(np.logaddexp(np.log(rate) + ratio, np.log1p(-rate) if rate < 1 else -np.inf).sum())


def _canary_gradients(model: Trained, records: CanaryRecords) -> Array:
    """The gradients on the canary's column that speak for it, (steps,)."""
    gradients: Array = (
        model.steps[:, records.column, 1 - records.canary_label] - model.steps[:, records.column, records.canary_label]
    )
    return gradients
