"""Claims over several names and axes, and the kinds that speak of an axis, on tables whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness.claims.combine import judge_part
from harness.claims.contrasts import leaves_of
from harness.claims.design import Bounded, Fixed, Series
from harness.claims.kinds.variance_share import main_effects
from harness.claims.results import Part
from harness.claims.samples import Samples
from harness.claims.testing import Look
from harness.coordinates import place
from harness.formulas import FORMULAS
from harness.inference.betting import Stream, bet_on_streams
from harness.inference.t_test import estimate
from tests.claims.judged import PARSE, bounded, declared_by, evidence_of, judge, judge_one, parts_of

AXES = ("p", "epsilon")
RATES, EPSILONS = (0.1, 0.3, 0.5, 0.7, 0.9), (1.0, 10.0)


def measured(value: Any, arms: tuple[str, ...] = ("a",), repeats: int = 20, sd: float = 0.005) -> pd.DataFrame:
    """`value(arm, p, epsilon)` plus noise, as the advantage of the attacks x and y and as the model's accuracy."""
    rng, rows = np.random.default_rng(0), []
    for arm, p, epsilon, repeat in product(arms, RATES, EPSILONS, range(repeats)):
        for attack, metric in (("x", "advantage"), ("y", "advantage"), ("", "accuracy_test")):
            mean = value(arm, p, epsilon) + (0.1 if attack == "y" else 0.0)
            rows.append((arm, attack, metric, p, epsilon, repeat, mean + rng.normal(0, sd), 1e-4))
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "p", "epsilon", "repeat", "value", "stderr"])


def verdict(expectation: dict[str, Any], frame: pd.DataFrame) -> Any:
    return judge(expectation, evidence_of(frame, axes=AXES))


OF = {"metric": "advantage", "arm": "a", "attack": "x"}
HUMP = measured(lambda _, p, e: 0.5 - (p - 0.5) ** 2 + 0.01 * e)


def test_one_claim_over_arms_and_attacks_is_one_for_each() -> None:
    """The same parts, in the same order, as eight lines that differ in a word."""
    frame = measured(lambda *_: 0.2, ("a", "b"))
    short = {
        "kind": "compare",
        "left": {"metric": "advantage", "arm": ["a", "b"], "attack": ["x", "y"]},
        "relation": "<=",
        "right": {"formula": "yeom"},
    }
    long = [{**short, "left": {"metric": "advantage", "arm": arm, "attack": attack}} for arm in "ab" for attack in "xy"]
    evidence = evidence_of(frame, axes=AXES)
    assert [p.text() for p in parts_of(short, evidence)] == [p.text() for one in long for p in parts_of(one, evidence)]


def test_a_right_side_means_what_the_left_one_says() -> None:
    evidence = evidence_of(measured(lambda *_: 0.2, ("a", "b")), axes=AXES)

    def texts(left: dict[str, Any], right: dict[str, Any]) -> list[str]:
        return [
            p.text() for p in parts_of({"kind": "compare", "left": left, "relation": ">", "right": right}, evidence)
        ]

    both = {**OF, "attack": ["x", "y"]}
    assert texts(both, {"arm": "b"}) == [f"advantage(a, {k}) > advantage(b, {k}) for every epsilon" for k in ("x", "y")]
    assert texts(OF, {"attack": "y"}) == ["advantage(a, x) > advantage(a, y) for every epsilon"]
    # A metric of the model itself has no attack to inherit.
    assert texts(OF, {"metric": "accuracy_test"}) == ["advantage(a, x) > accuracy_test(a) for every epsilon"]
    assert texts({**OF, "epsilon": 1.0}, {"epsilon": 10.0}) == [
        "advantage(a, x, epsilon = 1) > advantage(a, x, epsilon = 10) for every epsilon"
    ]


def test_points_are_of_all_axes_and_may_be_fixed() -> None:
    answer = verdict({"kind": "compare", "left": OF, "relation": ">", "right": {"value": 0.2}}, HUMP)
    assert answer.outcome == "reproduced"
    assert [(q.at["p"], q.epsilon) for q in answer.points] == list(product(RATES, EPSILONS))
    at = {"p": 0.5, "epsilon": [1]}
    answer = verdict({"kind": "compare", "left": OF, "relation": ">", "right": {"value": 0.2}, "at": at}, HUMP)
    assert [(q.at["p"], q.epsilon) for q in answer.points] == [(0.5, 1.0)]
    fixed = {**OF, "at": {"p": 0.1}}
    answer = verdict({"kind": "compare", "left": fixed, "relation": "<", "right": {"at": {"p": 0.5}}}, HUMP)
    assert (answer.outcome, len(answer.points)) == ("reproduced", 2)
    answer = verdict(
        {"kind": "compare", "left": {**OF, "mean_over": "p"}, "relation": ">", "right": {"value": 0.4}}, HUMP
    )
    assert [q.left for q in answer.points] == pytest.approx([0.43, 0.52], abs=0.005)


def test_some_may_be_of_one_axis_and_all_of_another() -> None:
    """For every epsilon there is a p above; and not for every p."""
    above = {"kind": "compare", "left": OF, "relation": ">", "right": {"value": 0.48}}
    assert verdict({**above, "for": {"p": "some"}}, HUMP).outcome == "reproduced"
    assert verdict({**above, "for": {"p": "some"}, "at": {"p": [0.5]}}, HUMP).outcome == "reproduced"
    assert verdict(above, HUMP).outcome == "violated"
    assert verdict({**above, "for": "some"}, HUMP).outcome == "reproduced"
    higher = {**above, "right": {"value": 0.55}}  # reached at epsilon 10 alone
    assert verdict({**higher, "for": {"p": "some"}}, HUMP).outcome == "violated"
    assert verdict({**higher, "for": "some"}, HUMP).outcome == "reproduced"
    arms = measured(lambda arm, p, e: 0.5 if arm == "b" else 0.1, ("a", "b"))
    either = {**above, "left": {**OF, "arm": ["a", "b"]}, "right": {"value": 0.3}}
    assert verdict({**either, "for": {"arm": "some"}}, arms).outcome == "reproduced"
    assert [part.outcome for part in all_parts(either, arms)] == ["violated", "reproduced"]


def all_parts(expectation: dict[str, Any], frame: pd.DataFrame) -> list[Any]:
    evidence = evidence_of(frame, axes=AXES)
    parts = parts_of(expectation, evidence)
    return [judge_one(part, evidence, Part(i, len(parts), 0.025)) for i, part in enumerate(parts)]


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ({"kind": "interior-peak", "of": OF, "along": "p"}, "reproduced"),
        ({"kind": "interior-peak", "of": OF, "along": "p", "peak": 0.5}, "reproduced"),
        ({"kind": "interior-peak", "of": OF, "along": "p", "peak": 0.5, "margin": 0.2}, "violated"),
        ({"kind": "arg-max", "of": OF, "along": "p", "is": 0.5}, "reproduced"),
        ({"kind": "arg-max", "of": OF, "along": "p", "is": 0.3}, "violated"),
        ({"kind": "arg-max", "of": OF, "along": "p", "is": 0.3, "margin": -0.05, "mean_over": "epsilon"}, "reproduced"),
        ({"kind": "concave", "of": OF, "along": "p"}, "reproduced"),
        ({"kind": "monotone", "of": OF, "along": "p", "direction": "rising"}, "violated"),
        (
            {"kind": "monotone", "of": OF, "along": "p", "direction": "rising", "at": {"p": [0.1, 0.3, 0.5]}},
            "reproduced",
        ),
        ({"kind": "monotone", "of": OF, "direction": "rising"}, "reproduced"),
        ({"kind": "variance-share", "of": OF, "axis": "p", "than": "epsilon"}, "reproduced"),
        ({"kind": "variance-share", "of": OF, "axis": "epsilon", "than": "p"}, "violated"),
        (
            {"kind": "compare", "left": OF, "relation": ">", "right": {"axis": "p"}, "at": {"p": [0.1, 0.3]}},
            "reproduced",
        ),
        ({"kind": "compare", "left": OF, "relation": ">", "right": {"axis": "p"}}, "violated"),
    ],
)
def test_kinds_along_an_axis(kind: dict[str, Any], outcome: str) -> None:
    """0.5 - (p - 0.5)^2 + epsilon / 100: the ends lie 0.16 below the middle, a step of epsilon adds 0.09."""
    assert verdict(kind, HUMP).outcome == outcome


def test_a_valley_is_no_hump_and_a_noisy_line_neither() -> None:
    hump = {"kind": "interior-peak", "of": OF, "along": "p"}
    assert verdict(hump, measured(lambda _, p, e: (p - 0.5) ** 2)).outcome == "violated"
    wrong = sum(
        verdict(hump, measured(lambda *_: 0.3, sd=0.05).assign(value=lambda t, s=seed: shuffled(t, s))).outcome
        == "reproduced"
        for seed in range(40)
    )
    assert wrong <= 2


def shuffled(frame: pd.DataFrame, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(frame["value"].to_numpy())


def test_rank_correlation_over_arms_is_scipys() -> None:
    arms = ("a", "b", "c", "d")
    level = dict(zip(arms, (0.9, 0.7, 0.5, 0.2), strict=True))
    frame = measured(lambda arm, p, e: level[arm], arms)
    model = frame["metric"] == "accuracy_test"
    frame.loc[model, "value"] = 1 - frame.loc[model, "value"]
    kind = {
        "kind": "rank-correlation",
        "of": {"metric": "advantage", "attack": "x"},
        "with": {"metric": "accuracy_test"},
        "below": 0,
        "at": {"p": [0.5], "epsilon": [1]},
    }
    answer = verdict(kind, frame)
    assert answer.outcome == "reproduced"
    here = frame[(frame["p"] == 0.5) & (frame["epsilon"] == 1.0) & (frame["repeat"] == 0)].set_index("arm")["value"]
    one, two = (here[(frame.loc[frame.index, "attack"] == k)[: len(here)].to_numpy()] for k in ("x", ""))
    assert stats.spearmanr(one, two).statistic == -1 == answer.points[0].left
    assert verdict({**kind, "below": None, "above": 0}, frame).outcome == "violated"


def test_main_effects_are_omega_squared_of_an_analysis_of_variance() -> None:
    """Sums of squares by regressions on indicators of rows, of columns and of both."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(4, 3, 1)) + np.arange(4)[:, None, None]
    of_rows, of_columns = (np.eye(n)[index.ravel()] for n, index in zip((4, 3), np.indices((4, 3)), strict=True))
    y = values.ravel()

    def left_over(design: Any) -> float:
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    total, both = left_over(np.ones((12, 1))), left_over(np.hstack([of_rows, of_columns]))
    noise = both / 6
    rows, columns = total - left_over(of_rows), total - left_over(of_columns)
    expected = [(rows - 3 * noise) / (total + noise), (columns - 2 * noise) / (total + noise)]
    assert main_effects(values)[:, 0] == pytest.approx(expected)


def test_noise_alone_gives_no_axis_a_larger_share() -> None:
    """Shares of sums of squares would be apart by 0.14 on average, since the axes have five values and three."""
    shares = main_effects(np.random.default_rng(3).normal(size=(5, 3, 40_000)))
    assert np.abs((shares[0] - shares[1]).mean()) < 0.005


def test_a_formula_takes_its_parameters_from_where_it_is_compared() -> None:
    """Epsilon and the prior from the cell, the rest given; the FPR from the metric."""
    kind = {"kind": "compare", "left": OF, "relation": "<=", "right": {"formula": "ppv-upper", "given": {"prior": 0.9}}}
    answer = verdict(kind, HUMP)
    assert [q.right for q in answer.points] == pytest.approx(
        [FORMULAS["ppv-upper"].value({"epsilon": e, "prior": 0.9}) for _ in RATES for e in EPSILONS]
    )
    frame = HUMP.assign(metric=HUMP["metric"].replace("advantage", "tpr_at_1pct_fpr"))
    kind = {
        "kind": "compare",
        "left": {**OF, "metric": "tpr_at_1pct_fpr"},
        "relation": "<=",
        "right": {"formula": "tpr-at-fpr"},
    }
    assert {round(q.right, 4) for q in verdict(kind, frame).points if q.epsilon == 1} == {round(0.01 * np.e + 1e-5, 4)}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ({"kind": "compare", "left": {**OF, "arm": "b"}, "relation": ">", "right": {"value": 0}}, "unknown arm 'b'"),
        ({"kind": "interior-peak", "of": OF, "along": "q"}, "unknown axis 'q'; known: epsilon, p"),
        ({"kind": "interior-peak", "of": {**OF, "at": {"p": 0.5}}, "along": "p"}, "the axis 'p' is fixed"),
        ({"kind": "arg-max", "of": OF, "along": "p", "is": 0.4}, r"p 0.4 is not on the grid \(0.1, 0.3"),
        ({"kind": "variance-share", "of": OF, "axis": "p", "than": "p"}, "with itself"),
        (
            {"kind": "compare", "left": OF, "relation": ">", "right": {"formula": "optimal-ppv-at-mass"}},
            "needs mass, points",
        ),
        ({"kind": "compare", "left": OF, "relation": ">", "right": {"formula": "humphreys"}}, "did you mean humphries"),
        ({"kind": "compare", "left": OF, "relation": ">", "right": {"axis": "q"}}, "unknown axis 'q'"),
        ({"kind": "order", "of": OF, "direction": "falling"}, "needs two operands"),
        (
            {"kind": "compare", "left": OF, "relation": ">", "right": {"value": 0}, "for": {"epsiln": "some"}},
            "for: unknown axis 'epsiln'; did you mean 'epsilon'",
        ),
    ],
)
def test_what_is_not_declared_is_named(kind: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        for part in PARSE(kind).parts(declared_by(HUMP, AXES)):
            part.check(declared_by(HUMP, AXES))


def test_an_order_may_be_of_the_arms_that_one_operand_lists() -> None:
    frame = measured(lambda arm, p, e: {"a": 0.5, "b": 0.3, "c": 0.1}[arm], ("a", "b", "c"))
    chain = {"kind": "order", "of": {**OF, "arm": ["a", "b", "c"]}, "direction": "falling"}
    assert verdict(chain, frame).outcome == "reproduced"
    assert verdict({**chain, "direction": "rising"}, frame).outcome == "violated"
    listed = {"kind": "order", "of": [OF, {"arm": "b"}, {"arm": "c"}], "direction": "falling"}
    assert [p.text() for p in parts_of(listed, evidence_of(frame, axes=AXES))] == [
        p.text() for p in parts_of(chain, evidence_of(frame, axes=AXES))
    ]


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        ({"kind": "concave"}, 3),
        ({"kind": "interior-peak"}, 3),
        ({"kind": "monotone", "direction": "rising", "margin": -1.0}, 2),
        ({"kind": "arg-max", "is": 0.5, "margin": -1.0}, 2),
    ],
)
def test_a_shape_is_judged_on_as_few_values_as_it_takes(kind: dict[str, Any], needed: int) -> None:
    of_axis = {**kind, "of": OF, "along": "p"}
    enough = sorted((0.5, 0.1, 0.9)[:needed])
    assert verdict({**of_axis, "at": {"p": enough}}, HUMP).outcome == "reproduced"
    short = verdict({**of_axis, "at": {"p": [0.5, 0.1][: needed - 1]}}, HUMP)
    runs = "one" if needed == 2 else str(needed - 1)
    assert (short.outcome, short.points) == ("not run", ())
    assert short.reason.endswith(f" needs {needed} values of p, the profile runs {runs}")


@pytest.mark.parametrize("peak", RATES[1:-1])
def test_a_peak_is_seen_at_whichever_value_between_it_lies_and_at_no_other(peak: float) -> None:
    frame = measured(lambda _, p, e: 0.5 if p == peak else 0.2)
    hump = {"kind": "interior-peak", "of": OF, "along": "p", "margin": 0.1}
    somewhere = verdict(hump, frame)
    assert somewhere.outcome == "reproduced"
    assert {point.at["p"] for point in somewhere.points} == {peak}
    for asked in RATES[1:-1]:
        answer = verdict({**hump, "peak": asked}, frame)
        assert answer.outcome == ("reproduced" if asked == peak else "violated")
        assert {point.at["p"] for point in answer.points} == {asked}


def test_shares_of_variance_are_of_whole_grids_of_two_axes_alone() -> None:
    kind = {"kind": "variance-share", "of": OF, "axis": "p", "than": "epsilon"}
    for at in ({"p": [0.1, 0.5], "epsilon": [1]}, {"p": [0.5], "epsilon": [1, 10]}):
        answer = verdict({**kind, "at": at}, HUMP)
        assert (answer.outcome, answer.points) == ("not run", ())
        assert answer.reason == "the profile runs no whole grid of two values or more of p and epsilon"
    third = pd.concat([HUMP.assign(q=q) for q in (1.0, 2.0)])
    evidence = evidence_of(third, axes=("q", *AXES))
    assert judge(kind, evidence).outcome == "not run"
    assert judge({**kind, "of": {**OF, "at": {"q": 1.0}}}, evidence).outcome == "reproduced"


def scattered_ranks() -> pd.DataFrame:
    """Four arms whose advantage rises with their accuracy, but for noise that changes the order in some repeats."""
    level = dict(zip("abcd", (0.1, 0.2, 0.3, 0.4), strict=True))
    return measured(lambda arm, p, e: level[arm], tuple("abcd"), sd=0.08)


RANKS = {
    "kind": "rank-correlation",
    "of": {"metric": "advantage", "attack": "x"},
    "with": {"metric": "accuracy_test"},
    "at": {"p": [0.5], "epsilon": [1]},
}


@pytest.mark.parametrize(("side", "sign"), [("above", 1.0), ("below", -1.0)])
@pytest.mark.parametrize("limit", [0.6, -0.3])
def test_a_mean_over_repeats_is_tested_against_its_limit_on_the_side_claimed(
    side: str, sign: float, limit: float
) -> None:
    frame = scattered_ranks()
    here = frame[(frame["p"] == 0.5) & (frame["epsilon"] == 1.0)]
    one, two = (here[here["attack"] == k].pivot(index="arm", columns="repeat", values="value") for k in ("x", ""))
    ranks = np.array([stats.spearmanr(one[r], two[r]).statistic for r in one])
    assert np.ptp(ranks) > 0
    answer = verdict({**RANKS, side: limit}, frame)
    (point,) = answer.points
    assert (point.left, point.right) == (pytest.approx(ranks.mean()), limit)
    assert point.effect == pytest.approx(sign * (ranks.mean() - limit))
    tested = estimate(sign * (ranks - limit))
    p_values = bounded(tested.p_above(0), 20), bounded(tested.p_below(0), 20)
    assert (point.p_support, point.p_oppose) == pytest.approx(p_values)
    assert answer.point_results[0].holds.tolist() == (sign * (ranks - limit) > 0).tolist()


@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_one_repeat_in_which_a_metric_does_not_vary_leaves_ranks_unknown() -> None:
    frame = scattered_ranks()
    assert verdict({**RANKS, "above": 0.0}, frame).points
    frame.loc[(frame["repeat"] == 5) & (frame["metric"] == "accuracy_test"), "value"] = 0.5
    answer = verdict({**RANKS, "above": 0.0}, frame)
    assert (answer.outcome, answer.points) == ("inconclusive", ())
    assert answer.reason == "a metric does not vary over the arms"


def test_a_comparison_of_an_any_of_keeps_the_arm_that_it_names() -> None:
    frame = measured(lambda *_: 0.2, ("a", "b", "c"))
    unnamed = {"left": {"metric": "accuracy_test"}, "relation": "<", "right": {"value": 0.1}}
    named = {"left": {**OF, "arm": "c"}, "relation": "<", "right": {"value": 0.3}}
    parts = parts_of({"kind": "any-of", "arm": ["a", "b"], "of": [unnamed, named]}, evidence_of(frame, axes=AXES))
    assert [[one.left.arm for one in part.of] for part in parts] == [[("a",), ("c",)], [("b",), ("c",)]]


def test_a_bend_reads_with_the_scale_of_its_axis() -> None:
    bend = {"kind": "concave", "of": OF, "along": "p"}
    assert PARSE(bend).text() == "advantage(a, x) is concave in p for every epsilon"
    assert PARSE({**bend, "scale": "log"}).text() == "advantage(a, x) is concave in log p for every epsilon"


def test_one_repeat_in_which_a_metric_does_not_vary_leaves_shares_of_variance_unknown() -> None:
    frame, kind = HUMP.copy(), {"kind": "variance-share", "of": OF, "axis": "p", "than": "epsilon"}
    frame.loc[frame["repeat"] == 5, "value"] = 0.5
    answer = verdict(kind, frame)
    assert (answer.outcome, answer.points) == ("inconclusive", ())
    assert answer.reason == "the metric does not vary over the grid"


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ({"kind": "concave", "of": OF, "along": "p"}, [[0.25, 0.25], [0.5, 0.5], [0.75, 0.75]]),
        ({"kind": "variance-share", "of": OF, "axis": "p", "than": "epsilon"}, [[0.0, 0.5], [0.5, 1.0]]),
        (
            {"kind": "correlation", "left": OF, "right": {"metric": "accuracy_test"}, "at": {"epsilon": [1.0]}},
            [[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]],
        ),
    ],
)
def test_what_is_exactly_at_its_limit_is_not_above_it_in_a_repeat(kind: dict[str, Any], values: Any) -> None:
    """On a straight line; as much of the variance by rows as by columns; and a hump, uncorrelated with a line."""
    rows = [
        ("a", attack, metric, p, epsilon, repeat, value if attack else abs(value - 0.5), 0.0)
        for p, of_row in enumerate(values)
        for epsilon, value in zip(EPSILONS, of_row, strict=True)
        for attack, metric in (("x", "advantage"), ("", "accuracy_test"))
        for repeat in range(8)
    ]
    (look, *_) = verdict(kind, pd.DataFrame(rows, columns=HUMP.columns)).point_results
    assert look.effect.mean == 0.0
    assert look.holds.tolist() == [False] * 8


@pytest.mark.parametrize(("side", "sign"), [("above", 1.0), ("below", -1.0)])
@pytest.mark.parametrize("limit", [0.3, 0.95])
def test_bets_on_a_correlation_are_within_its_range(side: str, sign: float, limit: float) -> None:
    frame = scattered_ranks()
    answer = judge({**RANKS, side: limit}, evidence_of(frame, Bounded(), AXES)).point_results[0]
    ranks = answer.effect.repeat_values + sign * limit  # or the negative ones
    assert np.abs(ranks).max() <= 1.0 + 1e-12
    every = bet_on_streams([Stream(ranks, np.full(len(ranks), -1.0), np.full(len(ranks), 1.0))])
    towards, against = every.p_above(sign * limit), every.p_below(sign * limit)
    assert (answer.support, answer.oppose) == (pytest.approx(towards), pytest.approx(against))
    assert 0 < min(towards, against) < 0.9


@pytest.mark.parametrize("limit", [0.2, 0.95])
def test_bets_on_a_plain_correlation_are_within_its_range(limit: float) -> None:
    rng = np.random.default_rng(3)
    rows = [
        ("a", attack, metric, epsilon, repeat, epsilon + rng.normal(0, 2))
        for epsilon, repeat in product((1.0, 2.0, 4.0, 8.0), range(12))
        for attack, metric in (("x", "advantage"), ("", "accuracy_test"))
    ]
    frame = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value"]).assign(stderr=0.0)
    claim = {"kind": "correlation", "left": OF, "right": {"metric": "accuracy_test"}, "above": limit}
    answer = judge(claim, evidence_of(frame, Bounded())).point_results[0]
    every = bet_on_streams([Stream(answer.effect.repeat_values + limit, np.full(12, -1.0), np.full(12, 1.0))])
    assert (answer.support, answer.oppose) == (
        pytest.approx(every.p_above(limit)),
        pytest.approx(every.p_below(limit)),
    )
    assert min(answer.support, answer.oppose) < 0.9


def test_along_epsilon_the_model_without_noise_is_left_out_unless_it_is_asked_for() -> None:
    clear = HUMP[HUMP["epsilon"] == 10.0].assign(epsilon=np.inf)
    frame = pd.concat([HUMP, clear.assign(value=clear["value"] - 0.2)])
    rising = {"kind": "monotone", "of": {**OF, "at": {"p": 0.5}}, "direction": "rising"}
    answer = verdict(rising, frame)
    assert (answer.outcome, [point.epsilon for point in answer.points]) == ("reproduced", [10.0])
    asked = verdict({**rising, "at": [1.0, 10.0, np.inf]}, frame)
    assert (asked.outcome, [point.epsilon for point in asked.points]) == ("violated", [10.0, None])
    other_axis = frame.assign(p=frame["p"].replace(0.9, np.inf))
    peak = verdict({"kind": "interior-peak", "of": OF, "along": "p"}, other_axis)
    assert peak.outcome == "reproduced"
    assert {cell for look in peak.point_results for cell in look.cells} >= {("a", place({"p": np.inf, "epsilon": 1.0}))}


def test_what_is_added_as_a_part_of_a_claim_is_no_tolerance() -> None:
    """0.2 < 0.25 * 0.2 + 0.1 + 0.06 with the margin, and not with half of it."""
    evidence = evidence_of(measured(lambda *_: 0.2), axes=AXES)
    right = {"arm": "a", "times": 0.25}
    of = {"kind": "compare", "left": OF, "relation": "<", "right": right, "plus": 0.1}
    (bare,), (part,) = parts_of(of, evidence), parts_of(of | {"margin": 0.06}, evidence)
    assert (bare.doubled_tolerance(), part.doubled_tolerance()) == (None, "a margin of 0.12 in place of 0.06")
    assert bare.text().startswith("advantage(a, x) < 0.25 * advantage(a, x) + 0.1 ")
    (leaf,) = {(one.line, one.doubled) for node in part.contrasts(evidence).of for one in leaves_of(node)}
    assert leaf == pytest.approx((0.16, 0.22))
    look = Look(Samples(evidence), evidence.design)
    outcomes = [
        judge_part(part.contrasts(evidence), at, Part(0, 1, 0.025)).outcome
        for at in (look, look.with_half_tolerance(), look.with_doubled_tolerance())
    ]
    assert outcomes == ["reproduced", "violated", "reproduced"]
    bare_look = judge_part(bare.contrasts(evidence), look.with_half_tolerance(), Part(0, 1, 0.025))
    assert bare_look.outcome == "violated"


@pytest.mark.parametrize(
    "kind",
    [
        {"kind": "monotone", "of": OF, "along": "p", "direction": "rising"},
        {"kind": "arg-max", "of": OF, "along": "p", "is": 0.5},
        {"kind": "interior-peak", "of": OF, "along": "p", "peak": 0.5},
        {"kind": "concave", "of": OF, "along": "p"},
        {"kind": "order", "of": [OF, {"attack": "y"}], "direction": "rising"},
    ],
    ids=lambda of: of["kind"],
)
def test_a_slack_is_a_tolerance_and_what_is_asked_for_is_none(kind: dict[str, Any]) -> None:
    evidence = evidence_of(HUMP, axes=AXES)
    for margin, doubled, text in (
        (-0.1, -0.2, "a margin of -0.2 in place of -0.1"),
        (0.1, None, None),
        (0, None, None),
    ):
        (part,) = parts_of({**kind, "margin": margin}, evidence)
        leaves = [leaf for node in part.contrasts(evidence).of for leaf in leaves_of(node)]
        assert {(leaf.line, leaf.doubled) for leaf in leaves} == {(margin, doubled)}
        assert part.doubled_tolerance() == text


def test_margins_that_make_a_comparison_easier_are_doubled_in_each_of_an_any_of_that_has_one() -> None:
    def of(relation: str, margin: float) -> dict[str, Any]:
        return {"left": OF, "relation": relation, "right": {"value": 0.2}, "margin": margin}

    def doubled(*sides: dict[str, Any]) -> tuple[str | None, list[float | None]]:
        evidence = evidence_of(HUMP, axes=AXES)
        (part,) = parts_of({"kind": "any-of", "of": list(sides), "at": {"epsilon": [1.0], "p": [0.5]}}, evidence)
        (either,) = part.contrasts(evidence).of
        return part.doubled_tolerance(), [leaf.doubled for leaf in leaves_of(either)]

    assert doubled(of(">", 0.0), of("<", -0.1), of(">=", 0.1)) == (None, [None, None, None])
    said, lines = doubled(of(">", -0.1), of("<", -0.1), of("<=", 0.2))
    assert said == "a margin of -0.2 in place of -0.1 and a margin of 0.4 in place of 0.2"
    assert lines == [-0.2, None, 0.4]


def test_a_comparison_of_an_any_of_is_of_one_name_alone() -> None:
    frame = measured(lambda *_: 0.2)
    one = {"left": OF, "relation": "<", "right": {"value": 0.1}}
    several = {**one, "left": {**OF, "attack": ["x", "y"]}}
    with pytest.raises(ValueError, match="a comparison of an any-of lists several names"):
        parts_of({"kind": "any-of", "of": [one, several]}, evidence_of(frame, axes=AXES))


def test_a_comparison_reads_with_the_sign_of_its_margin() -> None:
    plain = {"kind": "compare", "left": OF, "relation": ">", "right": {"value": 0.2}}
    texts = {margin: PARSE({**plain, "margin": margin}).text() for margin in (0.0, 0.5, -0.5)}
    assert texts == {
        0.0: "advantage(a, x) > 0.2 for every epsilon",
        0.5: "advantage(a, x) > 0.2 + 0.5 for every epsilon",
        -0.5: "advantage(a, x) > 0.2 - 0.5 for every epsilon",
    }


def test_numbers_that_a_paper_prints_are_those_of_single_places() -> None:
    def printed(**more: Any) -> list[Any]:
        kind = {"kind": "close", "left": OF, "right": {"value": 0.2}, "tolerance": 0.1, **more}
        return [(of.attack, where, number) for of, where, number in PARSE(kind).printed_numbers()]

    assert printed(at=[1.0, 10.0]) == [("x", {"epsilon": epsilon}, 0.2) for epsilon in (1.0, 10.0)]
    assert printed(at={"p": [0.1], "epsilon": [1.0, np.inf]}) == [
        ("x", {"p": 0.1, "epsilon": epsilon}, 0.2) for epsilon in (1.0, np.inf)
    ]
    assert printed(left={**OF, "epsilon": 1.0}) == [("x", {"epsilon": 1.0}, 0.2)]
    assert printed() == printed(at={"p": [0.1]}) == []
    assert printed(at=[1.0], right={"axis": "p"}) == printed(**{"at": [1.0], "for": "some"}) == []


def test_a_bend_by_hand_in_each_repeat() -> None:
    frame = measured(lambda _, p, e: 0.3, sd=0.05)
    value = {
        p: of["value"].to_numpy() for p, of in frame[(frame["attack"] == "x") & (frame["epsilon"] == 1.0)].groupby("p")
    }
    asked = {"p": [0.1, 0.3, 0.9], "epsilon": [1.0]}
    for scale, share in (("linear", 0.25), ("log", np.log(3) / np.log(9))):
        kind = {"kind": "concave", "of": OF, "along": "p", "scale": scale, "margin": 0.01, "at": asked}
        (look,) = verdict(kind, frame).point_results
        line = (1 - share) * value[0.1] + share * value[0.9]
        above = value[0.3] - line - 0.01
        assert (look.left, look.right) == pytest.approx((value[0.3].mean(), line.mean()))
        assert look.support == pytest.approx(estimate(above).p_above(0))
        assert look.holds.tolist() == (above > 0).tolist()
        assert 0 < look.holds.sum() < len(above)


def test_correlations_are_weighed_by_the_outcome_that_the_split_drew() -> None:
    """As the mean of any number a repeat is, where each repeat has a correlation."""
    rng, drawn, rows = np.random.default_rng(5), np.array([0] * 8 + [1] * 4), []
    for epsilon, repeat in product((1.0, 2.0, 4.0, 8.0), range(12)):
        with_it = np.log(epsilon) * (1.0 if drawn[repeat] else 0.1)
        rows += [("a", "x", "advantage", epsilon, repeat, with_it + 0.3 * rng.standard_normal())]
        rows += [("a", "", "accuracy_test", epsilon, repeat, np.log(epsilon) + 0.1 * rng.standard_normal())]
        rows += [
            ("a", "", "count_outcome", epsilon, repeat, drawn[repeat]),
            ("a", "", "count_outcomes", epsilon, repeat, 2),
        ]
    table = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value"]).assign(stderr=0.0)
    one, two = (
        table[table["metric"] == m].pivot(index="epsilon", columns="repeat", values="value")
        for m in ("advantage", "accuracy_test")
    )
    each = np.arctanh([np.corrcoef(one[r], two[r])[0, 1] for r in one])
    answer = judge({"kind": "correlation", "left": OF, "right": {"metric": "accuracy_test"}, "above": 0.2}, table)
    expected = Fixed().mean(Series(each, np.zeros(12), drawn, 2))
    assert expected.mean == pytest.approx((each[:8].mean() + each[8:].mean()) / 2)
    assert answer.points[0].left == pytest.approx(np.tanh(expected.mean))
    assert answer.points[0].p_support == pytest.approx(expected.p_above(np.arctanh(0.2)))
    assert answer.point_results[0].holds.tolist() == (np.tanh(each) > 0.2).tolist()


def test_a_peak_by_hand() -> None:
    """Both gaps have to be there, so the larger p-value supports it; either end may oppose it."""
    frame = measured(lambda _, p, e: 0.3 + (0.1 if p == 0.1 else 0.0), sd=0.08)
    here = frame[(frame["attack"] == "x") & (frame["epsilon"] == 1.0)]
    value = {p: of["value"].to_numpy() for p, of in here.groupby("p")}
    peaks = {}
    for peak in RATES[1:-1]:
        kind = {"kind": "interior-peak", "of": OF, "along": "p", "peak": peak, "at": {"epsilon": [1.0]}, "margin": 0.02}
        (look,) = verdict(kind, frame).point_results
        gaps = [value[peak] - value[end] - 0.02 for end in (0.1, 0.9)]
        sides = [estimate(gap) for gap in gaps]
        below = min(bounded(side.p_below(0), 20) for side in sides)
        weak = max(sides, key=lambda side: side.p_above(0))
        assert look.support == pytest.approx(bounded(weak.p_above(0), 20))
        assert look.effect.mean == pytest.approx(weak.mean)
        assert look.oppose == pytest.approx(min(1.0, 2 * below))
        assert look.holds.tolist() == ((gaps[0] > 0) & (gaps[1] > 0)).tolist()
        peaks[peak] = look
    (either,) = verdict({**kind, "peak": None}, frame).point_results
    assert either.support == pytest.approx(min(1.0, 3 * min(look.support for look in peaks.values())))
    assert either.oppose == max(look.oppose for look in peaks.values())
    assert min(look.oppose for look in peaks.values()) < 1.0
    flat = measured(lambda _, p, e: 0.5 if p == 0.5 else 0.2)
    assert {point.p_oppose for point in verdict({**kind, "peak": 0.5}, flat).points} == {1.0}


def test_a_peak_has_to_be_on_the_grid_where_one_is_named() -> None:
    hump = {"kind": "interior-peak", "of": OF, "along": "p"}
    for peak in (None, 0.5):
        (part,) = parts_of({**hump, "peak": peak}, evidence_of(HUMP, axes=AXES))
        part.check(declared_by(HUMP, AXES))
    (part,) = parts_of({**hump, "peak": 0.4}, evidence_of(HUMP, axes=AXES))
    with pytest.raises(ValueError, match=r"p 0\.4 is not on the grid"):
        part.check(declared_by(HUMP, AXES))


def test_a_rank_correlation_reads_as_it_is_declared() -> None:
    of = {"metric": ["advantage", "auc"], "attack": ["x", "y"], "arm": ["a", "b"]}
    kind = {"kind": "rank-correlation", "of": of, "with": {"metric": "accuracy_test"}}
    both = "rank correlation of advantage/auc (x/y) and accuracy_test over the arms a, b"
    assert PARSE({**kind, "above": 0.5}).text() == f"{both} > 0.5 for every epsilon"
    assert PARSE({**kind, "below": -0.5}).text() == f"{both} < -0.5 for every epsilon"


@pytest.mark.parametrize(
    "kind",
    [
        {"kind": "correlation", "left": {"metric": "advantage", "attack": "x"}, "right": {"metric": "auc", "attack": "x"}},
        {"kind": "rank-correlation", "of": {"metric": "advantage", "attack": "x"}, "with": {"metric": "auc"}, "above": 0},
        {"kind": "variance-share", "of": {"metric": "advantage", "attack": "x"}, "axis": "p", "than": "epsilon"},
    ],
)  # fmt: skip
def test_what_is_asked_of_each_repeat_is_refused_of_a_summary(kind: dict[str, Any]) -> None:
    declared = declared_by(HUMP, AXES)
    part, *_ = PARSE(kind).parts(declared)
    part.check(declared)
    with pytest.raises(ValueError, match=f"{kind['kind']} needs the result of every repeat"):
        part.check(replace(declared, summary=True))


@pytest.mark.parametrize(("value", "outcome"), [(-0.3, "reproduced"), (-0.6, "violated")])
def test_a_factor_turns_a_bound_into_one_from_below(value: float, outcome: str) -> None:
    """Humphries' bound at epsilon 1 is 0.462; the point shows it with its sign, and no status of a bound."""
    frame = measured(lambda *_: value)
    bound = FORMULAS["humphries"].value({"epsilon": 1.0, "delta": 1e-5})
    declared = {"kind": "compare", "left": OF, "relation": ">=", "right": {"formula": "humphries", "times": -1}}
    result = verdict({**declared, "at": {"epsilon": [1.0]}}, frame)
    assert result.outcome == outcome
    assert result.points[0].right == pytest.approx(-bound, abs=1e-12)
    assert result.points[0].bound is None
    assert "-1 * humphries" in PARSE(declared).text()


def test_a_third_axis_may_be_fixed_where_two_explain_the_variance() -> None:
    """On the grid of p and epsilon at one q of two, p explains nearly all; at the other, epsilon does."""
    of_p = measured(lambda _, p, e: p + 0.001 * e).assign(q=1.0)
    of_epsilon = measured(lambda _, p, e: 0.05 * e + 0.01 * p).assign(q=2.0)
    evidence = evidence_of(pd.concat([of_p, of_epsilon], ignore_index=True), axes=("q", *AXES))
    for q, outcome in ((1.0, "reproduced"), (2.0, "violated")):
        kind = {"kind": "variance-share", "of": OF, "axis": "p", "than": "epsilon", "at": {"q": [q]}}
        assert judge(kind, evidence).outcome == outcome
