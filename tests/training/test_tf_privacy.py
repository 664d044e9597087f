"""The training step against a per-example computation in NumPy that shares nothing with it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.hashing import generator
from harness.training.batches import batches
from harness.training.engine import Job
from harness.training.engines.tf_privacy import TfPrivacy, build
from harness.training.forward import initial_weights, log_probabilities
from harness.training.model import Model, Weights
from harness.training.models import Logistic, Mlp
from harness.training.runtime import import_tensorflow
from harness.training.settings import Training

RNG = np.random.default_rng(0)
CLIP = 0.7


def job(model: Model, sigma: float, n: int = 40, seed: int = 3, **training: object) -> Job:
    options = {"optimizer": "sgd", "learning_rate": 1.0, "batch_size": n, "epochs": 1, "l2_norm_clip": CLIP, **training}
    rng = np.random.default_rng(9)
    return Job(
        model=model,
        training=Training.model_validate(options),
        noise_multiplier=sigma,
        features=rng.normal(size=(n, 6)).astype(np.float32),
        labels=rng.integers(3, size=n),
        n_classes=3,
        seed=seed,
    )


ACTIVATE = {
    "relu": (lambda z: np.maximum(z, 0), lambda z, a: (z > 0).astype(float)),
    "tanh": (np.tanh, lambda z, a: 1 - a**2),
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda z, a: a * (1 - a)),
}


def example_gradient(model: Model, weights: list[np.ndarray], x: np.ndarray, y: int) -> list[np.ndarray]:
    """Backpropagation for one record, written out layer by layer in float64."""
    f, df = ACTIVATE[getattr(model, "activation", "relu")]
    layers = [(weights[i].astype(float), weights[i + 1].astype(float)) for i in range(0, len(weights), 2)]
    inputs, pre = [x.astype(float)], []
    for kernel, bias in layers:
        pre.append(inputs[-1] @ kernel + bias)
        inputs.append(f(pre[-1]))
    p = np.exp(pre[-1] - pre[-1].max())
    delta = p / p.sum()
    delta[y] -= 1
    result: list[np.ndarray] = []
    for i in range(len(layers) - 1, -1, -1):
        result = [np.outer(inputs[i], delta), delta.copy(), *result]
        if i:
            delta = (layers[i][0] @ delta) * df(pre[i - 1], inputs[i])
    return result


def clipped_mean(model: Model, weights: list[np.ndarray], job: Job, clip: float | None) -> list[np.ndarray]:
    total = [np.zeros(w.shape) for w in weights]
    for x, y in zip(job.features, job.labels, strict=True):
        g = example_gradient(model, weights, x, int(y))
        norm = np.sqrt(sum((part**2).sum() for part in g))
        factor = 1.0 if clip is None else 1 / max(1.0, norm / clip)
        total = [t + factor * part for t, part in zip(total, g, strict=True)]
    return [t / len(job.labels) for t in total]


MODELS = [Logistic(), Mlp(hidden=(5,)), Mlp(hidden=(7, 4), activation="tanh"), Mlp(hidden=(3,), activation="sigmoid")]


@pytest.mark.parametrize("model", MODELS, ids=["logistic", "relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("sigma", [1e-9, 0.0])
def test_one_step_moves_by_the_clipped_mean_gradient(model: Model, sigma: float) -> None:
    """SGD with rate 1: start - end is the mean of clipped per-record gradients (the plain mean without privacy)."""
    todo = job(model, sigma)
    start = initial_weights(model, 6, 3, generator(todo.seed, "weights"))
    moved = [s - e for s, e in zip(start, TfPrivacy().train(todo), strict=True)]
    expected = clipped_mean(model, start, todo, CLIP if sigma else None)
    scale = max(abs(e).max() for e in expected)
    for result, right in zip(moved, expected, strict=True):
        np.testing.assert_allclose(result, right, atol=2e-6 * max(1.0, scale) + 1e-5 * scale)
    if sigma:
        unclipped = clipped_mean(model, start, todo, None)
        assert max(abs(a - b).max() for a, b in zip(expected, unclipped, strict=True)) > 1e-3  # clipping did matter


def test_noise_is_gaussian_of_the_stated_size_and_fresh() -> None:
    """What is left of a step after the clipped mean is N(0, (sigma C / B)^2), independent over seeds and entries.

    Error rate: both p-values fall below 1e-4 with probability 2e-4; seeds are fixed, so this cannot flake.
    """
    model, sigma = Mlp(hidden=(256, 64)), 2.0
    residuals = []
    for seed in (1, 2):
        todo = job(model, sigma, seed=seed)
        start = initial_weights(model, 6, 3, generator(seed, "weights"))
        moved = [s - e for s, e in zip(start, TfPrivacy().train(todo), strict=True)]
        left = [m - g for m, g in zip(moved, clipped_mean(model, start, todo, CLIP), strict=True)]
        residuals.append(np.concatenate([r.ravel() for r in left]) / (sigma * CLIP / len(todo.labels)))
    n = len(residuals[0])
    for r in residuals:
        assert stats.kstest(r, "norm").pvalue > 1e-4
        assert stats.chi2(n).cdf((r**2).sum()) == pytest.approx(0.5, abs=0.4999)
    assert abs(np.corrcoef(residuals[0], residuals[1])[0, 1]) < 4 / np.sqrt(n)
    assert abs(np.corrcoef(residuals[0][:-1], residuals[0][1:])[0, 1]) < 4 / np.sqrt(n)


def test_noise_is_fresh_in_every_step() -> None:
    """With all-zero features and one class frozen out, two steps' bias moves differ in their noise."""
    todo = job(Logistic(), 3.0, epochs=2)
    one, two = job(Logistic(), 3.0, epochs=1), todo
    start = initial_weights(Logistic(), 6, 3, generator(todo.seed, "weights"))
    first = TfPrivacy().train(one)
    second = TfPrivacy().train(two)
    step_one = [a - b for a, b in zip(start, first, strict=True)]
    step_two = [a - b for a, b in zip(first, second, strict=True)]
    noise = 3.0 * CLIP / 40
    assert abs(step_one[0] - step_two[0]).max() > noise / 2


def test_same_job_same_weights_other_seed_other_weights() -> None:
    make = {"batch_size": 10, "epochs": 3, "optimizer": "adam", "learning_rate": 0.01}
    one, same = (TfPrivacy().train(job(Mlp(hidden=(8,)), 1.0, **make)) for _ in range(2))
    other = TfPrivacy().train(job(Mlp(hidden=(8,)), 1.0, seed=4, **make))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert any((a != b).any() for a, b in zip(one, other, strict=True))


def test_l2_enters_the_gradient() -> None:
    """The penalty l2 * sum(w^2) adds 2 l2 w to each kernel's gradient and nothing to a bias's."""
    plain, penalised = job(Logistic(), 0.0), job(Logistic(l2=0.1), 0.0)
    start = initial_weights(Logistic(), 6, 3, generator(3, "weights"))
    difference = [a - b for a, b in zip(TfPrivacy().train(plain), TfPrivacy().train(penalised), strict=True)]
    np.testing.assert_allclose(difference[0], 0.2 * start[0], atol=1e-6)
    np.testing.assert_allclose(difference[1], 0.0, atol=1e-7)


@pytest.mark.parametrize("model", MODELS, ids=["logistic", "relu", "tanh", "sigmoid"])
def test_numpy_forward_pass_agrees_with_keras(model: Model) -> None:
    todo = job(model, 0.0)
    keras = build(todo)
    weights = initial_weights(model, 6, 3, np.random.default_rng(1))
    keras.set_weights(weights)
    tf = import_tensorflow()
    expected = tf.nn.log_softmax(keras(todo.features)).numpy()
    np.testing.assert_allclose(log_probabilities(model, weights, todo.features), expected, atol=1e-5)


def test_initial_weights_have_keras_distribution() -> None:
    """Glorot uniform: limit sqrt(6 / (fan_in + fan_out)), zero biases."""
    kernel, bias = initial_weights(Logistic(), 400, 200, np.random.default_rng(0))
    limit = np.sqrt(6 / 600)
    assert stats.kstest(kernel.ravel(), stats.uniform(-limit, 2 * limit).cdf).pvalue > 1e-4
    assert (bias == 0).all()


def test_batches_pass_over_every_record_once_an_epoch() -> None:
    order = batches(25, Training(batch_size=10, epochs=3), seed=1)
    assert order.shape == (6, 10)
    for epoch in order.reshape(3, 20):
        assert len(set(epoch.tolist())) == 20
    assert (order[:2] != order[2:4]).any()


def test_the_reference_shows_its_epochs() -> None:
    todo = job(Logistic(), 0.5, epochs=3)
    seen: list[list[Weights]] = []
    result = TfPrivacy().train(todo, seen.append)
    assert len(seen) == 3
    assert all(np.array_equal(a, b) for a, b in zip(result, seen[-1][0], strict=True))
    assert not np.array_equal(seen[0][0][0], seen[1][0][0])
    with pytest.raises(ValueError, match="the epochs of one alone"):
        TfPrivacy().train_stack([todo, todo], seen.append)
