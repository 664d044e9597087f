"""Bets on bounded means: against their definition, by enumeration of every outcome, and against `ville`."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from ville import BernoulliCS, BettingCS

from harness.claims.design import (
    Bounded,
    Fixed,
    Sequential,
    Series,
    adjust_for_splits,
    repeats_to_see_all,
    stream_of,
)
from harness.errors import HarnessError
from harness.inference import FEWEST, rarity_bound, share_at_least
from harness.inference.anytime import LATER, TwoStakeCS, t_mixture_cs
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


def test_outside_of_the_range_nothing_has_to_be_bet() -> None:
    one = bet_on_streams([bounded([0.2, 0.3])])
    assert one.p_above(-0.1) == 0.0
    assert one.p_above(0.0) == 0.0  # the mean is 0 only where every value is
    assert bet_on_streams([bounded([0.0, 0.0])]).p_above(0.0) == 1.0
    assert one.p_below(1.1) == 0.0
    assert one.shift(5.0).p_above(5.0) == 0.0
    assert bet_on_streams([bounded([0.0, 0.0])]).shift(5.0).p_above(5.0) == 1.0
    assert one.interval() == one.interval(0.95)
    plain = Series(np.full(9, 0.9), np.zeros(9))  # of which no range is known
    assert Bounded().mean(plain).p_above(0.0) == Bounded().mean(plain).p_below(2.0) == 1.0
    assert bet_on_streams([bounded([0.0] + [1.0] * 9)]).p_above(0.5) < 0.5  # the whole bet is lost, the others are not
    unknown = bet_on_streams([bounded([5.0, 6.0], 0.0, math.inf)])
    assert unknown.p_below(1000.0) == 1.0
    assert unknown.p_above(0.5) < 0.02
    assert unknown.interval()[1] == math.inf
    assert unknown.shift(0.0, -1.0).interval()[0] == -math.inf
    assert bet_on_streams([bounded([])]).p_above(0.1) == 1.0
    assert bet_on_streams([bounded([0.4])]).stderr == 0.0


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


def series(values: Any, drawn: Any = None, outcomes: int = 1, low: float = 0.0, high: float = 1.0) -> Series:
    values = np.asarray(values, dtype=float)
    drawn = None if drawn is None else np.asarray(drawn)
    return Series(values, np.zeros(len(values)), drawn, outcomes, low, high)


def test_nobody_wins_on_average_by_what_is_known_of_outcomes() -> None:
    """Over all 2^6 draws of an outcome that decides the value."""
    by_outcome = np.array([0.2, 0.8])
    won = []
    for drawn in product((0, 1), repeat=6):
        bet = Bounded().mean(series(by_outcome[list(drawn)], drawn, 2))
        won.append(math.exp(bet.log_capital(0.5)[-1]))  # type: ignore[attr-defined]
    assert np.mean(won) == pytest.approx(1.0)
    stream = stream_of(series(by_outcome[[0, 1, 1, 0]], [0, 1, 1, 0], 2))
    assert stream.values == pytest.approx([0.2, 0.8, 0.5, 0.5])
    assert stream.lows == pytest.approx([0.0, 0.0, -0.3, -0.3])
    assert stream.highs == pytest.approx([1.0, 1.0, 1.3, 1.3])


def test_ranges_of_sums_and_differences() -> None:
    one, other = series([0.2, 0.4], low=-1.0), series([0.1, 0.3], low=0.0)
    gap = one.subtract(other)
    assert (gap.low, gap.high) == (-2.0, 1.0)
    total = one.add(other)
    assert (total.low, total.high) == (-1.0, 2.0)
    assert total.values == pytest.approx([0.3, 0.7])
    halved = one.scale(-0.5)
    assert (halved.low, halved.high) == (-0.5, 0.5)
    nothing = series([1.0], high=math.inf).scale(0.0)
    assert (nothing.low, nothing.high) == (0.0, 0.0)
    with pytest.raises(HarnessError, match=r"results are 0\.2 to 1\.4, outside of the range 0 to 1"):
        stream_of(series([0.2, 1.4]))


def test_two_arms_are_bet_on_apart_and_one_arm_on_its_differences() -> None:
    left, right = series([0.9] * 8), series([0.2] * 8)
    apart = Bounded().mean_between_arms(left, right)
    paired = Bounded().mean_within_arm(left, right)
    assert isinstance(apart, BettingMean)
    assert isinstance(paired, BettingMean)
    assert (len(apart.streams), len(paired.streams)) == (2, 1)
    assert apart.mean == pytest.approx(0.7)
    assert apart.p_above(0.0) < paired.p_above(0.0)
    assert apart.repeat_values == pytest.approx([0.7] * 8)
    assert Bounded(last_look_only=True).mean_between_arms(left, right).last_look_only  # type: ignore[attr-defined]
    of_all_runs = Bounded().of_records([series([5.0]), series([3.0])], 5)
    assert of_all_runs.p_above(0.0) == of_all_runs.p_below(4.0) == 1.0
    assert Fixed().of_records([series([5.0])], 5).of_records
    # Of several groups of runs: their mean, with the error of one, for their records are the same.
    groups = replace(series([5.0, 9.0]), errors=np.array([1.0, 2.0]))
    every = Fixed().of_records([groups], 10)
    assert (every.mean, every.stderr) == (7.0, 1.5)
    # Where one looks as they come, the first decides: a later one would be a second look.
    first = Sequential().of_records([groups], 5)
    assert (first.mean, first.stderr, first.n) == (5.0, 1.0, 5)
    assert Sequential().of_records([series([])], 0).p_above(0.0) == 1.0
    assert not apart.of_records


def test_a_share_of_the_stake_waits_until_the_outcomes_are_known() -> None:
    rng = np.random.default_rng(1)
    drawn = np.array([0, 1, 0, 2, *rng.integers(3, size=26)])
    offsets = np.array([-0.3, 0.0, 0.3])
    one = series(0.5 + offsets[drawn] + 0.01 * rng.standard_normal(30), drawn, 3)
    assert repeats_to_see_all(one) == 4
    assert repeats_to_see_all(one.take_first(3)) == 3
    assert repeats_to_see_all(series([0.1, 0.2])) == 0
    assert repeats_to_see_all(series([0.1] * 30, [0] * 30, 2)) == 8
    result = Sequential().mean(one)
    assert isinstance(result, TwoStakeCS)
    values = adjust_for_splits(one)
    whole, later = t_mixture_cs(values, np.zeros(30)), t_mixture_cs(values[4:], np.zeros(26))
    for value, sign in ((0.4, 1.0), (0.55, -1.0)):
        won = (1 - LATER) * whole.martingale(value, sign)
        won[4:] += LATER * later.martingale(value, sign)
        assert result.martingale(value, sign) == pytest.approx(won)
        p = result.p_above(value) if sign > 0 else result.p_below(value)
        assert p == pytest.approx(0.5 / won.max())
        last = Sequential(last_look_only=True).mean(one)
        assert (last.p_above(value) if sign > 0 else last.p_below(value)) == pytest.approx(0.5 / won[-1])
    assert result.tested_repeats == 26
    assert result.n == 30
    assert result.stderr == later.stderr < whole.stderr
    low, high = result.interval()
    assert low < 0.5 < high
    assert result.p_above(low) == pytest.approx(0.025, rel=0.01)
    assert result.p_below(high) == pytest.approx(0.025, rel=0.01)
    turned = result.shift(1.0, -1.0)
    assert turned.interval() == (pytest.approx(1 - high, abs=1e-6), pytest.approx(1 - low, abs=1e-6))
    assert turned.repeat_values == pytest.approx(1 - one.values)
    assert result.shift(-0.45).project_repeats(0.025, 90) == 30
    few = Sequential().mean(one.take_first(8))
    assert few.tested_repeats == 8
    assert few.interval() == (-math.inf, math.inf) or few.interval()[0] < 0.5
    other = series(np.full(30, 0.2) + 0.01 * rng.standard_normal(30))
    gap = Sequential().mean_between_arms(one, other)
    assert isinstance(gap, TwoStakeCS)
    assert gap.repeat_values == pytest.approx(one.values - other.values)
    assert gap.mean == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_an_interval_ends_where_a_mean_is_excluded_and_no_sooner(seed: int, last: bool) -> None:
    """Against bisection by one p-value at a time, to the last of its thirty halvings."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 60))
    drawn = rng.integers(3, size=n)
    skewed = rng.exponential(size=n) - 1 if seed % 2 else rng.standard_normal(n)
    result = Sequential(last_look_only=last).mean(series(np.array([-0.3, 0.0, 0.4])[drawn] + 0.02 * skewed, drawn, 3))
    assert isinstance(result, TwoStakeCS)
    for sign, end in zip((-1.0, 1.0), result.interval(), strict=True):
        excludes = (lambda at: result.p_above(at) <= 0.025) if sign < 0 else (lambda at: result.p_below(at) <= 0.025)
        if math.isinf(end):
            assert not excludes(result.mean + sign * 1e6)
            continue
        inside, outside = result.mean, result.mean + sign * 64.0
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if excludes(middle) else (middle, outside)
        assert end == pytest.approx(outside, abs=1e-8 * result.stderr + 1e-12)
        assert excludes(end)


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


@pytest.mark.parametrize("wrong", [-0.1, 1.1])
def test_one_result_outside_of_its_range_is_refused(wrong: float) -> None:
    values = np.array([0.5, wrong, 0.4])
    with pytest.raises(HarnessError, match="outside of the range 0 to 1 that their metric declares"):
        stream_of(Series(values, np.zeros(3), low=0.0, high=1.0))


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


@pytest.mark.parametrize("design", [Sequential(), Bounded()])
def test_what_is_not_to_be_shown_has_no_interval_and_the_same_p_values(design: Any) -> None:
    one = series(0.6 + 0.1 * np.random.default_rng(4).standard_normal(20))
    for drawn in (None, np.arange(20) % 3):
        whole, brief = (
            each.mean(replace(one, drawn=drawn, outcomes=3)) for each in (design, design.without_intervals())
        )
        assert brief.interval() == (-math.inf, math.inf)
        assert all(map(math.isfinite, whole.interval()))
        assert (brief.p_above(0.5), brief.p_below(0.7)) == (whole.p_above(0.5), whole.p_below(0.7))
    assert design.without_intervals().without_intervals(False) == design
    assert Fixed().without_intervals().mean(one).interval() == Fixed().mean(one).interval()


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    with_draws=st.integers(0, 3),
    seed=st.integers(0, 2**16),
    constant=st.booleans(),
)
@pytest.mark.parametrize("design", [Sequential(), Sequential(skip_intervals=True), Fixed(), Bounded()])
def test_intervals_of_many_series_are_those_of_each(
    design: Any, lengths: list[int], with_draws: int, seed: int, constant: bool
) -> None:
    rng = np.random.default_rng(seed)
    many = [series(rng.random(n), rng.integers(2, size=n), 2) for n in range(6, 6 + with_draws)]
    many += [replace(series(rng.random(n)), errors=0.05 * rng.random(n)) for n in lengths]
    many += [series(np.full(5, 0.3))] if constant else []
    order = rng.permutation(len(many))
    many = [many[i] for i in order]
    means = [design.mean(one) for one in many]
    assert design.intervals(many) == [(mean.mean, *mean.interval()) for mean in means]
    assert design.intervals(many, 0.9) == [(mean.mean, *mean.interval(0.9)) for mean in means]
    assert design.intervals([]) == []


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
