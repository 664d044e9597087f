"""Train one target or shadow model and keep what attacks will ask of it."""

from __future__ import annotations

import numpy as np

from harness.errors import HarnessError
from harness.execution.materialize import draw_of, parse_as, piece_seed, shadow_of
from harness.execution.plan import Piece
from harness.execution.store import Result, Store
from harness.paths import Project
from harness.spec.model import AnyModel
from harness.training.engine import ENGINES, Job, Training
from harness.training.model import Weights, log_probabilities


def do_train(project: Project, _store: Store, piece: Piece) -> Result:
    """Train, then keep the weights and the log-probabilities on every set of records that is asked about."""
    description, split_piece = piece.description, piece.needs[0]
    draw = draw_of(project, split_piece)
    if description["role"] == "shadow":
        shadow = shadow_of(project, split_piece, description["index"])
        sets = {"inside": shadow.inside, "outside": shadow.outside}
        inside = shadow.inside
    else:
        sets = {"members": draw.members, "test": draw.test, "nonmembers": draw.nonmembers}
        inside = draw.members
    training = Training.model_validate(description["training"])
    model = parse_as(AnyModel, description["model"])
    job = Job(
        model=model, training=training, noise_multiplier=description["noise_multiplier"],
        features=inside.features, labels=inside.labels, n_classes=draw.n_classes,
        seed=piece_seed(piece),
    )  # fmt: skip
    weights: Weights = ENGINES[training.engine]().train(job)
    arrays = {f"w{i}": w for i, w in enumerate(weights)}
    for name, records in sets.items():
        arrays[f"logp_{name}"] = log_probabilities(model, weights, records.features)
        arrays[f"y_{name}"] = records.labels.astype(np.int32)
    if not all(np.isfinite(w).all() for w in weights):
        raise HarnessError(f"training diverged (weights are not finite) in cell {piece.key[:12]}; lower learning_rate")
    return Result(arrays, {"n_classes": draw.n_classes})
