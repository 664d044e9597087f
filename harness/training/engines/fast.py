"""The fast engine: book-keeping in one compiled graph, several models at a time where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from harness.hashing import derive_seed, generator
from harness.training.batches import batches
from harness.training.engine import ENGINES, AfterEpoch, Engine, Job
from harness.training.forward import initial_weights
from harness.training.model import Model, Weights
from harness.training.runtime import import_tensorflow
from harness.training.settings import Training
from harness.training.stacking import stack_size

NOT_IN_THE_GRAPH = {"epochs": 1, "epochs_measured": "last", "early_stopping": None}
"""What of a training changes no step: set alike, so that compiled graphs are shared."""


@ENGINES.register
class Fast(Engine):
    """The same clipping, noise, batches and updates as TensorFlow Privacy's, in an implementation of this package."""

    kind: Literal["fast"] = "fast"
    modules: ClassVar[tuple[str, ...]] = (
        "harness.training.engines.fast",
        "harness.training.ghost_clipping.program",
        "harness.training.ghost_clipping.rule",
        "harness.training.ghost_clipping.softmax",
        "harness.training.ghost_clipping.noise",
        "harness.training.ghost_clipping.dense",
    )
    packages: ClassVar[tuple[str, ...]] = ("tensorflow", "numpy")

    def modules_for(self, model: Model) -> tuple[str, ...]:
        rules = {layer.ghost_module for layer in model.layers(2)}
        return tuple(sorted({*super().modules_for(model), *rules}))

    def refuses(self, model: Model, training: Training) -> str | None:
        without = sorted({layer.plugin_name() for layer in model.layers(2) if not layer.ghost_module})
        return f"engine fast has no rule for {', '.join(without)}; use engine: tf-privacy" if without else None

    def capacity(self, model: Model, training: Training, n_features: int, n_classes: int) -> int:
        return stack_size(model, training, n_features, n_classes)

    def train(self, job: Job, after_epoch: AfterEpoch | None = None) -> Weights:
        return self.train_stack([job], after_epoch)[0]

    def train_stack(self, jobs: Sequence[Job], after_epoch: AfterEpoch | None = None) -> list[Weights]:
        first, n = jobs[0], len(jobs[0].labels)
        for job in jobs:
            alike = (job.model, job.training, job.n_classes, job.is_private, job.features.shape)
            if alike != (first.model, first.training, first.n_classes, first.is_private, first.features.shape):
                raise ValueError("models of one stack must agree in architecture, training, shapes and privacy")
        import_tensorflow()
        from harness.training.ghost_clipping.program import Stack, program_for

        training = first.training.model_copy(update=NOT_IN_THE_GRAPH)
        n_features = first.features.shape[1]
        program = program_for(first.model, training, n_features, first.n_classes, len(jobs), first.is_private)
        program.set_weights(
            [initial_weights(job.model, n_features, job.n_classes, generator(job.seed, "weights")) for job in jobs]
        )
        orders = [batches(n, job.training, job.seed) for job in jobs]
        width = max(order.shape[1] for order in orders)
        rows = np.full((len(orders[0]), len(jobs), width), -1, np.int32)
        # The data of all models lie one after another, so indices of the r-th model begin at r * n.
        for r, order in enumerate(orders):
            rows[:, r, : order.shape[1]] = np.where(order < 0, -1, order + r * n)
        program.train(
            Stack(
                features=np.concatenate([job.features for job in jobs]).astype(np.float32),
                labels=np.concatenate([job.labels for job in jobs]).astype(np.int32),
                order=rows,
                noise_multipliers=np.array([job.noise_multiplier for job in jobs], np.float32),
                noise_keys=np.array([derive_seed(job.seed, "noise") for job in jobs], np.int64),
                dropout_keys=np.array([derive_seed(job.seed, "dropout") for job in jobs], np.int64),
            ),
            stops=n // first.training.batch_size if after_epoch else None,
            at_stop=(lambda: after_epoch(program.get_weights())) if after_epoch else None,
        )
        return program.get_weights()
