"""The shadow model attack: its networks' gradients, and planted memorisation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from harness.attacks import Outputs, Pool, Target, networks
from harness.attacks.networks import ADAM_EPSILON, BETA1, BETA2, StackedNetworks, forward, gradients, train_stacked
from harness.attacks.shokri import Shokri
from harness.metrics.membership import advantage
from tests.attacks.test_pooled import Known


def cross_entropy(weights: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    logits = forward(weights, inputs)[-1]
    logp = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    return -np.take_along_axis(logp, targets[:, :, None], axis=2)[:, :, 0].mean(axis=1)


@pytest.mark.parametrize("hidden", [(), (5,), (4, 3)])
def test_gradients_agree_with_finite_differences(hidden: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    sizes = (3, *hidden, 2)
    weights = [w for a, b in pairwise(sizes) for w in (rng.normal(size=(2, a, b)), rng.normal(size=(2, 1, b)))]
    inputs, targets = rng.normal(size=(2, 7, 3)), rng.integers(2, size=(2, 7))
    for result, weight in zip(gradients(weights, inputs, targets), weights, strict=True):
        numeric = np.zeros_like(weight)
        for index in np.ndindex(weight.shape):
            kept = weight[index]
            weight[index] = kept + 1e-6
            up = cross_entropy(weights, inputs, targets)[index[0]]
            weight[index] = kept - 1e-6
            down = cross_entropy(weights, inputs, targets)[index[0]]
            weight[index] = kept
            numeric[index] = (up - down) / 2e-6
        np.testing.assert_allclose(result, numeric, atol=1e-7)


def test_one_adam_step_by_hand() -> None:
    """The first Adam step moves every weight by lr * g / (|g| + eps'), whatever the betas."""
    inputs, targets = [np.ones((4, 2), np.float32)], [np.array([1, 1, 1, 0])]
    start = train_stacked(inputs, targets, (), 0.0, 4, 1, np.random.default_rng(3)).weights
    moved = train_stacked(inputs, targets, (), 0.01, 4, 1, np.random.default_rng(3)).weights
    for before, after, g in zip(start, moved, gradients(start, inputs[0][None], targets[0][None]), strict=True):
        step = 0.01 * np.sqrt(1 - BETA2) / (1 - BETA1) * (1 - BETA1) * g / (np.sqrt((1 - BETA2) * g * g) + ADAM_EPSILON)
        np.testing.assert_allclose(before - after, step, rtol=1e-4, atol=1e-7)


def test_networks_of_a_stack_do_not_touch_each_other() -> None:
    """Different numbers of records: the shorter one stops, the longer goes on; each learns its own task."""
    rng = np.random.default_rng(4)
    inputs = [rng.random((n, 2)).astype(np.float32) for n in (300, 120, 0)]
    targets = [(x[:, 0] > 0.5).astype(int) if i == 0 else (x[:, 1] < 0.3).astype(int) for i, x in enumerate(inputs)]
    nets = train_stacked(inputs, targets, (16,), 0.02, 20, 60, np.random.default_rng(5))
    for i in (0, 1):
        assert (nets.logits(i, inputs[i]).argmax(axis=1) == targets[i]).mean() > 0.93
    again = StackedNetworks.from_arrays(nets.arrays())
    assert all((a == b).all() for a, b in zip(nets.weights, again.weights, strict=True))


def test_how_many_are_trained_side_by_side_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does how many batches are collected at a time; and all are what Adam makes of one network after the other."""
    rng = np.random.default_rng(8)
    inputs = [rng.random((n, 3)).astype(np.float32) for n in (50, 44, 50, 7)]
    targets = [rng.integers(2, size=len(x)) for x in inputs]

    def trained() -> tuple[np.ndarray, ...]:
        return train_stacked(inputs, targets, (4,), 0.05, 10, 3, np.random.default_rng(9)).weights

    whole = trained()
    for cached, gathered in ((1, 1), (50, 100)):
        monkeypatch.setattr(networks, "CACHED", cached)
        monkeypatch.setattr(networks, "GATHERED", gathered)
        assert all((a == b).all() for a, b in zip(trained(), whole, strict=True))

    untrained = train_stacked(inputs, targets, (4,), 0.0, 10, 3, np.random.default_rng(9)).weights
    rng = np.random.default_rng(9)
    for kernel in untrained[::2]:
        rng.uniform(size=kernel.shape)
    for i, (x, y) in enumerate(zip(inputs, targets, strict=True)):
        weights = [w[i : i + 1].copy() for w in untrained]
        first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))
        for step, rows in enumerate(networks._order(len(x), 10, 3, rng), start=1):
            for w, m, v, g in zip(
                weights, first, second, gradients(weights, x[rows][None], y[rows][None]), strict=True
            ):
                m += (1 - BETA1) * (g - m)
                v += (1 - BETA2) * (g * g - v)
                rate = 0.05 * np.sqrt(1 - BETA2**step) / (1 - BETA1**step)
                w -= rate * m / (np.sqrt(v) + ADAM_EPSILON)
        for result, w in zip(whole, weights, strict=True):
            np.testing.assert_allclose(result[i : i + 1], w, rtol=1e-4, atol=1e-6)


def model_outputs(rng: np.random.Generator, n: int, confident: bool) -> Outputs:
    """A model that memorises: records it saw get a posterior near 1 on the label, others one near 0.6."""
    labels = rng.integers(3, size=n)
    own = np.clip(rng.normal(0.95 if confident else 0.6, 0.05, n), 0.34, 0.999)
    p = np.repeat(((1 - own) / 2)[:, None], 3, axis=1)
    p[np.arange(n), labels] = own
    return Outputs(np.log(p), labels)


def shadow(rng: np.random.Generator, n: int) -> Target:
    return Known(model_outputs(rng, n, True), model_outputs(rng, n, False), model_outputs(rng, 2, False))


def test_planted_memorisation_is_found_and_its_absence_too() -> None:
    rng = np.random.default_rng(6)
    attack = Shokri(epochs=20)
    fitted = attack.fit(Pool(shadow(rng, 400) for _ in range(2)), 1)
    leaky = attack.answer(model_outputs(rng, 500, True), model_outputs(rng, 500, False), fitted)
    assert advantage(leaky.member_decisions, leaky.nonmember_decisions).value > 0.95
    truth = np.r_[np.ones(500), np.zeros(500)]
    assert roc_auc_score(truth, np.r_[leaky.member_scores, leaky.nonmember_scores]) > 0.99
    tight = attack.answer(model_outputs(rng, 2000, False), model_outputs(rng, 2000, False), fitted)
    assert abs(advantage(tight.member_decisions, tight.nonmember_decisions).value) < 0.05


def test_fit_is_a_function_of_its_seed() -> None:
    rng = np.random.default_rng(7)
    pool = Pool([shadow(rng, 60)])
    one, same, other = (Shokri(epochs=2).fit(pool, seed) for seed in (1, 1, 2))
    assert all((one[k] == same[k]).all() for k in one)
    assert any((one[k] != other[k]).any() for k in one)
