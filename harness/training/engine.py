"""The base of engines, which turn a job into weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.arrays import Array
from harness.config import Plugin, Registry
from harness.training.model import Model, Weights
from harness.training.settings import Training


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
    def is_private(self) -> bool:
        """Whether gradients are clipped, and noise is added to them."""
        return self.noise_multiplier > 0


AfterEpoch = Callable[[list[Weights]], bool]
"""What is done after each epoch with the weights of each model of a stack, as they are then. True ends the training."""


class Engine(Plugin):
    """Base of all engines, which turn a job into weights (kernel and bias of each layer in turn)."""

    modules: ClassVar[tuple[str, ...]] = ()
    """Modules whose code decides every result of the engine; part of a cell's name."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Installed packages whose versions decide the result; part of a cell's name."""
    cuts_batches: ClassVar[bool] = True
    """Whether it cuts whole batches of `batch_size` records, so that there have to be as many."""

    def modules_for(self, model: Model) -> tuple[str, ...]:
        """The modules whose code decides what training `model` gives: the engine's, the model's, its layers'."""
        modules = {*self.modules, type(model).__module__, "harness.training.layer"}
        modules |= {"harness.training.batches", "harness.training.forward", "harness.training.runtime"}
        for layer in model.layers(2):
            modules |= {type(layer).__module__}
        return tuple(sorted(modules))

    def refuses(self, model: Model, training: Training) -> str | None:
        """The reason why the engine cannot train a model in this way; None where it can."""
        return None

    def capacity(self, model: Model, training: Training, n_features: int, n_classes: int) -> int:
        """The number of such models that are worth training as one stack."""
        return 1

    @abstractmethod
    def train(self, job: Job, after_epoch: AfterEpoch | None = None) -> Weights:
        """Train one model from `job.seed` alone: a job always gives the same weights, whoever looks on."""

    def train_stack(self, jobs: Sequence[Job], after_epoch: AfterEpoch | None = None) -> list[Weights]:
        """Train several models that differ in data, noise multiplier and seed only.

        Raises ValueError for `after_epoch` with several models where the engine trains one after another.
        """
        if after_epoch is not None and len(jobs) > 1:
            raise ValueError("this engine trains one model after another; it shows the epochs of one alone")
        return [self.train(job, after_epoch) for job in jobs]


# The registered engines by the `kind` that a spec writes.
ENGINES: Registry[Engine] = Registry("engine")
