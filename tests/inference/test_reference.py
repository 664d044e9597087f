"""The numbers against the definitions, written out look by look: no cumulative sums, no vectors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.inference import (
    FEWEST,
    BettingMean,
    Estimate,
    Stream,
    bet_on_streams,
    detectable_effect,
    estimate,
    moments,
    repeats_needed,
)
from harness.inference.t_mixture import (
    LATER,
    LEAST_SLOPE,
    PRIOR_PRECISION,
    TMixtureCS,
    TwoStakeCS,
    t_mixture_cs,
    two_stake_cs,
)
from tests.inference.martingales import log_martingale

SERIES = st.integers(0, 10_000).map(lambda seed: np.random.default_rng(seed).gamma(2.0, 0.1, 6 + seed % 20))


def moment(values: np.ndarray, records: np.ndarray) -> tuple[float, float, float]:
    """Mean, its standard error and its skewness."""
    n = len(values)
    mean = sum(values) / n
    between = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n) if n > 1 else 0.0
    error = max(between, math.sqrt(sum(r * r for r in records)) / n)
    if n < 3 or error == 0 or between == 0:
        return mean, error, 0.0
    third = n * sum((v - mean) ** 3 for v in values) / (n - 1) / (n - 2)
    return mean, error, third / n**2 / error**3


def hall(z: float, skewness: float) -> float:
    """The transform; from where its slope (1 + skewness z / 3)^2 falls to the least, a line."""
    knee = 3 * (math.sqrt(LEAST_SLOPE) - 1) / skewness if skewness else math.inf
    past = z - knee if (skewness < 0 and z > knee) or (skewness > 0 and z < knee) else 0.0
    z -= past
    return z + skewness * z * z / 3 + skewness**2 * z**3 / 27 + skewness / 6 + LEAST_SLOPE * past


def martingale(n: int, distance: float, error: float, skewness: float) -> float:
    """M_n of a mean that lies at a distance from the value tested; 0 on its other side."""
    if error > 0:
        z = distance / error
        distance = min(distance, hall(z, skewness) * error)
    if distance <= 0 or n < FEWEST:
        return 0.0
    shrunk = PRIOR_PRECISION / (n + PRIOR_PRECISION)
    around, square = (n - 1) * n * error**2, n * distance**2
    return math.exp(
        min(700.0, 0.5 * math.log(shrunk) + 0.5 * n * math.log((around + square) / (around + square * shrunk)))
    )


def looks(values: np.ndarray, records: np.ndarray, value: float, sign: float) -> list[float]:
    result = []
    for n in range(1, len(values) + 1):
        mean, error, skewness = moment(values[:n], records[:n])
        result.append(martingale(n, sign * (mean - value), error, sign * skewness))
    return result


@given(SERIES, st.floats(0, 0.05))
def test_moments_of_each_look(values: np.ndarray, error: float) -> None:
    records = np.full(len(values), error)
    result = moments(values, records)
    for n in range(1, len(values) + 1):
        mean, stderr, skewness = moment(values[:n], records[:n])
        assert result.means[n - 1] == pytest.approx(mean, rel=1e-9)
        assert result.stderrs[n - 1] == pytest.approx(stderr, rel=1e-7, abs=1e-12)
        assert result.skewnesses[n - 1] == pytest.approx(skewness, rel=1e-6, abs=1e-9)
    biased = stats.skew(values, bias=False)
    assert moments(values).skewnesses[-1] == pytest.approx(biased / math.sqrt(len(values)), rel=1e-6)


@given(SERIES, st.floats(-0.2, 0.6), st.booleans())
def test_p_values_of_all_looks_and_of_the_last(values: np.ndarray, value: float, last: bool) -> None:
    nothing = np.zeros(len(values))
    result = replace(t_mixture_cs(values, nothing), last_look_only=last)
    for sign, p in ((1.0, result.p_above(value)), (-1.0, result.p_below(value))):
        won = looks(values, nothing, value, sign)
        assert p == pytest.approx(min(1.0, 0.5 / max(0.5, won[-1] if last else max(won))), rel=1e-6)


@given(SERIES, st.integers(1, 8), st.floats(-0.2, 0.6), st.booleans())
def test_a_divided_stake_is_the_sum_of_both(values: np.ndarray, left_out: int, value: float, last: bool) -> None:
    nothing = np.zeros(len(values))
    result = two_stake_cs(values, nothing, left_out)
    result = replace(result, whole=replace(result.whole, last_look_only=last))
    assert isinstance(result, TwoStakeCS)
    won = looks(values, nothing, value, 1.0)
    if len(values) - left_out >= FEWEST:
        late = [0.0] * left_out + looks(values[left_out:], nothing[left_out:], value, 1.0)
        won = [(1 - LATER) * a + LATER * b for a, b in zip(won, late, strict=True)]
    assert result.p_above(value) == pytest.approx(min(1.0, 0.5 / max(0.5, won[-1] if last else max(won))), rel=1e-6)


def test_a_divided_stake_counts_from_the_sixth_late_value_on() -> None:
    values = np.tile([0.2, 0.25], 8)[: 3 + FEWEST]
    enough, short = (two_stake_cs(values[:n], np.zeros(n), 3) for n in (3 + FEWEST, 2 + FEWEST))
    assert enough.n == 3 + FEWEST
    assert enough.mean == pytest.approx(values[3:].mean())  # that of the later ones
    assert short.mean == pytest.approx(values[: 2 + FEWEST].mean())


def brute(result: TMixtureCS, alpha: float, most: int) -> int | None:
    mean, error, skewness = result.mean, result.stderr, float(result.moments.skewnesses[-1])
    for n in range(max(result.n, FEWEST), most + 1):
        fewer = math.sqrt(result.n / n)
        won = martingale(n, abs(mean), error * fewer, math.copysign(1, mean) * skewness * fewer)
        if 0.5 / max(0.5, won) <= alpha:
            return n
    return None


@given(SERIES, st.floats(-0.4, 0.4), st.sampled_from([0.025, 0.001, 0.4, 0.9]), st.integers(1, 120))
def test_what_is_projected_is_the_first_look_that_decides(
    values: np.ndarray, by: float, alpha: float, most: int
) -> None:
    result = t_mixture_cs(values + by, np.zeros(len(values)))
    assert result.project_repeats(alpha, most) == brute(result, alpha, most)
    two = two_stake_cs(values + by, np.zeros(len(values)), 4)
    both = [brute(two.whole, alpha * (1 - LATER), most)]
    if len(values) - 4 >= FEWEST:
        late = brute(two.later, alpha * LATER, most - 4)
        both.append(None if late is None else late + 4)
    assert two.project_repeats(alpha, most) == min((n for n in both if n is not None), default=None)


def test_an_interval_whose_looks_exclude_each_other_is_that_of_the_last() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([0.01 * rng.standard_normal(30), 1 + 0.01 * rng.standard_normal(60)])
    result = t_mixture_cs(values, np.zeros(90))
    low, high = result.interval()
    alone = t_mixture_cs(values, np.zeros(90)).moments
    assert low < alone.means[-1] < high
    assert high - low < 1
    assert math.isinf(t_mixture_cs(values[:5], np.zeros(5)).interval()[0])


def test_without_spread_and_without_distance_nothing_is_won() -> None:
    result = t_mixture_cs(np.full(8, 0.3), np.zeros(8))
    assert log_martingale(result, 0.3)[-1] == pytest.approx(0.5 * math.log(PRIOR_PRECISION / (8 + PRIOR_PRECISION)))
    assert result.p_above(0.3) == 1.0


def test_bets_on_nothing_or_on_less_than_there_is_project_nothing() -> None:
    def bets(values: list[float]) -> BettingMean:
        series = np.array(values)
        stream = Stream(series, np.zeros(len(series)), np.ones(len(series)))
        return bet_on_streams([stream], series)

    there = bets([0.9] * 6)
    assert there.project_repeats(0.025, 5) is None
    assert there.project_repeats(0.025, 60) is not None
    assert bets([]).project_repeats(0.025, 60) is None


def test_repeats_needed_and_the_detectable_effect_in_closed_form() -> None:
    reach = stats.norm.isf(0.025) + stats.norm.isf(0.2)
    result = Estimate(mean=-0.2, stderr=0.3, dof=7, n=8)  # spread 0.849
    assert repeats_needed(result, 0.025) == math.ceil((reach * 0.3 * math.sqrt(8) / 0.2) ** 2)
    assert repeats_needed(Estimate(mean=5.0, stderr=0.3, dof=1, n=2), 0.025) == 3  # one more than there are
    assert repeats_needed(Estimate(mean=5.0, stderr=0.3, dof=0, n=1), 0.025) is None
    two = Estimate(mean=0.1, stderr=0.3, dof=1, n=2)
    assert detectable_effect(two, 0.025) == pytest.approx(0.3 * (stats.t.isf(0.025, 1) + stats.t.isf(0.2, 1)))
    assert detectable_effect(replace(two, stderr=0.0), 0.025) is None
    assert detectable_effect(replace(two, n=1), 0.025) is None
    assert repeats_needed(Estimate(mean=1.0, stderr=0.3, dof=7, n=8), 0.025) == 9
    assert repeats_needed(Estimate(mean=0.0, stderr=0.3, dof=7, n=8), 0.025) is None
    assert repeats_needed(Estimate(mean=0.5, stderr=0.0, dof=7, n=8), 0.025) is None
    assert repeats_needed(Estimate(mean=50.0, stderr=1.0, dof=7, n=8), 0.025) == 9
    assert (Estimate().stderr, Estimate().p_above(0.0)) == (0.0, 1.0)
    assert two.p_above(0.0) == pytest.approx(stats.t.sf(1 / 3, 1))
    assert two.interval() == pytest.approx((0.1 - 0.3 * stats.t.isf(0.025, 1), 0.1 + 0.3 * stats.t.isf(0.025, 1)))
    assert estimate(np.array([0.1, 0.2])).n == 2


def test_constants_that_the_docs_state() -> None:
    assert PRIOR_PRECISION == 1 / 2**2  # the prior of the effect has a standard deviation of 2
    assert LATER == 1 / 4


def test_no_groups_of_runs_tell_nothing() -> None:
    nothing = Estimate()
    assert nothing.p_above(-1.0) == nothing.p_below(1.0) == 1.0
    assert nothing.interval() == (-math.inf, math.inf)


def test_a_mean_is_moved_by_what_is_asked() -> None:
    rng = np.random.default_rng(2)
    values = 0.3 + 0.1 * rng.standard_normal(12)
    for result in (t_mixture_cs(values, np.zeros(12)), two_stake_cs(values, np.zeros(12), 3), estimate(values)):
        moved, turned = result.shift(0.2), result.shift(0.2, -1.0)
        assert moved.mean == pytest.approx(result.mean + 0.2)
        assert turned.mean == pytest.approx(0.2 - result.mean)
        assert moved.p_above(0.45) == pytest.approx(result.p_above(0.25))
        assert turned.p_above(-0.05) == pytest.approx(result.p_below(0.25))
        assert moved.stderr == turned.stderr == pytest.approx(result.stderr)


def test_the_detectable_effect_of_repeats_that_were_looked_at() -> None:
    result = t_mixture_cs(np.tile([0.1, 0.2], 4), np.zeros(8))
    reach = stats.t.isf(0.025, 7) + stats.t.isf(0.2, 7)  # eight repeats leave seven degrees of freedom
    assert detectable_effect(result, 0.025) == pytest.approx(reach * result.stderr)


def test_agreeing_values_have_an_interval_of_no_width() -> None:
    """The search for its end starts where no error says how far to go."""
    low, high = two_stake_cs(np.full(40, 0.3), np.zeros(40), 3).interval()
    assert (low, high) == pytest.approx((0.3, 0.3), abs=1e-6)
