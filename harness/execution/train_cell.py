"""The training of target or shadow models, with what attacks will ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import harness.experiment  # noqa: F401  (registers engines, also in a worker that gets pieces alone)
from harness.arrays import Array
from harness.data.split import Records
from harness.errors import TrainingError
from harness.execution.materialize import draw_of, half_of, shadow_of
from harness.execution.plan import Piece
from harness.execution.store import Result
from harness.metrics import Outputs
from harness.paths import Project
from harness.training.engine import ENGINES, Job
from harness.training.inference import log_probabilities
from harness.training.model import Model, Weights
from harness.training.settings import Training


@dataclass(frozen=True)
class _PreparedModel:
    """A model to train, and the records on which it will be asked."""

    job: Job
    sets: dict[str, Records]
    """Records on which the model will be asked."""
    trained_on: Array | None = None
    """Of the candidate records, where the model is one of a pool of halves."""


@dataclass
class _EpochMonitor:
    """The state of a model on held-out records after each epoch: its accuracies, and when early stopping ends it."""

    job: Job
    records: Records | None
    keeps_accuracies: bool
    """Whether the accuracies are wanted."""
    accuracies: list[float] = field(default_factory=list)
    best: float = -np.inf
    epochs_without_improvement: int = 0
    """Epochs without improvement."""
    weights: Weights | None = None
    """Those to be kept, where they are not the last ones."""
    has_ended: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether anything has to be done after an epoch."""
        return self.records is not None and (self.keeps_accuracies or self.job.training.early_stopping is not None)

    def observe_epoch(self, weights: Weights) -> None:
        """Evaluate the model after one more epoch."""
        assert self.records is not None
        if self.has_ended:
            return
        outputs = Outputs(log_probabilities(self.job.model, weights, self.records.features), self.records.labels)
        accuracy = float(np.mean(outputs.log_probabilities.argmax(axis=1) == outputs.labels))
        self.accuracies.append(accuracy)
        stopping = self.job.training.early_stopping
        if stopping is None:
            return
        now = accuracy if stopping.watch == "accuracy" else -float(outputs.losses().mean())
        better = now > self.best
        self.best, self.epochs_without_improvement = (
            max(now, self.best),
            0 if better else self.epochs_without_improvement + 1,
        )
        self.has_ended = self.epochs_without_improvement >= stopping.patience
        if better if stopping.keep == "best" else self.has_ended:
            self.weights = [np.array(w) for w in weights]


def _observe_epoch(monitors: Sequence[_EpochMonitor], stack: Sequence[Weights]) -> bool:
    """Let each monitor observe its model of a stack. Returns True once all have ended."""
    for monitor, weights in zip(monitors, stack, strict=True):
        monitor.observe_epoch(weights)
    return all(monitor.has_ended for monitor in monitors)


def compute_training(project: Project, pieces: Sequence[Piece]) -> list[Result]:
    """The results of training pieces that differ in data, noise and seed only, as one stack where their shapes agree.

    They hold the weights and the log-probabilities on every set of records that attacks ask about. Raises TrainingError
    where weights become infinite or not-a-number.
    """
    prepared = [_prepare_model(project, piece) for piece in pieces]
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, one in enumerate(prepared):
        alike.setdefault((*one.job.features.shape, one.job.n_classes), []).append(i)
    results: list[Result | None] = [None] * len(pieces)
    for members in alike.values():
        stack = [prepared[i] for i in members]
        each = stack[0].job.training.epochs_measured == "each"
        monitors = [
            _EpochMonitor(p.job, p.sets.get("test", p.sets.get("outside")), each and "test" in p.sets) for p in stack
        ]
        watched = monitors[0].is_needed
        engine = ENGINES[stack[0].job.training.engine]()
        trained = engine.train_stack([p.job for p in stack], partial(_observe_epoch, monitors) if watched else None)
        for i, weights, monitor in zip(members, trained, monitors, strict=True):
            results[i] = _store_result(prepared[i], monitor.weights or weights, pieces[i], monitor)
    return [r for r in results if r is not None]


def _prepare_model(project: Project, piece: Piece) -> _PreparedModel:
    """The job of a piece and its sets of records, by the role of its model."""
    description, split_piece, trained_on = piece.description, piece.needs[0], None
    draw = draw_of(project, split_piece)
    if description["role"] == "half":
        candidates, trained_on = half_of(project, split_piece, description["index"])
        records, inside = {"at_stake": candidates, "test": draw.test}, candidates.select(trained_on)
    elif description["role"] == "shadow":
        shadow = shadow_of(project, split_piece, description["index"])
        records, inside = {"inside": shadow.inside, "outside": shadow.outside}, shadow.inside
    else:
        records, inside = {"members": draw.members, "test": draw.test, "nonmembers": draw.nonmembers}, draw.members
    model, training = piece.settings["model"], piece.settings["training"]
    assert isinstance(model, Model)
    assert isinstance(training, Training)
    job = Job(
        model=model,
        training=training,
        noise_multiplier=description["noise_multiplier"],
        features=inside.features,
        labels=inside.labels,
        n_classes=draw.n_classes,
        seed=piece.seed,
    )
    return _PreparedModel(job, records, trained_on)


def _store_result(prepared: _PreparedModel, weights: Weights, piece: Piece, monitor: _EpochMonitor) -> Result:
    """The result of a training. Raises TrainingError where weights are not finite."""
    job = prepared.job
    if not all(np.isfinite(w).all() for w in weights):
        fault = TrainingError(
            f"training diverged (weights are not finite) in cell {piece.key[:12]}; lower learning_rate"
        )
        fault.piece = piece.key
        raise fault
    arrays = {f"w{i}": w for i, w in enumerate(weights)}
    for name, records in prepared.sets.items():
        arrays[f"logp_{name}"] = log_probabilities(job.model, weights, records.features)
        arrays[f"y_{name}"] = records.labels.astype(np.int32)
    if monitor.keeps_accuracies:
        arrays["test_accuracies"] = np.array(monitor.accuracies)
    meta: dict[str, Any] = {"n_classes": job.n_classes}
    if job.training.early_stopping is not None:
        meta["epochs"] = len(monitor.accuracies)
    if prepared.trained_on is not None:
        arrays["trained_on"] = np.packbits(prepared.trained_on)
        meta["at_stake"] = len(prepared.trained_on)
    return Result(arrays, meta)
