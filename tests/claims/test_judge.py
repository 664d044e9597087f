"""Verdicts on made-up measurements whose truth is known, and how often they are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy import stats

from harness.claims.combine import combine_alternatives
from harness.claims.contrasts import Contrast, leaves_of
from harness.claims.design import Bounded, Sequential
from harness.claims.operands import MetricSeries, Number
from harness.claims.results import Part, PartResult, PointResult
from harness.claims.testing import compare_equivalence
from harness.claims.whole import combined_outcome
from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.inference.estimates import SequentialEstimate
from harness.inference.t_test import Estimate, detectable_effect, difference, estimate, repeats_needed
from harness.privacy.accounting import to_replace_one
from tests.claims.judged import PARSE, bounded, evidence_of, judge, judge_one, parts_of, point_result, with_bounds

GRID = (0.1, 1.0, 10.0)


def table(
    means: dict[str, Any], repeats: int = 8, sd: float = 0.02, seed: int = 0, stderr: float = 0.001
) -> pd.DataFrame:
    """Measurements `arm/attack/metric` -> mean (a number, or one per epsilon), normal over repeats."""
    rng = np.random.default_rng(seed)
    rows = []
    for key, value in means.items():
        arm, attack, metric = key.split("/")
        for i, epsilon in enumerate(GRID):
            mean = value[i] if isinstance(value, tuple) else value
            for repeat in range(repeats):
                noise = 0.0 if metric.startswith("count") else rng.normal(0, sd)
                rows.append((arm, attack, metric, epsilon, repeat, mean + noise, stderr))
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


def verdict(expectation: dict[str, Any], frame: pd.DataFrame, alpha: float = 0.05, parts: int = 1) -> PartResult:
    return judge(expectation, frame, alpha, 0, parts)


def compare(relation: str, right: dict[str, Any], quantifier: str = "all", **more: Any) -> dict[str, Any]:
    left = {"metric": "advantage", "arm": "a", "attack": "x"}
    return {"kind": "compare", "left": left, "relation": relation, "right": right, "for": quantifier, **more}


@pytest.mark.parametrize(
    ("mean", "relation", "right", "quantifier", "outcome"),
    [
        (0.5, ">", {"value": 0.2}, "all", "reproduced"),
        (0.5, "<", {"value": 0.2}, "all", "violated"),
        (0.5, "<=", {"value": 0.2}, "some", "violated"),
        ((0.5, 0.1, 0.1), ">", {"value": 0.2}, "all", "violated"),
        ((0.5, 0.1, 0.1), ">", {"value": 0.2}, "some", "reproduced"),
        ((0.5, 0.2, 0.5), ">", {"value": 0.2}, "all", "inconclusive"),
        (0.2, ">", {"value": 0.2}, "all", "inconclusive"),
        ((0.3, 0.7, 0.9), ">", {"formula": "humphries"}, "some", "reproduced"),
        ((0.0, 0.1, 0.2), "<=", {"formula": "humphries"}, "all", "reproduced"),
        ((0.3, 0.1, 0.2), "<=", {"formula": "humphries"}, "all", "violated"),
    ],
)
def test_quantifiers(mean: Any, relation: str, right: dict, quantifier: str, outcome: str) -> None:
    frame = table({"a/x/advantage": mean}, repeats=20)
    # A mean exactly on the margin is judged on data centred there, so that chance does not decide the example.
    for epsilon, value in zip(GRID, mean if isinstance(mean, tuple) else (mean,) * 3, strict=True):
        at = frame["epsilon"] == epsilon
        frame.loc[at, "value"] += value - frame.loc[at, "value"].mean()
    assert verdict(compare(relation, right, quantifier), frame).outcome == outcome


def test_margin_moves_the_right_side() -> None:
    frame = table({"a/x/advantage": 0.25}, repeats=12)
    assert verdict(compare(">", {"value": 0.2}), frame).outcome == "reproduced"
    assert verdict(compare(">", {"value": 0.2}, margin=0.1), frame).outcome == "violated"
    assert verdict(compare("<", {"value": 0.2}, margin=0.1), frame).outcome == "reproduced"


def test_two_arms_use_welch() -> None:
    frame = table({"a/x/advantage": 0.5, "b/x/advantage": 0.1}, repeats=20, sd=0.4)
    right = {"metric": "advantage", "arm": "b", "attack": "x"}
    point = verdict(compare(">", right), frame).points[0]
    a, b = (frame[(frame["arm"] == arm) & (frame["epsilon"] == GRID[0])]["value"] for arm in "ab")
    reference = stats.ttest_ind(a, b, equal_var=False, alternative="greater")
    assert point.p_support == pytest.approx(reference.pvalue)
    assert point.p_support > (2 / 3) ** 20
    assert point.effect == pytest.approx(a.mean() - b.mean())


def test_two_attacks_on_one_arm_are_paired() -> None:
    """Both attack the same models: what is common to a repeat cancels, and an unpaired test would see nothing."""
    frame = table({"a/x/advantage": 0.5, "a/y/advantage": 0.5}, repeats=30, sd=0.025, stderr=0.0)
    shared = np.random.default_rng(1).normal(0, 0.5, 30)
    frame["value"] += shared[frame["repeat"]]
    frame.loc[frame["attack"] == "x", "value"] += 0.03
    right = {"metric": "advantage", "arm": "a", "attack": "y"}
    result = verdict(compare(">", right), frame)
    x, y = (frame[(frame["attack"] == k) & (frame["epsilon"] == GRID[0])]["value"].to_numpy() for k in "xy")
    assert result.points[0].p_support == pytest.approx(estimate(x - y).p_above(0))
    assert (2 / 3) ** 30 < result.points[0].p_support < 0.001
    assert stats.ttest_ind(x, y, alternative="greater").pvalue > 0.2
    assert result.outcome == "reproduced"


def test_bounds_are_held_broken_or_undecided_and_corrected_for_adjacency() -> None:
    """The corrected bound is the formula at (2 eps, (1 + e^eps) delta)."""
    middle = float(FORMULAS["humphries"].value({"epsilon": 1.0, "delta": 1e-5}))
    frame = table({"a/x/advantage": (0.3, middle, 0.1)}, sd=0.01)
    centre = frame["epsilon"] == 1.0
    frame.loc[centre, "value"] += middle - frame.loc[centre, "value"].mean()
    points = with_bounds(verdict(compare(">", {"formula": "humphries"}, "some"), frame), frame)
    assert [p.bound_status for p in points] == ["broken", "undecided", "held"]
    assert points[0].bound_corrected == pytest.approx(np.tanh(0.1), abs=1e-4)
    assert points[1].bound_corrected_status == "held"


def test_one_repeat_is_inconclusive_and_says_why() -> None:
    result = verdict(compare(">", {"value": 0.2}), table({"a/x/advantage": 0.5}, repeats=1))
    assert result.outcome == "inconclusive"
    assert result.reason.startswith("1 repeat decides nothing, 2 may; so far at epsilon 0.1: 0.50")


def test_inconclusive_says_how_many_repeats() -> None:
    result = verdict(
        compare(">", {"value": 0.2}, at=[1.0]), table({"a/x/advantage": 0.205}, repeats=4, sd=0.05, seed=4)
    )
    assert result.outcome == "inconclusive"
    assert "repeats would decide" in result.reason


def test_points_that_the_profile_leaves_out() -> None:
    result = verdict(compare(">", {"value": 0.2}, at=[5.0]), table({"a/x/advantage": 0.5}))
    assert (result.outcome, result.points) == ("not run", ())


@pytest.mark.parametrize(("mean", "outcome"), [(0.02, "reproduced"), (0.2, "violated"), (0.1, "inconclusive")])
def test_equivalence_is_never_a_failure_to_reject(mean: float, outcome: str) -> None:
    left = {"metric": "accuracy_train", "arm": "a", "minus": "accuracy_test"}
    frame = table({"a//accuracy_train": 0.7 + mean, "a//accuracy_test": 0.7}, repeats=20, sd=0.01)
    for metric, centre in (("accuracy_train", 0.7 + mean), ("accuracy_test", 0.7)):
        for epsilon in GRID:
            at = (frame["metric"] == metric) & (frame["epsilon"] == epsilon)
            frame.loc[at, "value"] += centre - frame.loc[at, "value"].mean()
    expectation = {"kind": "close", "left": left, "right": {"value": 0}, "tolerance": 0.1}
    assert verdict(expectation, frame).outcome == outcome
    noisy = table({"a//accuracy_train": 0.7, "a//accuracy_test": 0.7}, sd=2.0, repeats=3)
    assert verdict(expectation, noisy).outcome == "inconclusive"


def test_counts() -> None:
    frame = table({"a//count_rows": 100, "a//count_members": 7})
    assert verdict({"kind": "count", "arm": "a", "equals": {"rows": 100, "members": 7}}, frame).outcome == "reproduced"
    wrong = verdict({"kind": "count", "arm": "a", "equals": {"rows": 100, "members": 8}}, frame)
    assert wrong.outcome == "violated"
    assert wrong.reason == "members is 7 (printed: 8)"
    assert [point.repeats for point in wrong.points] == [1, 1]
    with pytest.raises(HarnessError, match="arm 'a' counts no 'nothing'"):
        verdict({"kind": "count", "arm": "a", "equals": {"nothing": 1}}, frame)


@pytest.mark.parametrize(("slope", "outcome"), [(1.0, "reproduced"), (-1.0, "violated")])
def test_correlation_over_the_grid(slope: float, outcome: str) -> None:
    curve = (0.1, 0.4, 0.8)
    frame = table({"a//accuracy_train": tuple(slope * c for c in curve), "a/x/advantage": curve}, sd=0.005)
    left, right = {"metric": "accuracy_train", "arm": "a"}, {"metric": "advantage", "arm": "a", "attack": "x"}
    assert verdict({"kind": "correlation", "left": left, "right": right, "above": 0.5}, frame).outcome == outcome


def test_missing_measurements_are_named() -> None:
    with pytest.raises(HarnessError, match=r"no measurements of advantage\(a, x\)"):
        verdict(compare(">", {"value": 0}), table({"b/x/advantage": 0.1}))


def test_a_claim_is_the_conjunction_of_its_parts() -> None:
    assert combined_outcome(["reproduced", "reproduced"]) == "reproduced"
    assert combined_outcome(["reproduced", "inconclusive"]) == "inconclusive"
    assert combined_outcome(["inconclusive", "violated"]) == "violated"


@pytest.mark.integration
@pytest.mark.parametrize("quantifier", ["all", "some"])
@pytest.mark.parametrize("repeats", [3, 20])
def test_wrong_verdicts_are_as_rare_as_promised(quantifier: str, repeats: int) -> None:
    """600 claims whose effect is exactly zero at every point: both wrong outcomes together stay at 5%.

    With a true rate of 5% the count exceeds 50 of 600 with probability 2e-4 (binomial); seeds are fixed.
    """
    outcomes = []
    arms = [f"arm {i}" for i in range(20)]  # evidence is gathered for many claims at once, which is most of the work
    for seed in range(30):
        means = {f"{arm}/x/advantage": 0.2 for arm in arms}
        evidence = evidence_of(table(means, repeats=repeats, sd=0.1, seed=seed, stderr=0.0))
        for arm in arms:
            left = {"metric": "advantage", "arm": arm, "attack": "x"}
            outcomes.append(judge(compare(">", {"value": 0.2}, quantifier, left=left), evidence).outcome)
    assert len(outcomes) == 600
    assert outcomes.count("reproduced") + outcomes.count("violated") <= 50


def test_a_verdict_never_contradicts_its_interval() -> None:
    """At one point: reproduced just when the 95% interval of the effect is above 0, violated just when below."""
    for seed in range(60):
        frame = table({"a/x/advantage": 0.22}, repeats=5, sd=0.03, seed=seed)
        result = verdict(compare(">", {"value": 0.2}, at=[1.0]), frame)
        low, high = result.points[0].low, result.points[0].high
        assert low is not None
        assert high is not None
        expected = "reproduced" if low > 0 else "violated" if high < 0 else "inconclusive"
        assert result.outcome == expected


def measured(arm: str, **more: Any) -> dict[str, Any]:
    return {"metric": "advantage", "arm": arm, "attack": "x", **more}


@pytest.mark.parametrize(
    ("names", "direction", "margin", "outcome"),
    [
        ("abc", "falling", 0.0, "reproduced"),
        ("cba", "rising", 0.0, "reproduced"),
        ("abc", "rising", 0.0, "violated"),
        ("acb", "falling", 0.0, "violated"),
        ("abc", "falling", 0.1, "reproduced"),
        ("abc", "falling", 0.3, "violated"),
    ],
)
def test_orders_of_arms(names: str, direction: str, margin: float, outcome: str) -> None:
    frame = table({"a/x/advantage": 0.7, "b/x/advantage": 0.5, "c/x/advantage": 0.3}, repeats=20)
    claim = {"kind": "order", "of": [measured(n) for n in names], "direction": direction, "margin": margin}
    result = verdict(claim, frame)
    assert result.outcome == outcome
    assert len(result.points) == 6  # two pairs at three epsilons


@pytest.mark.parametrize(
    ("means", "direction", "margin", "outcome"),
    [
        ((0.1, 0.3, 0.5), "rising", 0.0, "reproduced"),
        ((0.5, 0.3, 0.1), "falling", 0.0, "reproduced"),
        ((0.1, 0.5, 0.3), "rising", 0.0, "violated"),
        ((0.1, 0.5, 0.45), "rising", -0.2, "reproduced"),
        ((0.1, 0.3, 0.5), "rising", 0.3, "violated"),
    ],
)
def test_trends_over_epsilon(means: tuple[float, ...], direction: str, margin: float, outcome: str) -> None:
    claim = {"kind": "monotone", "of": measured("a"), "direction": direction, "margin": margin}
    result = verdict(claim, table({"a/x/advantage": means}, repeats=20))
    assert result.outcome == outcome
    assert [p.epsilon for p in result.points] == [1.0, 10.0]


def test_a_hump_is_two_comparisons_between_epsilons() -> None:
    frame = table({"a/x/advantage": (0.1, 0.5, 0.3)})
    ends = [
        {"kind": "compare", "left": measured("a", epsilon=1.0), "relation": ">", "right": measured("a", epsilon=e)}
        for e in (0.1, 10.0)
    ]
    assert [verdict(one, frame).outcome for one in ends] == ["reproduced", "reproduced"]
    assert len(verdict(ends[0], frame).points) == 1
    assert verdict({**ends[0], "relation": "<"}, frame).outcome == "violated"
    absent = {**ends[0], "right": measured("a", epsilon=5.0)}
    assert (verdict(absent, frame).outcome, verdict(absent, frame).reason) == (
        "not run",
        "the profile runs no epsilon 5",
    )


def test_ratios() -> None:
    frame = table({"a/x/advantage": 0.6, "b/x/advantage": 0.25}, repeats=20)
    claim = {"kind": "compare", "left": measured("a"), "relation": ">"}
    assert verdict({**claim, "right": measured("b", times=2)}, frame).outcome == "reproduced"
    assert verdict({**claim, "right": measured("b", times=3)}, frame).outcome == "violated"
    assert PARSE({**claim, "right": measured("b", times=2)}).text() == (
        "advantage(a, x) > 2 * advantage(b, x) for every epsilon"
    )


def test_one_epsilon_against_the_bound_there() -> None:
    frame = table({"a/x/advantage": 0.40})
    claim = {"kind": "compare", "left": measured("a", epsilon=1.0), "relation": "<=", "right": {"formula": "humphries"}}
    result = verdict(claim, frame)
    assert result.outcome == "reproduced"
    assert [p.epsilon for p in result.points] == [1.0]
    (point,) = with_bounds(result, frame)
    assert point.bound == pytest.approx(float(FORMULAS["humphries"].value({"epsilon": 1.0, "delta": 1e-5})))
    epsilon, delta = to_replace_one(1.0, 1e-5)
    assert point.bound_corrected == pytest.approx(
        FORMULAS["humphries"].value({"epsilon": epsilon, "delta": delta}), abs=1e-12
    )


def printed(values: dict[float, float], tolerance: float = 0.05, rows_own: float | None = None) -> dict[str, Any]:
    of = {"metric": "advantage", "arm": "a", "attack": "x"}
    return {"kind": "table", "tolerance": tolerance, "rows": [{"of": of, "values": values, "tolerance": rows_own}]}


def test_a_table_holds_where_every_entry_is_met() -> None:
    frame = table({"a/x/advantage": (0.1, 0.3, 0.5)}, repeats=20)
    right = {0.1: 0.1, 1.0: 0.3, 10.0: 0.5}
    result = verdict(printed(right), frame)
    assert result.outcome == "reproduced"
    assert [(p.epsilon, p.right) for p in result.points] == [(0.1, 0.1), (1.0, 0.3), (10.0, 0.5)]
    wrong = verdict(printed({**right, 1.0: 0.5}), frame)
    assert wrong.outcome == "violated"
    assert wrong.deciding is not None
    assert (wrong.deciding.epsilon, wrong.deciding.right) == (1.0, 0.5)
    # An entry half a tolerance off is met; nothing is concluded from one that lies on the tolerance.
    assert verdict(printed({0.1: 0.125}), frame).outcome == "reproduced"
    assert verdict(printed({0.1: 0.15}, tolerance=0.05), frame).outcome == "inconclusive"
    assert verdict(printed({0.1: 0.2}), frame).outcome == "violated"
    assert verdict(printed({0.1: 0.2}, rows_own=0.3), frame).outcome == "reproduced"


def test_entries_that_the_profile_does_not_run_are_left_out() -> None:
    frame = table({"a/x/advantage": (0.1, 0.3, 0.5)})
    assert len(verdict(printed({1.0: 0.3, 5.0: 0.9}), frame).points) == 1
    result = verdict(printed({5.0: 0.9}), frame)
    assert (result.outcome, result.reason) == ("not run", "the profile runs none of the epsilon 5")


def test_a_table_reads_as_it_is_declared() -> None:
    text = PARSE(printed({0.1: 0.02, 1.0: 0.05})).text()
    assert text == "at least 90% of: advantage(a, x) = 0.02 at 0.1, 0.05 at 1 (+- 0.05)"


def either(*sides: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "any-of", "of": [{k: v for k, v in side.items() if k != "for"} for side in sides]}


@pytest.mark.parametrize(
    ("useless", "leaky", "outcome"),
    [
        ((0.9, 0.9, 0.0), (0.0, 0.0, 0.3), "reproduced"),  # each point by one side
        ((0.9, 0.0, 0.0), (0.0, 0.0, 0.3), "violated"),  # useful and private at the middle one
        ((0.9, 0.1, 0.0), (0.0, 0.02, 0.3), "inconclusive"),  # both on their margins
    ],
)
def test_one_of_two_holds_everywhere(useless: Any, leaky: Any, outcome: str) -> None:
    frame = table({"a//loss": useless, "a/x/advantage": leaky}, repeats=20, sd=0.004)
    for metric, means in (("loss", useless), ("advantage", leaky)):
        for epsilon, value in zip(GRID, means, strict=True):
            at = (frame["epsilon"] == epsilon) & (frame["metric"] == metric)
            frame.loc[at, "value"] += value - frame.loc[at, "value"].mean()
    loss = {"left": {"metric": "loss", "arm": "a"}, "relation": ">", "right": {"value": 0.1}}
    leak = compare(">", {"value": 0.02})
    result = verdict(either(loss, leak), frame)
    assert result.outcome == outcome
    assert len(result.points) == len(GRID)


@pytest.mark.integration
def test_either_is_wrong_no_more_often_than_stated() -> None:
    """Both sides exactly on their margins: neither holds, so a support is an error."""
    wrong = 0
    for seed in range(300):
        frame = table({"a//loss": 0.1, "a/x/advantage": 0.02}, seed=seed, repeats=20, stderr=0.0)
        loss = {"left": {"metric": "loss", "arm": "a"}, "relation": ">", "right": {"value": 0.1}}
        wrong += verdict(either(loss, compare(">", {"value": 0.02})) | {"at": [1.0]}, frame).outcome == "reproduced"
    assert wrong <= stats.binom.ppf(0.999, 300, 0.025)


def on_one_curve(sd: float, off: float = 0.0, repeats: int = 20) -> pd.DataFrame:
    """Two arms whose accuracy depends on the noise alone, at noise multipliers that enclose each other; `off` lifts one."""
    noise = {"a": (8.0, 4.0, 1.0), "b": (6.0, 2.0, 0.5)}
    means = {f"{arm}//accuracy_test": tuple(1 / (1 + s) for s in of) for arm, of in noise.items()}
    means["b//accuracy_test"] = tuple(v + off for v in means["b//accuracy_test"])
    frame = table(means, repeats=repeats, sd=sd, stderr=0.0001)
    sigma = {(arm, e): s for arm, of in noise.items() for e, s in zip(GRID, of, strict=True)}
    frame["noise_multiplier"] = [sigma[arm, e] for arm, e in zip(frame["arm"], frame["epsilon"], strict=True)]
    return frame


def test_arms_that_differ_in_noise_alone_are_on_one_curve() -> None:
    claim = {"kind": "same-curve", "metric": "accuracy_test", "arms": ["a", "b"], "tolerance": 0.01}
    result = verdict(claim, on_one_curve(0.002))
    assert result.outcome == "reproduced"
    # a at 4 lies between b at 6 and 2, a at 1 between 2 and 0.5; b at 6 between a at 8 and 4, b at 2 between 4 and 1.
    assert sorted(p.epsilon for p in result.points) == [0.1, 1.0, 1.0, 10.0]
    assert verdict(claim, on_one_curve(0.002, off=0.3)).outcome == "violated"
    assert verdict(claim, on_one_curve(0.4)).outcome == "inconclusive"
    apart = on_one_curve(0.002)
    apart.loc[apart["arm"] == "b", "noise_multiplier"] /= 100
    assert verdict(claim, apart).outcome == "not run"


def test_a_number_of_all_runs_together_is_judged_by_its_records() -> None:
    name = "exposed_in_every_run_at_5pct_fpr"
    frame = table({"a/x/advantage": 0.1}, repeats=5)
    joint = [
        ("a", "x", name, epsilon, 0, value, 14.0) for epsilon, value in zip(GRID, (0.0, 170.0, 400.0), strict=True)
    ]
    frame = pd.concat([frame, pd.DataFrame(joint, columns=frame.columns)])
    of = {"metric": name, "arm": "a", "attack": "x"}

    def printed(values: dict[float, float], tolerance: float) -> PartResult:
        return verdict({"kind": "table", "rows": [{"of": of, "values": values}], "tolerance": tolerance}, frame)

    assert printed({1.0: 174, 10.0: 410}, 50).outcome == "reproduced"
    assert printed({1.0: 174, 10.0: 480}, 50).outcome == "inconclusive"
    assert printed({1.0: 300}, 50).outcome == "violated"
    assert {p.repeats for p in printed({1.0: 174}, 50).points} == {5}
    rising = {"kind": "monotone", "of": of, "direction": "rising"}
    assert verdict(rising, frame).outcome == "reproduced"


def test_a_claim_of_several_parts_opposes_at_the_level_over_their_number() -> None:
    frame = table({"a/x/advantage": (0.5, 0.1, 0.5)}, repeats=40, sd=0.15, seed=2)
    one, four = (verdict(compare(">", {"value": 0.2}), frame, parts=n) for n in (1, 4))
    assert one.outcome == "violated"
    assert four.oppose == pytest.approx(4 * one.oppose)
    assert one.oppose == pytest.approx(3 * one.points[1].p_oppose)
    assert one.p_value == pytest.approx(2 * one.oppose)
    assert one.support == one.points[1].p_support
    assert four.correction == "every one of 3 points at alpha/2; Bonferroni over 12 to oppose"
    assert one.reason.startswith("fails at epsilon 1: 0.")
    assert one.points[1].p_oppose > (2 / 3) ** 40
    some = [verdict(compare(">", {"value": 0.6}, "some"), frame, parts=n) for n in (1, 4)]
    assert some[0].reason.startswith("fails at every point; least clearly at epsilon")
    assert some[0].correction == "Bonferroni over 3 points to support; every one of 3 points to oppose"
    assert some[1].oppose == pytest.approx(4 * some[0].oppose)
    assert some[0].oppose == pytest.approx(max(p.p_oppose for p in some[0].points))
    assert some[0].oppose > min(p.p_oppose for p in some[0].points)
    assert some[0].support == pytest.approx(min(1.0, 3 * min(p.p_support for p in some[0].points)))
    # Supporting needs no correction: every part has to.
    high = table({"a/x/advantage": 0.5})
    assert (
        verdict(compare(">", {"value": 0.2}), high).support
        == verdict(compare(">", {"value": 0.2}), high, parts=4).support
    )


def test_equivalence_shows_how_far_inside_its_tolerance_the_difference_is() -> None:
    left = {"metric": "advantage", "arm": "a", "attack": "x"}
    for mean in (0.21, 0.19):
        frame = table({"a/x/advantage": mean}, repeats=60, sd=0.05)
        result = verdict(
            {"kind": "close", "left": left, "right": {"value": 0.2}, "tolerance": 0.05, "at": [1.0]}, frame
        )
        values = frame[frame["epsilon"] == 1.0]["value"].to_numpy() - 0.2
        low, high = estimate(values).interval()
        (point,) = result.points
        assert point.effect == pytest.approx(0.05 - abs(values.mean()))
        assert point.low == pytest.approx(0.05 - max(abs(low), abs(high)))
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        assert point.high == pytest.approx(0.05 - nearest)
        inside = max(estimate(values).p_above(-0.05), estimate(values).p_below(0.05))
        assert point.p_support == pytest.approx(inside)
        outside = min(estimate(values).p_above(0.05), estimate(values).p_below(-0.05))
        assert point.p_oppose == pytest.approx(min(1.0, 2 * outside))
        assert result.point_results[0].holds is not None
        assert result.point_results[0].holds.tolist() == (np.abs(values) < 0.05).tolist()


def test_either_shares_its_level_over_the_comparisons_and_holds_where_one_does() -> None:
    frame = table({"a/x/advantage": 0.5, "b/x/advantage": 0.2}, repeats=6, sd=0.1, seed=5)
    one = compare(">", {"value": 0.4})
    other = {**compare("<", {"value": 0.15}), "left": {"metric": "advantage", "arm": "b", "attack": "x"}}
    result = verdict({"kind": "any-of", "of": [one, other]}, frame)
    first, second = verdict(one, frame), verdict(other, frame)
    for i, place in enumerate(result.points):
        ps = [f.points[i].p_support for f in (first, second)]
        assert place.p_support == pytest.approx(min(1.0, 2 * min(ps)))
        assert place.p_oppose == pytest.approx(max(f.points[i].p_oppose for f in (first, second)))
        holds = [f.point_results[i].holds for f in (first, second)]
        assert result.point_results[i].holds is not None
        assert result.point_results[i].holds.tolist() == np.logical_or(*holds).tolist()


def test_strict_and_weak_inequalities_in_one_repeat() -> None:
    frame = table({"a/x/advantage": 0.2}, repeats=6, sd=0.0, stderr=0.0)
    held = {r: verdict(compare(r, {"value": 0.2}), frame).point_results[0].holds for r in (">", ">=", "<", "<=")}
    assert {r: bool(h.all()) for r, h in held.items() if h is not None} == {
        ">": False,
        ">=": True,
        "<": False,
        "<=": True,
    }


def test_too_few_repeats_at_one_point_do_not_keep_another_from_deciding() -> None:
    frame = table({"a/x/advantage": (0.5, 0.1, 0.5)}, repeats=20)
    short = frame[(frame["epsilon"] == 1.0) | (frame["repeat"] < 3)]
    (part,) = parts_of(compare(">", {"value": 0.2}), evidence_of(short))
    assert judge_one(part, evidence_of(short), Part(0, 1, 0.025, 6)).outcome == "violated"
    short = frame[(frame["epsilon"] != 1.0) | (frame["repeat"] < 3)]
    result = judge_one(part, evidence_of(short), Part(0, 1, 0.025, 6))
    assert (result.outcome, result.oppose) == ("inconclusive", 1.0)
    assert result.reason.startswith("3 repeats decide nothing, 6 may; so far at epsilon 1: 0.104 ")


def test_alternatives_of_different_repeats_are_compared_in_those_that_both_have() -> None:
    frame = table({"a/x/advantage": 0.5, "b/x/advantage": 0.5}, repeats=8)
    frame = frame[(frame["arm"] == "a") | (frame["repeat"] < 5)]
    one, other = compare(">", {"value": 0.4}), compare("<", {"value": 0.15})
    other["left"] = {**other["left"], "arm": "b"}
    result = verdict({"kind": "any-of", "of": [one, other]}, frame)
    assert result.point_results[0].holds is not None
    assert result.point_results[0].holds.tolist() == [True] * 5


@pytest.mark.parametrize("mean", [0.03, -0.03, 0.001, 0.3])
def test_an_equivalence_by_hand(mean: float) -> None:
    """Both one-sided tests support it; twice the smaller of the others opposes it; its interval is what the difference's
    ends leave of the tolerance."""
    result = Estimate(mean, 0.02, 9.0, 10)
    contrast = Contrast(MetricSeries("advantage", "a", "x"), Number(value=0.0), {"epsilon": 1.0}, "within", 0.1)
    look = compare_equivalence(contrast, result, 0.0, result, 0.1, frozenset())

    def tail(from_: float) -> float:
        return float(stats.t.sf(from_ / 0.02, 9))

    assert look.support == pytest.approx(max(tail(mean + 0.1), tail(0.1 - mean)))
    assert look.oppose == pytest.approx(min(1.0, 2 * min(tail(mean - 0.1), tail(-0.1 - mean))))
    low, high = result.interval()
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    assert look.interval[0] == pytest.approx(0.1 - max(abs(low), abs(high)))
    assert look.interval[1] == pytest.approx(0.1 - nearest)
    assert look.effect.mean == pytest.approx(0.1 - abs(mean))


def test_p_values_of_alternatives_end_at_one() -> None:
    def look(p: float) -> PointResult:
        return point_result(p, 0.5, Estimate(0.1, 0.1, 9.0, 10))

    assert combine_alternatives([look(0.7), look(0.9)]).support == 1.0
    assert combine_alternatives([look(0.2), look(0.9)]).support == pytest.approx(0.4)


def test_repeats_that_are_too_few_support_nothing() -> None:
    result = judge(
        compare(">", {"value": 0.2}), evidence_of(table({"a/x/advantage": 0.5}, repeats=2), Bounded()), parts=1
    )
    assert result.support < 1.0
    few = verdict(compare(">", {"value": 0.2}), table({"a/x/advantage": 0.5}, repeats=1))
    assert few.support == 1.0


def test_a_bet_may_be_won_with_one_repeat() -> None:
    """0.9 where at most 0.005 is claimed: half the stake, bet whole, wins 179 times as much."""
    frame = table({"a/x/tpr": 0.9}, repeats=1, sd=0.0)
    left = {"metric": "tpr", "arm": "a", "attack": "x"}
    evidence = evidence_of(frame, Bounded())
    claim = {"kind": "compare", "left": left, "relation": "<=", "right": {"value": 0.005}, "at": [0.1]}
    (part,) = parts_of(claim, evidence)
    assert judge_one(part, evidence, Part(0, 1, 0.025, Bounded.fewest)).outcome == "violated"
    assert judge_one(part, evidence, Part(0, 1, 0.025, 2)).outcome == "inconclusive"


def test_what_is_compared_with_a_formula_that_is_no_bound_at_its_epsilon_is_not_set_beside_it() -> None:
    frame = table({"a/x/advantage": 0.2})
    there = with_bounds(verdict(compare("<=", {"formula": "humphries"}), frame), frame)
    assert all(p.bound is not None for p in there)
    given = compare("<=", {"formula": "humphries", "given": {"epsilon": 1.0}})
    elsewhere = with_bounds(verdict(given, frame), frame)
    assert all(p.bound is None for p in elsewhere)


def test_the_outlook_of_a_claim_for_some_point_is_at_the_level_shared_by_all() -> None:
    frame = table({"a/x/advantage": (0.21, 0.1, 0.1)}, repeats=8, sd=0.05)
    result = verdict(compare(">", {"value": 0.2}, "some"), frame)
    assert result.outcome == "inconclusive"
    best = max(result.point_results, key=lambda look: look.effect.mean)
    needed = repeats_needed(best.effect, 0.025 / 3)
    assert needed is not None
    assert f"about {needed} repeats would decide" in result.reason


@pytest.mark.parametrize("off", [0.0, 0.14])
def test_each_look_at_one_curve_by_hand(off: float) -> None:
    """a at noise 4 and 1 between b at 6 and 2, and at 2 and 0.5; b at 6 and 2 between a at 8 and 4, and at 4 and 1."""
    frame, tolerance = on_one_curve(0.06, off), 0.05
    value = {key: group["value"].to_numpy() for key, group in frame.groupby(["arm", "epsilon"])}
    enclosed = [
        (("a", 1.0), ("b", 0.1), ("b", 1.0)),
        (("a", 10.0), ("b", 1.0), ("b", 10.0)),
        (("b", 0.1), ("a", 0.1), ("a", 1.0)),
        (("b", 1.0), ("a", 1.0), ("a", 10.0)),
    ]
    claim = {"kind": "same-curve", "metric": "accuracy_test", "arms": ["a", "b"], "tolerance": tolerance}
    looks = verdict(claim, frame).point_results
    assert len(looks) == len(enclosed)
    for look, (own, *ends) in zip(looks, enclosed, strict=True):
        low, high = sorted(ends, key=lambda end: value[end].mean())
        above, below = (difference(estimate(value[own]), estimate(value[end])) for end in (low, high))
        assert look.support == pytest.approx(bounded(max(above.p_above(-tolerance), below.p_below(tolerance)), 20))
        outside = bounded(min(above.p_below(-tolerance), below.p_above(tolerance)), 20)
        assert look.oppose == pytest.approx(min(1.0, 2 * outside))
        assert look.effect.mean == pytest.approx(min(tolerance + above.mean, tolerance - below.mean))
        assert look.holds is not None
        inside = (value[own] >= value[low] - tolerance) & (value[own] <= value[high] + tolerance)
        assert look.holds.tolist() == inside.tolist()
    assert 0 < sum(int(look.holds.sum()) for look in looks if look.holds is not None) < 4 * 20
    assert (min(look.oppose for look in looks) < 0.2) == (off > 0)


def test_one_curve_reads_as_it_is_declared() -> None:
    of_models = {"kind": "same-curve", "metric": "accuracy_test", "arms": ["a", "b"], "tolerance": 0.01}
    of_attacks = {**of_models, "metric": "advantage", "attack": "x"}
    between = "between each other's values at neighbouring noise multipliers, +- 0.01"
    assert PARSE(of_models).text() == f"accuracy_test of a, b: {between}"
    assert PARSE(of_attacks).text() == f"advantage (x) of a, b: {between}"


def test_tolerances_are_doubled_one_and_all() -> None:
    def lines(claim: dict[str, Any]) -> set[tuple[float, float | None]]:
        evidence = evidence_of(on_one_curve(0.0))
        (part,) = parts_of(claim, evidence)
        assert part.doubled_tolerance() == "a tolerance of 0.02 in place of 0.01"
        return {(leaf.line, leaf.doubled) for node in part.contrasts(evidence).of for leaf in leaves_of(node)}

    of = {"metric": "accuracy_test", "arm": "a"}
    assert lines({"kind": "same-curve", "metric": "accuracy_test", "arms": ["a", "b"], "tolerance": 0.01}) == {
        (0.01, 0.02)
    }
    assert lines({"kind": "close", "left": of, "right": {"value": 0.2}, "tolerance": 0.01}) == {(0.01, 0.02)}
    rows = [{"of": of, "values": {1.0: 0.3}, "tolerance": 0.05}, {"of": of, "values": {1.0: 0.3, 10.0: 0.3}}]
    assert lines({"kind": "table", "tolerance": 0.01, "rows": rows}) == {(0.05, 0.1), (0.01, 0.02)}


def test_of_several_counts_the_one_farthest_from_what_is_printed_is_shown() -> None:
    frame = table({"a//count_rows": 100, "a//count_members": 7, "a//count_owners": 20})
    result = verdict({"kind": "count", "arm": "a", "equals": {"rows": 100, "owners": 12, "members": 8}}, frame)
    assert [p.effect for p in result.points] == [0.0, -8.0, -1.0]
    assert result.deciding is result.points[1]
    frame.loc[(frame["metric"] == "count_rows") & (frame["repeat"] < 2), "value"] = (90, 104) * len(GRID)
    (rows,) = verdict({"kind": "count", "arm": "a", "equals": {"rows": 100}}, frame).points
    assert (rows.left, rows.effect) == (90.0, -10.0)


def test_two_repeats_have_a_mean_correlation_and_one_has_none() -> None:
    curve = (0.1, 0.4, 0.8)
    left, right = {"metric": "accuracy_train", "arm": "a"}, {"metric": "advantage", "arm": "a", "attack": "x"}
    claim = {"kind": "correlation", "left": left, "right": right, "above": 0.5}
    frame = table({"a//accuracy_train": curve, "a/x/advantage": curve}, repeats=2, sd=0.05)
    by_metric = [
        frame[frame["metric"] == of["metric"]].pivot(index="epsilon", columns="repeat", values="value")
        for of in (left, right)
    ]
    each = [np.corrcoef(by_metric[0][r], by_metric[1][r])[0, 1] for r in (0, 1)]
    (point,) = verdict(claim, frame).points
    assert point.left == pytest.approx(np.tanh(np.arctanh(each).mean()))
    result = verdict(claim, frame[frame["repeat"] == 0])
    assert (result.outcome, result.points) == ("inconclusive", ())


def test_where_one_may_look_a_reason_says_after_how_many_repeats_and_how_many_would_decide() -> None:
    frame = table({"a/x/advantage": 0.22}, repeats=8, sd=0.05)
    claim = compare(">", {"value": 0.2}, at=[1.0])
    result = verdict(claim, evidence_of(frame, Sequential()))
    effect = result.point_results[0].effect
    assert isinstance(effect, SequentialEstimate)
    many = effect.project_repeats(0.025, 10_000)
    assert result.outcome == "inconclusive"
    assert (result.why.repeats, result.why.enough) == (8, many)
    assert result.reason.endswith(f" after 8 repeats; about {many} would decide if the effect stays")


def test_what_a_claim_waits_for_is_said_in_ten_characters_or_more() -> None:
    frame = table({"a/x/advantage": 0.2})
    result = verdict({"kind": "waits-for", "what": "a proof, n"}, frame)
    assert (result.outcome, result.reason) == ("not run", "it waits for a proof, n")
    with pytest.raises(ValidationError, match="at least 10 characters"):
        PARSE({"kind": "waits-for", "what": "a proof, "})


@pytest.mark.parametrize(("quantifier", "over"), [("all", 1), ("some", 3)])
def test_what_would_decide_and_what_could_be_found_are_at_the_level_of_a_point_that_supports(
    quantifier: str, over: int
) -> None:
    frame = table({"a/x/advantage": 0.2}, repeats=8, sd=0.05)
    for epsilon, effect in zip(GRID, (0.004, 0.003, 0.005), strict=True):
        at = frame["epsilon"] == epsilon
        frame.loc[at, "value"] += 0.2 + effect - frame.loc[at, "value"].mean()
    result = verdict(compare(">", {"value": 0.2}, quantifier), frame)
    effect = result.point_results[result.place or 0].effect
    needed = repeats_needed(effect, 0.025 / over)
    assert needed is not None
    assert 9 < needed < 10_000
    assert (result.outcome, result.why.enough, result.why.fewest) == ("inconclusive", needed, 8)
    assert result.why.detectable == pytest.approx(detectable_effect(effect, 0.025 / over))


@pytest.mark.parametrize("slope", [0.25, -0.25])
def test_a_perfect_correlation_counts_as_one_that_is_nearly_so(slope: float) -> None:
    curve = (0.25, 0.5, 0.75)
    frame = table({"a//accuracy_train": curve, "a/x/advantage": tuple(0.5 + slope * c for c in curve)}, sd=0.0)
    left, right = {"metric": "accuracy_train", "arm": "a"}, {"metric": "advantage", "arm": "a", "attack": "x"}
    result = verdict({"kind": "correlation", "left": left, "right": right, "above": 0.5}, frame)
    assert result.outcome == ("reproduced" if slope > 0 else "violated")
    assert result.points[0].left == pytest.approx(np.copysign(0.999999, slope), abs=1e-9)
    assert result.points[0].effect == pytest.approx(np.copysign(np.arctanh(0.999999), slope) - np.arctanh(0.5))


def test_of_many_values_of_a_count_the_first_six_are_shown() -> None:
    for many, shown in ((6, "1, 2, 3, 4, 5, 6"), (7, "1, 2, 3, 4, 5, 6, ...")):
        frame = table({"a//count_rows": 0}, repeats=many)
        frame["value"] = frame["repeat"] + 1.0
        result = verdict({"kind": "count", "arm": "a", "equals": {"rows": 3}}, frame)
        assert (result.outcome, result.reason) == ("violated", f"rows is {shown} (printed: 3)")


@pytest.mark.parametrize(("lift", "inside"), [(-0.25, True), (-0.5, False), (0.5, True), (0.75, False)])
def test_a_value_may_lie_as_far_beyond_an_end_of_the_curve_as_its_tolerance(lift: float, inside: bool) -> None:
    """Arm b's one value that is between two of a's, at 0.5 and 0.75, in each of its repeats."""
    frame = on_one_curve(0.0)
    at = {
        ("a", 0.1): 0.5,
        ("a", 1.0): 0.75,
        ("a", 10.0): 0.75,
        ("b", 0.1): 0.5 + lift,
        ("b", 1.0): 0.0,
        ("b", 10.0): 0.0,
    }
    frame["value"] = [at[place] for place in zip(frame["arm"], frame["epsilon"], strict=True)]
    claim = {"kind": "same-curve", "metric": "accuracy_test", "arms": ["a", "b"], "tolerance": 0.25}
    look = verdict(claim, frame).point_results[2]
    assert look.left == 0.5 + lift
    assert look.holds is not None
    assert look.holds.tolist() == [inside] * 20
