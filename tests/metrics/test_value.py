"""Rates with exact bounds, and metrics of a training's course, against SciPy and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from harness.metrics import METRICS, Value
from harness.metrics.value import rate_at_least, rate_at_most


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (1, 7), (6, 7), (7, 7), (0, 1), (1, 1), (30, 200)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_bounds_on_a_rate_are_clopper_and_pearsons(hits: int, n: int, level: float) -> None:
    low = stats.binomtest(hits, n, alternative="greater").proportion_ci(level, "exact").low
    high = stats.binomtest(hits, n, alternative="less").proportion_ci(level, "exact").high
    assert (rate_at_least(hits, n, level), rate_at_most(hits, n, level)) == (pytest.approx(low), pytest.approx(high))


def test_the_course_of_a_training() -> None:
    accuracies = np.array([0.2, 0.8, 0.6])
    epochs = METRICS["epochs_trained"]
    assert epochs.function(accuracies, 50) == Value(3.0, 0.0, 50)
    assert (epochs.low, epochs.high) == (1.0, math.inf)
    best = METRICS["best_accuracy_test"].function(accuracies, 50)
    assert (best.value, best.n) == (0.8, 50)
    assert best.stderr == pytest.approx(math.sqrt(0.8 * 0.2 / 50))
