"""The judge's numbers against the definitions, written out look by look: no cumulative sums, no vectors."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from scipy import stats

from harness.claims.allocation import _is_on_deciding_side, _Rule
from harness.claims.design import Bounded, Sequential, Series
from harness.claims.results import PartResult
from harness.formulas import FORMULAS
from harness.inference.estimates import FEWEST
from harness.inference.t_mixture import (
    LEAST_SLOPE,
    PRIOR_PRECISION,
)
from harness.inference.t_test import Estimate
from harness.metrics.exposure import EVERY, exposure
from harness.metrics.membership import FPR_LEVELS, advantage
from harness.metrics.value import average
from tests.claims.judged import DELTA, judge, point_result, with_bounds

BOUND = FORMULAS["humphries"].value({"epsilon": 1.0, "delta": DELTA})
SERIES = st.integers(0, 10_000).map(lambda seed: np.random.default_rng(seed).gamma(2.0, 0.1, 6 + seed % 20))


def frame(values: dict[tuple[str, float], np.ndarray]) -> pd.DataFrame:
    """Rows of the advantage of attack t."""
    rows = [
        (arm, "t", "advantage", epsilon, repeat, float(value), 0.0)
        for (arm, epsilon), series in values.items()
        for repeat, value in enumerate(series)
    ]
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


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


def test_a_part_that_is_not_run_speaks_neither_way() -> None:
    result = PartResult("not run")
    assert (result.support, result.oppose, result.attacks) == (1.0, 1.0, {})


def test_levels_are_shared_among_points_and_parts() -> None:
    two = tuple(point_result(repeats=9) for _ in range(2))
    rule = _Rule(0.025, 3, 40, 40)
    every = rule._levels(PartResult("inconclusive", two))
    assert every == pytest.approx((0.025, 0.025 / 6))  # each point to support, one of six to oppose
    some = rule._levels(PartResult("inconclusive", two, quantifier="some"))
    assert some == pytest.approx((0.025 / 3, 0.025 / 2))
    assert not rule.only_likely


def test_levels_and_numbers_of_the_attack_metrics() -> None:
    assert FPR_LEVELS == {"5pct": 0.05, "2pct": 0.02, "1pct": 0.01, "0.1pct": 0.001, "0.001pct": 1e-5, "0pct": 0.0}
    result = advantage(np.array([True, True, False]), np.array([False, True, False, False, False]))
    assert result.n == 8
    assert result.value == pytest.approx(2 / 3 - 1 / 5)


def test_the_error_of_exposed_members_by_hand() -> None:
    """100 non-members at a rate of 4%: one standard error of it is 1.96%, so thresholds at 2%, 4% and 5.96%."""
    others = np.arange(100, dtype=float)
    members = np.array([97.5, 96.5, 95.5, 94.5, 94.2, 93.5, *np.zeros(44)])
    result = exposure([(members, others)], EVERY, 0.04)
    assert result.value == 3.0  # above 95
    low, high = 1, 5  # above 97 and above 94
    binomial = math.sqrt(3 * 47 / 50)
    assert result.stderr == pytest.approx(math.hypot(binomial, (high - low) / 2))
    assert result.n == 50


def test_a_bound_is_held_at_the_level_of_one_side() -> None:
    """Just inside 2.5% it is held, between 2.5 and 5% it is not; and a margin is shown added to the right side."""
    t = stats.t.isf(np.array([0.02, 0.03]), 9)
    values = np.linspace(-1, 1, 10) - np.linspace(-1, 1, 10).mean()
    error = values.std(ddof=1) / math.sqrt(10)
    for distance, expected in zip(t, ("held", "undecided"), strict=True):
        table = frame({("a", 1.0): 0.4 - distance * error + values})
        claim = {
            "kind": "compare",
            "left": {"metric": "advantage", "arm": "a", "attack": "t"},
            "relation": "<",
            "right": {"formula": "humphries"},
            "margin": 0.4 - BOUND,
        }
        (point,) = with_bounds(judge(claim, table), table)
        assert point.right == pytest.approx(0.4)
        assert point.bound == pytest.approx(BOUND)
        below, beyond = (frame({("a", 1.0): BOUND + sign * distance * error + values}) for sign in (-1, 1))
        (held,) = with_bounds(judge({**claim, "margin": 0.0}, below), below)
        assert held.bound_status == expected
        (above,) = with_bounds(judge({**claim, "margin": 0.0}, beyond), beyond)
        assert above.bound_status == {"held": "broken"}.get(expected, expected)


def test_rounds_for_a_better_basis_are_of_half_as_many_more() -> None:
    rule = _Rule(0.025, 1, 40, 120, only_likely=True)
    for repeats, expected in ((6, 9), (7, 11), (8, 12)):
        look = point_result(repeats=repeats)
        assert rule.next_look(look, PartResult("inconclusive", (look,))) == expected


def test_a_point_without_effect_turns_nothing() -> None:
    for quantifier in ("all", "some"):
        assert not _is_on_deciding_side(point_result(), PartResult("inconclusive", quantifier=quantifier))
    assert _is_on_deciding_side(point_result(effect=Estimate(-0.1)), PartResult("inconclusive"))


def test_grid_points_that_the_profile_does_not_run_are_named() -> None:
    table = frame({("a", 1.0): np.array([0.1, 0.2])})
    claim = {
        "kind": "compare",
        "left": {"metric": "advantage", "arm": "a", "attack": "t"},
        "relation": "<",
        "right": {"value": 0.5},
    }
    asked = judge({**claim, "at": [5.0, 7.0]}, table)
    assert (asked.outcome, asked.reason) == (
        "not run",
        "the profile runs none of the grid points asked for (epsilon 5, epsilon 7)",
    )
    infinite = judge(claim, frame({("a", math.inf): np.array([0.1, 0.2])}))
    assert infinite.reason == "the profile runs none of the grid points asked for (none is finite)"


def test_designs_count_every_look_unless_told_otherwise() -> None:
    """Values that were far above for a while and are not any more: the best look counts, not the last."""
    values = np.concatenate([np.tile([0.8, 0.9], 10), np.tile([0.1, 0.2], 20)])
    one = Series(values, np.zeros(60), low=0.0, high=1.0)
    for design, last in ((Sequential(), Sequential(last_look_only=True)), (Bounded(), Bounded(last_look_only=True))):
        assert design.mean(one).p_above(0.5) < 0.01
        assert last.mean(one).p_above(0.5) > 0.1


def test_a_series_is_stretched_with_its_errors_and_its_range() -> None:
    result = Series(np.array([0.1, 0.3]), np.array([0.01, 0.02]), low=-0.5, high=1.0).scale(-4.0)
    assert result.values == pytest.approx([-0.4, -1.2])
    assert result.errors == pytest.approx([0.04, 0.08])
    assert (result.low, result.high) == (-4.0, 2.0)


def test_of_two_sides_one_without_runs_tells_nothing() -> None:
    some, none = Series(np.array([3.0]), np.array([0.5])), Series(np.zeros(0), np.zeros(0))
    assert Sequential().of_records([some, none], 5) == Estimate()
    assert Sequential().of_records([some, some], 5).mean == 0.0


def test_a_reason_says_at_how_many_points_it_holds() -> None:
    table = frame({("a", e): 0.5 + 0.01 * np.arange(20) for e in (1.0, 2.0)})
    claim = {"kind": "compare", "left": {"metric": "advantage", "arm": "a", "attack": "t"}, "relation": ">"}
    claim |= {"right": {"value": 0.1}}
    assert judge({**claim, "for": "all"}, table).reason.startswith("holds at every point; weakest")
    assert judge({**claim, "for": "some"}, table).reason.startswith("holds at some point; strongest")


def test_two_values_have_a_spread() -> None:
    result = average(np.array([0.1, 0.3]))
    assert result.value == pytest.approx(0.2)
    assert result.stderr == pytest.approx(0.1)
