"""A survey finds a leak that was planted, nothing where there is nothing, and shows what was measured."""

from __future__ import annotations

import math
from functools import cache

from benchmarks.survey_null import survey_of, table_of
from harness.extensions.survey.ranking import ABOVE, BELOW, Discovery, MeasuredAdvantage, SetResult
from tests.extensions.survey.test_declaration import ONE


@cache
def surveyed(seed: int) -> tuple[SetResult, ...]:
    """A table without structure."""
    return tuple(survey_of(table_of(seed), seed, repeats=8))


def result(mean: float, *what: str) -> SetResult:
    measured = MeasuredAdvantage(math.inf, mean, mean - 0.1, mean + 0.1, 8)
    return SetResult(ONE, (measured,), math.nan, tuple(Discovery("c", one, 1.0, 1e4) for one in what), ())


def test_a_planted_leak_is_found_and_ranked_before_what_is_not() -> None:
    results = survey_of(table_of(0, leak=True), 0)
    assert [d.what for d in results[0].discoveries] == ["more than on a random split"]
    assert results[0].member_set.label == "site = A"
    others = [one for one in results if one.member_set.label.startswith(("site = B", "site = C", "sex", "random"))]
    assert len(others) == 5
    assert not any(one.discoveries for one in others)


def test_nothing_is_reported_of_tables_without_structure() -> None:
    assert [d for seed in range(2) for one in surveyed(seed) for d in one.discoveries] == []


def test_broken_bounds_come_first_then_the_farthest_from_zero_on_either_side() -> None:
    every = [result(0.2), result(-0.3), result(0.05, BELOW), result(0.1, ABOVE), result(0.9, "turned round")]
    assert [one.largest_advantage for one in sorted(every, key=lambda r: r.order)] == [0.1, 0.05, 0.9, -0.3, 0.2]


def test_an_interval_holds_the_mean_that_it_is_of() -> None:
    for one in surveyed(1):
        assert [m.epsilon for m in one.advantages] == [0.1, math.inf]
        assert all(m.low <= m.mean <= m.high for m in one.advantages)
