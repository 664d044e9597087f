"""Fit an attack on shadow models, and attack one target."""

from __future__ import annotations

import numpy as np

from harness.arrays import Array
from harness.attacks import HalfModel, ShadowOutputs, Target
from harness.execution.materialize import draw_of, parse_as, piece_seed
from harness.execution.plan import Piece
from harness.execution.store import Result, Store
from harness.experiment import AnyModel
from harness.metrics import ModelOutputs, Outputs, Value
from harness.metrics.metric import of_course, of_model
from harness.paths import Project
from harness.spec.model import AnyAttack
from harness.training.forward import log_probabilities


def outputs(result: Result, name: str) -> Outputs:
    """A model's stored outputs on one set of records."""
    return Outputs(result.arrays[f"logp_{name}"], result.arrays[f"y_{name}"].astype(np.int64))


def half_model(result: Result) -> HalfModel:
    """A model of a pool of halves, as the store holds it."""
    trained_on = np.unpackbits(result.arrays["trained_on"])[: result.meta["at_stake"]].astype(bool)
    return HalfModel(outputs(result, "at_stake"), outputs(result, "test"), trained_on)


def do_fit(_project: Project, store: Store, piece: Piece) -> Result:
    attack = parse_as(AnyAttack, piece.description["attack"])
    models = [store.get("train", need.key) for need in piece.needs]
    if attack.needs_halves:
        return Result(attack.fit_halves([half_model(m) for m in models], piece_seed(piece)), {})
    shadows = [ShadowOutputs(outputs(m, "inside"), outputs(m, "outside")) for m in models]
    fitted = attack.fit(shadows, models[0].meta["n_classes"], piece_seed(piece))
    return Result(fitted, {})


def do_evaluate(project: Project, store: Store, piece: Piece) -> Result:
    """Attack one target: keep what the attack measures. Without an attack: the model's own metrics."""
    if piece.description["attack"] is None:
        model = store.get("train", piece.needs[0].key)
        sets = ModelOutputs(*(outputs(model, name) for name in ("members", "test", "nonmembers")))
        found = of_model(sets)
        if "test_accuracies" in model.arrays:
            found |= of_course(model.arrays["test_accuracies"], len(sets.test))
        return Result({}, {"metrics": _stored(found)})
    attack = parse_as(AnyAttack, piece.description["attack"])
    target, fits = piece.needs[0], piece.needs[1:]
    fitted = store.get("fit", fits[0].key).arrays if fits else {}
    found = attack.measure(TrainedTarget(project, store, target), fitted)
    return Result(found.arrays, {"metrics": _stored(found.metrics)})


def _stored(metrics: dict[str, Value]) -> dict[str, list[float]]:
    return {name: [found.value, found.stderr, found.n] for name, found in metrics.items()}


class TrainedTarget(Target):
    """A target as the store holds it."""

    def __init__(self, project: Project, store: Store, piece: Piece) -> None:
        self._project, self._store, self._piece = project, store, piece
        self._result = store.get("train", piece.key)
        self._model = parse_as(AnyModel, piece.description["model"])
        count = sum(name.startswith("w") for name in self._result.arrays)
        self._weights = [self._result.arrays[f"w{i}"] for i in range(count)]

    @property
    def members(self) -> Outputs:
        return outputs(self._result, "members")

    @property
    def nonmembers(self) -> Outputs:
        return outputs(self._result, "nonmembers")

    @property
    def test(self) -> Outputs:
        return outputs(self._result, "test")

    @property
    def places(self) -> tuple[Array, Array]:
        split = self._piece.needs[0]
        if split.needs:
            stored = self._store.get("split", split.key).arrays
            return stored["members"], stored["nonmembers"]
        return super().places

    def features(self) -> tuple[Array, Array]:
        draw = draw_of(self._project, self._piece.needs[0])
        return draw.members.features, draw.nonmembers.features

    def test_features(self) -> Array:
        found: Array = draw_of(self._project, self._piece.needs[0]).test.features
        return found

    def query(self, features: Array, labels: Array) -> Outputs:
        return Outputs(log_probabilities(self._model, self._weights, features), labels)
