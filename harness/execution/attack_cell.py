"""Fit an attack on shadow models, and attack one target."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

import harness.spec.model  # noqa: F401  (registers what pieces are made of, also in a worker that gets pieces alone)
from harness.arrays import Array
from harness.attacks import Attack, InOutModel, Pool, ScoringAttack, Target
from harness.attacks.target import AttackResult
from harness.data.split import ShadowDraw
from harness.defences import Defence, ModelOracle, Oracle
from harness.errors import HarnessError
from harness.execution.materialize import draw_of, shadow_of
from harness.execution.plan import Piece
from harness.execution.store import Result, Store
from harness.hashing import derive_seed
from harness.metrics import ModelOutputs, Outputs, Value
from harness.metrics.metric import measure_epochs, measure_model
from harness.paths import Project
from harness.training.inference import Labels, gradient_norms, log_probabilities
from harness.training.model import Model, Weights


def outputs(result: Result, name: str) -> Outputs:
    """A model's stored outputs on one set of records."""
    return Outputs(result.arrays[f"logp_{name}"], result.arrays[f"y_{name}"].astype(np.int64))


def _attack(piece: Piece) -> Attack:
    attack = piece.settings["attack"]
    assert isinstance(attack, Attack)
    return attack


def _model(piece: Piece) -> Model:
    model = piece.settings["model"]
    assert isinstance(model, Model)
    return model


def compute_fit(project: Project, store: Store, piece: Piece) -> Result:
    """Fit an attack on the shadow models that a piece needs. Returns what it learned."""
    return Result(_attack(piece).fit(pool_of(project, store, piece), piece.seed), {})


def pool_of(project: Project, store: Store, piece: Piece) -> Pool:
    """The shadow models that the fitting of an attack needs, each read from the store when it is asked for."""
    attack = _attack(piece)
    name = f"attack {attack.plugin_name()}: its pool {attack.shadow_pool!r}"
    no_features = None
    if not attack.reads_features:
        no_features = (
            f"{name} gives no features to an attack that does not say that it reads them, since they have to be there "
            "wherever it is fitted; set reads_features = True in the attack"
        )
    models = []
    for need in piece.needs:
        kind = StoredHalf if need.description["role"] == "half" else StoredShadow
        models.append(partial(kind, project, store, need, no_features))
    return Pool(models, name)


def weights_of(result: Result) -> Weights:
    """A stored model's weights."""
    return [result.arrays[f"w{i}"] for i in range(sum(name.startswith("w") for name in result.arrays))]


def oracle_of(piece: Piece, result: Result) -> Oracle:
    """A trained model, to be asked about any record."""
    model = _model(piece)
    weights = weights_of(result)
    return ModelOracle(partial(log_probabilities, model, weights), result.meta["n_classes"], Labels(model, weights))


def compute_evaluation(project: Project, store: Store, piece: Piece) -> Result:
    """Attack one target and keep what the attack measures; without an attack, the model's own metrics."""
    if "attack" not in piece.settings:
        model = store.get("train", piece.needs[0].key)
        sets = ModelOutputs(*(outputs(model, name) for name in ("members", "test", "nonmembers")))
        metrics = measure_model(sets)
        if "test_accuracies" in model.arrays:
            metrics |= measure_epochs(model.arrays["test_accuracies"], len(sets.test))
        return Result({}, {"metrics": _as_lists(metrics)})
    attack, defence = _attack(piece), piece.settings["defence"]
    assert isinstance(defence, Defence)
    fits, rehearsals = ([need for need in piece.needs if need.kind == kind] for kind in ("fit", "evaluate"))
    fitted = store.get("fit", fits[0].key).arrays if fits else {}
    target = TrainedTarget(project, store, piece.needs[0], defence, piece.seed)
    result = attack.measure(target, fitted)
    if rehearsals:
        assert isinstance(attack, ScoringAttack)
        rehearsed = AttackResult(store.get("evaluate", rehearsals[0].key).arrays, {})
        result = attack.threshold_policy.decide(attack, result, target, rehearsed)
    return Result(result.arrays, {"metrics": _as_lists(result.metrics)})


def _as_lists(metrics: dict[str, Value]) -> dict[str, list[float]]:
    return {name: [estimate.value, estimate.stderr, estimate.n] for name, estimate in metrics.items()}


class StoredShadow(Target):
    """A shadow model read from the store: its members are records of the adversary's own."""

    def __init__(self, project: Project, store: Store, piece: Piece, no_features: str | None) -> None:
        """`no_features` says why features are refused, if they are."""
        self._project, self._piece, self._no_features = project, piece, no_features
        self._result = store.get("train", piece.key)

    @property
    def members(self) -> Outputs:
        return outputs(self._result, "inside")

    @property
    def nonmembers(self) -> Outputs:
        return outputs(self._result, "outside")

    @cached_property
    def oracle(self) -> Oracle:
        return oracle_of(self._piece, self._result)

    @cached_property
    def _drawn(self) -> ShadowDraw:
        return shadow_of(self._project, self._piece.needs[0], self._piece.description["index"])

    def features(self) -> tuple[Array, Array]:
        if self._no_features is not None:
            raise HarnessError(self._no_features)
        return self._drawn.inside.features, self._drawn.outside.features


class StoredHalf(InOutModel):
    """A shadow model read from the store: its members are a half of the candidate records."""

    def __init__(self, project: Project, store: Store, piece: Piece, no_features: str | None) -> None:
        """`no_features` says why features are refused, if they are."""
        self._project, self._piece, self._no_features = project, piece, no_features
        self._result = result = store.get("train", piece.key)
        trained_on = np.unpackbits(result.arrays["trained_on"])[: result.meta["at_stake"]].astype(bool)
        super().__init__(outputs(result, "at_stake"), outputs(result, "test"), trained_on)

    @cached_property
    def oracle(self) -> Oracle:
        return oracle_of(self._piece, self._result)

    def features(self) -> tuple[Array, Array]:
        if self._no_features is not None:
            raise HarnessError(self._no_features)
        candidates = draw_of(self._project, self._piece.needs[0]).candidates().features
        return candidates[self.trained_on], candidates[~self.trained_on]


class TrainedTarget(Target):
    """A target read from the store, behind its defence."""

    def __init__(self, project: Project, store: Store, piece: Piece, defence: Defence, seed: int) -> None:
        self._project, self._store, self._piece, self._seed = project, store, piece, seed
        self._result = store.get("train", piece.key)
        self._oracle = defence.wrap(oracle_of(piece, self._result), derive_seed(seed, "defence"))

    @property
    def oracle(self) -> Oracle:
        return self._oracle

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def members(self) -> Outputs:
        return self._kept_outputs("members")

    @property
    def nonmembers(self) -> Outputs:
        return self._kept_outputs("nonmembers")

    @property
    def test(self) -> Outputs:
        return self._kept_outputs("test")

    def _kept_outputs(self, name: str) -> Outputs:
        """The stored outputs of the model. Raises HarnessError where the defence answers labels alone."""
        if self._oracle.answers == "labels":
            raise HarnessError("an attack asked for posteriors of a target that answers labels alone")
        return outputs(self._result, name)

    def labels(self) -> tuple[Array, Array]:
        return outputs(self._result, "members").labels, outputs(self._result, "nonmembers").labels

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

    def gradient_norms(self) -> tuple[Array, Array]:
        if self._oracle.answers == "labels":
            raise HarnessError("an attack asked for gradients of a target that answers labels alone")
        asked = weights_of(self._result), zip(self.features(), self.labels(), strict=True)
        model = _model(self._piece)
        inside, outside = (gradient_norms(model, asked[0], features, labels) for features, labels in asked[1])
        return inside, outside

    def test_features(self) -> Array:
        features: Array = draw_of(self._project, self._piece.needs[0]).test.features
        return features
