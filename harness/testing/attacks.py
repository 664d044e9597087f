"""The contract of an attack, on a made-up model that memorises what it was trained on."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np

from harness.arrays import Array
from harness.attacks.attack import Attack, Fitted, fault_of_form
from harness.attacks.pool import InOutModel, Pool
from harness.attacks.target import AttackResult, Target
from harness.defences.oracle import LabelsOnly, ModelOracle, Oracle
from harness.errors import HarnessError
from harness.hashing import generator
from harness.metrics import METRICS, Outputs
from harness.testing.nonconformance import NonConformance, check_configuration, require

CLASSES, FEATURES, RECORDS = 3, 16, 60
"""Of the made-up model: records are members, others, and known non-members, so many of each."""
POOL = 16


class MemorisingTarget(Target):
    """A model that gives a record near one of its members the member's label."""

    def __init__(self, features: Array, labels: Array, trained_on: Array, test: Array, labels_only: bool) -> None:
        """
        Args:
            features: of the candidate records, (n, d); labels: theirs, (n,); trained_on: which are members, (n,) bool.
            test: features of other records, (k, d), all of class 0.
            labels_only: posteriors are refused.
        """
        self._features, self._labels, self._inside = features, labels, trained_on
        self._test, self._labels_only = test, labels_only
        self._model = ModelOracle(_memorise(features[trained_on], labels[trained_on]), CLASSES)

    @property
    def oracle(self) -> Oracle:
        return LabelsOnly(self._model) if self._labels_only else self._model

    @property
    def members(self) -> Outputs:
        return self._of(self._features[self._inside], self._labels[self._inside])

    @property
    def nonmembers(self) -> Outputs:
        return self._of(self._features[~self._inside], self._labels[~self._inside])

    @property
    def test(self) -> Outputs:
        return self._of(self._test, np.zeros(len(self._test), np.int64))

    @property
    def places(self) -> tuple[Array, Array]:
        return np.flatnonzero(self._inside), np.flatnonzero(~self._inside)

    def features(self) -> tuple[Array, Array]:
        return self._features[self._inside], self._features[~self._inside]

    def test_features(self) -> Array:
        return self._test

    def labels(self) -> tuple[Array, Array]:
        return self._labels[self._inside], self._labels[~self._inside]

    def gradient_norms(self) -> tuple[Array, Array]:
        return self.members.losses(), self.nonmembers.losses()

    def _of(self, features: Array, labels: Array) -> Outputs:
        if self._labels_only:
            raise HarnessError("this model answers labels alone")
        return Outputs(self._model.log_probabilities(features), labels)


class _WithoutFeatures(MemorisingTarget):
    """One that a worker has who was not told that features are needed."""

    def features(self) -> tuple[Array, Array]:
        raise HarnessError("it asks for features; set reads_features = True in the attack")


def memorising_target(seed: int = 0, labels_only: bool = False) -> MemorisingTarget:
    """A target of half members and half others whose labels are random, so that it tells them by memory alone."""
    features, labels, test = _records()
    return MemorisingTarget(features, labels, _half(seed), test, labels_only)


def check_attack(attack: Attack) -> None:
    """Whether an attack keeps the contract: what it learns can be stored, it measures what it says, within the metrics'
    ranges, the same each time; and one that asks for labels alone runs where posteriors are refused.

    Raises NonConformance.
    """
    name = type(attack).plugin_name()
    check_configuration(attack)
    fault = fault_of_form(type(attack))
    require(fault is None, f"{name}: {fault}")
    require(type(attack).summary.strip(), f"{name}: `summary` says in no words what it is")
    target = memorising_target(labels_only=attack.access == "labels")
    fitted = _fit(attack)
    stored = _through_a_file(name, fitted)
    first, again, reread = (attack.measure(target, learnt) for learnt in (fitted, fitted, stored))
    _check_result(name, attack, first)
    for other, what in ((again, "measured twice"), (reread, "with what it learnt read back from a file")):
        for metric, value in first.metrics.items():
            same = np.array_equal(
                [value.value, value.stderr], [other.metrics[metric].value, other.metrics[metric].stderr], equal_nan=True
            )
            require(same, f"{name}: {what}, {metric} is {other.metrics[metric].value:g} and was {value.value:g}")


def _check_result(name: str, attack: Attack, result: AttackResult) -> None:
    missing = set(attack.measures) - set(result.metrics)
    require(not missing, f"{name}: `measures` names {', '.join(sorted(missing))}, which measure() does not give")
    for metric, value in result.metrics.items():
        declared = metric in METRICS or metric in attack.measures
        require(declared, f"{name}: gives {metric!r}, which neither its `measures` nor a @metric declares")
        low, high = (METRICS[metric].low, METRICS[metric].high) if metric in METRICS else (-np.inf, np.inf)
        inside = value.value != value.value or low - 1e-9 <= value.value <= high + 1e-9
        require(inside, f"{name}: {metric} is {value.value:g}, outside its range [{low:g}, {high:g}]")
    for array, values in result.arrays.items():
        require(isinstance(values, np.ndarray), f"{name}: keeps {array!r}, which is no array")


def _fit(attack: Attack) -> Fitted:
    name = type(attack).plugin_name()
    try:
        return attack.fit(_pool(name, attack), 3)
    except HarnessError as error:
        raise NonConformance(f"{name}: fit is refused what it asks for: {error}") from None


def _pool(name: str, attack: Attack) -> Pool:
    """What an attack is fitted on where it says what it says of itself; no more than that."""
    its_pool = f"its pool {attack.shadow_pool!r}"
    if attack.shadow_pool is None:
        return Pool(name=its_pool)
    if attack.needs_halves:
        require(attack.refuses(POOL) is None, f"{name}: {attack.refuses(POOL)}")
        return Pool([_in_out(target, attack.reads_features) for target in _complementary()], its_pool)
    features, labels, test = _records()
    kind = MemorisingTarget if attack.reads_features else _WithoutFeatures
    return Pool([kind(features, labels, _half(seed), test, labels_only=False) for seed in (1, 2)], its_pool)


def _complementary() -> list[MemorisingTarget]:
    """In/out shadow models 2j and 2j + 1, trained on complementary halves."""
    features, labels, test = _records()
    halves = [half for j in range(POOL // 2) for half in (_half(100 + j), ~_half(100 + j))]
    return [MemorisingTarget(features, labels, half, test, labels_only=False) for half in halves]


def _in_out(target: MemorisingTarget, with_features: bool) -> InOutModel:
    candidates = Outputs(target.oracle.log_probabilities(target._features), target._labels)
    features = target._features if with_features else None
    return InOutModel(candidates, target.test, target._inside, target.oracle, features)


def _records() -> tuple[Array, Array, Array]:
    """Features and labels of the candidate records, and features of others; bits, which every perturbation changes."""
    rng = generator(0, "conformance", "records")
    features = rng.integers(0, 2, (2 * RECORDS, FEATURES)).astype(np.float32)
    test = rng.integers(0, 2, (RECORDS, FEATURES)).astype(np.float32)
    return features, rng.integers(0, CLASSES, 2 * RECORDS), test


def _half(seed: int) -> Array:
    chosen: Array = np.zeros(2 * RECORDS, dtype=bool)
    chosen[generator(seed, "conformance", "half").permutation(2 * RECORDS)[:RECORDS]] = True
    return chosen


def _memorise(members: Array, labels: Array) -> Callable[[Array], Array]:
    """Log-probabilities of a model that sums its members' labels, the nearer the more."""

    def log_probabilities(features: Array) -> Array:
        distances = ((features[:, None] - members[None]) ** 2).sum(axis=2)
        logits = np.exp(-distances) @ np.eye(CLASSES)[labels] * 4
        logp: Array = (logits - np.logaddexp.reduce(logits, axis=1)[:, None]).astype(np.float32)
        return logp

    return log_probabilities


def _through_a_file(name: str, fitted: Fitted) -> Fitted:
    for key, values in fitted.items():
        require(isinstance(values, np.ndarray), f"{name}: learns {key!r}, which is no array and cannot be stored")
        require(values.dtype != object, f"{name}: learns {key!r}, an array of objects, which cannot be stored")
    file = io.BytesIO()
    np.savez(file, **fitted)
    file.seek(0)
    with np.load(file) as read:
        return {key: read[key] for key in read.files}
