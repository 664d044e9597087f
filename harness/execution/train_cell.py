"""Train target or shadow models and keep what attacks will ask of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.arrays import Array
from harness.errors import AboutTraining
from harness.execution.materialize import draw_of, parse_as, piece_seed, shadow_of
from harness.execution.plan import Piece
from harness.execution.store import Result
from harness.experiment import AnyModel
from harness.paths import Project
from harness.training.engine import ENGINES, Job
from harness.training.forward import log_probabilities
from harness.training.model import Weights
from harness.training.settings import Training

Sets = dict[str, tuple[Array, Array]]


def do_train(project: Project, pieces: Sequence[Piece]) -> list[Result]:
    """Train pieces that differ in data, noise and seed only: as one stack where their shapes agree.

    Keeps the weights and the log-probabilities on every set of records that is asked about.
    """
    prepared = [_prepare(project, piece) for piece in pieces]
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, (job, _) in enumerate(prepared):
        alike.setdefault((*job.features.shape, job.n_classes), []).append(i)
    results: list[Result | None] = [None] * len(pieces)
    for members in alike.values():
        jobs = [prepared[i][0] for i in members]
        trained = ENGINES[jobs[0].training.engine]().train_stack(jobs)
        for i, weights in zip(members, trained, strict=True):
            results[i] = _result(prepared[i][0], weights, prepared[i][1], pieces[i])
    return [r for r in results if r is not None]


def _prepare(project: Project, piece: Piece) -> tuple[Job, Sets]:
    description, split_piece = piece.description, piece.needs[0]
    draw = draw_of(project, split_piece)
    if description["role"] == "shadow":
        shadow = shadow_of(project, split_piece, description["index"])
        records, inside = {"inside": shadow.inside, "outside": shadow.outside}, shadow.inside
    else:
        records, inside = {"members": draw.members, "test": draw.test, "nonmembers": draw.nonmembers}, draw.members
    job = Job(
        model=parse_as(AnyModel, description["model"]),
        training=Training.model_validate(description["training"]),
        noise_multiplier=description["noise_multiplier"],
        features=inside.features,
        labels=inside.labels,
        n_classes=draw.n_classes,
        seed=piece_seed(piece),
    )
    return job, {name: (r.features, r.labels) for name, r in records.items()}


def _result(job: Job, weights: Weights, sets: Sets, piece: Piece) -> Result:
    if not all(np.isfinite(w).all() for w in weights):
        fault = AboutTraining(
            f"training diverged (weights are not finite) in cell {piece.key[:12]}; lower learning_rate"
        )
        fault.piece = piece.key
        raise fault
    arrays = {f"w{i}": w for i, w in enumerate(weights)}
    for name, (features, labels) in sets.items():
        arrays[f"logp_{name}"] = log_probabilities(job.model, weights, features)
        arrays[f"y_{name}"] = labels.astype(np.int32)
    return Result(arrays, {"n_classes": job.n_classes})
