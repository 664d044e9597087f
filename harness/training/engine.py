"""What training is told, what it returns, and the batches it uses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from harness.arrays import Array
from harness.config import Config, Plugin, Registry
from harness.hashing import generator
from harness.training.model import Model, Weights

Optimizer = Literal["adam", "sgd", "momentum"]
Sampling = Literal["shuffle", "poisson"]
Clipping = Literal["per-example", "batch"]

ADDED_LATER: dict[str, Any] = {"momentum": 0.9, "clipping": "per-example"}
"""Fields that came after cells had been named: at these values they stay out of a cell's name and seed."""


class Training(Config):
    """The optimisation of a model (humphries2020 Section 4.1 unless a spec says otherwise)."""

    engine: str = "tf-privacy"
    """The engine that trains: a registered name."""
    optimizer: Optimizer = "adam"
    """Update rule fed with the noisy mean gradient."""
    learning_rate: float = Field(default=0.01, gt=0)
    """Step size."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the velocity; for `optimizer: momentum` alone."""
    batch_size: int = Field(default=200, gt=0)
    """Records a step (the expected number under `sampling: poisson`); a last incomplete batch is left out."""
    epochs: int = Field(default=100, gt=0)
    """Passes over the training set."""
    l2_norm_clip: float = Field(default=1.0, gt=0)
    """Clipping norm of each record's gradient (unused without noise)."""
    clipping: Clipping = "per-example"
    """`per-example`, or `batch`: the mean gradient of a batch is clipped as one (jayaraman2019 Figure 1)."""
    sampling: Sampling = "shuffle"
    """`shuffle`: batches are cut from a fresh permutation each epoch; `poisson`: a coin a record and batch."""

    @model_validator(mode="after")
    def _consistent(self) -> Training:
        if self.clipping == "batch" and self.sampling == "poisson":
            raise ValueError("clipping: batch needs batches of one size; use sampling: shuffle")
        return self

    def content(self) -> dict[str, Any]:
        """What is hashed into a cell's name."""
        dumped = self.model_dump(mode="json")
        return {k: v for k, v in dumped.items() if k not in ADDED_LATER or v != ADDED_LATER[k]}


@dataclass(frozen=True)
class Job:
    """One model to train. Without noise (`noise_multiplier` 0) gradients are not clipped either."""

    model: Model
    training: Training
    noise_multiplier: float
    features: Array
    """(n, n_features) float32."""
    labels: Array
    """(n,) integers below `n_classes`."""
    n_classes: int
    seed: int

    @property
    def private(self) -> bool:
        """Whether gradients are clipped and noised."""
        return self.noise_multiplier > 0


class Engine(Plugin):
    """Base of all engines: turns a job into weights (kernel and bias of each layer in turn)."""

    modules: ClassVar[tuple[str, ...]] = ()
    """Modules whose code decides every result of the engine; part of a cell's name."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Installed packages whose versions decide the result; part of a cell's name."""

    def code(self, model: Model) -> tuple[str, ...]:
        """All modules whose code decides what training `model` gives: the engine's, the model's, its layers'."""
        found = {*self.modules, type(model).__module__, "harness.training.model", "harness.training.layer"}
        for layer in model.layers(2):
            found |= {type(layer).__module__}
        return tuple(sorted(found))

    def refuses(self, model: Model, training: Training) -> str | None:
        """Why the engine cannot train this, or None."""
        return None

    def capacity(self, model: Model, training: Training, n_features: int, n_classes: int) -> int:
        """How many such models are worth training as one stack."""
        return 1

    @abstractmethod
    def train(self, job: Job) -> Weights:
        """Train one model from `job.seed` alone; the same job gives the same weights."""

    def train_stack(self, jobs: Sequence[Job]) -> list[Weights]:
        """Train several models that differ in data, noise multiplier and seed only."""
        return [self.train(job) for job in jobs]


ENGINES: Registry[Engine] = Registry("engine")


def batches(n: int, training: Training, seed: int) -> Array:
    """Record indices of every step, (steps, width) int32; -1 fills up a batch that is smaller than the widest.

    `shuffle`: a fresh permutation each epoch, cut into batches of `batch_size`. `poisson`: as many steps,
    each record in each of them with probability batch_size / n.
    """
    rng = generator(seed, "batches")
    per_epoch = n // training.batch_size
    if training.sampling == "poisson":
        return _poisson_batches(rng, n, per_epoch * training.epochs, training.batch_size / n)
    rows = [
        rng.permutation(n)[: per_epoch * training.batch_size].reshape(per_epoch, training.batch_size)
        for _ in range(training.epochs)
    ]
    order: Array = np.concatenate(rows).astype(np.int32)
    return order


def _poisson_batches(rng: np.random.Generator, n: int, steps: int, rate: float) -> Array:
    # A Poisson sample is a uniformly random subset of binomial size.
    sizes = rng.binomial(n, rate, size=steps)
    order = np.full((steps, max(1, int(sizes.max(initial=1)))), -1, np.int32)
    for step, size in enumerate(sizes):
        order[step, :size] = rng.choice(n, size=size, replace=False, shuffle=False)
    return order
