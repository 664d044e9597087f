"""Confidence sequences against the integral they are a closed form of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from harness.inference import FEWEST
from harness.inference.t_mixture import PRIOR_PRECISION, t_mixture_cs
from tests.inference.martingales import log_martingale

VALUES = st.lists(st.floats(-5, 5), min_size=6, max_size=14).map(np.array).filter(lambda v: np.std(v) > 1e-2)
NO_ERRORS = np.zeros(40)


def by_integration(values: np.ndarray) -> float:
    """Likelihood ratio of the t-statistic, non-central against central, averaged over the prior of the effect.

    An independent road to the martingale: SciPy's non-central t and a numerical integral, no closed form.
    """
    n = len(values)
    t = values.mean() / (values.std(ddof=1) / math.sqrt(n))

    def integrand(effect: float) -> float:
        prior = stats.norm.pdf(effect, scale=1 / math.sqrt(PRIOR_PRECISION))
        return float(stats.nct.pdf(t, n - 1, effect * math.sqrt(n)) * prior)

    total, _ = integrate.quad(integrand, -12, 12, points=[t / math.sqrt(n)], limit=400)
    return total / float(stats.t.pdf(t, n - 1))


@pytest.mark.parametrize("seed", range(6))
def test_the_martingale_is_the_mixture_of_likelihood_ratios(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(rng.uniform(-1, 1), 1.0, size=4 + seed)
    result = log_martingale(t_mixture_cs(values, np.zeros(len(values))), 0.0)[-1]
    assert math.exp(result) == pytest.approx(by_integration(values), rel=1e-4)


@given(VALUES, st.floats(-3, 3), st.sampled_from([0.9, 0.95, 0.995]))
def test_an_interval_clears_a_value_just_when_the_p_value_says_so(
    values: np.ndarray, value: float, level: float
) -> None:
    result = t_mixture_cs(values, np.zeros(len(values)))
    low, high = result.interval(level)
    alpha = 1 - level
    if low <= high and min(abs(low - value), abs(high - value)) > 1e-6:
        assert (result.p_above(value) <= alpha / 2) == (low > value)
        assert (result.p_below(value) <= alpha / 2) == (high < value)


@given(VALUES, st.floats(-2, 2), st.floats(0.1, 10))
def test_moving_and_scaling_the_values_moves_and_scales_the_interval(
    values: np.ndarray, by: float, times: float
) -> None:
    # Repeats that are all alike leave one value, and whether a later one contradicts it is then a matter of rounding.
    assume(np.ptp(values[:FEWEST]) > 1e-3)
    low, high = t_mixture_cs(values, np.zeros(len(values))).interval()
    moved = t_mixture_cs(values * times + by, np.zeros(len(values))).interval()
    assert moved == (pytest.approx(low * times + by, abs=1e-6), pytest.approx(high * times + by, abs=1e-6))
    mirrored = t_mixture_cs(values, np.zeros(len(values))).shift(0.0, -1.0).interval()
    assert mirrored == (pytest.approx(-high, abs=1e-9), pytest.approx(-low, abs=1e-9))


def test_it_ever_misses_a_gaussian_mean_no_more_often_than_stated() -> None:
    """4,000 sequences of 40 looks each: the share that ever excludes the truth is below 5%, tested at 1e-4."""
    rng, missed, runs = np.random.default_rng(5), 0, 4000
    for values in rng.normal(0.3, 0.7, size=(runs, 40)):
        missed += bool((log_martingale(t_mixture_cs(values, NO_ERRORS), 0.3) >= math.log(20)).any())
    assert missed > 20  # it does happen: the looks are real
    assert stats.binomtest(missed, runs, 0.05, alternative="greater").pvalue > 1e-4


def test_a_fixed_test_looked_at_often_errs_far_more() -> None:
    """The same sequences by Student's interval at every look: several times the stated level."""
    rng = np.random.default_rng(5)
    values = rng.normal(0.0, 1.0, size=(500, 40))
    n = np.arange(3, 41)
    wrong = np.zeros(500, bool)
    for k in n:
        wrong |= stats.ttest_1samp(values[:, :k], 0.0, axis=1).pvalue <= 0.05
    assert wrong.mean() > 0.15


def test_no_spread_decides_with_the_first_look_that_can() -> None:
    n = FEWEST
    same = t_mixture_cs(np.full(n, 0.4), np.zeros(n))
    assert same.p_above(0.0) <= 0.025
    assert t_mixture_cs(np.full(n - 1, 0.4), np.zeros(n - 1)).p_above(0.0) > 0.025
    assert same.p_above(0.4) == 1.0
    # The records' own error keeps agreeing repeats from certainty.
    assert t_mixture_cs(np.full(n, 0.4), np.full(n, 0.5)).p_above(0.0) > 0.025


def test_one_repeat_says_nothing() -> None:
    one = t_mixture_cs(np.array([0.9]), np.zeros(1))
    assert one.interval() == (-math.inf, math.inf)
    assert one.p_above(0.0) == 1.0
    assert one.n == 1


@settings(deadline=None)
@given(st.floats(0.3, 1.5), st.integers(6, 20), st.sampled_from([0.025, 0.0025]), st.sampled_from([-1.0, 1.0]))
def test_a_projection_is_where_the_same_values_over_again_decide(
    effect: float, n: int, alpha: float, sign: float
) -> None:
    """Against the sequence itself, continued by values of the same mean and spread."""
    n += n % 2
    swings = (-1.0) ** np.arange(600)
    swings[:n] *= math.sqrt((n - 1) / n)  # the spread of the first n, which counts n - 1, is that of them all
    values = sign * effect + swings
    result = t_mixture_cs(values[:n], np.zeros(n)).project_repeats(alpha, 600)
    looks = range(n, 600, 2)
    means = (t_mixture_cs(values[:k], np.zeros(k)) for k in looks)
    ps = [mean.p_above(0) if sign > 0 else mean.p_below(0) for mean in means]
    reached = next((k for k, p in zip(looks, ps, strict=True) if p <= alpha), None)
    if reached is None:
        assert result is None or result > 590
    else:
        assert result == pytest.approx(reached, rel=0.08, abs=3)  # odd looks are to one side of the mean


@pytest.mark.parametrize("rare", [1.0, -1.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_projection_of_skewed_values_is_where_the_same_values_over_again_decide(rare: float, sign: float) -> None:
    """One value in eight far to one side: the skewness of the mean falls as repeats are added."""
    pattern = rare * np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0])
    values = np.tile(pattern - pattern.mean() + sign * 0.9, 60)
    n = 16
    result = t_mixture_cs(values[:n], np.zeros(n)).project_repeats(0.025, 400)
    looks = range(n, 400, 8)
    means = (replace(t_mixture_cs(values[:k], np.zeros(k)), last_look_only=True) for k in looks)
    reached = next(
        k for k, m in zip(looks, means, strict=True) if (m.p_above(0) if sign > 0 else m.p_below(0)) <= 0.025
    )
    assert result is not None
    assert result == pytest.approx(reached, abs=12)


@given(VALUES, st.sampled_from([0.8, 0.95]))
def test_the_interval_ends_where_a_look_excludes(values: np.ndarray, level: float) -> None:
    result = t_mixture_cs(values, np.zeros(len(values)))
    low, high = result.interval(level)
    assert result.interval(0.95) == result.interval()
    for end, p in ((low, result.p_above), (high, result.p_below)):
        if math.isfinite(end) and low < high:
            assert p(end) == pytest.approx((1 - level) / 2, rel=1e-6)


def swinging(mean: float, by: float = 0.3, n: int = 8) -> np.ndarray:
    """Values to both sides of the mean in turns."""
    return mean + by * (-1.0) ** np.arange(n)


def test_a_projection_at_its_very_end() -> None:
    values = swinging(0.3, 0.5, 12)
    result = t_mixture_cs(values, np.zeros(12))
    at = result.project_repeats(0.025, 500)
    assert at is not None
    assert result.project_repeats(0.025, at) == at
    assert result.project_repeats(0.025, at - 1) is None
    assert result.project_repeats(0.025, 11) is None
