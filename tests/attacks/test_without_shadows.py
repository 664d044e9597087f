"""The blind baseline and quantile regression, on records and confidences whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import norm

from harness.arrays import Array
from harness.attacks import Outputs, Target
from harness.attacks.blind import Blind
from harness.attacks.quantile import QuantileRegression
from harness.errors import HarnessError
from tests.attacks.test_pooled import outputs


@dataclass
class WithFeatures(Target):
    """A target of which features and confidences are given."""

    inside: Array
    outside: Array
    confident: tuple[Array, Array]
    known: Array = field(default_factory=lambda: np.zeros((0, 1)))
    known_confidence: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def members(self) -> Outputs:
        return outputs(self.confident[0])

    @property
    def nonmembers(self) -> Outputs:
        return outputs(self.confident[1])

    @property
    def test(self) -> Outputs:
        return outputs(self.known_confidence)

    def features(self) -> tuple[Array, Array]:
        return self.inside.astype(np.float32), self.outside.astype(np.float32)

    def test_features(self) -> Array:
        return self.known.astype(np.float32)

    def query(self, features: Array, labels: Array) -> Outputs:
        raise AssertionError("these attacks ask for no other records")


def apart(shift: float, m: int = 1500, n: int = 1500, seed: int = 0) -> WithFeatures:
    rng = np.random.default_rng(seed)
    inside, outside = rng.normal(0, 1, (m, 3)), rng.normal(0, 1, (n, 3))
    inside[:, 0] += shift
    return WithFeatures(inside, outside, (rng.normal(size=m), rng.normal(size=n)))


@pytest.mark.parametrize(("classifier", "loss"), [("linear", 0.01), ("boosting", 0.02)])
def test_the_blind_baseline_finds_what_records_tell_and_no_more(classifier: str, loss: float) -> None:
    """Two normals a shift apart: the best AUC is Phi(shift / sqrt 2), the best advantage 2 Phi(shift / 2) - 1."""
    attack = Blind.model_validate({"classifier": classifier})
    result = attack.measure(apart(1.5), {}).metrics
    assert result["auc"].value == pytest.approx(norm.cdf(1.5 / np.sqrt(2)), abs=loss + 3 * result["auc"].stderr)
    assert result["advantage"].value == pytest.approx(2 * norm.cdf(0.75) - 1, abs=loss + 3 * result["advantage"].stderr)


def test_on_records_drawn_alike_it_finds_nothing() -> None:
    """Scores are of records that a classifier has not seen, so it cannot learn memberships by heart."""
    result = [Blind().measure(apart(0.0, seed=s), {}).metrics["auc"].value for s in range(3)]
    assert np.mean(result) == pytest.approx(0.5, abs=0.02)


def test_it_sees_labels_and_not_the_model() -> None:
    target = apart(0.0, 300, 300)
    scores = Blind().measure(target, {}).arrays["member_scores"]
    other = WithFeatures(target.inside, target.outside, (target.confident[0] + 9, target.confident[1]))
    assert np.array_equal(scores, Blind().measure(other, {}).arrays["member_scores"])
    members = np.arange(600) < 300
    telling = Blind(classifier="linear").scores(np.zeros((600, 1)), members.astype(int), members)
    assert telling[members].min() > telling[~members].max()


def regression(shift: float, seed: int = 0, n: int = 3000) -> WithFeatures:
    """Confidences of 2 x plus noise of spread 1; `shift` more on members."""
    rng = np.random.default_rng(seed)
    x = [rng.uniform(-2, 2, (n, 1)) for _ in range(3)]
    conf = [2 * v[:, 0] + rng.normal(0, 1, n) for v in x]
    return WithFeatures(x[0], x[1], (conf[0] + shift, conf[1]), x[2], conf[2])


def test_quantiles_are_those_of_confidences_on_records_that_are_no_members() -> None:
    """With noise of spread 1 whatever the record, a threshold at the 95% quantile is passed by 5%; by Phi(2 - 1.645)
    of members two deviations up. A threshold on the confidence itself is far behind."""
    target = regression(2.0)
    result = QuantileRegression().measure(target, {}).metrics
    assert result["fpr"].value == pytest.approx(0.05, abs=0.025)
    assert result["tpr"].value == pytest.approx(norm.cdf(2 - norm.isf(0.05)), abs=0.07)
    assert result["auc"].value == pytest.approx(norm.cdf(2 / np.sqrt(2)), abs=0.03)
    median, upper = QuantileRegression().predict_quantiles(
        (target.known.astype(np.float32), np.ones(3000, int)),
        target.known_confidence,
        (np.array([[-1.0], [1.0]], np.float32), np.ones(2, int)),
    )
    assert median == pytest.approx([-2, 2], abs=0.45)
    assert upper - median == pytest.approx([norm.isf(0.05)] * 2, abs=0.6)


def test_where_nothing_leaks_it_finds_nothing() -> None:
    result = QuantileRegression().measure(regression(0.0, seed=1), {}).metrics
    assert result["auc"].value == pytest.approx(0.5, abs=4 * result["auc"].stderr)
    assert result["advantage"].value == pytest.approx(0, abs=4 * result["advantage"].stderr)


def test_too_few_test_records_for_the_quantile() -> None:
    target = regression(0.0, n=30)
    with pytest.raises(HarnessError, match=r"level 0\.01 is less than one of half of the 30 test records"):
        QuantileRegression(level=0.01).measure(target, {})
