"""Defences in front of a model whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from harness.arrays import Array
from harness.defences import DEFENCES, ModelOracle
from harness.defences.argmax import Argmax
from harness.defences.randomized_response import RandomizedResponse
from harness.errors import HarnessError

CLASSES = 5


def known(features: Array) -> Array:
    """Log-probabilities of a model whose answer is the first number of a record."""
    result = np.full((len(features), CLASSES), np.log(0.05))
    result[np.arange(len(features)), features[:, 0].astype(int)] = np.log(0.8)
    return result


def records(n: int) -> Array:
    return np.stack([np.arange(n) % CLASSES, np.arange(n)], axis=1).astype(np.float32)


def test_every_question_is_counted_also_through_a_defence() -> None:
    model = ModelOracle(known, CLASSES)
    model.log_probabilities(records(7))
    model.labels(records(5))
    behind = RandomizedResponse().wrap(Argmax().wrap(model, 1), 2)
    behind.labels(records(11))
    assert (model.queries, behind.queries, behind.n_classes) == (23, 23, CLASSES)


def test_labels_alone_are_answered_and_posteriors_refused() -> None:
    model = Argmax().wrap(ModelOracle(known, CLASSES), 0)
    assert model.answers == "labels"
    assert model.labels(records(9)).tolist() == (np.arange(9) % CLASSES).tolist()
    with pytest.raises(HarnessError, match="posteriors were asked of a model that answers labels alone"):
        model.log_probabilities(records(1))


@pytest.mark.parametrize("drawn", ["per-query", "per-input"])
def test_randomised_response_answers_as_often_as_it_says(drawn: str) -> None:
    """The model's label in three of four answers, each other label in a sixteenth: the ratio is 3 (C - 1) = 12."""
    n = 40_000
    model = RandomizedResponse(drawn=drawn).wrap(ModelOracle(known, CLASSES), 3)
    asked = records(n)
    shift = (model.labels(asked) - asked[:, 0].astype(int)) % CLASSES
    share = np.bincount(shift, minlength=CLASSES) / n
    expected = np.array([0.75, *[0.25 / (CLASSES - 1)] * (CLASSES - 1)])
    assert share == pytest.approx(expected, abs=5 * np.sqrt(0.25 / n))
    assert share[0] / share[1:].mean() == pytest.approx(3 * (CLASSES - 1), rel=0.05)


def test_an_answer_is_drawn_anew_or_kept() -> None:
    asked = records(2000)
    fresh = RandomizedResponse().wrap(ModelOracle(known, CLASSES), 4)
    kept = RandomizedResponse(drawn="per-input").wrap(ModelOracle(known, CLASSES), 4)
    assert (fresh.labels(asked) != fresh.labels(asked)).mean() > 0.3
    first = kept.labels(asked)
    assert np.array_equal(kept.labels(asked[::-1])[::-1], first)
    other = RandomizedResponse(drawn="per-input").wrap(ModelOracle(known, CLASSES), 5)
    assert (other.labels(asked) != first).mean() > 0.3


def test_the_same_seed_gives_the_same_answers() -> None:
    first, second = (RandomizedResponse().wrap(ModelOracle(known, CLASSES), 6).labels(records(500)) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("truth", [0, 1, -0.1])
def test_a_probability_that_cannot_be_is_refused(truth: float) -> None:
    with pytest.raises(ValidationError, match="truth"):
        TypeAdapter(DEFENCES.union()).validate_python({"kind": "randomized-response", "truth": truth})
