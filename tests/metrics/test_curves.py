"""Curves against closed forms, and what is refused of them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from harness.errors import HarnessError
from harness.metrics.curves import CURVES
from harness.paths import Project
from harness.spec.load import load_specs
from tests.conftest import SMALL_SPEC

Make = Callable[..., Project]


def test_the_roc_of_two_gaussians() -> None:
    """TPR = Phi(Phi^-1(FPR) + 1) where means are one standard deviation apart."""
    rng = np.random.default_rng(0)
    result = {"member_scores": rng.normal(1, 1, 200_000), "nonmember_scores": rng.normal(0, 1, 200_000)}
    (line,) = CURVES["roc"].lines(result, {})
    assert (line.x[0], line.x[-1], line.y[-1]) == (pytest.approx(5e-6), 1.0, 1.0)
    at = line.x > 1e-3
    np.testing.assert_allclose(line.y[at], norm.cdf(norm.ppf(line.x[at]) + 1), atol=0.01)


def test_the_roc_counts_only_rates_that_can_be_had() -> None:
    """Ties: all others share a score, so below a rate of one nothing but the members above it is caught."""
    result = {"member_scores": np.array([1.0, 1.0, 0.0, 0.0]), "nonmember_scores": np.zeros(10)}
    (line,) = CURVES["roc"].lines(result, {})
    assert set(line.y[:-1]) == {0.5}
    assert line.y[-1] == 1.0


def test_histograms_hold_everybody_once() -> None:
    result = {"member_scores": -np.array([0.0, 1e-12, 0.5, 2.0]), "nonmember_scores": -np.array([0.1, 4.0])}
    members, others = CURVES["losses"].lines(result, {})
    assert (members.name, others.name) == ("members", "non-members")
    assert (members.y.sum(), others.y.sum()) == (pytest.approx(1.0), pytest.approx(1.0))
    np.testing.assert_array_equal(members.x, others.x)
    assert members.y[0] == 0.5  # without loss, which a logarithm has no place for
    assert others.y[-1] == 0.5


def test_rates_of_records_are_sorted_and_the_ends_are_kept() -> None:
    rates = np.random.default_rng(1).permutation(np.linspace(0, 1, 5_001))
    (line,) = CURVES["point-tpr"].lines({"point_tpr": rates}, {})
    assert (line.x[0], line.x[-1], line.y[0], line.y[-1]) == (1, 5_001, 1.0, 0.0)
    np.testing.assert_allclose(line.y, 1 - (line.x - 1) / 5_000)


def test_four_records_are_those_that_were_made_so() -> None:
    """Confidences of 400 records under 16 models: one is moved by nine deviations, hardness rises with the index."""
    rng = np.random.default_rng(2)
    inside = np.zeros((16, 400), dtype=bool)
    inside[::2] = rng.random((8, 400)) < 0.5
    inside[1::2] = ~inside[::2]
    confidences = np.linspace(6, -6, 400) + rng.normal(0, 0.3, inside.shape)
    confidences[:, 200] += 9 * inside[:, 200]
    lines = CURVES["point-losses"].lines(
        {}, {"confidences": confidences.astype(np.float32), "inside": np.packbits(inside, axis=1)}
    )
    by = {(line.beside, line.name): line for line in lines}
    assert list(dict.fromkeys(line.beside for line in lines)) == ["easy", "hard", "moved least", "moved most"]
    assert by["easy", "not"].x.max() < by["hard", "not"].x.min()
    moved, still = by["moved most", "trained on it"], by["moved most", "not"]
    assert moved.x[moved.y > 0].max() < still.x[still.y > 0].min()
    assert all(line.y.sum() == pytest.approx(1.0) for line in lines)


@pytest.mark.parametrize(
    ("panel", "says"),
    [
        ("{title: t, curve: roc}", "attacks: name those to draw; of this curve can be drawn: logloss"),
        ("{title: t, curve: point-tpr, attacks: [logloss]}", "attack 'logloss' does not give rates of each record"),
        ("{title: t, curve: roc, metrics: [auc], attacks: [logloss]}", "takes the place of metrics and formulas"),
        ("{title: t, curve: rocs, attacks: [logloss]}", "figure.0.curve"),
        ("{title: t}", "nothing to draw; give metrics, formulas or a curve"),
    ],
)
def test_a_panel_that_draws_nothing_is_refused(make_project: Make, panel: str, says: str) -> None:
    with pytest.raises(HarnessError, match=re.escape(says)):
        load_specs(make_project(SMALL_SPEC + f"figure: [{panel}]\n"), [])
