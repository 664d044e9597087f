"""How small a p-value of few repeats may be: by hand, against the definitions, and beside the intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.inference import FEWEST, difference, estimate, least_p_value, moments
from harness.inference.t_mixture import LATER, t_mixture_cs, t_mixture_ends, two_stake_cs
from harness.inference.t_test import MANY, Estimate
from tests.inference.test_reference import looks

RARE = st.floats(1.01, 100)
VALUES = st.lists(st.floats(-5, 5), min_size=6, max_size=24).map(np.array).filter(lambda v: np.std(v) > 1e-2)
PRINTED = {1: 1 / 64, 6: 1 / 64, 10: 1 / 64, 11: 2048 / 177147, 14: 16384 / 4782969, 20: (2 / 3) ** 20}
"""The least p-value of so many repeats, no outcome of every third of which may be missed: 2^11 / 3^11, ..."""


def test_the_least_p_value_by_hand() -> None:
    for n, expected in PRINTED.items():
        assert float(least_p_value(n, 3.0)) == pytest.approx(expected, rel=1e-12)
    assert least_p_value(np.array([*PRINTED]), 3.0) == pytest.approx([*PRINTED.values()], rel=1e-12)
    # Of outcomes in every second repeat 1/64 is what six repeats have, and each further one halves it.
    assert least_p_value(np.array([5, 6, 7, 10]), 2.0) == pytest.approx([1 / 64, 1 / 64, 1 / 128, 1 / 1024])


@pytest.mark.parametrize(
    ("places", "repeats"), [(1, 6), (2, 11), (3, 12), (5, 14), (11, 16), (12, 16), (20, 17), (44, 19)]
)
def test_a_level_that_is_divided_takes_more_repeats(places: int, repeats: int) -> None:
    """Values that are all alike, so that nothing but their number is against a verdict."""
    level = 0.025 / places

    def p_values(n: int) -> tuple[float, float]:
        values, nothing = np.full(n, 0.5), np.zeros(n)
        by_look = t_mixture_cs(values, nothing, 3.0).p_above(0.0)
        return replace(estimate(values), rarest=3.0).p_above(0.0), by_look

    assert all(p <= level for p in p_values(repeats))
    if places > 1:
        assert all(p > level for p in p_values(repeats - 1))
    flat = t_mixture_cs(np.full(6, 0.5) + 1e-3 * np.arange(6), np.zeros(6), 3.0)
    assert flat.project_repeats(level, 100) == repeats
    assert flat.project_repeats(level, repeats - 1) is None


@given(st.integers(1, 200), RARE)
def test_more_repeats_and_rarer_outcomes_never_make_it_larger_or_smaller(n: int, rarest: float) -> None:
    """It falls with the repeats, and rises with N; it is at most that of six repeats and what all miss at most."""
    least = float(least_p_value(n, rarest))
    assert least >= float(least_p_value(n + 1, rarest)) >= 0.0
    assert least <= float(least_p_value(n, rarest + 1.0)) <= 0.5**FEWEST
    missed = math.prod([1 - 1 / rarest] * n)
    assert least == pytest.approx(min(missed, 1 / 64), rel=1e-9)


@given(VALUES, st.floats(-3, 3))
def test_with_a_rarest_of_one_nothing_is_bounded(values: np.ndarray, value: float) -> None:
    nothing = np.zeros(len(values))
    assert least_p_value(np.arange(1, 50), 1.0).tolist() == [0.0] * 49
    plain, told = t_mixture_cs(values, nothing), t_mixture_cs(values, nothing, 1.0)
    assert (plain.p_above(value), plain.p_below(value)) == (told.p_above(value), told.p_below(value))
    assert t_mixture_ends(moments(values)) == t_mixture_ends(moments(values), rarest=1.0)
    assert estimate(np.full(9, 0.5)).p_above(0.0) == 0.0
    assert t_mixture_cs(np.full(600, 0.5), np.zeros(600)).p_above(0.0) < 1e-300


@given(VALUES, st.floats(-3, 3), RARE, st.booleans())
def test_p_values_of_looks_against_the_definition(values: np.ndarray, value: float, rarest: float, last: bool) -> None:
    """Each look wins at most half of what one over its least p-value is."""
    nothing = np.zeros(len(values))
    most = [0.5 / min(1 / 64, (1 - 1 / rarest) ** n) for n in range(1, len(values) + 1)]
    whole = replace(t_mixture_cs(values, nothing, rarest), last_look_only=last)
    for sign, p in ((1.0, whole.p_above(value)), (-1.0, whole.p_below(value))):
        won = [min(a, b) for a, b in zip(looks(values, nothing, value, sign), most, strict=True)]
        assert p == pytest.approx(min(1.0, 0.5 / max(0.5, won[-1] if last else max(won))), rel=1e-6)
    divided = two_stake_cs(values, nothing, 3, rarest)
    if len(values) - 3 >= FEWEST:
        won = [min(a, b) for a, b in zip(looks(values, nothing, value, 1.0), most, strict=True)]
        late = [min(a, b) for a, b in zip(looks(values[3:], nothing[3:], value, 1.0), most, strict=False)]
        both = [(1 - LATER) * a + LATER * b for a, b in zip(won, [0.0] * 3 + late, strict=True)]
        assert divided.p_above(value) == pytest.approx(min(1.0, 0.5 / max(0.5, *both)), rel=1e-6)


@given(VALUES, st.floats(-6, 6), st.sampled_from([0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995]))
def test_a_value_is_excluded_just_where_the_interval_of_that_level_excludes_it(
    values: np.ndarray, value: float, level: float
) -> None:
    result = t_mixture_cs(values, np.zeros(len(values)), 3.0)
    low, high = (float(end) for end in t_mixture_ends(result.moments, level, 3.0))
    assert result.interval(level) == (low, high)
    alpha = (1 - level) / 2
    if low <= high and min(abs(low - value), abs(high - value)) > 1e-6:
        assert (result.p_above(value) <= alpha) == (low > value)
        assert (result.p_below(value) <= alpha) == (high < value)
    # So few repeats bound nothing at a level that is below their least p-value.
    if min(1 / 64, (2 / 3) ** len(values)) > alpha:
        assert (low, high) == (-math.inf, math.inf)


@pytest.mark.parametrize(("level", "first"), [(0.95, 6), (0.96, 6), (0.975, 11), (0.99, 14), (0.995, 15)])
def test_an_interval_is_bounded_from_as_many_repeats_on_as_its_level_takes(level: float, first: int) -> None:
    """(2/3)^n is to be at most (1 - level) / 2, where that is below 1/64: 0.0125, 0.005 and 0.0025."""
    values = 0.5 + 1e-3 * np.arange(20.0)
    widths = [np.ptp(t_mixture_ends(moments(values[:n]), level, 3.0)) for n in range(1, 21)]
    assert np.isfinite(widths).tolist() == [n >= first for n in range(1, 21)]


@given(VALUES, st.floats(-3, 3), RARE)
def test_a_t_test_of_fixed_repeats_has_the_same_bound(values: np.ndarray, value: float, rarest: float) -> None:
    plain = estimate(values)
    told = replace(plain, rarest=rarest)
    least = min(1 / 64, (1 - 1 / rarest) ** len(values))
    assert told.p_above(value) == pytest.approx(max(least, plain.p_above(value)))
    assert told.p_below(value) == pytest.approx(max(least, plain.p_below(value)))
    turned = told.shift(0.3, -1.0)
    assert turned.p_above(0.0) == pytest.approx(told.p_below(0.3))


def test_of_two_arms_the_one_of_fewer_repeats_bounds_the_p_value() -> None:
    left, right = (replace(estimate(np.full(n, mean)), rarest=3.0) for n, mean in ((30, 0.5), (12, 0.1)))
    assert difference(left, right).p_above(0.0) == pytest.approx((2 / 3) ** 12)
    assert difference(replace(left, rarest=1.0), replace(right, rarest=1.0)).p_above(0.0) == 0.0


def test_an_error_of_drawing_records_is_not_bounded() -> None:
    """It is known beforehand, and repeats do not have to show it."""
    assert Estimate(5.0, 0.5, MANY, 3, rarest=3.0).p_above(0.0) < 1e-20
