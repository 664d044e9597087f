"""Bets on bounded means: against their definition, by enumeration of every outcome, and against `ville`."""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from ville import BernoulliCS, BettingCS

from harness.inference import FEWEST, rarity_bound, share_at_least
from harness.inference.betting import (
    SHARES,
    WEIGHTS,
    BettingMean,
    Stream,
    _log_capital_in_products,
    bet_on_streams,
    convex_lower_bounds,
    log_capitals,
    mix_shares,
)

SHARES_LIST = [(1.0, 0.5), (0.5, 0.1), (0.25, 0.1), (0.125, 0.1), (0.0625, 0.1), (0.03125, 0.1)]
VALUES = st.lists(st.floats(0, 1), min_size=2, max_size=12).map(np.array)


def bounded(values: Any, low: float = 0.0, high: float = 1.0) -> Stream:
    values = np.asarray(values, dtype=float)
    return Stream(values, np.full(len(values), low), np.full(len(values), high))


def capital(values: Any, tested: float, low: float = 0.0) -> float:
    """By the definition, value by value."""
    total = 0.0
    for share, weight in SHARES_LIST:
        own = weight
        for value in values:
            own *= 1 + share * (value - tested) / (tested - low)
        total += own
    return total


@given(VALUES, st.floats(0.05, 0.95))
def test_capital_is_its_definition(values: np.ndarray, tested: float) -> None:
    result = bet_on_streams([bounded(values)]).log_capital(tested)
    for n in (1, len(values)):
        assert math.exp(result[n - 1]) == pytest.approx(capital(values[:n], tested), rel=1e-9)
    assert (SHARES.tolist(), WEIGHTS.tolist()) == ([s for s, _ in SHARES_LIST], [w for _, w in SHARES_LIST])
    assert WEIGHTS.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("p", "tested"), [(0.3, 0.3), (0.7, 0.7), (0.2, 0.3)])
def test_nobody_wins_on_average_where_the_mean_is_not_above(p: float, tested: float) -> None:
    """Over all 2^7 outcomes of seven values of 0 or 1: exactly 1 at the true mean, and less above it."""
    expected = 0.0
    for outcome in product((0, 1), repeat=7):
        chance = math.prod(p if one else 1 - p for one in outcome)
        expected += chance * math.exp(bet_on_streams([bounded(outcome)]).log_capital(tested)[-1])
    assert expected == pytest.approx(1.0) if p == tested else expected < 0.9


def test_nor_on_two_arms_whose_difference_is_tested() -> None:
    """Over all outcomes of four values of each arm; the difference of means is 0.4."""
    p, q, expected = 0.7, 0.3, 0.0
    for left, right in product(product((0, 1), repeat=4), repeat=2):
        chance = math.prod(p if one else 1 - p for one in left) * math.prod(q if one else 1 - q for one in right)
        bet = bet_on_streams([bounded(left), bounded(right).negate()])
        expected += chance * math.exp(bet.log_capital(0.4)[-1])
    assert 0.1 < expected <= 1.0


@given(VALUES, VALUES, st.floats(-0.9, 0.9))
def test_the_least_that_two_bets_won_is_found_between_the_points_of_the_lattice(
    left: np.ndarray, right: np.ndarray, tested: float
) -> None:
    bet = bet_on_streams([bounded(left), bounded(right).negate()])
    result, n = float(bet.log_capital(tested)[-1]), bet.n

    def won(first: float) -> float:
        return math.log(capital(left[:n], first)) + math.log(capital(-right[:n], tested - first, -1.0))

    least = optimize.minimize_scalar(
        won, bounds=(1e-9, tested + 1 - 1e-9), method="bounded", options={"xatol": 1e-6}
    ).fun
    assert least - 0.1 <= result <= least + 1e-6


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=6), st.integers(5, 20))
def test_smallest_is_below_convex_functions_and_near_them(corners: list[float], k: int) -> None:
    slopes = np.array(corners)
    fine = np.linspace(0, 1, 40 * (k - 1) + 1)

    def height(x: np.ndarray) -> np.ndarray:
        lines: np.ndarray = np.max([s * x - 0.2 * s * s for s in slopes], axis=0) + 0.5 * (x - 0.4) ** 2
        return lines

    result = convex_lower_bounds(height(fine[::40])[:, None])[0]
    assert result <= height(fine).min() + 1e-9
    assert result >= height(fine).min() - 6.0 / (k - 1)


def test_large_effects_are_told_after_about_ten_repeats_and_small_ones_after_seventy() -> None:
    rng = np.random.default_rng(0)
    for mean, against, least, most in ((0.95, 0.08, 6, 12), (0.08, 0.005, 45, 80)):
        values = mean + 0.02 * np.clip(rng.standard_normal(200), -2, 2)
        won = bet_on_streams([bounded(values, -1.0)]).log_capital(against)
        first = int(np.argmax(won >= math.log(40))) + 1
        assert least <= first <= most
        plug_in = BettingCS((-1, 1), 0.05).fit(values)
        assert first < int(np.argmax(plug_in.lower_ > against)) + 1


@given(VALUES, st.floats(0.05, 0.95), st.floats(-2, 2))
def test_both_directions_and_shifts(values: np.ndarray, tested: float, by: float) -> None:
    one = bet_on_streams([bounded(values)], values)
    turned = bet_on_streams([bounded(1 - values)], 1 - values)
    assert one.p_below(tested) == pytest.approx(turned.p_above(1 - tested), rel=1e-6)
    moved = one.shift(by)
    assert moved.p_above(tested + by) == pytest.approx(one.p_above(tested), rel=1e-6)
    assert moved.mean == pytest.approx(one.mean + by)
    assert moved.repeat_values == pytest.approx(values + by)
    assert moved.interval() == pytest.approx([end + by for end in one.interval()], abs=2e-4)
    assert one.shift(by, -1.0).p_above(by - tested) == pytest.approx(one.p_below(tested), rel=1e-6)
    assert one.stderr == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)))


@given(VALUES)
def test_the_interval_is_what_no_look_excludes(values: np.ndarray) -> None:
    one = bet_on_streams([bounded(values)])
    low, high = one.interval(0.9)
    assert 0 <= low <= one.mean + 1e-9
    assert one.mean - 1e-9 <= high <= 1
    for end, p in ((low, one.p_above), (high, one.p_below)):
        inward = 0.001 if end == low else -0.001
        assert p(end + inward) > 0.05 or high - low < 0.01
        if 0.001 < end < 0.999:
            assert p(end) <= 0.05 + 0.02
    # The largest capital of all looks counts, or the last one's.
    looked = max(capital(values[:n], 0.3) for n in range(1, len(values) + 1))
    assert one.p_above(0.3) == pytest.approx(min(1.0, 1 / looked), rel=1e-6)
    last = BettingMean(one.streams, last_look_only=True)
    assert last.p_above(0.3) == pytest.approx(min(1.0, 1 / max(1e-300, capital(values, 0.3))), rel=1e-6)


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_projection_is_where_the_same_results_over_again_decide(two: bool, sign: float) -> None:
    values, other = np.tile([0.75, 0.6, 0.7, 0.65], 40), np.tile([0.5, 0.52], 80)

    def mean(n: int) -> BettingMean:
        streams = [bounded(values[:n]), bounded(other[:n]).negate()] if two else [bounded(values[:n])]
        return bet_on_streams(streams).shift(0.0 if two else -0.5).shift(0.0, sign)

    result = mean(8).project_repeats(0.025, 160)
    tail = [m.p_above(0) if sign > 0 else m.p_below(0) for m in map(mean, range(8, 160))]
    reached = next(n for n, p in zip(range(8, 160), tail, strict=True) if p <= 0.025)
    assert result == pytest.approx(reached, abs=4)
    assert mean(8).project_repeats(0.025, reached // 2) is None
    assert mean(8).project_repeats(0.025, 7) is None
    assert mean(8).project_repeats(0.025, result) == result
    assert mean(8).project_repeats(0.025, result - 1) is None
    assert mean(reached).project_repeats(0.025, reached) == reached


def test_the_rarest_outcome_that_would_have_been_seen() -> None:
    for n in (6, 10, 40):
        p = 1 / rarity_bound(n, 0.025)
        assert (1 - p) ** n == pytest.approx(0.025)
    assert rarity_bound(40, 0.025) == pytest.approx(11.35, abs=0.01)
    assert rarity_bound(FEWEST, 0.025) >= 2.0 > rarity_bound(FEWEST - 1, 0.025)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_share_of_all_repeats_in_which_something_holds(counts: tuple[int, int]) -> None:
    holds, n = counts
    exact = stats.binomtest(holds, n).proportion_ci(0.95, "exact").low
    assert share_at_least(holds, n, 0.025) == pytest.approx(exact)
    looked = BernoulliCS(0.025, intersect=False).fit(np.r_[np.ones(holds), np.zeros(n - holds)])
    assert share_at_least(holds, n, 0.025, looked=True) == pytest.approx(looked.lower_[-1], abs=1e-6)
    assert share_at_least(holds, n, 0.025, looked=True) <= exact + 1e-9


def test_forty_of_forty() -> None:
    assert share_at_least(40, 40, 0.025) == pytest.approx(0.025 ** (1 / 40))
    assert share_at_least(40, 40, 0.025) > 0.91


def test_at_the_ends_of_the_lattice_a_line_goes_on_for_one_cell() -> None:
    """Where the least known height is the first or the last, the function may go on falling as it did."""
    assert convex_lower_bounds(np.array([[5.0], [3.0], [2.0]]))[0] == pytest.approx(1.0)
    assert convex_lower_bounds(np.array([[2.0], [3.0], [5.0]]))[0] == pytest.approx(1.0)
    assert convex_lower_bounds(np.array([[4.0], [1.0], [1.0], [4.0]]))[0] == pytest.approx(1.0 - 3.0 / 2)
    assert convex_lower_bounds(np.array([[3.0], [3.0], [3.0]]))[0] == 3.0
    assert convex_lower_bounds(np.array([[4.0], [1.0], [1.0]]))[0] == pytest.approx(-2.0)
    assert convex_lower_bounds(np.array([[4.0], [1.0], [2.0], [6.0]]))[0] == pytest.approx(1.0 - 9.0 / 7)
    assert convex_lower_bounds(np.array([[6.0], [2.0], [1.0], [4.0]]))[0] == pytest.approx(1.0 - 9.0 / 7)
    assert convex_lower_bounds(np.array([[9.0], [3.0], [2.0]]))[0] == pytest.approx(-3.0)
    assert convex_lower_bounds(np.array([[2.0]]))[0] == 2.0


def test_nothing_is_projected_from_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bet_on_streams([bounded([])]).project_repeats(0.025, 10) is None
    assert bet_on_streams([bounded([0.4] * 5)]).project_repeats(0.025, 4) is None


def test_an_interval_ends_where_a_look_has_won_as_much_as_its_level_asks() -> None:
    """To the width of fourteen halvings, however the means between are searched."""
    rng = np.random.default_rng(3)
    high, wide = 0.9 + 0.02 * rng.standard_normal(12), rng.uniform(0.2, 0.9, 60)
    for streams in ([bounded(high)], [bounded(wide)], [bounded(high), bounded(wide[:12]).negate()]):
        one = bet_on_streams(streams)
        ends = [(one, one.interval()[0]), (one.shift(0.0, -1.0), -one.interval()[1])]
        for toward, low in ends:
            floor = sum(stream.floor for stream in toward.streams)
            width = (toward.mean - floor) / 2**14
            assert floor < low < toward.mean
            assert toward.p_above(low) <= 0.025 < toward.p_above(low + width)


def test_a_projection_is_the_first_number_of_repeats_that_decides_whichever_are_looked_at_first() -> None:
    values = np.tile([0.2, 0.9, 0.5, 0.8], 2)

    def first(tested: float) -> int:
        """By the definition: every result so far, over and over."""
        rates = [np.mean([math.log1p(f * (v - tested) / tested) for v in values]) for f, _ in SHARES_LIST]
        return next(
            n
            for n in range(len(values), 100_000)
            if sum(weight * math.exp(n * rate) for rate, (_, weight) in zip(rates, SHARES_LIST, strict=True)) >= 40
        )

    for tested in (0.35, 0.45, 0.5, 0.52):
        result, expected = bet_on_streams([bounded(values)]).shift(-tested), first(tested)
        for most in (expected, expected + 1, *range(expected + 100, expected + 2000, 97), 200 * expected):
            assert result.project_repeats(0.025, most) == expected


@pytest.mark.parametrize("tested", [0.001, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("n", [10, 300, 3000])
def test_capital_in_products_is_the_capital_or_is_not_known(n: int, tested: float) -> None:
    """Products that are too large for floating point, or too small, are left to logarithms."""
    rng = np.random.default_rng(n)
    known = 0
    if n == 10:  # a bet that is lost whole leaves 0, which is no product that is too small
        lost = np.append(rng.uniform(0.4, 0.6, n - 1), 0.0)
        assert not np.isnan(_log_capital_in_products(bounded(lost), np.array([0.5]))).any()
    for values in (rng.uniform(0, 1, n), np.full(n, 0.9), rng.integers(2, size=n), np.full(n, 1e-6)):
        stream, at = bounded(values), np.array([tested])
        result = _log_capital_in_products(stream, at)
        if not np.isnan(result).any():
            known += 1
            assert result == pytest.approx(mix_shares(np.cumsum(log_capitals(stream, at), axis=-1)), abs=1e-9)
        mean = bet_on_streams([stream])
        won = mean._approximate_log_capitals(np.array([tested, 1.1]))
        assert mean._rejects(tested, 0.05, float(won[0])) == (mean.p_above(tested) <= 0.05)
        assert np.isnan(won[0]) == np.isnan(result).any(), "another mean's product does not count"
    assert known or n > 10


def test_outside_of_the_range_nothing_has_to_be_bet() -> None:
    one = bet_on_streams([bounded([0.2, 0.3])])
    assert one.p_above(-0.1) == 0.0
    assert one.p_above(0.0) == 0.0  # the mean is 0 only where every value is
    assert bet_on_streams([bounded([0.0, 0.0])]).p_above(0.0) == 1.0
    assert one.p_below(1.1) == 0.0
    assert one.shift(5.0).p_above(5.0) == 0.0
    assert bet_on_streams([bounded([0.0, 0.0])]).shift(5.0).p_above(5.0) == 1.0
    assert one.interval() == one.interval(0.95)
    no_range = bet_on_streams([bounded(np.full(9, 0.9), -math.inf, math.inf)])
    assert no_range.p_above(0.0) == no_range.p_below(2.0) == 1.0
    assert bet_on_streams([bounded([0.0] + [1.0] * 9)]).p_above(0.5) < 0.5  # the whole bet is lost, the others are not
    unknown = bet_on_streams([bounded([5.0, 6.0], 0.0, math.inf)])
    assert unknown.p_below(1000.0) == 1.0
    assert unknown.p_above(0.5) < 0.02
    assert unknown.interval()[1] == math.inf
    assert unknown.shift(0.0, -1.0).interval()[0] == -math.inf
    assert bet_on_streams([bounded([])]).p_above(0.1) == 1.0
    assert bet_on_streams([bounded([0.4])]).stderr == 0.0
