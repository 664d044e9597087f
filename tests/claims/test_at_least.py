"""So many of several claims: what the kind says, when it errs, and where its repeats go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.claims.allocation import allocate_repeats
from harness.claims.combine import count_as_one
from harness.claims.contrasts import leaves_of
from harness.claims.design import Sequential
from harness.claims.results import Part, PartResult
from harness.inference.t_test import Estimate
from tests.claims.judged import PARSE, combined, declared_by, evidence_of, judge, judge_one, parts_of, point_result

AXES = ("bound", "p", "epsilon")


def table_of(means: dict[float, float], n: int = 20, by: float = 0.01) -> pd.DataFrame:
    """Accuracy at p = 0.5, by bound, where that at p = 0.1 and 0.9 is one half."""
    rows = [
        ("a", "", "accuracy_test", bound, p, 1.0, r, level + by * (-1.0) ** (r + index), 0.0)
        for bound, mean in means.items()
        for index, (p, level) in enumerate({0.1: 0.5, 0.5: mean, 0.9: 0.5}.items())
        for r in range(n)
    ]
    columns = ["arm", "attack", "metric", "bound", "p", "epsilon", "repeat", "value", "stderr"]
    return pd.DataFrame(rows, columns=columns)


def claim(needed: int, bounds: list[float], **more: Any) -> dict[str, Any]:
    below = {
        "kind": "compare",
        "left": {"metric": "accuracy_test"},
        "relation": "<",
        "right": {"at": {"p": 0.5}},
        "at": {"p": [0.1, 0.9]},
        **more,
    }
    return {"kind": "at-least", "needed": needed, "of": [below], "over": {"bound": bounds}}


def outcome(needed: int, means: dict[float, float], **more: Any) -> str:
    evidence = evidence_of(table_of(means, **more), axes=AXES)
    return judge(claim(needed, list(means)), evidence).outcome


UP, LEVEL, DOWN = 0.6, 0.5, 0.4


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({1.0: UP, 2.0: UP, 3.0: DOWN}, "reproduced"),
        ({1.0: UP, 2.0: UP, 3.0: UP}, "reproduced"),
        ({1.0: UP, 2.0: DOWN, 3.0: DOWN}, "violated"),
        ({1.0: UP, 2.0: LEVEL, 3.0: LEVEL}, "inconclusive"),
    ],
)
def test_two_of_three_panels(means: dict[float, float], expected: str) -> None:
    assert outcome(2, means) == expected


def test_a_single_claim_may_be_counted_and_its_test_is_named() -> None:
    evidence = evidence_of(table_of({1.0: UP}), axes=AXES)
    result = judge(claim(1, [1.0]), evidence)
    (alone,) = parts_of(claim(1, [1.0])["of"][0], evidence)
    assert result.outcome == "reproduced"
    assert result.test == f"each claim by itself: {judge_one(alone, evidence, Part(0, 1, 0.025)).test}"


def test_a_panel_counts_whole() -> None:
    """Were points counted instead of panels, three optima at three different bounds and places would pass."""
    frame = table_of({1.0: UP, 2.0: UP, 3.0: UP})
    for bound, p in ((1.0, 0.1), (2.0, 0.9), (3.0, 0.1)):
        frame.loc[(frame["bound"] == bound) & (frame["p"] == p), "value"] += 0.2
    result = judge(claim(2, [1.0, 2.0, 3.0]), evidence_of(frame, axes=AXES))
    assert result.outcome == "violated"
    assert len(result.points) == 3
    assert result.reason.startswith("holds at fewer than 2 of 3 points: fails at 2 at least")


def test_a_panel_holds_in_a_repeat_where_all_its_points_do() -> None:
    frame = table_of({1.0: UP, 2.0: UP}, n=12, by=0.0)
    frame.loc[(frame["bound"] == 1.0) & (frame["p"] == 0.9) & (frame["repeat"] < 3), "value"] = 0.7
    looks = judge(claim(1, [1.0, 2.0]), evidence_of(frame, axes=AXES)).point_results
    assert [None if look.holds is None else int(look.holds.sum()) for look in looks] == [9, 12]
    some = judge(claim(1, [1.0, 2.0], **{"for": "some"}), evidence_of(frame, axes=AXES)).point_results
    assert [look.holds for look in some] == [None, None]


def test_an_arm_is_counted_by_its_name() -> None:
    frame = table_of({1.0: UP, 2.0: UP})
    other = frame.assign(arm="b")
    other.loc[other["p"] == 0.5, "value"] = 0.4 + 0.01 * (-1.0) ** other["repeat"]
    evidence = evidence_of(pd.concat([frame, other]), axes=AXES)
    counted = claim(1, [1.0]) | {"over": {"arm": ["a", "b"], "bound": [1.0, 2.0]}}
    (part,) = parts_of(counted, evidence)
    assert [one.left.arm for one in part.of] == [("a",), ("a",), ("b",), ("b",)]
    assert part.text().startswith("at least 1 of 4: (accuracy_test(a) < accuracy_test(a, p = 0.5) for every p in")
    assert judge(counted | {"needed": 2}, evidence).outcome == "reproduced"
    assert judge(counted | {"needed": 3}, evidence).outcome == "violated"


def test_the_first_of_several_that_are_ordered_takes_the_name() -> None:
    """The others are what it says, but for what they say themselves."""
    frame = table_of({1.0: UP})
    evidence = evidence_of(pd.concat([frame, frame.assign(arm="b")]), axes=AXES)
    sides = [{"metric": "accuracy_test", "at": {"p": p}} for p in (0.5, 0.1, 0.9)]
    order = {"kind": "order", "of": sides, "direction": "falling"}
    (part,) = parts_of({"kind": "at-least", "needed": 1, "of": [order], "over": {"arm": ["b", "a"]}}, evidence)
    assert [[side.arm for side in one.of] for one in part.of] == [[("b",)] * 3, [("a",)] * 3]
    assert [side.at["p"] for side in part.of[0].of] == [0.5, 0.1, 0.9]


def test_what_cannot_be_counted_is_refused() -> None:
    frame = table_of({1.0: UP, 2.0: UP})
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        PARSE(claim(0, [1.0, 2.0]))
    with pytest.raises(ValueError, match="at least 1 item"):
        PARSE(claim(1, [1.0, 2.0]) | {"of": []})
    with pytest.raises(ValueError, match="needed is 4, but 2 claims are counted"):
        PARSE(claim(4, [1.0, 2.0])).parts(declared_by(frame, AXES))


def test_a_claim_is_counted_whole_where_it_lists_several_names() -> None:
    frame = table_of({1.0: UP, 2.0: UP, 3.0: UP})
    other = frame.assign(arm="b")
    other.loc[(other["bound"] == 3.0) & (other["p"] == 0.5), "value"] -= 0.2
    evidence = evidence_of(pd.concat([frame, other]), axes=AXES)
    both = {"metric": "accuracy_test", "arm": ["a", "b"]}
    assert judge(claim(2, [1.0, 2.0, 3.0], left=both), evidence).outcome == "reproduced"
    three = judge(claim(3, [1.0, 2.0, 3.0], left=both), evidence)
    assert three.outcome == "violated"
    assert len(three.points) == 3
    assert three.deciding is not None
    assert three.deciding.at == {"bound": 3.0, "p": 0.1}
    (part,) = parts_of(claim(2, [1.0], left=both) | {"needed": 1}, evidence)
    assert part.text().count("accuracy_test(b)") == 1
    assert part.text().startswith("at least 1 of 1: (accuracy_test(a) < ")


def test_a_tolerance_is_doubled_in_each() -> None:
    evidence = evidence_of(table_of({1.0: UP, 2.0: UP}), axes=AXES)
    (widened,) = parts_of(claim(2, [1.0, 2.0], margin=0.01), evidence)
    assert widened.doubled_tolerance() == "a margin of 0.02 in place of 0.01"
    leaves = [leaf for node in widened.contrasts(evidence).of for leaf in leaves_of(node)]
    assert {(leaf.line, leaf.doubled) for leaf in leaves} == {(0.01, 0.02)}
    assert PARSE(claim(2, [1.0, 2.0])).doubled_tolerance() is None


def test_repeats_go_to_the_place_that_decides_the_panel_that_is_missing() -> None:
    frame = table_of({1.0: UP, 2.0: LEVEL + 0.02, 3.0: DOWN}, n=12, by=0.001)
    frame.loc[(frame["bound"] == 2.0) & (frame["p"] == 0.9), "value"] -= 0.2
    frame.loc[(frame["bound"] == 2.0) & (frame["p"] == 0.1), "value"] += 0.03 * (-1.0) ** frame["repeat"]
    evidence = evidence_of(frame, Sequential(), AXES)
    (part,) = parts_of(claim(2, [1.0, 2.0, 3.0]), evidence)
    result = judge_one(part, evidence, Part(0, 1, 0.025))
    assert result.outcome == "inconclusive"
    needs = allocate_repeats([result], 0.05, 40)
    assert {tuple(sorted(dict(where).items())) for (_, where), _ in needs} == {
        (("bound", 2.0), ("epsilon", 1.0), ("p", 0.1)),
        (("bound", 2.0), ("epsilon", 1.0), ("p", 0.5)),
    }
    stands_on = {cell for look in result.point_results for cell in look.cells | look.decided_on}
    assert len(stands_on) == 9


@pytest.mark.parametrize("true", [1, 2])
def test_it_errs_as_rarely_as_promised(true: int) -> None:
    """300 tables of three panels, of which 1 or 2 are clear and the others on the edge; "2 hold" is wrong, or right.

    The level is 2.5% each way; of 300 more than 17 would be wrong with probability 1e-3.
    """
    rng = np.random.default_rng(true)
    means = {1.0: UP, 2.0: UP if true == 2 else LEVEL, 3.0: LEVEL if true == 1 else DOWN}
    wrong = 0
    for _ in range(300):
        frame = table_of(means, by=0.0)
        frame["value"] += rng.normal(0, 0.02, len(frame))
        result = judge(claim(2, list(means)), evidence_of(frame, axes=AXES))
        wrong += result.outcome == ("reproduced" if true == 1 else "violated")
    assert wrong <= 17


def test_of_a_claim_of_which_nothing_is_known_nothing_is_taken() -> None:
    """Three are to hold: of four, with a fifth for which no epsilon can be chosen, at the level of three of five."""
    rows = []
    for arm, auc in {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.7, "e": 0.5}.items():
        for epsilon, lost in ((1.0, 0.9), (9.0, 0.9 if arm == "e" else 0.1), (np.inf, 0.0)):
            for r in range(12):
                noise = 0.005 * (-1.0) ** r
                rows.append((arm, "", "accuracy_loss_test", epsilon, r, lost + noise))
                rows.append((arm, "x", "auc", epsilon, r, auc + noise))
    frame = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value"]).assign(stderr=0.0)

    def counted(*arms: str, needed: int = 3) -> dict[str, Any]:
        chosen = {"metric": "accuracy_loss_test", "at_most": 0.2}
        of = [
            {
                "kind": "compare",
                "left": {"metric": "auc", "arm": arm, "attack": "x", "chosen": chosen},
                "relation": "<",
                "right": {"value": 0.6},
            }
            for arm in arms
        ]
        return {"kind": "at-least", "needed": needed, "of": of}

    five = judge(counted(*"abcde"), frame)
    assert (five.outcome, five.absent, len(five.points)) == ("reproduced", 1, 4)
    alone = judge(counted(*"abcd"), frame)
    assert five.support == pytest.approx(alone.support / 2 * 3)  # p times 5 - 3 + 1, and times 4 - 3 + 1
    assert five.levels(0.025, 1) == (pytest.approx(0.025 / 3), pytest.approx(0.025 / 3))
    assert judge(counted(*"abde"), frame).outcome == "inconclusive"
    assert judge(counted(*"ade"), frame).outcome == "violated"
    assert judge(counted("e", needed=1), frame).reason.startswith("no epsilon can be chosen: accuracy_loss_test(e)")


def test_a_claim_of_several_names_fails_at_the_level_over_their_number_and_holds_where_each_does() -> None:
    frame = table_of({1.0: UP, 2.0: LEVEL, 3.0: DOWN}, by=0.1)
    other = frame.assign(arm="b", value=frame["value"] + 0.1 * (frame["p"] == 0.5))
    evidence = evidence_of(pd.concat([frame, other]), axes=AXES)
    counted = claim(2, [1.0, 2.0, 3.0], left={"metric": "accuracy_test", "arm": ["a", "b"]})
    for look, bound in zip(judge(counted, evidence).point_results, (1.0, 2.0, 3.0), strict=True):
        at = {"p": [0.1, 0.9], "bound": [bound]}
        parts = parts_of({**counted["of"][0], "at": at}, evidence)
        alone = [judge_one(part, evidence, Part(0, 1, 0.025)) for part in parts]
        assert len(alone) == 2
        assert look.support == max(one.support for one in alone)
        assert look.oppose == pytest.approx(min(1.0, 2 * min(one.oppose for one in alone)))


def test_where_some_place_is_enough_for_one_of_its_names_nothing_is_said_of_single_repeats() -> None:
    """Arm a varies along p alone, so that one p is enough; b along epsilon too, at each of which one is."""
    rows = [
        (arm, "", "accuracy_test", p, epsilon, r, p + 0.01 * (-1.0) ** r, 0.0)
        for arm, epsilons in (("a", (np.nan,)), ("b", (1.0, 2.0)))
        for p in (0.1, 0.9)
        for epsilon in epsilons
        for r in range(20)
    ]
    columns = ["arm", "attack", "metric", "p", "epsilon", "repeat", "value", "stderr"]
    evidence = evidence_of(pd.DataFrame(rows, columns=columns), axes=("p", "epsilon"))

    def holds(*arms: str) -> Any:
        left = {"metric": "accuracy_test", "arm": list(arms)}
        one = {"kind": "compare", "left": left, "relation": ">", "right": {"value": 0.5}, "for": {"p": "some"}}
        result = judge({"kind": "at-least", "needed": 1, "of": [one]}, evidence)
        assert result.outcome == "reproduced"
        return result.point_results[0].holds

    assert holds("a") is None
    assert holds("b").all()
    assert holds("a", "b") is None
    assert holds("b", "a") is None


def test_claims_that_list_no_names_are_counted_once_each() -> None:
    left = {"metric": "accuracy_test", "arm": "a"}
    up, down = ({"kind": "compare", "left": left, "relation": r, "right": {"value": 0.5}} for r in "><")
    assert PARSE({"kind": "at-least", "needed": 1, "of": [up, down, up]}).text() == (
        "at least 1 of 3: (accuracy_test(a) > 0.5 for every epsilon); (accuracy_test(a) < 0.5 for every epsilon); "
        "(accuracy_test(a) > 0.5 for every epsilon)"
    )


def test_of_a_claim_that_is_shown_neither_way_the_part_farthest_from_holding_is_shown() -> None:
    def part(support: float, oppose: float, effect: float) -> PartResult:
        result = point_result(support, oppose, Estimate(effect, 0.1, 9.0, 10))
        return combined([result], "all", Part(0, 1, 0.025))

    for parts in ([part(0.3, 0.7, 0.1), part(1.0, 0.9, -0.1)], [part(0.3, 0.1, -0.2), part(1.0, 0.9, -0.1)]):
        look = count_as_one(parts)
        assert (look.support, look.oppose) == (1.0, pytest.approx(min(1.0, 2 * parts[0].oppose)))
        assert look.effect.mean == (-0.1 if look.oppose == 1 else -0.2)
