"""Attribute inference: worked by hand, and on models whose memory is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from harness.arrays import Array
from harness.attacks import Outputs, Target
from harness.attacks.attribute import AttributeInference
from harness.errors import HarnessError
from harness.paths import Project
from tests.conftest import SMALL_SPEC, run_cli

Loss = Callable[[Array, Array], Array]


class Made(Target):
    """A target whose loss on any record is a function made for the test."""

    def __init__(self, inside: Any, outside: Any, labels: tuple[Any, Any], loss: Loss) -> None:
        self._features = np.asarray(inside, float), np.asarray(outside, float)
        self._labels = np.asarray(labels[0]), np.asarray(labels[1])
        self._loss = loss

    @property
    def members(self) -> Outputs:
        return self.query(self._features[0], self._labels[0])

    @property
    def nonmembers(self) -> Outputs:
        return self.query(self._features[1], self._labels[1])

    def features(self) -> tuple[Array, Array]:
        return self._features

    def query(self, features: Array, labels: Array) -> Outputs:
        own = np.exp(-self._loss(features, labels))
        wrong = np.log1p(-np.minimum(own, 1 - 1e-12))
        logp = np.stack([np.where(labels == c, np.log(own), wrong) for c in (0, 1)], axis=1)
        return Outputs(logp, labels)


def metrics(target: Target, **settings: Any) -> dict[str, float]:
    return {k: v.value for k, v in AttributeInference(**settings).measure(target, {}).metrics.items()}


def test_a_worked_example() -> None:
    # One attribute that takes two values. The loss is 0.1 at 1 and 0.2 at 0 for label 1, the other way for label 0:
    # the guess is the label. Members 1/1, 0/0, 1/0, 1/1 (value/label): 3 of 4 right; others 0/1, 1/0, 1/1, 0/0: 2 of 4.
    def loss(x: Array, y: Array) -> Array:
        return np.where(x[:, 0] == y, 0.1, 0.2)

    target = Made([[1], [0], [1], [1]], [[0], [1], [1], [0]], ([1, 0, 0, 1], [1, 0, 1, 0]), loss)
    result = metrics(target, attributes=1)
    assert result["correct_members"] == 0.75
    assert result["correct_nonmembers"] == 0.5
    assert result["advantage"] == 0.25
    # Value 1 in 5 records, guessed high in 3 (labels 1, 0, 1, 0, 1); value 0 in 3, guessed high in 1.
    assert result["value_advantage"] == pytest.approx(3 / 5 - 1 / 3)


def test_a_numeric_attribute_is_tried_at_its_quartiles_and_is_high_above_its_median() -> None:
    column = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    attack = AttributeInference()
    assert attack.values_tried(column) == (1.0, 3.0)
    assert AttributeInference(candidates="distinct-quantiles").values_tried(np.repeat(column, [9, 1, 1, 1, 1])) == (
        1,
        3,
    )
    assert attack.values_tried(np.repeat(column, [9, 1, 1, 1, 1])) == (0.0, 1.0)
    assert attack.is_high(column).tolist() == [False, False, False, True, True]
    # Of two values the larger is high, even where most records have it.
    assert attack.is_high(np.array([1.0, 1.0, 1.0, 0.0])).tolist() == [True, True, True, False]
    # Quartiles of a rare item are both 0: nothing is tried but 0, and the guess is low.
    assert attack.values_tried(np.array([0.0] * 9 + [1.0])) == (0.0, 0.0)
    assert AttributeInference(candidates="distinct-quantiles").values_tried(np.array([0.0] * 9 + [1.0])) == (0.0, 1.0)


def test_the_rules_differ_where_the_papers_do() -> None:
    low, high = np.array([0.1, 0.5, 0.2]), np.array([0.4, 0.3, 0.2])
    assert AttributeInference().guess_high(low, high, 0.4, 0.5).tolist() == [False, True, False]
    closest = AttributeInference(rule="closest-to-training-loss")
    assert closest.guess_high(low, high, 0.4, 0.5).tolist() == [True, False, False]
    density = AttributeInference(rule="density")
    assert density.guess_high(low, high, 0.4, 0.5).tolist() == [False, True, False]
    # A prior that favours the high value enough outweighs a slightly larger loss.
    assert density.guess_high(low, high, 0.4, 0.9).tolist() == [True, True, True]


def test_planted_memorisation_is_found_in_members_alone() -> None:
    rng = np.random.default_rng(0)
    inside, outside = rng.integers(0, 2, (400, 8)), rng.integers(0, 2, (400, 8))
    known = {(*tuple(row), i % 2) for i, row in enumerate(inside.tolist())}
    labels = (np.arange(400) % 2, np.arange(400) % 2)

    def memorised(x: Array, y: Array) -> Array:
        seen = [(*tuple(int(v) for v in row), int(c)) in known for row, c in zip(x, y, strict=True)]
        return np.where(seen, 0.01, 2.0)

    # With 8 bits and a class there are 512 kinds of records, so many others are in the training set by chance too.
    result = metrics(Made(inside, outside, labels, memorised), attributes=8)
    assert result["correct_members"] > result["correct_nonmembers"] + 0.1

    wide_in, wide_out = rng.integers(0, 2, (400, 40)), rng.integers(0, 2, (400, 40))
    known = {(*tuple(row), i % 2) for i, row in enumerate(wide_in.tolist())}
    result = metrics(Made(wide_in, wide_out, labels, memorised), attributes=40)
    assert result["correct_members"] == 1.0
    assert abs(result["correct_nonmembers"] - 0.5) < 0.05  # a tie is a low guess
    assert result["advantage"] == result["correct_members"] - result["correct_nonmembers"]


def test_a_model_that_knows_the_population_leaks_values_and_no_membership() -> None:
    rng = np.random.default_rng(1)
    labels = tuple(rng.integers(0, 2, 5000) for _ in range(2))
    sides = [(y[:, None] + rng.normal(0, 1, (5000, 3)) > 0.5).astype(float) for y in labels]

    def learnt(x: Array, y: Array) -> Array:
        return 0.2 + 0.1 * (x != y[:, None]).sum(axis=1)

    result = metrics(Made(*sides, labels, learnt), attributes=3)
    assert abs(result["advantage"]) < 0.03
    assert result["value_advantage"] > 0.3


def test_attributes_are_the_same_for_every_target_and_those_that_do_not_vary_are_left_out() -> None:
    features = np.random.default_rng(0).normal(size=(50, 12))
    features[:, 3] = 1.0
    attack = AttributeInference(attributes=5, seed=4)
    chosen = attack.choose_columns(features)
    assert len(set(chosen.tolist())) == 5
    assert chosen.tolist() == attack.choose_columns(features + 1).tolist()
    assert 3 not in AttributeInference(attributes=12).choose_columns(features)
    assert AttributeInference(attributes=5, seed=5).choose_columns(features).tolist() != chosen.tolist()
    flat = Made(np.ones((4, 2)), np.ones((4, 2)), ([0, 1, 0, 1], [0, 1, 0, 1]), lambda x, y: np.full(len(y), 0.5))
    with pytest.raises(HarnessError, match="no attribute varies"):
        attack.measure(flat, {})


def test_its_errors_are_those_of_drawing_the_records_anew() -> None:
    result, stated = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        labels = tuple(rng.integers(0, 2, 300) for _ in range(2))
        sides = [(y[:, None] + rng.normal(0, 1, (300, 2)) > 0.5).astype(float) for y in labels]
        target = Made(*sides, labels, lambda x, y: 0.2 + 0.1 * (x != y[:, None]).sum(axis=1))
        measured = AttributeInference(attributes=2).measure(target, {}).metrics
        result.append([measured[m].value for m in ("advantage", "value_advantage")])
        stated.append([measured[m].stderr for m in ("advantage", "value_advantage")])
    spread, error = np.std(result, axis=0, ddof=1), np.mean(stated, axis=0)
    assert abs(error[0] / spread[0] - 1) < 0.2
    assert 0.8 < error[1] / spread[1] < 1.7  # attributes are taken to move together: never too small


@pytest.mark.integration
def test_a_trained_network_that_can_only_memorise_is_caught_on_its_members() -> None:
    """Labels are drawn at random, so nothing but the members themselves can be learnt."""
    from harness.metrics.exposure import exposed_members
    from harness.training.engine import Job
    from harness.training.engines.fast import Fast
    from harness.training.forward import log_probabilities
    from harness.training.models import Mlp
    from harness.training.settings import Training

    rng = np.random.default_rng(5)
    sides = [rng.integers(0, 2, (300, 12)).astype(np.float32) for _ in range(2)]
    labels = [rng.integers(0, 2, 300) for _ in range(2)]
    model = Mlp(hidden=(128,))

    class Trained(Target):
        """The network's own answers."""

        def __init__(self, noise: float) -> None:
            training = Training(engine="fast", epochs=150, batch_size=50)
            job = Job(model, training, noise, sides[0], labels[0], 2, seed=1)
            self._weights = Fast().train(job)

        @property
        def members(self) -> Outputs:
            return self.query(sides[0], labels[0])

        @property
        def nonmembers(self) -> Outputs:
            return self.query(sides[1], labels[1])

        def features(self) -> tuple[Array, Array]:
            return sides[0], sides[1]

        def query(self, features: Array, labels: Array) -> Outputs:
            return Outputs(log_probabilities(model, self._weights, features.astype(np.float32)), labels)

    leaky, noisy = Trained(0.0), Trained(20.0)
    assert (leaky.members.log_probabilities.argmax(axis=1) == labels[0]).mean() > 0.95
    result, private = (metrics(target, attributes=12) for target in (leaky, noisy))
    assert result["correct_members"] > 0.7
    assert result["advantage"] > 0.15
    assert abs(private["advantage"]) < 0.08
    assert exposed_members(-leaky.members.losses(), -leaky.nonmembers.losses(), 0.3).mean() > 0.6
    assert exposed_members(-noisy.members.losses(), -noisy.nonmembers.losses(), 0.3).mean() < 0.45


def test_named_columns_are_attacked_and_small_posteriors_are_a_tie() -> None:
    """Losses of 8 and 9 are both of a posterior below 0.001: told apart by it, the same where it is the least."""

    def loss(x: Array, y: Array) -> Array:
        return np.where(x[:, 1] == y, 8.0, 9.0)

    inside, outside = [[5, 1, 0], [5, 0, 1], [5, 1, 1]], [[5, 0, 0], [5, 1, 0], [5, 0, 1]]
    target = Made(inside, outside, ([1, 0, 1], [0, 1, 0]), loss)
    assert metrics(target, columns=(1,))["value_advantage"] == 1.0
    assert metrics(target, columns=(1,), least_posterior=0.001)["value_advantage"] == 0.0
    assert metrics(target, columns=(1,), least_posterior=1e-4)["value_advantage"] == 1.0
    assert metrics(target, columns=(2,))["value_advantage"] != 1.0
    features = np.asarray(inside + outside, float)
    assert AttributeInference(columns=(2, 1)).choose_columns(features).tolist() == [2, 1]
    for columns, said in (
        ((3,), "numbered from 0 to 2"),
        ((1, 0), "same value in every record"),
        ((-1,), "greater than or equal to 0"),
    ):
        with pytest.raises((HarnessError, ValidationError), match=said):
            AttributeInference(columns=columns).choose_columns(features)


def test_what_came_later_does_not_rename_what_was_measured_before() -> None:
    """Columns that are named, and a least posterior, are in no name where they are not used."""
    content = AttributeInference().model_dump(mode="json")
    assert not {"columns", "least_posterior"} & content.keys()
    named = AttributeInference(columns=(11, 49), least_posterior=0.001).model_dump(mode="json")
    assert named["columns"] == [11, 49]
    assert named["least_posterior"] == 0.001


def test_columns_that_models_do_not_see_are_one_line_at_the_attack(make_project: Callable[..., Project]) -> None:
    text = SMALL_SPEC.replace("claims:\n", "  attribute: {kind: attribute-inference, columns: [99]}\nclaims:\n")
    run = run_cli(make_project(text).root, "run", "own/cancer", "-q")
    assert run.returncode == 2
    assert re.search(r"yaml:\d+: attacks: attribute-inference: columns \[99\]: models see \d+ features", run.stderr)
    assert "Traceback" not in run.stderr
