"""Fit an attack on shadow models, and attack one target."""

from __future__ import annotations

import numpy as np

from harness.attacks import Outputs, ShadowOutputs
from harness.execution.materialize import parse_as, piece_seed
from harness.execution.plan import Piece
from harness.execution.store import Result, Store
from harness.metrics.membership import Value, accuracy, membership_metrics
from harness.paths import Project
from harness.spec.model import AnyAttack


def outputs(result: Result, name: str) -> Outputs:
    """A model's stored outputs on one set of records."""
    return Outputs(result.arrays[f"logp_{name}"], result.arrays[f"y_{name}"].astype(np.int64))


def do_fit(_project: Project, store: Store, piece: Piece) -> Result:
    attack = parse_as(AnyAttack, piece.description["attack"])
    models = [store.get("train", need.key) for need in piece.needs]
    shadows = [ShadowOutputs(outputs(m, "inside"), outputs(m, "outside")) for m in models]
    fitted = attack.fit(shadows, models[0].meta["n_classes"], piece_seed(piece))
    return Result(fitted, {})


def do_evaluate(_project: Project, store: Store, piece: Piece) -> Result:
    """Attack one target: keep scores, decisions and metrics. Without an attack: the model's own metrics."""
    if piece.description["attack"] is None:
        own = model_metrics(store.get("train", piece.needs[0].key))
        return Result({}, {"metrics": {k: [v.value, v.stderr, v.n] for k, v in own.items()}})
    attack = parse_as(AnyAttack, piece.description["attack"])
    target, fits = piece.needs[0], piece.needs[1:]
    model = store.get("train", target.key)
    fitted = store.get("fit", fits[0].key).arrays if fits else {}
    answers = attack.answer(outputs(model, "members"), outputs(model, "nonmembers"), fitted)
    arrays = {
        "member_scores": answers.member_scores.astype(np.float32),
        "nonmember_scores": answers.nonmember_scores.astype(np.float32),
        "member_decisions": np.packbits(answers.member_decisions),
        "nonmember_decisions": np.packbits(answers.nonmember_decisions),
    }
    metrics = membership_metrics(
        answers.member_scores, answers.nonmember_scores,
        answers.member_decisions, answers.nonmember_decisions,
    )  # fmt: skip
    return Result(arrays, {"metrics": {k: [v.value, v.stderr, v.n] for k, v in metrics.items()}})


def model_metrics(result: Result) -> dict[str, Value]:
    """Accuracy and mean loss of a target on its members, test records and non-members."""
    found: dict[str, Value] = {}
    for name, label in (("members", "train"), ("test", "test"), ("nonmembers", "nonmembers")):
        out = outputs(result, name)
        found[f"accuracy_{label}"] = accuracy(out.log_probabilities, out.labels)
        losses = out.losses()
        spread = float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else 0.0
        found[f"loss_{label}"] = Value(float(losses.mean()), spread, len(losses))
    return found
