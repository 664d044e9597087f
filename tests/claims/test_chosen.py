"""A place that another metric chooses in each repeat, on tables whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd
import pytest

from harness.claims.allocation import allocate_repeats
from harness.claims.results import Part
from harness.errors import HarnessError
from tests.claims.judged import PARSE, declared_by, evidence_of, judge, judge_one, look_at, parts_of

EPSILONS = (1.0, 2.0, 4.0, float("inf"))
LEFT = {"metric": "auc", "arm": "a", "attack": "x", "chosen": {"metric": "accuracy_test", "at_least": 0.6}}


def table(first_good: Any, repeats: int = 8) -> pd.DataFrame:
    """AUC is 0.5 plus 0.1 for each step of epsilon; accuracy is 0.7 from the `first_good(repeat)`-th epsilon on."""
    rows = []
    for repeat, (i, epsilon) in product(range(repeats), enumerate(EPSILONS)):
        rows.append(("a", "x", "auc", epsilon, repeat, 0.5 + 0.1 * i + 1e-4 * repeat, 1e-5))
        rows.append(("a", "", "accuracy_test", epsilon, repeat, 0.7 if i >= first_good(repeat) else 0.3, 1e-5))
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


def close(value: float, tolerance: float = 0.01, **left: Any) -> dict[str, Any]:
    return {"kind": "close", "left": {**LEFT, **left}, "right": {"value": value}, "tolerance": tolerance}


@pytest.mark.parametrize(("first", "value"), [(0, 0.5), (1, 0.6), (2, 0.7)])
def test_the_least_epsilon_that_keeps_accuracy_is_chosen(first: int, value: float) -> None:
    evidence = evidence_of(table(lambda _: first, 20))
    assert judge(close(value), evidence).outcome == "reproduced"
    assert judge(close(value + 0.1), evidence).outcome == "violated"


@pytest.mark.parametrize("once", [{}, {"arm": "s"}, {"arm": "s", "repeats": 2}])
@pytest.mark.parametrize("first", [3, 9])
def test_a_model_without_noise_is_not_chosen_and_where_no_epsilon_is_the_claim_stays_open(
    first: int, once: dict[str, Any]
) -> None:
    evidence = evidence_of(of_two_arms(lambda _: first, lambda _: first))
    expected = close(0.8, chosen={"metric": "accuracy_test", "at_least": 0.6, **once})
    arm = once.get("arm", "a")
    said = f"no epsilon can be chosen: accuracy_test({arm}) is at least 0.6 at none of 1, 2, 4 (nearest: 0.3 at 1)"
    result = judge(expected, evidence)
    assert (result.outcome, result.reason) == ("inconclusive", said)


def test_the_nearest_is_of_the_repeats_in_which_none_can_be_chosen() -> None:
    """In four of eight 0.7 is reached at 4; in the others it is 0.3 everywhere, which is what the mean is of."""
    said = "(nearest: 0.3 at 1)"
    expected = close(0.8, chosen={"metric": "accuracy_test", "at_least": 0.6})
    result = judge(expected, evidence_of(table(lambda repeat: 2 if repeat % 2 else 9)))
    assert result.outcome == "inconclusive"
    assert said in result.reason


@pytest.mark.parametrize(
    ("bound", "nearest"), [({"at_least": 0.6}, "nearest: 0.5 at 4"), ({"at_most": 0.2}, "nearest: 0.3 at 1")]
)
def test_where_none_can_be_chosen_the_nearest_is_named(bound: dict[str, float], nearest: str) -> None:
    frame = table(lambda _: 9)
    accuracy = {1.0: 0.3, 2.0: 0.4, 4.0: 0.5, float("inf"): 0.5}
    frame.loc[frame["metric"] == "accuracy_test", "value"] = frame["epsilon"].map(accuracy)
    result = judge(close(0.8, chosen={"metric": "accuracy_test", **bound}), evidence_of(frame))
    assert result.outcome == "inconclusive"
    assert f"({nearest})" in result.reason


def test_it_is_chosen_in_each_repeat_anew() -> None:
    evidence = evidence_of(table(lambda repeat: repeat % 2, 200))
    result = judge(close(0.56, 0.02), evidence)
    assert result.outcome == "reproduced", result.reason
    assert len(result.points) == 1


def test_it_is_chosen_in_the_repeats_that_every_candidate_has() -> None:
    whole = table(lambda repeat: repeat % 2)
    for lacking in ("accuracy_test", "auc"):
        frame = whole[(whole["metric"] != lacking) | (whole["epsilon"] != 2.0) | (whole["repeat"] < 6)]
        (point,) = judge(close(0.55, 0.02), evidence_of(frame)).points
        assert (point.repeats, point.left) == (6, pytest.approx(0.55, abs=1e-3))


def of_two_arms(first_good: Any, shadows_first_good: Any, repeats: int = 8) -> pd.DataFrame:
    """Arm `a` as above, and `s`, whose accuracy says something else and which nothing attacks."""
    shadow = table(shadows_first_good, repeats)
    return pd.concat([table(first_good, repeats), shadow[shadow["attack"] == ""].assign(arm="s")], ignore_index=True)


def by_another(**more: Any) -> dict[str, Any]:
    return {"metric": "accuracy_test", "at_least": 0.6, "arm": "s", **more}


def test_another_arm_can_choose() -> None:
    evidence = evidence_of(of_two_arms(lambda _: 0, lambda repeat: 1 + repeat % 2, 200))
    result = judge(close(0.65, 0.02, chosen=by_another()), evidence)
    assert result.outcome == "reproduced", result.reason
    (look,) = result.point_results
    assert {(arm, dict(where)["epsilon"]) for arm, where in look.cells} == set(product("as", EPSILONS[:-1]))


def test_repeats_of_an_arm_that_only_chooses_are_asked_for_without_attacks() -> None:
    evidence = evidence_of(of_two_arms(lambda _: 0, lambda _: 1, 3))
    (part,) = parts_of(close(0.6, 2e-4, chosen=by_another()), evidence)
    result = replace(judge_one(part, evidence, Part(0, 1, 0.025, 6)), attacks=part.attacks())
    assert part.attacks() == {"a": ("x",), "s": ("",)}
    asked = allocate_repeats([result], 0.05, 10)
    assert {(arm, attack) for (arm, _), attack in asked} == {("a", "x"), ("s", "")}


@pytest.mark.parametrize(
    ("first", "at_least", "value"),
    [((2, 2), 0.6, 0.7), ((0, 2), 0.45, 0.5), ((1, 2), 0.6, 0.7)],
)
def test_it_can_choose_once_by_the_mean_of_its_first_repeats(
    first: tuple[int, int], at_least: float, value: float
) -> None:
    """Where one of two repeats keeps accuracy, their mean is 0.5. What later ones keep has no part in it."""
    once = by_another(repeats=2, at_least=at_least)
    evidence = evidence_of(of_two_arms(lambda _: 0, lambda repeat: first[repeat] if repeat < 2 else 0))
    result = judge(close(value, chosen=once), evidence)
    assert result.outcome == "reproduced", result.reason
    (look,) = result.point_results
    assert [arm for arm, _ in look.cells] == ["a"]  # repeats go where it is measured, and to the place chosen alone
    (part,) = parts_of(close(value, chosen=once), evidence)
    for n in (2, 3, 5):  # nor does the choice move from look to look
        (point,) = judge_one(part, look_at(evidence).take_first(n), Part(0, 1, 0.025)).points
        assert point.left == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (by_another(arm="b"), "chosen: unknown arm 'b'"),
        ({"metric": "accuracy_test", "at_least": 0.5, "repeats": 2}, "would choose where to measure it"),
        (by_another(repeats=0), "greater than or equal to 1"),
        ({"metric": "accuracy_test"}, "give one of at_most and at_least"),
        ({"metric": "accuracy_tset", "at_least": 0.5}, "did you mean 'accuracy_test'"),
        ({"metric": "accuracy_test", "at_least": 0.5, "axis": "p"}, "chosen: unknown axis 'p'"),
        ({"metric": "auc", "at_least": 0.5}, "unknown metric 'auc' of the model"),
    ],
)
def test_what_cannot_be_chosen_by_is_refused(chosen: dict[str, Any], message: str) -> None:
    evidence = evidence_of(table(lambda _: 0))
    with pytest.raises(ValueError, match=message):
        PARSE({**close(0.5), "left": {**LEFT, "chosen": chosen}}).check(declared_by(evidence.frame))


def test_a_table_that_has_nothing_to_choose_from_is_told_in_a_line() -> None:
    """As of the repeats since a claim was declared, where only models without noise got more."""
    frame = table(lambda _: 0)
    evidence = evidence_of(frame[frame["epsilon"] == float("inf")])
    with pytest.raises(HarnessError, match=r"^auc\(a, x.*was measured at no epsilon to choose; run the spec again$"):
        judge(close(0.5), evidence)
