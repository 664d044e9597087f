"""The shadow model attack: its networks' gradients, and planted memorisation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from harness.attacks import Outputs, Pool, Target, networks
from harness.attacks.networks import ADAM_EPSILON, BETA1, BETA2, StackedNetworks, forward, gradients, train_stacked
from harness.attacks.shokri import Shokri
from harness.errors import HarnessError
from harness.metrics.membership import advantage
from harness.testing import check_attack
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


@dataclass
class Seen(Known):
    """A target whose records are known: `places` on a line, members' in one half of it where they are `apart`."""

    rng: np.random.Generator
    apart: bool

    def features(self) -> tuple[np.ndarray, np.ndarray]:
        inside, outside = (self.rng.random((len(o), 2)).astype(np.float32) for o in (self.inside, self.outside))
        if self.apart:
            inside[:, 1], outside[:, 1] = inside[:, 1] / 2, 0.5 + outside[:, 1] / 2
        return inside, outside


def test_the_record_is_seen_beside_the_confidences_and_only_where_the_attack_says_so() -> None:
    """Models tell nothing here. Where members are other records, an attack that sees records finds that, no other."""
    rng = np.random.default_rng(12)

    def seen(n: int, apart: bool) -> Seen:
        sides = (model_outputs(rng, n, False) for _ in range(3))
        return Seen(*sides, rng, apart)

    for apart, least, most in ((True, 0.95, 1.0), (False, -0.1, 0.1)):
        pool, target = Pool([seen(600, apart), seen(600, apart)]), seen(600, apart)
        attack = Shokri(epochs=20, sees="record-and-confidences")
        assert attack.reads_features
        fitted = attack.fit(pool, 1)
        assert fitted["w0"].shape == (3, 2 + 3, 64)  # the record's two features, and three classes
        found = attack.measure(target, fitted).metrics["advantage"].value
        assert least <= found <= most
        with pytest.raises(HarnessError, match="outputs alone have no answer"):
            attack.answer(target.members, target.nonmembers, fitted)
        plain = Shokri(epochs=20)
        assert not plain.reads_features
        without = plain.fit(pool, 1)
        assert without["w0"].shape == (3, 3, 64)
        assert abs(plain.measure(target, without).metrics["advantage"].value) < 0.1


def test_a_memorising_model_is_found_by_an_attack_that_sees_the_record_too() -> None:
    """The contract, where features of shadow models are given to attacks alone that say that they read them."""
    check_attack(Shokri(epochs=2, sees="record-and-confidences"))
    check_attack(Shokri(epochs=2))


def test_what_it_sees_is_in_its_name_where_it_is_not_the_confidences_alone() -> None:
    assert "sees" not in Shokri().content()
    assert Shokri(sees="record-and-confidences").content()["sees"] == "record-and-confidences"


def test_fit_is_a_function_of_its_seed() -> None:
    rng = np.random.default_rng(7)
    pool = Pool([shadow(rng, 60)])
    one, same, other = (Shokri(epochs=2).fit(pool, seed) for seed in (1, 1, 2))
    assert all((one[k] == same[k]).all() for k in one)
    assert any((one[k] != other[k]).any() for k in one)
