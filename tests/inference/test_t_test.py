"""Estimates and tests against SciPy's own."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.inference import (
    Estimate,
    combine_estimates,
    detectable_effect,
    difference,
    estimate,
    hall_transform,
    inverse_hall_transform,
    moments,
    moments_of_all,
    pearson,
    repeats_needed,
)

VALUES = st.lists(st.floats(-5, 5), min_size=3, max_size=20).map(np.array).filter(lambda v: np.std(v) > 1e-3)


def symmetric(values: np.ndarray) -> np.ndarray:
    """The values and their mirror images, which have no skewness to correct."""
    return np.concatenate([values, 2 * values.mean() - values])


@given(VALUES, st.floats(-3, 3))
def test_one_sample_tests_and_interval(values: np.ndarray, value: float) -> None:
    values = symmetric(values)
    result = estimate(values)
    for p_value, alternative in ((result.p_above(value), "greater"), (result.p_below(value), "less")):
        assert p_value == pytest.approx(stats.ttest_1samp(values, value, alternative=alternative).pvalue, abs=1e-6)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert result.interval() == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))


NUMBERS = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1e-150, -1e-150, 1e90, 0.1])
ERRORS = st.floats(0, 1e3) | st.sampled_from([0.0, 1e-150])


@given(st.lists(st.tuples(NUMBERS, ERRORS), min_size=1, max_size=30), st.booleans())
def test_moments_of_all_values_are_the_last_of_the_running_ones(of: list[tuple[float, float]], exact: bool) -> None:
    values, errors = (np.array(one) for one in zip(*of, strict=True))
    with np.errstate(all="ignore"):
        running = moments(values, None if exact else errors)
    mean, stderr, skewness = moments_of_all(values, None if exact else errors)
    scale = float(np.abs(values).max())
    assert mean == pytest.approx(running.means[-1], rel=1e-9, abs=1e-12 * scale)
    assert stderr == pytest.approx(running.stderrs[-1], rel=1e-6, abs=1e-9 * scale)
    if stderr > 1e-6 * scale > 1e-90:  # else what varies is no more than rounding
        assert skewness == pytest.approx(running.skewnesses[-1], rel=1e-6, abs=1e-5)


@given(VALUES, VALUES)
def test_welch(left: np.ndarray, right: np.ndarray) -> None:
    left, right = symmetric(left), symmetric(right)
    gap = difference(estimate(left), estimate(right))
    reference = stats.ttest_ind(left, right, equal_var=False, alternative="greater")
    assert gap.p_above(0) == pytest.approx(reference.pvalue, abs=1e-6)
    assert gap.dof == pytest.approx(reference.df)


@given(VALUES, VALUES, st.floats(-3, 3))
def test_skewness_only_ever_weakens_a_test(left: np.ndarray, right: np.ndarray, value: float) -> None:
    result, gap = estimate(left), difference(estimate(left), estimate(right))
    own = result.skewness * len(left) ** 0.5 / (1 + 4 / len(left))
    assert own == pytest.approx(stats.skew(left, bias=False), abs=1e-6)
    for tested, reference in (
        (result.p_above(value), stats.ttest_1samp(left, value, alternative="greater")),
        (result.p_below(value), stats.ttest_1samp(left, value, alternative="less")),
        (gap.p_above(0), stats.ttest_ind(left, right, equal_var=False, alternative="greater")),
    ):
        assert tested >= reference.pvalue - 1e-9
    low, high = result.interval()
    if min(abs(low - value), abs(high - value)) > 1e-6:
        assert (result.p_above(value) <= 0.025) == (low > value)
        assert (result.p_below(value) <= 0.025) == (high < value)


@given(st.floats(-20, 20), st.floats(-3, 3), st.sampled_from([0.0, 0.25, 1.0]))
def test_the_transform_is_monotone_and_has_an_inverse(distance: float, skewness: float, slope: float) -> None:
    value, further = (float(hall_transform(d, skewness, slope)) for d in (distance, distance + 1e-3))
    assert further >= value + 0.999e-3 * slope - 1e-12
    back = float(inverse_hall_transform(value, skewness, slope))
    assert hall_transform(back, skewness, slope) == pytest.approx(value, abs=1e-9, rel=1e-9)
    if slope:  # nowhere flat, so the inverse is the distance itself
        assert back == pytest.approx(distance, abs=1e-9, rel=1e-9)


@given(st.floats(-0.5, 0.5), st.floats(0, 3))
def test_a_least_slope_changes_nothing_where_the_transform_is_steeper(skewness: float, distance: float) -> None:
    assert hall_transform(distance, skewness, 0.25) == hall_transform(distance, skewness)


@pytest.mark.parametrize("skewness", [0.0, 5e-324, 1e-200, -1e-150, 1e-12, -1e-9, 1e-9, -1e-6, 0.3, -2.5])
@pytest.mark.parametrize("slope", [0.0, 0.25, 1.0])
def test_the_transform_loses_nothing_near_no_skewness(skewness: float, slope: float) -> None:
    """Against 400 digits: the cubic where its slope is enough, else a line of the least slope from there."""
    with mpmath.workdps(400):
        s, root = mpmath.mpf(skewness), mpmath.sqrt(slope)
        for distance in (-30.0, -1.5, -1e-9, 0.0, 0.7, 12.0):
            d = mpmath.mpf(distance)
            past = min(mpmath.mpf(0), 1 + s * d / 3 - root) * 3 / s if s and slope else mpmath.mpf(0)
            near = d - past
            value = near + s * near**2 / 3 + s**2 * near**3 / 27 + s / 6 + slope * past
            assert float(hall_transform(distance, skewness, slope)) == pytest.approx(float(value), rel=1e-12, abs=1e-12)
            if slope:
                back = float(inverse_hall_transform(float(value), skewness, slope))
                assert back == pytest.approx(distance, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n", [10, 40])
def test_a_skewed_mean_is_missed_less_often_than_by_student(n: int) -> None:
    """2,000 samples of exponential values: at most the stated 5% (at error 1e-4) instead of up to 10%."""
    rng = np.random.default_rng(n)
    samples = rng.exponential(size=(2000, n))
    missed = sum(min(e.p_above(1.0), e.p_below(1.0)) <= 0.025 for e in map(estimate, samples))
    student = int((stats.ttest_1samp(samples, 1.0, axis=1).pvalue <= 0.05).sum())
    assert missed < student
    assert stats.binomtest(missed, 2000, 0.05, alternative="greater").pvalue > 1e-4


def test_agreeing_repeats_keep_the_records_error() -> None:
    """Three runs that agree by chance: the error of 100 records each, sqrt(mean(e^2) / 3), stays."""
    result = estimate(np.array([0.2, 0.2, 0.2]), np.array([0.05, 0.05, 0.05]))
    assert result.stderr == pytest.approx(0.05 / math.sqrt(3))


def test_one_repeat_decides_nothing() -> None:
    result = estimate(np.array([0.9]))
    assert result.interval() == (-math.inf, math.inf)
    assert result.p_above(0) == result.p_below(0) == 1.0
    assert repeats_needed(result, 0.05) is None


def test_repeats_needed_gives_the_promised_power() -> None:
    """At the returned n, SciPy's exact t-test power is about 0.8 (the formula is the normal one, so within 0.05)."""
    result = Estimate(mean=0.3, stderr=1 / math.sqrt(5), dof=4, n=5)
    n = repeats_needed(result, 0.05)
    assert n is not None
    power = stats.nct.sf(stats.t.isf(0.05, n - 1), n - 1, 0.3 * math.sqrt(n))
    assert power == pytest.approx(0.8, abs=0.05)


def test_the_detectable_effect_is_found_with_the_promised_power() -> None:
    """By SciPy's non-central t, within 0.03 of 0.8 from five repeats on."""
    for n in (5, 10, 40):
        smallest = detectable_effect(Estimate(mean=0.1, stderr=1 / math.sqrt(n), dof=n - 1, n=n), 0.025)
        assert smallest is not None
        power = stats.nct.sf(stats.t.isf(0.025, n - 1), n - 1, smallest * math.sqrt(n))
        assert power == pytest.approx(0.8, abs=0.03)
    assert detectable_effect(estimate(np.array([0.5])), 0.025) is None


def test_pearson_agrees_and_refuses_constants() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 9))
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert math.isnan(pearson(np.ones(5), y[:5]))
    assert math.isnan(pearson(x[:2], y[:2]))


@given(VALUES, VALUES, st.floats(-2, 2))
def test_skewness_of_a_weighted_sum(left: np.ndarray, right: np.ndarray, weight: float) -> None:
    """Third cumulants of independent means add with the cubes of their weights (k-statistics as the reference)."""
    result = combine_estimates([(1.0, estimate(left)), (weight, estimate(right))], 3)
    thirds = [(1 + 4 / len(values)) * stats.kstat(values, 3) / len(values) ** 2 for values in (left, right)]
    third = thirds[0] + weight**3 * thirds[1]
    square = stats.kstat(left, 2) / len(left) + weight**2 * stats.kstat(right, 2) / len(right)
    assert result.skewness == pytest.approx(third / square**1.5, abs=1e-6, rel=1e-6)
    assert result.stderr == pytest.approx(math.sqrt(square))
    assert result.mean == pytest.approx(left.mean() + weight * right.mean())
    assert result.n == 3
    gap = difference(estimate(left), estimate(right))
    assert gap.skewness == pytest.approx(
        (thirds[0] - thirds[1]) / (stats.kstat(left, 2) / len(left) + stats.kstat(right, 2) / len(right)) ** 1.5,
        abs=1e-6,
        rel=1e-6,
    )
    assert gap.n == min(len(left), len(right))


def test_sums_without_spread_or_of_one_repeat() -> None:
    same, one = estimate(np.full(4, 0.3)), estimate(np.array([0.5]))
    assert combine_estimates([(1.0, same), (1.0, same)], 4) == Estimate(0.6, 0.0, 3.0, 4, 0.0)
    more = estimate(np.full(9, 0.3))
    assert combine_estimates([(1.0, more), (1.0, same)], 4).dof == 3.0
    assert combine_estimates([(1.0, same), (1.0, one)], 1).dof == 0.0
    assert same.p_above(0.3) == same.p_below(0.3) == 1.0
    assert same.p_above(0.2) == same.p_below(0.4) == 0.0
    two = estimate(np.array([0.3, 0.5]))
    assert two.skewness == 0.0
    assert detectable_effect(two, 0.025) == pytest.approx((stats.t.isf(0.025, 1) + stats.t.isf(0.2, 1)) * 0.1)
    assert math.isnan(pearson(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0])))
    assert pearson(np.array([1.0, 1.5, 2.0]), np.array([1.0, 2.0, 1.0])) == pytest.approx(0.0)
    assert math.isnan(pearson(np.array([1.0, 2.0]), np.array([1.0, 2.0])))
    assert combine_estimates([(1.0, same), (1.0, one)], 1).p_above(0.0) == 1.0


@given(VALUES, st.floats(-3, 3))
def test_mirror_images(values: np.ndarray, by: float) -> None:
    result = estimate(values)
    turned = result.shift(by, -1.0)
    assert turned.skewness == -result.skewness
    assert turned.p_above(by - 0.1) == pytest.approx(result.p_below(0.1))
    low, high = result.interval()
    assert turned.interval() == (pytest.approx(by - high), pytest.approx(by - low))
    assert turned.repeat_values == pytest.approx(by - values)


def test_a_sum_of_which_one_part_is_unknown_is_unknown() -> None:
    known = estimate(np.array([0.1, 0.2, 0.4]))
    for part in (Estimate(0.5, 0.1, 0.0, 1), Estimate()):
        for parts in ([(1.0, known), (1.0, part)], [(1.0, part), (-1.0, known)]):
            assert combine_estimates(parts, 3).dof == 0.0
            assert combine_estimates(parts, 3).p_above(-9.0) == 1.0
    nothing = Estimate()
    assert (nothing.mean, nothing.stderr, nothing.dof, nothing.n, nothing.skewness) == (0.0, 0.0, 0.0, 0, 0.0)


def test_equal_values_have_no_spread_whatever_comes_before_them() -> None:
    """Rounding is judged by the largest value so far: a first one near zero is no measure of the later ones."""
    equal = np.full(9, 0.1 + 0.2)
    assert moments(equal).stderrs.max() == 0.0
    near = moments(np.r_[1e-20, np.full(8, 1e-20)])
    assert near.stderrs.max() == 0.0
