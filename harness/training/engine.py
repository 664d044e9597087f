"""What training is told, what it returns, and the batches it uses."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.config import Config, Plugin, Registry
from harness.hashing import generator
from harness.training.model import Model, Weights

Optimizer = Literal["adam", "sgd"]


class Training(Config):
    """The optimisation of a model (humphries2020 Section 4.1 unless a spec says otherwise)."""

    engine: str = "tf-privacy"
    """The engine that trains: a registered name."""
    optimizer: Optimizer = "adam"
    """Update rule fed with the noisy mean gradient."""
    learning_rate: float = Field(default=0.01, gt=0)
    """Step size."""
    batch_size: int = Field(default=200, gt=0)
    """Records a step; a last incomplete batch is left out."""
    epochs: int = Field(default=100, gt=0)
    """Passes over the training set."""
    l2_norm_clip: float = Field(default=1.0, gt=0)
    """Clipping norm of each record's gradient (unused without noise)."""
    sampling: Literal["shuffle"] = "shuffle"
    """Batches are cut from a fresh permutation each epoch."""


@dataclass(frozen=True)
class Job:
    """One model to train. Without noise (`noise_multiplier` 0) gradients are not clipped either."""

    model: Model
    training: Training
    noise_multiplier: float
    features: Array
    labels: Array
    n_classes: int
    seed: int


class Engine(Plugin):
    """Base of all engines: turns a job into weights (kernel and bias of each layer in turn)."""

    modules: ClassVar[tuple[str, ...]] = ()
    """Modules whose code decides the result; part of a cell's name."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Installed packages whose versions decide the result; part of a cell's name."""

    @abstractmethod
    def train(self, job: Job) -> Weights:
        """Train one model from `job.seed` alone; the same job gives the same weights."""


ENGINES: Registry[Engine] = Registry("engine")


def batches(n: int, training: Training, seed: int) -> Array:
    """Record indices of every step, (steps, batch_size) int32: a fresh permutation each epoch."""
    rng = generator(seed, "batches")
    per_epoch = n // training.batch_size
    rows = [
        rng.permutation(n)[: per_epoch * training.batch_size].reshape(per_epoch, training.batch_size)
        for _ in range(training.epochs)
    ]
    order: Array = np.concatenate(rows).astype(np.int32)
    return order
