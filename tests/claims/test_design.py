"""Designs: how a series is tested, by bets, by looks and at a fixed number of repeats."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.claims.arm_facts import ArmFacts
from harness.claims.design import (
    Bounded,
    Fixed,
    Sequential,
    Series,
    adjust_for_splits,
    repeats_to_see_all,
    stream_of,
)
from harness.claims.evidence import Measurements
from harness.claims.operands import MetricSeries
from harness.errors import HarnessError
from harness.inference.betting import (
    BettingMean,
)
from harness.inference.t_mixture import LATER, TwoStakeCS, t_mixture_cs


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
    whole, later = t_mixture_cs(values, np.zeros(30), 3.0), t_mixture_cs(values[4:], np.zeros(26), 3.0)
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


@pytest.mark.parametrize("wrong", [-0.1, 1.1])
def test_one_result_outside_of_its_range_is_refused(wrong: float) -> None:
    values = np.array([0.5, wrong, 0.4])
    with pytest.raises(HarnessError, match="outside of the range 0 to 1 that their metric declares"):
        stream_of(Series(values, np.zeros(3), low=0.0, high=1.0))


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    with_draws=st.integers(0, 3),
    seed=st.integers(0, 2**16),
    constant=st.booleans(),
)
@pytest.mark.parametrize("design", [Sequential(), Fixed(), Bounded()])
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


def test_a_series_of_no_known_range_is_not_bet_on() -> None:
    plain = Bounded().mean(Series(np.full(9, 0.9), np.zeros(9)))
    assert plain.p_above(0.0) == plain.p_below(2.0) == 1.0


ERRORS = st.floats(0.0, 0.2)


@given(ERRORS, ERRORS, st.floats(-1.0, 1.0), st.integers(6, 30))
def test_errors_of_a_difference_are_those_of_its_records(one: float, other: float, together: float, n: int) -> None:
    """On the same records the least error is the distance of both, below which no correlation brings it; that of arms
    with records of their own is the root of the sum of squares."""
    left, right = (replace(series(np.full(n, v)), errors=np.full(n, e)) for v, e in ((0.5, one), (0.3, other)))
    same, apart = left.subtract(right, same_records=True), left.subtract(right)
    assert same.errors == pytest.approx(np.full(n, abs(one - other)), abs=1e-15)
    assert apart.errors == pytest.approx(np.full(n, math.hypot(one, other)))
    true = math.sqrt(max(0.0, one**2 + other**2 - 2 * together * one * other))
    assert (same.errors <= true + 1e-9).all()
    # Repeats that are all alike show no error of their own, so the least one is what is left.
    for design in (Fixed(), Sequential()):
        within = design.mean_within_arm(left, right, same_records=True)
        between = design.mean_between_arms(left, right)
        assert within.stderr == pytest.approx(abs(one - other) / math.sqrt(n), abs=1e-12)
        assert between.stderr == pytest.approx(math.hypot(one, other) / math.sqrt(n), abs=1e-12)
        assert within.mean == between.mean == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("right", "same"),
    [
        ({}, True),
        ({"attack": "gap"}, True),
        ({"arm": "b"}, True),
        ({"arm": "c"}, False),
        ({"metric": "advantage"}, False),
        ({"minus": "advantage"}, False),
        ({"at": (("epsilon", 1.0),)}, True),
        ({"at": (("p", 0.5),)}, False),
        ({"at": (("queries", 10),)}, True),
    ],
)
def test_one_metric_of_the_same_draw_is_of_the_same_records(right: dict[str, Any], same: bool) -> None:
    """An axis of an attack, and epsilon, change nothing of who is drawn; one of the experiment may."""
    columns = {"arm": ["a"], "attack": "loss", "metric": "auc", "epsilon": 1.0, "p": 0.1, "queries": 1}
    table = pd.DataFrame({**columns, "repeat": 0, "value": 0.5, "stderr": 0.0})
    arms = {name: ArmFacts(1e-5, draws=draws) for name, draws in (("a", "one"), ("b", "one"), ("c", "other"))}
    known = Measurements(table, arms, axes=("epsilon", "p", "queries"), cell_axes=("epsilon", "p"))
    left = MetricSeries("auc", "a", "loss")
    assert known.share_records(left, replace(left, **right)) is same


def test_the_least_error_of_a_difference_gives_way_to_what_repeats_show() -> None:
    rng = np.random.default_rng(2)
    left, right = (replace(series(0.5 + 0.1 * rng.random(12)), errors=np.full(12, e)) for e in (0.02, 0.01))
    shown = float((left.values - right.values).std(ddof=1)) / math.sqrt(12)
    assert shown > 0.01 / math.sqrt(12)
    for design in (Fixed(), Sequential()):
        assert design.mean_within_arm(left, right, same_records=True).stderr == pytest.approx(shown)


@pytest.mark.parametrize("design", [Fixed(), Sequential()])
def test_no_p_value_of_a_design_is_below_the_chance_that_all_repeats_miss_every_third_outcome(design: Any) -> None:
    for n in (6, 10, 11, 14, 30):
        left, right = series(np.full(n, 0.9)), series(np.full(n + 4, 0.1))
        least = min(1 / 64, (2 / 3) ** n)
        for mean in (design.mean(left), design.mean_within_arm(left, right), design.mean_between_arms(left, right)):
            assert mean.p_above(0.0) == pytest.approx(least, rel=1e-9)
            assert mean.p_below(1.0) == pytest.approx(least, rel=1e-9)
    # Where a split draws outcomes, too: two alike, each drawn in half of the repeats.
    drawn = series(np.full(14, 0.9), [0, 1] * 7, 2)
    assert design.mean(drawn).p_above(0.0) >= (2 / 3) ** 14 * (1 - 1e-9)
