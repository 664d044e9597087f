"""Claims of some owner set, of those that a split draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.claims.allocation import allocate_repeats
from harness.claims.design import Bounded, Sequential
from harness.claims.results import Part, PartResult
from harness.inference.estimates import SequentialEstimate
from tests.claims.judged import PARSE, declared_by, evidence_of, judge, judge_one, parts_of

SIZES = (2811.0, 2674.0, 3038.0)


def table_of(drawn: list[int], advantage: dict[int, float], by: float = 0.01) -> pd.DataFrame:
    """A repeat for each owner set drawn, with the advantage that its size has."""
    rows = []
    for repeat, which in enumerate(drawn):
        rows.append(("a", "", "count_owner_set", np.nan, repeat, SIZES[which]))
        rows.append(("a", "x", "advantage", 1.0, repeat, advantage[which] + by * (-1.0) ** repeat))
        rows.append(("b", "", "count_owner_set", np.nan, repeat, SIZES[0]))
        rows.append(("b", "x", "advantage", 1.0, repeat, 0.1 + by * (-1.0) ** (repeat // 2)))
    frame = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value"])
    return frame.assign(stderr=0.0)


def claim(least: Any, arm: str = "a", some: bool = True) -> dict[str, Any]:
    left = {"metric": "advantage", "arm": arm, "attack": "x"}
    quantified = {"for": {"owner_set": "some"}} if some else {}
    return {"kind": "compare", "left": left, "relation": ">", "right": least, "at": [1], **quantified}


DRAWN = [0, 1, 0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 0, 1, 2, 2, 2, 2] * 3
"""The second owner set is drawn fifteen times; at a sixth of the level one takes fourteen."""
HIGH = {0: 0.2, 1: 0.9, 2: 0.1}


def test_one_owner_set_is_enough_where_the_mean_is_not() -> None:
    frame = table_of(DRAWN, HIGH)
    assert judge(claim({"value": 0.8}, some=False), frame).outcome == "violated"
    result = judge(claim({"value": 0.8}), frame)
    assert result.outcome == "reproduced"
    (point,) = result.points
    assert point.at == {"owner_set": 2674.0}
    assert point.left == pytest.approx(0.9, abs=0.011)
    assert point.repeats == DRAWN.count(1)
    assert result.point_results[0].repeats_among == result.point_results[0].repeats == len(DRAWN)


def test_nothing_refutes_it() -> None:
    """There may be an owner set that no repeat has drawn."""
    assert judge(claim({"value": 0.95}), table_of(DRAWN, HIGH)).outcome == "inconclusive"
    one = judge(claim({"value": 0.5}, arm="b"), table_of(DRAWN, HIGH))
    assert one.outcome == "inconclusive"
    assert judge(claim({"value": 0.5}, arm="b", some=False), table_of(DRAWN, HIGH)).outcome == "violated"


def test_another_arm_keeps_all_its_repeats() -> None:
    frame = table_of(DRAWN, HIGH)
    result = judge(claim({"arm": "b"}), frame)
    assert result.outcome == "reproduced"
    assert result.points[0].right == pytest.approx(0.1, abs=0.011)


def test_owner_sets_are_numbered_as_they_are_drawn_first() -> None:
    """Later ones do not move the level of earlier ones, so what a look decides stays decided."""
    evidence = evidence_of(table_of(DRAWN, HIGH))
    assert evidence.owner_sets("a") == [2811.0, 2674.0, 3038.0]
    assert evidence.owner_sets("a", 4) == [2811.0, 2674.0]
    assert evidence.owner_sets("b") == []
    # The second is tested at a sixth of the level.
    frame = table_of([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], {0: 0.2, 1: 0.9})
    alone = judge(
        claim({"value": 0.8}, some=False), frame[frame["repeat"] >= 6].assign(repeat=lambda f: f["repeat"] - 6)
    )
    assert judge(claim({"value": 0.8}), frame).support == pytest.approx(min(1.0, 6 * alone.support))


def test_an_owner_set_drawn_once_says_nothing_and_one_drawn_twice_may() -> None:
    frame = table_of([0, 0, 0, 0, 0, 0, 1], {0: 0.2, 1: 0.9})
    result = judge(claim({"value": 0.8}), frame)
    assert result.outcome == "inconclusive"
    assert result.points[0].at == {"owner_set": 2811.0}
    twice = judge(claim({"value": 0.8}), table_of([0, 0, 0, 0, 0, 0, 1, 1], {0: 0.2, 1: 0.9}, by=0.0001))
    assert (twice.support, twice.points[0].at) == (pytest.approx(6 / 64), {"owner_set": 2674.0})
    often = judge(claim({"value": 0.8}), table_of([0] * 6 + [1] * 14, {0: 0.2, 1: 0.9}, by=0.0001))
    assert (often.outcome, often.points[0].at) == ("reproduced", {"owner_set": 2674.0})


def test_where_each_is_drawn_once_all_repeats_count_as_the_first_owner_set() -> None:
    evidence = evidence_of(table_of([0, 1, 2], dict.fromkeys(range(3), 0.9)))
    judged = [
        judge_one(parts_of(claim({"value": 0.8}, some=some), evidence)[0], evidence, Part(0, 1, 0.025, 2)).points[0]
        for some in (True, False)
    ]
    assert judged[1].p_support < 0.5
    assert judged[0].p_support == pytest.approx(2 * judged[1].p_support)


def test_one_that_is_drawn_as_often_as_a_verdict_needs_decides_and_one_drawn_less_often_does_not() -> None:
    """The second is tested at a sixth of the level: (2/3)^n is below 0.025 / 6 from fourteen repeats on."""

    def judged(drawn: list[int], fewest: int = 6) -> PartResult:
        evidence = evidence_of(table_of(drawn, {0: 0.9, 1: 0.9}))
        (part,) = parts_of(claim({"value": 0.5}), evidence)
        return judge_one(part, evidence, Part(0, 1, 0.025, fewest))

    for often, fewest in ((14, 6), (15, 15)):
        result = judged([0] * 5 + [1] * often, fewest)
        assert (result.outcome, result.points[0].at) == ("reproduced", {"owner_set": 2674.0})
        assert judged([0] * 5 + [1] * (often - 1), fewest).outcome == "inconclusive"


def test_repeats_are_asked_for_as_often_as_the_owner_set_is_drawn() -> None:
    drawn = [0, 1] * 6
    frame = table_of(drawn, {0: 0.2, 1: 0.82}, by=0.06)
    evidence = evidence_of(frame, Sequential())
    (part,) = parts_of(claim({"value": 0.8}), evidence)
    result = judge_one(part, evidence, Part(0, 1, 0.025))
    assert result.outcome == "inconclusive"
    ((cell, target),) = allocate_repeats([result], 0.05, 40).items()
    assert cell[0][0] == "a"
    assert 12 < target <= 40
    ((_, expected),) = allocate_repeats([result], 0.05, 400, max_repeats=4000, until_decision=True).items()
    effect = result.point_results[0].effect
    assert isinstance(effect, SequentialEstimate)
    (point,) = result.point_results
    assert expected == 2 * (effect.project_repeats(0.025 / point.corrected_by, 4000) or 0)


def test_bets_on_the_range_alone_do_it_too() -> None:
    result = judge(claim({"value": 0.2}), evidence_of(table_of([0, 1] * 40, {0: 0.1, 1: 0.95}), Bounded()))
    assert result.outcome == "reproduced"


def test_a_name_that_is_none_is_refused() -> None:
    frame = table_of(DRAWN, HIGH)
    wrong = PARSE(claim({"value": 0.5}) | {"for": {"owner_sets": "some"}})
    (part,) = wrong.parts(declared_by(frame))
    with pytest.raises(ValueError, match="did you mean 'owner_set'"):
        part.check(declared_by(frame))


def test_it_errs_as_rarely_as_promised() -> None:
    """400 tables of three owner sets, each on the edge: "above 0.5 on some" is false, at a level of 2.5%."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(400):
        frame = table_of(list(rng.integers(3, size=60)), dict.fromkeys(range(3), 0.5), by=0.0)
        noise = rng.normal(0, 0.05, len(frame)) * (frame["metric"] == "advantage")
        wrong += judge(claim({"value": 0.5}), frame.assign(value=frame["value"] + noise)).outcome == "reproduced"
    assert wrong <= 22


def test_of_owner_sets_that_show_nothing_the_largest_effect_is_shown_with_a_p_value_of_one() -> None:
    evidence = evidence_of(table_of([0, 1, 2] * 6, {0: 0.2, 1: 0.6, 2: 0.4}))
    for least, fewest in ((0.8, 2), (0.1, 7)):  # each is below; or each is above, in fewer repeats than may decide
        (part,) = parts_of(claim({"value": least}), evidence)
        result = judge_one(part, evidence, Part(0, 1, 0.025, fewest))
        (point,) = result.points
        assert point.at == {"owner_set": SIZES[1]}
        assert (point.p_support, point.p_oppose, result.support) == (1.0, 1.0, 1.0)


OUTCOMES = 3


def together(low: float, high: float) -> dict[str, Any]:
    """On one owner set the advantage is above one number at epsilon 2, and below another at epsilon 1."""
    left = {"metric": "advantage", "arm": "a", "attack": "x"}
    return {
        "kind": "one-owner-set",
        "of": [
            {"kind": "compare", "left": left, "relation": ">", "right": {"value": high}, "at": [2]},
            {"kind": "compare", "left": left, "relation": "<", "right": {"value": low}, "at": [1]},
        ],
    }


def two_places(drawn: list[int], at_one: dict[int, float], at_two: dict[int, float]) -> pd.DataFrame:
    """The tables of both places, with the outcome that the split draws of three."""
    first, second = table_of(drawn, at_one), table_of(drawn, at_two)
    second = second[(second["attack"] == "x") & (second["arm"] == "a")].assign(epsilon=2.0)
    known = [
        ("a", "", name, np.nan, repeat, value)
        for repeat, which in enumerate(drawn)
        for name, value in (("count_outcome", which), ("count_outcomes", OUTCOMES))
    ]
    columns = ["arm", "attack", "metric", "epsilon", "repeat", "value"]
    return pd.concat([first, second, pd.DataFrame(known, columns=columns).assign(stderr=0.0)], ignore_index=True)


EACH_OFTEN = [0, 1, 2] * 20


def test_sentences_hold_together_on_one_owner_set() -> None:
    frame = two_places(EACH_OFTEN, {0: 0.02, 1: 0.4, 2: 0.0}, {0: 0.8, 1: 0.9, 2: 0.0})
    result = judge(together(0.1, 0.5), frame)
    assert result.outcome == "reproduced"
    assert result.points[0].at == {"owner_set": SIZES[0]}


def test_each_may_hold_on_some_owner_set_and_both_on_none() -> None:
    """What fails on every owner set that the split can draw is contradicted; while one was not drawn, it is open."""
    strong_or_dead = {0: 0.3, 1: 0.4, 2: 0.0}, {0: 0.8, 1: 0.9, 2: 0.0}
    frame = two_places(EACH_OFTEN, *strong_or_dead)
    for one in together(0.1, 0.5)["of"]:
        assert judge({**one, "for": {"owner_set": "some"}}, frame).outcome == "reproduced"
    assert judge(together(0.1, 0.5), frame).outcome == "violated"
    assert judge(together(0.1, 0.5), two_places([0, 1] * 30, *strong_or_dead)).outcome == "inconclusive"


def test_a_set_with_too_few_repeats_says_nothing() -> None:
    frame = two_places([0, 1] * 30 + [2], {0: 0.3, 1: 0.4, 2: 0.0}, {0: 0.8, 1: 0.9, 2: 0.0})
    evidence = evidence_of(frame, Sequential())
    (part,) = parts_of(together(0.1, 0.5), evidence)
    assert judge_one(part, evidence, Part(0, 1, 0.025, 6)).outcome == "inconclusive"


@pytest.mark.parametrize("truth", [0, 1])
def test_on_the_line_it_is_rarely_decided(truth: int) -> None:
    """On each set both sides lie on their lines: decided wrongly in at most the level, over 200 tables."""
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, truth])
        frame = two_places(EACH_OFTEN, dict.fromkeys(range(3), 0.1), dict.fromkeys(range(3), 0.5))
        x = frame["metric"] == "advantage"
        frame.loc[x, "value"] += rng.normal(0, 0.05, int(x.sum()))
        wrong += judge(together(0.1, 0.5), frame).outcome == ("reproduced" if truth else "violated")
    assert wrong <= 200 * 0.025 + 2 * np.sqrt(200 * 0.025)


def test_an_owner_set_is_of_one_arm() -> None:
    frame = two_places(EACH_OFTEN, HIGH, HIGH)
    claim_of_two = together(0.1, 0.5)
    claim_of_two["of"][1]["left"] = {**claim_of_two["of"][1]["left"], "arm": "b"}
    with pytest.raises(ValueError, match="are of a, b"):
        PARSE(claim_of_two).check(declared_by(frame))
