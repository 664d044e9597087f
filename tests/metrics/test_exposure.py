"""Members exposed at a false-positive rate, in one run and in several."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.metrics import metrics_of
from harness.metrics.exposure import EVERY, exposed_members, threshold_at
from harness.metrics.exposure import exposure as exposure_of
from harness.metrics.membership import tpr_at_fpr
from harness.metrics.metric import measure_runs as exposure

SCORES = arrays(np.float64, st.integers(2, 40), elements=st.integers(-5, 5).map(float))


def test_a_worked_example() -> None:
    others = np.arange(100, dtype=float)  # at 1% one other may score above the threshold: it is 98
    assert threshold_at(others, 0.01) == 98
    first = np.array([98.0, 98.5, 99.5, 120.0, 3.0])
    second = np.array([99.0, 98.0, 97.0, 150.0, 98.5])
    assert exposed_members(first, others, 0.01).tolist() == [False, True, True, True, False]
    assert exposed_members(second, others, 0.01).tolist() == [True, False, False, True, True]
    result = exposure([(first, others), (second, others)])
    assert set(result) == set(metrics_of("runs"))
    assert result["exposed_in_every_run_at_1pct_fpr"].value == 1
    assert result["exposed_in_some_run_at_1pct_fpr"].value == 5
    assert threshold_at(others, 0.05) == 94
    assert result["exposed_in_every_run_at_5pct_fpr"].value == 4  # all but the last, which one run scores 3


@given(SCORES, SCORES, st.sampled_from([0.01, 0.02, 0.05, 0.3]))
def test_one_run_exposes_the_true_positive_rate(members: np.ndarray, others: np.ndarray, fpr: float) -> None:
    marks = exposed_members(members, others, fpr)
    assert marks.mean() == tpr_at_fpr(members, others, fpr).value
    assert np.mean(others > threshold_at(others, fpr)) <= fpr + 1e-12


def test_a_guess_exposes_the_rate_in_each_run_and_next_to_none_in_all() -> None:
    rng = np.random.default_rng(0)
    runs = [(rng.random(10000), rng.random(10000)) for _ in range(5)]
    assert 60 < exposed_members(*runs[0], 0.01).sum() < 140
    result = exposure(runs)
    assert result["exposed_in_every_run_at_1pct_fpr"].value == 0
    assert result["exposed_in_every_run_at_5pct_fpr"].value <= 1  # 10,000 / 20^5 = 0.003
    assert abs(result["exposed_in_some_run_at_5pct_fpr"].value - 10000 * (1 - 0.95**5)) < 150
    assert result["exposed_in_every_run_at_1pct_fpr"].stderr == pytest.approx(1, rel=1e-3)  # never certain


def test_planted_memorisation_is_exposed_in_every_run() -> None:
    rng = np.random.default_rng(1)
    planted = np.zeros(2000, bool)
    planted[:300] = True
    runs = [(rng.random(2000) + 2 * planted, rng.random(2000)) for _ in range(5)]
    assert all(exposed_members(*run, 0.01)[planted].all() for run in runs)
    result = exposure(runs)
    assert result["exposed_in_every_run_at_1pct_fpr"].value == 300
    assert result["exposed_in_some_run_at_1pct_fpr"].value > 300


def test_outputs_that_cannot_be_told_apart_expose_nobody() -> None:
    """The footnote of jayaraman2019: where more others than the rate allows have the best score, no threshold is left."""
    members, others = np.zeros(100), np.concatenate([np.zeros(5), -np.ones(95)])
    assert exposed_members(members, others, 0.02).sum() == 0
    assert exposed_members(members, others, 0.05).sum() == 100


def test_errors_are_those_of_drawing_the_records_anew() -> None:
    result, stated = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        skill, other = rng.normal(1, 1, 1000), rng.normal(0, 1, 1000)
        runs = [
            (skill + rng.normal(0, 0.5, 1000), other + np.random.default_rng(9).normal(0, 0.5, 1000)) for _ in range(3)
        ]
        value = exposure(runs)["exposed_in_every_run_at_5pct_fpr"]
        result.append(value.value)
        stated.append(value.stderr)
    assert 0.8 < np.mean(stated) / np.std(result, ddof=1) < 1.3


def test_the_error_takes_members_and_others_by_their_own_numbers() -> None:
    """Binomial over 4 members, and the threshold of 50 others; of one run."""
    members, others = np.array([9.0, 5.0, 3.0, -1.0]), np.linspace(0, 4, 50)
    result = exposure_of([(members, others)], EVERY, 0.1)
    spread = np.sqrt(0.1 * 0.9 / 50)
    low, high = (exposure_of([(members, others)], EVERY, at).value for at in (0.1 - spread, 0.1 + spread))
    assert result.value == 2.0
    assert result.stderr == pytest.approx(np.hypot(np.sqrt(2 * 2 / 4), (high - low) / 2))
    assert result.n == 4


def test_at_the_ends() -> None:
    """Where every other may score above the threshold; where none and where every member is exposed; several runs."""
    others = np.arange(10.0)
    assert threshold_at(others, 1.0) == -np.inf
    assert threshold_at(others, 0.0) == 9.0
    nobody, everybody = (exposure_of([(np.full(25, at), others)] * 3, EVERY, 0.0) for at in (-1.0, 99.0))
    assert (nobody.value, everybody.value) == (0.0, 25.0)
    assert nobody.stderr == pytest.approx(np.sqrt(1 * 25 / 25))
    assert everybody.stderr == pytest.approx(np.sqrt(25 * 1 / 25))
    assert everybody.n == 75
