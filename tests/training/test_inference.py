"""A trained model asked for labels and for gradients, against NumPy's forward pass and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from harness.training import inference
from harness.training.forward import initial_weights, log_probabilities
from harness.training.inference import Labels, gradient_norms
from harness.training.layers import AveragePool, Conv2d, Flatten, MaxPool
from harness.training.model import Model, Weights
from harness.training.models import Cnn, Logistic, Mlp

SMALL = Cnn(
    image=(6, 5, 2),
    hidden=(
        Conv2d(filters=3),
        MaxPool(),
        Conv2d(filters=2, activation="tanh"),
        AveragePool(size=1, stride=1),
        Flatten(),
    ),
)

SMOOTH = Cnn(image=(4, 4, 1), hidden=(Conv2d(filters=2, activation="tanh"), AveragePool(), Flatten()))


def weights_of(model: Model, d: int, classes: int, seed: int) -> Weights:
    rng = np.random.default_rng(seed)
    drawn = initial_weights(model, d, classes, rng)
    return [w + rng.normal(0, 0.1, w.shape).astype(np.float32) for w in drawn]


@pytest.mark.parametrize(("model", "d"), [(Logistic(), 7), (Mlp(hidden=(8, 6)), 9), (SMALL, 60)])
def test_labels_are_those_of_the_forward_pass_whoever_asked_before(model: Model, d: int) -> None:
    features = np.random.default_rng(1).normal(size=(500, d)).astype(np.float32)
    asked = [Labels(model, weights_of(model, d, 4, seed)) for seed in (1, 2)]
    for one in (*asked, *asked):
        logp = log_probabilities(model, one.weights, features)
        second, first = np.sort(logp, axis=1)[:, -2:].T
        sure = first - second > 1e-4
        assert np.array_equal(one(features)[sure], logp.argmax(axis=1)[sure])
        assert sure.mean() > 0.95
    assert asked[0](features[:0]).shape == (0,)


@pytest.mark.parametrize(("model", "d"), [(Mlp(hidden=(8, 6)), 9), (SMALL, 60)])
def test_log_probabilities_are_those_of_the_forward_pass_whoever_asked_before(model: Model, d: int) -> None:
    features = np.random.default_rng(1).normal(size=(70, d)).astype(np.float32)
    for seed in (1, 2, 1):
        weights = weights_of(model, d, 4, seed)
        Labels(model, weights)(features)
        asked = inference.log_probabilities(model, weights, features)
        np.testing.assert_allclose(asked, log_probabilities(model, weights, features), atol=1e-5)
        assert asked.dtype == np.float32
    assert inference.log_probabilities(model, weights, features[:0]).shape == (0, 4)


@pytest.mark.parametrize(("model", "d"), [(Mlp(hidden=(5,), activation="tanh"), 4), (SMOOTH, 16)])
def test_gradient_norms_are_those_of_finite_differences(model: Model, d: int) -> None:
    rng = np.random.default_rng(2)
    weights = weights_of(model, d, 3, 5)
    features, labels = rng.normal(size=(3, d)).astype(np.float32), np.array([0, 2, 1])

    def losses(changed: Weights) -> np.ndarray:
        logp = log_probabilities(model, [w.astype(np.float64) for w in changed], features).astype(np.float64)
        return -np.take_along_axis(logp, labels[:, None], axis=1)[:, 0]

    squares, h = np.zeros(3), 1e-2
    for i, w in enumerate(weights):
        for at in np.ndindex(w.shape):
            up, down = ([v.copy() for v in weights] for _ in range(2))
            up[i][at] += h
            down[i][at] -= h
            squares += ((losses(up) - losses(down)) / (2 * h)) ** 2
    assert gradient_norms(model, weights, features, labels) == pytest.approx(np.sqrt(squares), rel=5e-3)


def test_gradient_norms_of_a_regression_are_known_in_closed_form() -> None:
    """The gradient is (p - e_y) (x, 1), so its norm is the product of both norms."""
    rng = np.random.default_rng(3)
    weights, features, labels = (
        weights_of(Logistic(), 6, 3, 1),
        rng.normal(size=(50, 6)).astype(np.float32),
        rng.integers(3, size=50),
    )
    off = np.exp(log_probabilities(Logistic(), weights, features)) - np.eye(3)[labels]
    expected = np.linalg.norm(off, axis=1) * np.sqrt(1 + np.square(features).sum(axis=1))
    assert gradient_norms(Logistic(), weights, features, labels) == pytest.approx(expected, rel=1e-4)
