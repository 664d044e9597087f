"""Estimates and tests against SciPy's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.claims.statistics import Estimate, difference, estimate, pearson, repeats_needed

VALUES = st.lists(st.floats(-5, 5), min_size=3, max_size=20).map(np.array).filter(lambda v: np.std(v) > 1e-3)


@given(VALUES, st.floats(-3, 3))
def test_one_sample_tests_and_interval(values: np.ndarray, value: float) -> None:
    found = estimate(values)
    assert found.p_above(value) == pytest.approx(
        stats.ttest_1samp(values, value, alternative="greater").pvalue, abs=1e-9
    )
    assert found.p_below(value) == pytest.approx(stats.ttest_1samp(values, value, alternative="less").pvalue, abs=1e-9)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found.interval() == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


@given(VALUES, VALUES)
def test_welch(left: np.ndarray, right: np.ndarray) -> None:
    gap = difference(estimate(left), estimate(right))
    reference = stats.ttest_ind(left, right, equal_var=False, alternative="greater")
    assert gap.p_above(0) == pytest.approx(reference.pvalue, abs=1e-9)
    assert gap.dof == pytest.approx(reference.df)


def test_agreeing_repeats_keep_the_records_error() -> None:
    """Three runs that agree by chance: the error of 100 records each, sqrt(mean(e^2) / 3), stays."""
    found = estimate(np.array([0.2, 0.2, 0.2]), np.array([0.05, 0.05, 0.05]))
    assert found.stderr == pytest.approx(0.05 / math.sqrt(3))


def test_one_repeat_decides_nothing() -> None:
    found = estimate(np.array([0.9]))
    assert found.interval() == (-math.inf, math.inf)
    assert found.p_above(0) == found.p_below(0) == 1.0
    assert repeats_needed(found, 0.05) is None


def test_repeats_needed_gives_the_promised_power() -> None:
    """At the returned n, SciPy's exact t-test power is about 0.8 (the formula is the normal one, so within 0.05)."""
    found = Estimate(mean=0.3, stderr=1 / math.sqrt(5), dof=4, n=5)
    n = repeats_needed(found, 0.05)
    assert n is not None
    power = stats.nct.sf(stats.t.isf(0.05, n - 1), n - 1, 0.3 * math.sqrt(n))
    assert power == pytest.approx(0.8, abs=0.05)


def test_pearson_agrees_and_refuses_constants() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 9))
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert math.isnan(pearson(np.ones(5), y[:5]))
    assert math.isnan(pearson(x[:2], y[:2]))
