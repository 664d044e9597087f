"""Attacks that ask for labels, or make do with them, on models whose answers are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import binom, norm
from sklearn.metrics import roc_auc_score

from harness.arrays import Array
from harness.attacks import Outputs, Pool, Target
from harness.attacks.boundary import Boundary, distances
from harness.attacks.gap import Gap
from harness.attacks.max_posterior import MaxPosterior
from harness.attacks.perturbed import draw_places, label_counts, perturb
from harness.attacks.posterior_network import PosteriorNetwork
from harness.attacks.sampling import Sampling
from harness.defences import ModelOracle, Oracle
from harness.defences.argmax import Argmax
from harness.errors import HarnessError
from harness.metrics.membership import best_threshold
from tests.attacks.test_pooled import Known, outputs


class Asked(Target):
    """A target of which records are given, and the function that answers."""

    def __init__(
        self, function: Callable[[Array], Array], inside: Array, outside: Array, defended: bool = False
    ) -> None:
        model: Oracle = ModelOracle(function, function(inside[:1]).shape[1])
        self._oracle = Argmax().wrap(model, 0) if defended else model
        self._function, self._inside, self._outside = function, inside, outside

    @property
    def oracle(self) -> Oracle:
        return self._oracle

    @property
    def seed(self) -> int:
        return 11

    def _outputs(self, features: Array) -> Outputs:
        if self._oracle.answers == "labels":
            raise HarnessError("labels alone")
        return Outputs(self._function(features), features[:, -1].astype(int))

    @property
    def members(self) -> Outputs:
        return self._outputs(self._inside)

    @property
    def nonmembers(self) -> Outputs:
        return self._outputs(self._outside)

    def features(self) -> tuple[Array, Array]:
        return self._inside, self._outside

    def labels(self) -> tuple[Array, Array]:
        return self._inside[:, -1].astype(int), self._outside[:, -1].astype(int)


def two(probability: Array) -> Array:
    return np.log(np.stack([1 - probability, probability], axis=1))


def linear(features: Array) -> Array:
    """Class 1 where the first number is positive, the surer the further from zero."""
    return two(1 / (1 + np.exp(-np.clip(features[:, 0], -12, 12))))


def memorising(n: int) -> Callable[[Array], Array]:
    """Right on the records that are numbered below n, wrong on others; the last number is the label."""
    return lambda features: two(np.where((features[:, 0] < n) == (features[:, -1] == 1), 0.99, 0.01))


def numbered(start: int, n: int) -> Array:
    return np.stack([np.arange(start, start + n), np.arange(n) % 2], axis=1).astype(np.float32)


def test_the_gap_attack_is_right_about_a_memorising_model_and_knows_nothing_of_a_constant_one() -> None:
    inside, outside = numbered(0, 60), numbered(60, 40)
    target = Asked(memorising(60), inside, outside, defended=True)
    result = Gap().measure(target, {}).metrics
    assert (result["auc"].value, result["advantage"].value, result["attack_accuracy"].value) == (1.0, 1.0, 1.0)
    assert target.oracle.queries == 100
    constant = Asked(lambda f: two(np.full(len(f), 0.9)), inside, outside)
    assert Gap().measure(constant, {}).metrics["auc"].value == 0.5


def test_the_gap_attack_s_accuracy_is_the_paper_s_formula() -> None:
    rng = np.random.default_rng(0)
    inside, outside = numbered(0, 500), numbered(500, 500)
    wrong = {int(i): bool(rng.random() < (0.1 if i < 500 else 0.4)) for i in range(1000)}

    def model(features: Array) -> Array:
        flips = np.array([wrong[int(i)] for i in features[:, 0]])
        return two(np.where((features[:, -1] == 1) ^ flips, 0.9, 0.1))

    right = [1 - np.mean([wrong[int(i)] for i in side[:, 0]]) for side in (inside, outside)]
    result = Gap().measure(Asked(model, inside, outside), {}).metrics["attack_accuracy"].value
    assert result == pytest.approx((1 + right[0] - right[1]) / 2)


def test_the_largest_posterior_s_auc_is_scikit_learn_s() -> None:
    rng = np.random.default_rng(1)
    inside, outside = (rng.normal(0, s, (n, 2)).astype(np.float32) for s, n in ((2, 300), (1, 250)))
    result = MaxPosterior(threshold=0.8).measure(Asked(linear, inside, outside), {})
    scores = np.concatenate([np.exp(linear(side)).max(axis=1) for side in (inside, outside)])
    truth = np.arange(550) < 300
    assert result.metrics["auc"].value == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    assert result.metrics["tpr"].value == np.mean(scores[:300] >= 0.8)


@pytest.mark.parametrize("order", ["as-answered", "sorted"])
def test_the_network_learns_what_the_shadow_model_shows(order: str) -> None:
    """Members get posteriors of 0.99, others of 0.7, of either class: a classifier tells them apart, if it can learn."""
    rng = np.random.default_rng(2)

    def sides(n: int) -> list[Outputs]:
        labels = rng.integers(2, size=n)
        return [Outputs(two(np.where(labels == 1, p, 1 - p)), labels) for p in (0.99, 0.7)]

    attack = PosteriorNetwork(order=order, learning_rate=0.01)
    fitted = attack.fit(Pool([Known(*sides(400), outputs(np.zeros(2)))]), 3)
    inside, outside = sides(200)

    class Given(Asked):
        members, nonmembers = inside, outside  # type: ignore[assignment]

    target = Given(linear, np.zeros((1, 2), np.float32), np.zeros((1, 2), np.float32))
    assert attack.measure(target, fitted).metrics["advantage"].value == 1.0


def test_attacks_on_posteriors_are_left_with_chance_where_labels_alone_are_answered() -> None:
    rng = np.random.default_rng(4)
    inside, outside = (rng.normal(0, s, (200, 2)).astype(np.float32) for s in (3, 1))
    target = Asked(linear, inside, outside, defended=True)
    assert MaxPosterior(labels_as="one-hot").measure(target, {}).metrics["auc"].value == 0.5
    assert (MaxPosterior().access, MaxPosterior(labels_as="one-hot").access) == ("posteriors", "labels")


@pytest.mark.parametrize("p", [0.0, 0.003, 0.2, 1.0])
def test_bits_are_flipped_as_often_as_they_should_be_and_independently(p: float) -> None:
    n = 200_000
    at = draw_places(n, p, np.random.default_rng(5))
    assert len(np.unique(at)) == len(at)
    assert np.array_equal(at, np.sort(at))
    assert len(at) == 0 or (at[0] >= 0 and at[-1] < n)
    assert len(at) == pytest.approx(n * p, abs=5 * np.sqrt(n * p * (1 - p)) + 1e-9)
    if 0 < p < 1:  # of neighbours both are flipped in a share p * p
        both = np.sum(np.diff(at) == 1)
        assert both == pytest.approx(n * p * p, abs=5 * np.sqrt(n * p * p) + 5)
    bits = np.random.default_rng(6).integers(2, size=(3, 50)).astype(np.float32)
    if p in (0.0, 1.0):
        assert np.array_equal(perturb(bits, "flip", p, np.random.default_rng(7)), bits if p == 0 else 1 - bits)


def test_copies_of_a_record_cross_a_linear_boundary_as_often_as_its_distance_says() -> None:
    """With noise of standard deviation s, a record at distance d keeps its label with probability Phi(d / s)."""
    distance, s, copies = np.array([0.0, 0.1, 0.4, 2.0]), 0.3, 20_000
    features = np.stack([distance, np.zeros(4)], axis=1).astype(np.float32)
    oracle = ModelOracle(linear, 2)
    counts = label_counts(oracle, features, copies, "gaussian", s, np.random.default_rng(8))
    assert oracle.queries == 4 * copies
    assert counts.sum(axis=1).tolist() == [copies] * 4
    kept = norm.cdf(distance / s)
    assert counts[:, 1] / copies == pytest.approx(kept, abs=5 * np.sqrt(0.25 / copies))


def test_copies_of_bits_are_counted_by_the_binomial_law() -> None:
    """A model that answers whether more than half of 9 bits are set, asked about records of 9 and of 6 set bits."""
    features = np.array([[1] * 9, [1] * 6 + [0] * 3], dtype=np.float32)
    oracle = ModelOracle(lambda f: two(np.where(f.sum(axis=1) > 4.5, 0.9, 0.1)), 2)
    counts = label_counts(oracle, features, 30_000, "flip", 0.2, np.random.default_rng(9))
    expected = [
        sum(
            binom.pmf(a, ones, 0.8) * binom.pmf(b, 9 - ones, 0.2)
            for a in range(ones + 1)
            for b in range(10 - ones)
            if a + b > 4
        )
        for ones in (9, 6)
    ]
    assert counts[:, 1] / 30_000 == pytest.approx(expected, abs=0.015)


def test_the_sampling_attack_finds_the_scale_at_which_members_differ() -> None:
    """Members are 1 from the boundary and others 0.5: noise of 0.01 moves none across, of 0.5 many, of 1000 half of all."""
    rng = np.random.default_rng(10)
    sign = rng.choice([-1, 1], 200)
    inside, outside = (np.stack([d * sign, sign > 0], axis=1).astype(np.float32) for d in (1.0, 0.5))
    attack = Sampling(by="gaussian", scale=(0.01, 0.5, 1000.0), queries=50, fitting_queries=40)
    model = Asked(linear, inside, outside)
    fitted = attack.fit(Pool([model]), 1)
    assert model.oracle.queries == 3 * 400 * 40
    assert fitted["scale"] == 0.5
    assert fitted["scale_aucs"][0] == 0.5
    target = Asked(linear, inside, outside, defended=True)
    result = attack.measure(target, fitted)
    assert target.oracle.queries == 400 * 50
    assert result.metrics["queries_per_record"].value == 50
    assert result.metrics["perturbation"].value == 0.5
    truth = np.arange(400) < 200
    scores = np.concatenate([result.arrays["member_scores"], result.arrays["nonmember_scores"]])
    assert result.metrics["auc"].value == pytest.approx(roc_auc_score(truth, scores))
    assert result.metrics["auc"].value > 0.9
    assert result.metrics["member_stability"].value == pytest.approx(norm.cdf(1 / 0.5), abs=0.02)
    assert result.metrics["advantage"].value > 0.7
    again = attack.measure(Asked(linear, inside, outside), fitted)
    assert np.array_equal(again.arrays["member_scores"], result.arrays["member_scores"])


def test_only_the_first_records_are_asked_about_where_so_many_are_enough() -> None:
    inside = outside = np.ones((30, 2), dtype=np.float32)
    attack = Sampling(by="gaussian", scale=1.0, queries=3, fitting_queries=2, points=10)
    fitted = attack.fit(Pool([Asked(linear, inside, outside)]), 1)
    target = Asked(linear, inside, outside)
    attack.measure(target, fitted)
    assert target.oracle.queries == 2 * 10 * 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"by": "flip", "scale": 1.5}, "scale is 1.5; with by: flip it is a probability, from 0 to 1"),
        (
            {"by": "gaussian", "scale": [0.1, -0.1]},
            "scale is -0.1; with by: gaussian it is a finite number of at least 0",
        ),
        ({"by": "gaussian", "scale": [0.1, 0.1]}, "names a value twice"),
        ({"by": "flip", "scale": 0.1, "queries": 0}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Sampling.model_validate(fields)


def test_the_best_threshold_is_the_best_of_all() -> None:
    rng = np.random.default_rng(12)
    for _ in range(20):
        inside, outside = rng.integers(6, size=15).astype(float), rng.integers(5, size=11).astype(float)
        result = best_threshold(inside, outside)
        gains = [np.mean(inside >= t) - np.mean(outside >= t) for t in range(8)]
        assert np.mean(inside >= result) - np.mean(outside >= result) == pytest.approx(max(gains))


def plane(features: Array) -> Array:
    """Class 1 where x . w > 1, for w = (3, 4, 0, 0, 0): the distance to the boundary is |x . w - 1| / 5."""
    return two(1 / (1 + np.exp(-np.clip(features[:, 0] * 3 + features[:, 1] * 4 - 1, -12, 12))))


def test_the_distance_to_a_plane_is_found_by_labels_alone() -> None:
    rng = np.random.default_rng(13)
    features = rng.normal(size=(300, 5)).astype(np.float32)
    oracle = Argmax().wrap(ModelOracle(plane, 2), 0)
    margin = features[:, 0] * 3 + features[:, 1] * 4 - 1
    labels = (margin > 0).astype(int)
    labels[:20] = 1 - labels[:20]
    true = np.abs(margin) / 5
    crude = distances(oracle, features, labels, 0, 2, np.random.default_rng(1))
    result = distances(oracle, features, labels, 6, 40, np.random.default_rng(1))
    assert (result[:20] == 0).all()
    assert (result[20:] >= true[20:] * (1 - 1e-3) - 1e-5).all()  # a point beyond the boundary is never nearer than it
    excess = [float(np.mean(d[20:] / true[20:] - 1)) for d in (crude, result)]
    assert np.median(result[20:] / true[20:]) < 1.05
    assert excess[1] < excess[0] / 3


def test_the_boundary_attack_tells_whom_the_model_holds_far_from_it() -> None:
    rng = np.random.default_rng(14)
    sign = rng.choice([-1, 1], 120)
    normal = np.array([0.6, 0.8, 0, 0, 0], dtype=np.float32)

    def at(distance: float) -> Array:
        side = rng.normal(size=(120, 5)).astype(np.float32)
        side -= (side @ normal)[:, None] * normal
        return side * 0.1 + ((0.2 + sign * distance)[:, None] * normal).astype(np.float32)

    class Plane(Asked):
        def labels(self) -> tuple[Array, Array]:
            return (sign > 0).astype(int), (sign > 0).astype(int)

    inside, outside = at(1.0), at(0.5)
    attack = Boundary(steps=2, directions=20)
    fitted = attack.fit(Pool([Plane(plane, inside, outside)]), 1)
    target = Plane(plane, inside, outside, defended=True)
    result = attack.measure(target, fitted)
    assert result.metrics["auc"].value > 0.98
    assert result.metrics["advantage"].value > 0.9
    asked = target.oracle.queries / 240
    assert 1 + 12 + 20 + 1 + 12 + 29 + 1 + 12 <= asked <= 1 + 12 + 20 + 12 + 12 + 29 + 12 + 12


def test_a_model_of_one_label_has_no_boundary_to_be_found() -> None:
    features = np.eye(4, dtype=np.float32)
    oracle = ModelOracle(lambda f: two(np.full(len(f), 0.9)), 2)
    result = distances(oracle, features, np.array([1, 1, 0, 1]), 2, 4, np.random.default_rng(0))
    assert result.tolist() == [2.0, 2.0, 0.0, 2.0]
    assert oracle.queries == 4
