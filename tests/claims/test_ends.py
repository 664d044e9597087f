"""Claims on a metric that is known between two ends: which end shows what."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from harness.claims.allocation import allocate_repeats
from harness.claims.design import Sequential
from harness.claims.results import Part
from harness.metrics.metric import METRICS, source_of
from tests.claims.judged import PARSE, declared_by, evidence_of, judge, judge_one, parts_of

BOUND = 0.3


def table_of(n: int = 12, by: float = 0.01, **means: float) -> pd.DataFrame:
    """Metrics of one attack that scatter about their means."""
    rows = [
        ("a", "loss", metric, 1.0, r, mean + by * (-1.0) ** r, 0.0) for metric, mean in means.items() for r in range(n)
    ]
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


def claim(relation: str, **more: Any) -> dict[str, Any]:
    left = {"metric": "max_advantage", "attack": "loss", **more}
    return {"kind": "compare", "left": left, "relation": relation, "right": {"value": BOUND}}


@pytest.mark.parametrize(
    ("low", "high", "below", "above"),
    [
        (0.1, 0.2, "reproduced", "violated"),
        (0.4, 0.5, "violated", "reproduced"),
        (0.2, 0.4, "inconclusive", "inconclusive"),
    ],
)
def test_the_high_end_shows_that_a_bound_holds_and_the_low_end_that_it_does_not(
    low: float, high: float, below: str, above: str
) -> None:
    table = table_of(held_out_advantage=low, max_advantage=high)
    assert judge(claim("<="), table).outcome == below
    assert judge(claim(">"), table).outcome == above


def test_a_point_says_both_ends_and_how_far_each_is_from_the_line() -> None:
    (point,) = judge(claim("<="), table_of(held_out_advantage=0.1, max_advantage=0.2)).points
    assert (point.left, point.left_from_below) == (pytest.approx(0.2), pytest.approx(0.1))
    assert point.effect == pytest.approx(BOUND - 0.2)
    assert point.low == pytest.approx(0.1, abs=0.02)
    assert point.high == pytest.approx(0.2, abs=0.02)
    assert point.low < BOUND - 0.2 < BOUND - 0.1 < point.high


def test_a_margin_moves_the_line_of_a_point_and_both_its_ends() -> None:
    table = table_of(held_out_advantage=0.1, max_advantage=0.2)
    for relation, sign in (("<=", 1), (">=", -1)):
        (point,) = judge(claim(relation) | {"margin": sign * 0.05}, table).points
        line = BOUND + sign * 0.05
        assert point.right == pytest.approx(line)
        assert {round(abs(point.effect), 9)} <= {round(abs(line - 0.2), 9), round(abs(line - 0.1), 9)}


@pytest.mark.parametrize(("high", "asked"), [(0.29, True), (0.301, True), (0.35, False)])
def test_where_neither_end_can_tell_no_more_repeats_are_asked_for(high: float, asked: bool) -> None:
    table = table_of(n=8, by=0.03, held_out_advantage=0.2, max_advantage=high)
    evidence = evidence_of(table, Sequential())
    (part,) = parts_of(claim("<="), evidence)
    result = judge_one(part, evidence, Part(0, 1, 0.025))
    assert result.outcome == "inconclusive"
    assert bool(allocate_repeats([result], 0.05, 8, 400, only_likely=True)) == asked


def test_where_nothing_is_held_out_the_attacks_own_threshold_shows_that_a_bound_is_exceeded() -> None:
    table = table_of(advantage=0.4, max_advantage=0.5)
    assert judge(claim("<="), table).outcome == "violated"
    assert judge(claim("<="), table_of(advantage=0.1, max_advantage=0.5)).outcome == "inconclusive"


def test_a_table_of_before_gives_it_from_the_best_accuracy() -> None:
    """Accuracy at the best threshold is (1 + advantage) / 2."""
    table = table_of(advantage=0.1, best_attack_accuracy=0.6)
    (point,) = judge(claim("<="), table).points
    assert point.left == pytest.approx(0.2)
    assert source_of("max_advantage") == "best_attack_accuracy"
    measured = table_of(advantage=0.1, best_attack_accuracy=0.6, max_advantage=0.25)
    assert judge(claim("<="), measured).points[0].left == pytest.approx(0.25)


@pytest.mark.parametrize(
    "refused",
    [
        {
            "kind": "close",
            "left": {"metric": "max_advantage", "attack": "loss"},
            "right": {"value": 0.3},
            "tolerance": 0.1,
        },
        {
            "kind": "monotone",
            "of": {"metric": "max_advantage", "attack": "loss"},
            "along": "epsilon",
            "direction": "rising",
        },
        claim("<=", minus="advantage"),
        {**claim("<="), "left": {"metric": "advantage", "attack": "loss"}, "right": {"metric": "max_advantage"}},
    ],
)
def test_what_cannot_be_told_of_both_ends_is_refused(refused: dict[str, Any]) -> None:
    table = table_of(held_out_advantage=0.1, max_advantage=0.2)
    (part,) = PARSE(refused).parts(declared_by(table))
    with pytest.raises(ValueError, match="only the left side of a compare"):
        part.check(declared_by(table))


def test_what_is_never_above_a_metric_is_measured_of_the_same_answers() -> None:
    for metric in METRICS.values():
        others = (*metric.never_above, *((metric.from_metric[0],) if metric.from_metric else ()))
        assert {METRICS[name].scope for name in others} <= {metric.scope}


def test_both_ends_are_taken_within_claims_that_are_counted_or_of_which_one_is_enough() -> None:
    table = table_of(held_out_advantage=0.1, max_advantage=0.2)
    for several in ({"kind": "any-of"}, {"kind": "at-least", "needed": 1}):
        both = {**several, "of": [claim("<="), claim(">")]}
        (part,) = parts_of(both, evidence_of(table))
        part.check(declared_by(table))
        assert judge(both, table).outcome == "reproduced"
