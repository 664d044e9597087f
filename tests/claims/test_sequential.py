"""Confidence sequences against the integral they are a closed form of, and verdicts that stop."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.afresh import replayed
from harness.claims import allocation
from harness.claims.allocation import CEILING, PILOT, next_look
from harness.claims.allocation import allocate_repeats as wanted_cells
from harness.claims.basis import basis_text
from harness.claims.design import DESIGNS, Sequential, design_of
from harness.claims.judgement import cells_used, first_deciding_look, hold_back_turned
from harness.claims.results import PartResult
from harness.claims.whole import is_decided
from harness.errors import HarnessError
from harness.inference import FEWEST
from harness.inference.t_mixture import t_mixture_cs
from harness.pipeline.context import Context, Options
from harness.progress import Progress
from harness.report.vocabulary import figure
from harness.spec.load import load_specs
from harness.spec.profile import Profile, scale
from harness.verdicts.check import judge_spec
from harness.verdicts.wanted import repeats_wanted
from tests.claims.judged import PARSE, TableEvidence, judge, look_at, plain
from tests.claims.judged import evidence_of as judged_evidence
from tests.conftest import SMALL_SPEC, run_cli


def frame(values: dict[tuple[str, float], Any]) -> pd.DataFrame:
    """Rows of `advantage` by attack x, from the values of each (arm, epsilon)."""
    rows = [
        (arm, "x", "advantage", epsilon, repeat, float(value), 0.0)
        for (arm, epsilon), series in values.items()
        for repeat, value in enumerate(series)
    ]
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


def wanted(*arguments: Any) -> dict[tuple[str, float], int]:
    """By arm and epsilon."""
    return plain(wanted_cells(*arguments))


def above(value: float, quantifier: str = "all", arm: str | None = None) -> Any:
    left = {"metric": "advantage", "arm": "a", "attack": "x"}
    right = {"value": value} if arm is None else {**left, "arm": arm}
    return PARSE({"kind": "compare", "left": left, "relation": ">", "right": right, "for": quantifier})


def judged(claim: Any, evidence: Any) -> list[PartResult]:
    return [judge(claim, evidence, 0.05, 0, 1)]


def noisy(mean: float, n: int, seed: int = 0, sd: float = 0.05) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, sd, n)


def evidence_of(values: dict[tuple[str, float], Any]) -> TableEvidence:
    return judged_evidence(frame(values), Sequential())


def test_a_verdict_is_that_of_the_first_look_that_decides() -> None:
    evidence = evidence_of({("a", 1.0): noisy(0.5, 40)})
    findings, stopped = first_deciding_look(partial(judged, above(0.4)), look_at(evidence))
    assert findings[0].outcome == "reproduced"
    assert stopped is not None
    assert FEWEST <= stopped < 20
    assert findings[0].points[0].repeats == stopped
    for n in range(2, 41):  # the search by halves finds what a look after every repeat finds
        assert is_decided(judged(above(0.4), look_at(evidence).take_first(n))) == (n >= stopped)


def turning(first: np.ndarray, rest: float, n: int = 16) -> np.ndarray:
    """Repeats that decide at once, and then as many of another mean as take the mean of all across the line."""
    return np.concatenate([first, noisy(rest, n, seed=3)])


@pytest.mark.parametrize(("start", "rest", "said"), [(0.3, 0.6, "violated"), (0.7, 0.4, "reproduced")])
def test_a_decision_that_all_repeats_turn_is_held_back(start: float, rest: float, said: str) -> None:
    """The first seven repeats decide on one side of 0.5; the mean of all lies on the other."""
    first = noisy(start, 7, sd=0.01)
    values = turning(first, rest)
    early, late = (judged(above(0.5), evidence_of({("a", 1.0): of})) for of in (first, values))
    assert early[0].outcome == said
    assert late[0].outcome == said, "the test itself stays with its first decisive look"
    assert bool(values.mean() > 0.5) is (said == "violated")
    (held,) = map(hold_back_turned, late)
    assert (held.outcome, held.p_value) == ("inconclusive", None)
    assert held.why.turned
    assert "the mean of all lies on the other side" in held.reason
    assert hold_back_turned(early[0]) is early[0]


def test_the_interval_of_a_mean_that_turned_holds_the_mean() -> None:
    values = turning(noisy(0.3, 7, sd=0.01), 0.6)
    (found,) = judged(above(0.5), evidence_of({("a", 1.0): values}))
    low, high = found.point_results[0].interval
    assert low <= found.point_results[0].effect.mean <= high


@pytest.mark.parametrize(
    ("quantifier", "means", "outcome"),
    [
        ("all", (0.5, 0.5, 0.5), "reproduced"),
        ("all", (0.5, 0.2, 0.5), "violated"),
        ("some", (0.2, 0.2, 0.5), "reproduced"),
        ("some", (0.2, 0.2, 0.2), "violated"),
    ],
)
def test_quantifiers_stop_with_the_right_verdict(quantifier: str, means: tuple[float, ...], outcome: str) -> None:
    evidence = evidence_of({("a", float(i)): noisy(mean, 40, i) for i, mean in enumerate(means)})
    findings, stopped = first_deciding_look(partial(judged, above(0.35, quantifier)), look_at(evidence))
    assert findings[0].outcome == outcome
    assert stopped is not None
    assert stopped < 20


def swinging(mean: float, by: float = 0.3, n: int = 8) -> np.ndarray:
    """Values to both sides of the mean in turns."""
    return mean + by * (-1.0) ** np.arange(n)


def test_repeats_go_where_an_open_claim_needs_them() -> None:
    clear, close, wrong = swinging(0.9, 0.01, 12), swinging(0.42), swinging(0.33)
    some, every = above(0.4, "some"), above(0.4)

    def needs(claim: Any, values: dict[tuple[str, float], Any], most: int = 40) -> dict[Any, int]:
        return wanted(judged(claim, evidence_of(values)), 0.05, most)

    assert needs(every, {("a", 1.0): clear, ("a", 2.0): close}) == {("a", 2.0): 9}
    assert needs(every, {("a", 1.0): close, ("a", 2.0): swinging(0.45)}) == {("a", 1.0): 9, ("a", 2.0): 9}
    # One on the wrong side would decide alone, so it goes first.
    assert needs(every, {("a", 1.0): close, ("a", 2.0): wrong}) == {("a", 2.0): 9}
    assert needs(some, {("a", 1.0): close, ("a", 2.0): wrong}) == {("a", 1.0): 9}
    assert needs(every, {("a", 1.0): clear}) == {}
    assert needs(some, {("a", 1.0): clear, ("a", 2.0): wrong}) == {}
    # Used up where it had to support: the rest cannot save the claim, and costs nothing more.
    assert needs(every, {("a", 1.0): close, ("a", 2.0): swinging(0.45, n=6)}, most=8) == {}
    # Both arms of a comparison.
    pair = {("a", 1.0): close, ("b", 1.0): swinging(0.4, 0.1)}
    assert needs(above(0.0, arm="b"), pair) == {("a", 1.0): 9, ("b", 1.0): 9}


def test_a_claim_with_a_part_that_is_not_run_asks_only_where_it_may_fail() -> None:
    left_out = PartResult("not run")

    def needs(*values: Any) -> dict[Any, int]:
        evidence = evidence_of({("a", float(i + 1)): v for i, v in enumerate(values)})
        return wanted([*judged(above(0.4), evidence), left_out], 0.05, 40)

    assert needs(swinging(0.42), swinging(0.45)) == {}  # it cannot be reproduced, and nothing speaks against it
    assert needs(swinging(0.42), swinging(0.33)) == {("a", 2.0): 9}  # one point may still violate it
    assert needs(swinging(0.9, 0.01)) == {}


def test_looks_grow_by_an_eighth_and_end_at_the_most() -> None:
    looks = [4]
    while looks[-1] < 40:
        looks.append(next_look(looks[-1], 40))
    assert looks[:6] == [4, 5, 6, 7, 8, 9]
    assert looks[-1] == 40
    assert all(b - a <= max(1, a // 8) for a, b in itertools.pairwise(looks))


def test_rounds_of_an_open_claim() -> None:
    """Two repeats first, then as many as decide at all, then an eighth more: from exactly that many on."""
    assert PILOT == 2

    def needs(n: int, mean: float = 0.45) -> dict[Any, int]:
        return wanted(judged(above(0.4), evidence_of({("a", 1.0): swinging(mean, n=n)})), 0.05, 40)

    assert needs(2) == {("a", 1.0): FEWEST}
    assert needs(FEWEST - 1) == {("a", 1.0): FEWEST}
    assert needs(FEWEST) == {("a", 1.0): FEWEST + 1}


def test_with_the_fewest_repeats_that_decide_what_is_out_of_reach_ends() -> None:
    def needs(n: int) -> dict[Any, int]:
        return wanted(judged(above(0.4), evidence_of({("a", 1.0): swinging(0.4001, n=n)})), 0.05, 8)

    assert needs(FEWEST - 2) == {("a", 1.0): FEWEST}
    assert needs(FEWEST) == {}


def test_before_p_values_tell_the_clearer_one_goes_first() -> None:
    """Of two points against a claim for all of them, by standard errors; and one without any spread before both."""

    def needs(*values: np.ndarray) -> dict[Any, int]:
        evidence = evidence_of({("a", float(i + 1)): v for i, v in enumerate(values)})
        return wanted(judged(above(0.4), evidence), 0.05, 40)

    far, near, flat = swinging(0.1, n=4), swinging(0.35, n=4), np.full(4, 0.39)
    assert needs(near, far) == {("a", 2.0): FEWEST}
    assert needs(far, near) == {("a", 1.0): FEWEST}
    assert needs(far, near, flat) == {("a", 3.0): FEWEST}


def test_a_part_that_is_used_up_ends_the_others_unless_they_may_fail() -> None:
    def needs(*means: float, most: int = 8) -> dict[Any, int]:
        result = [
            finding
            for i, mean in enumerate(means)
            for finding in judged(above(0.4), evidence_of({("a", i + 1.0): swinging(mean, n=most if i == 0 else 6)}))
        ]
        return wanted(result, 0.05, most)

    assert needs(0.42, 0.6) == {}
    assert needs(0.42, 0.2) == {("a", 2.0): 7}


def test_of_several_parts_the_one_that_speaks_most_clearly_against_the_claim_goes_first() -> None:
    """It alone would violate the claim. Where none does, each has to hold, so each gets repeats."""

    def needs(*means: float, whole: bool = False) -> dict[Any, int]:
        result = [
            judge(above(0.4), evidence_of({("a", i + 1.0): swinging(mean, n=20)}), 0.05, i, len(means))
            for i, mean in enumerate(means)
        ]
        return wanted(result, 0.05, 40, 60, whole)

    assert needs(0.5, 0.48) == {("a", 1.0): 22, ("a", 2.0): 22}
    assert needs(0.5, 0.3) == needs(0.5, 0.3, 0.5) == {("a", 2.0): 22}
    assert needs(0.32, 0.5, 0.28) == {("a", 3.0): 22}
    assert set(needs(0.5, 0.28, whole=True)) == {("a", 2.0)}


def test_of_several_parts_the_clearest_is_told_by_p_values_not_by_standard_errors() -> None:
    few, many = swinging(0.25, 0.15, 6), swinging(0.28, 0.25, 24)
    result = [
        judge(above(0.4), evidence_of({("a", i + 1.0): values}), 0.05, i, 2) for i, values in enumerate((few, many))
    ]
    effects = [f.point_results[0].effect for f in result]
    assert effects[0].p_below(0) < effects[1].p_below(0)
    assert effects[0].mean / effects[0].stderr > effects[1].mean / effects[1].stderr  # both are negative
    assert wanted(result, 0.05, 40) == {("a", 1.0): 7}


def test_past_the_specs_repeats_only_what_may_be_decided_goes_on() -> None:
    def needs(*means: float, quantifier: str = "all", whole: bool = False) -> dict[Any, int]:
        evidence = evidence_of({("a", float(i + 1)): swinging(mean, n=20) for i, mean in enumerate(means)})
        return wanted(judged(above(0.4, quantifier), evidence), 0.05, 20, 60, whole)

    assert needs(0.55) == {("a", 1.0): 22}
    assert 22 < needs(0.55, whole=True)[("a", 1.0)] < 60  # where it is expected to be decided
    assert needs(0.45) == {}  # not within three times the repeats
    assert needs(0.25) == {("a", 1.0): 22}
    # One point out of reach, and the claim for all of them with it; unless another may still violate it.
    assert needs(0.55, 0.41) == {}
    assert needs(0.55, 0.41, 0.2) == {("a", 3.0): 22}
    assert needs(0.25, 0.39, quantifier="some") == {}
    assert needs(0.25, 0.39, 0.6, quantifier="some") == {("a", 3.0): 22}
    evidence = evidence_of({("a", 1.0): swinging(0.55, n=20)})
    assert wanted(judged(above(0.4), evidence), 0.05, 20) == {}


def test_repeats_past_the_specs_are_paid_for_by_what_was_saved(make_project: Any) -> None:
    """A third of the fixed design's models, 80 of 240, is what a run may use before it keeps to the spec's repeats."""
    loaded = load_specs(make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 40")), [])[0]
    scaled = scale(loaded.spec, "until", Profile())
    bound = math.tanh(0.5)

    def needs(below: float, others: int = 6, undecided: int = 40, there: int = 2) -> dict[str, dict[Any, int]]:
        near = swinging(bound - below, 0.06, undecided)
        values = {("size", e): swinging(0.9, 0.01, others) for e in (1.0, 10.0, math.inf)}
        values |= {("iid", 1.0): near, ("iid", 10.0): swinging(0.2, 0.01, 6), ("iid", math.inf): swinging(0.2, 0.01, 6)}
        table = frame(values).assign(attack="logloss")
        counts = [
            {"arm": "iid", "attack": "", "metric": f"count_{k}", "epsilon": 1.0, "repeat": r, "value": v, "stderr": 0.0}
            for k, v in (("rows", 569), ("members", 120))
            for r in range(there)
        ]
        table = pd.concat([table, pd.DataFrame(counts)], ignore_index=True)
        table.attrs["design"] = "sequential"
        return {claim: plain(cells) for claim, cells in repeats_wanted(scaled, table).items()}

    assert needs(0.03) == {"iid-held": {("iid", 1.0): 45}}
    assert needs(0.03, others=9) == {}  # 79 models by now
    assert needs(0.03, others=9, there=100) == {"iid-held": {("iid", 1.0): 45}}  # models that another claim has trained
    assert needs(0.022, others=9, there=45) == {}
    assert needs(0.033, others=9, there=42) == {}  # the next look would train three
    assert needs(0.022) == {}  # expected to take more than are left
    assert needs(0.004) == {}  # out of reach
    assert needs(0.004, undecided=20) == {
        "iid-held": {("iid", 1.0): 22}
    }  # within the spec's own repeats all are pursued
    assert (scaled.repeat_limit, scaled.repeat_factor) == (120, 3)
    scaled = scale(loaded.spec, "until", Profile(max_repeats=500))
    assert (scaled.repeat_limit, scaled.repeat_factor) == (500, 13)
    assert needs(0.022) == needs(0.03, others=9) == {"iid-held": {("iid", 1.0): 45}}  # a profile that reaches further


def test_where_time_is_short_claims_that_need_the_fewest_models_go_first(
    make_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SMALL_SPEC.replace("repeats: 2", "repeats: 40").partition("  - id: biased-beats-iid")[0]
    for name, epsilon in (("near", 1.0), ("alike", 10.0), ("far", ".inf")):
        left = f"{{metric: advantage, arm: iid, attack: logloss, at: {{epsilon: {epsilon}}}}}"
        expect = f"{{kind: compare, left: {left}, relation: '>', right: {{value: 0.5}}}}"
        text += f"  - {{id: {name}, where: here, statement: It is above a half., expect: {expect}}}\n"
    scaled = scale(load_specs(make_project(text), [])[0].spec, "until", Profile())
    values = {("iid", 1.0): swinging(0.56, 0.05, 7), ("iid", 10.0): swinging(0.56, 0.055, 7)}
    values |= {("iid", math.inf): swinging(0.53, 0.08, 7)}
    table = frame(values).assign(attack="logloss")
    table.attrs["design"] = "sequential"
    every = repeats_wanted(scaled, table)
    assert {"near", "alike", "far"} == every.keys()
    first = repeats_wanted(scaled, table, cheapest=True)
    assert {"near", "alike"} == first.keys()
    assert all(first[claim] == every[claim] for claim in first)

    def chosen(times: float) -> set[str]:
        monkeypatch.setattr(allocation, "CHEAPEST_FACTOR", times)
        return set(repeats_wanted(scaled, table, cheapest=True))

    assert chosen(1) == {"near"}
    assert chosen(7) == {"near", "alike"}  # as far as the profile's repeats go, not the spec's
    assert chosen(9) == {"near", "alike", "far"}


def test_arms_with_different_repeats_are_paired_by_the_first_ones() -> None:
    evidence = evidence_of({("a", 1.0): noisy(0.5, 12), ("b", 1.0): noisy(0.3, 7, 1)})
    point = judged(above(0.0, arm="b"), evidence)[0].points[0]
    assert point.repeats == 7


def test_a_correlation_that_some_repeats_lack_still_asks_for_more() -> None:
    """Repeats in which a metric does not vary have no correlation; they count as looked at, so that asking ends."""
    rng = np.random.default_rng(1)
    values = {("a", e): np.where(np.arange(8) < 4, 0.5, rng.normal(0.5, 0.1, 8)) for e in (1.0, 2.0, 3.0)}
    claim = PARSE(
        {
            "kind": "correlation",
            "left": {"metric": "advantage", "arm": "a", "attack": "x"},
            "right": {"metric": "advantage", "arm": "a", "attack": "x", "times": 2},
            "above": 0.5,
        }
    )
    result = judge(claim, evidence_of(values), 0.05, 0, 1)
    assert result.points[0].repeats == 8
    assert wanted([result], 0.05, 40) == dict.fromkeys(values, 9)
    assert wanted([result], 0.05, 8) == {}


def test_an_unknown_design_is_one_line() -> None:
    table = frame({("a", 1.0): [0.1, 0.2]})
    assert design_of(table).name == "fixed"
    table.attrs["design"] = "lucky"
    with pytest.raises(HarnessError, match=r"unknown design 'lucky'; known: fixed, sequential"):
        design_of(table)
    assert set(DESIGNS) == {"fixed", "sequential"}


@pytest.mark.integration
def test_a_run_until_decided(make_project: Any) -> None:
    """On a real table: fewer cells than the fixed design, the same verdicts, and the same cells when run again."""
    project = make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 14"))
    (project.root / "params.yaml").write_text("profile: full\nprofiles:\n  full: {}\n  until: {design: sequential}\n")
    assert run_cli(project.root, "run", "--profile", "until").returncode == 0
    path = project.reports / "until" / "own" / "cancer" / "measurements.parquet"
    table, before = pd.read_parquet(path), path.read_bytes()
    assert table.attrs["design"] == "sequential"
    counts = table.groupby(["arm", "epsilon"])["repeat"].nunique()
    assert counts.min() == PILOT
    assert counts.sum() < 6 * 14
    again = run_cli(project.root, "run", "--profile", "until")
    assert again.returncode == 0
    assert path.read_bytes() == before
    assert run_cli(project.root, "run", "--until-decided").returncode == 0  # the flag does what the profile does
    flagged = pd.read_parquet(project.reports / "full" / "own" / "cancer" / "measurements.parquet")
    pd.testing.assert_frame_equal(flagged, table)

    loaded = load_specs(project, [])[0]
    scaled = scale(loaded.spec, "until", Profile())
    assert repeats_wanted(scaled, table) == {}
    whole = pd.concat([table, table.assign(repeat=table["repeat"] + counts.max())])  # as if there were more of them
    whole.attrs = table.attrs
    pd.testing.assert_frame_equal(replayed(scaled, whole), table)
    verdicts = {v.id: v for v in judge_spec(scaled, loaded.sha256, table)}
    held = verdicts["own/cancer#iid-held"]
    assert (held.verdict, held.numbers.design, held.rests_on.reductions) == ("reproduced", "sequential", ())
    assert held.numbers.stopped is not None
    assert held.numbers.models is not None
    assert held.numbers.models_fixed == 2 * 14
    assert held.numbers.models <= held.numbers.stopped * 2
    page = (project.reports / "until/site/claims/own-cancer--iid-held.html").read_text()
    assert f"Runs were added until it was decided, first after {held.numbers.stopped}." in page
    assert f"{held.numbers.points[0].holds} of {held.numbers.points[0].repeats}</td>" in page
    # The bound at epsilon 1 holds of models without noise, too: a test of it cannot fail here.
    assert "Could not have failed: it is met by models without protection in 100% of draws." in page
    beats = verdicts["own/cancer#biased-beats-iid"]
    page = (project.reports / "until/site/claims/own-cancer--biased-beats-iid.html").read_text()
    assert beats.verdict == "reproduced"
    assert basis_text(beats) in page
    # The t-test of so few runs cannot reach the target, and no basis was asked for that would make it go on.
    assert counts["size"].max() == 10
    assert beats.numbers.p_anytime is not None
    assert 1 / beats.numbers.p_anytime <= 32.0 + 1e-9
    evidence = figure(1 / beats.numbers.p_anytime)
    assert (
        f"it does not stand: over all its runs 1 over its two-sided p-value is {evidence}, and the target is 100."
        in page
    )


@pytest.mark.integration
def test_where_bets_are_to_decide_a_run_goes_on_until_verdicts_stand(make_project: Any) -> None:
    """Claims that the t-test has decided get more repeats until it reaches the target of those that stand."""
    project = make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 14"))
    (project.root / "params.yaml").write_text(
        "profile: until\nprofiles:\n  until: {design: sequential, basis: distribution-free}\n"
    )
    assert run_cli(project.root, "run").returncode == 0
    folder = project.reports / "until"
    table = pd.read_parquet(folder / "own" / "cancer" / "measurements.parquet")
    counts = table.groupby(["arm", "epsilon"])["repeat"].nunique()
    for arm in ("size", "iid"):  # 1/200 is above (2/3)^n from fourteen on; no claim is of models without noise
        assert counts[arm][[1.0, 10.0]].min() >= 14
        assert counts[arm][math.inf] == PILOT
    judged = {v["id"]: v for v in json.loads((folder / "verdicts.json").read_text())["verdicts"]}
    beats = judged["own/cancer#biased-beats-iid"]
    assert beats["verdict"] == "reproduced"
    assert beats["numbers"]["p_anytime"] <= 0.01
    page = (folder / "site/claims/own-cancer--biased-beats-iid.html").read_text()
    assert beats["numbers"]["stands"]
    how = {"bets": "by bets alone", "t-test": "by the t-test"}[beats["numbers"]["stands_by"]]
    assert f"it stands {how} at a false discovery rate of 5%." in page


@pytest.mark.integration
def test_a_run_that_was_stopped_is_judged_on_what_is_there(make_project: Any) -> None:
    """Cells may have different repeats; a claim still open is inconclusive, and the verdict says that it was stopped."""
    project = make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 14"))
    (project.root / "params.yaml").write_text(
        "profile: until\nprofiles:\n  until: {design: sequential}\n  short: {repeats: 3}\n"
    )
    assert run_cli(project.root, "run", "--profile", "short").returncode == 0
    refused = run_cli(make_project(where="empty").root, "run", "--partial")
    assert (refused.returncode, "no repeat is trained completely yet" in refused.stderr) == (2, True)
    assert run_cli(project.root, "run", "--partial").returncode == 0
    written = project.reports / "until" / "own" / "cancer" / "verdicts.json"
    judged = json.loads(written.read_text())["verdicts"]
    held = next(v for v in judged if v["id"].endswith("iid-held"))
    assert (held["verdict"], bool(held["rests_on"]["reductions"]), held["numbers"]["stopped"]) == (
        "inconclusive",
        True,
        None,
    )
    assert held["rests_on"]["reductions"] == ["stopped while 2 claims asked for more repeats"]
    assert "stopped while 2 claims" in (project.reports / "until/site/claims/own-cancer--iid-held.html").read_text()
    assert run_cli(project.root, "run").returncode == 0  # goes on, and then none asks any more
    judged = json.loads(written.read_text())["verdicts"]
    assert {tuple(v["rests_on"]["reductions"]) for v in judged} == {()}


@pytest.mark.integration
def test_a_run_of_so_many_minutes(make_project: Any) -> None:
    """Out of time it begins nothing and says so; the same command goes on; with more reach an open claim gets more."""
    project = make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 14"))
    (project.root / "params.yaml").write_text("profile: until\nprofiles:\n  until: {design: sequential}\n")
    none = run_cli(project.root, "run", "--minutes", "0.0001")
    assert none.returncode == 0, none.stderr
    assert "out of time, own/cancer is not finished; finished pieces are kept" in none.stderr
    path = project.reports / "until" / "own" / "cancer" / "measurements.parquet"
    assert not path.exists()
    assert run_cli(project.root, "run", "--stage", "attack").returncode == 0
    before = path.read_bytes()
    # Everything that it asks for is there, so it has no need of time.
    late = run_cli(project.root, "run", "--minutes", "0.0001")
    assert (late.returncode, "out of time" in late.stderr) == (0, False)
    assert path.read_bytes() == before
    assert (path.parent / "advantage.csv").is_file()

    profile = Profile(design="sequential", max_repeats=7)
    loaded = load_specs(project, [])[0]
    context = Context(project, "until", profile, 1, Progress(True))
    assert context.resolve(loaded).scaled.repeat_limit == 14  # never fewer than the spec's
    for repeats in (20, 60):
        asked = replace(context, options=Options(max_repeats=repeats))
        assert asked.resolve(loaded).scaled.repeat_limit == repeats


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--minutes", "0"), "give more than 0"),
        (("--max-repeats", "9"), "give --until-decided too, or a profile with `design: sequential`"),
    ],
)
def test_a_bound_that_bounds_nothing_is_refused(make_project: Any, words: tuple[str, ...], says: str) -> None:
    ran = run_cli(make_project().root, "run", *words)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.integration
def test_partial_and_until_decided_exclude_each_other(make_project: Any) -> None:
    ran = run_cli(make_project().root, "run", "--partial", "--until-decided")
    assert ran.returncode == 2
    assert "give one of them" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.integration
@pytest.mark.parametrize("figure", ["fig4"])  # those of the profile `paper` that have a table
def test_the_papers_figures_are_decided_with_a_third_of_the_cells(figure: str) -> None:
    """The committed tables of 40 repeats, replayed: with at most a third of its models no other verdict than the fixed
    design's, and at most one that is still open."""
    from benchmarks.sequential import compared, tables
    from harness.commands.common import context_for, load, project_here

    loaded = load(project_here(), [f"humphries2020/{figure}"])[0]
    table, past = tables(loaded)
    assert table is not None
    result = compared(context_for("paper", None, True).resolve(loaded).scaled, loaded.sha256, table, past)
    assert result["repeats"] == 40
    assert result["share"] <= 1 / 3
    differing = {c: v["sequential"] for c, v in result["claims"].items() if v["sequential"] != v["fixed"]}
    assert set(differing.values()) <= {"inconclusive"}
    assert len(differing) <= 1


def test_what_counts_as_decided() -> None:
    def of(*outcomes: str) -> bool:
        return is_decided([PartResult(o) for o in outcomes])  # type: ignore[arg-type]

    assert of("violated", "inconclusive")
    assert of("reproduced", "not run")
    assert not of("not run")
    assert not of("reproduced", "inconclusive")
    assert not of("inconclusive")


def test_after_the_first_round_six_repeats_are_asked_for() -> None:
    evidence = evidence_of({("a", 1.0): swinging(0.42, n=PILOT)})
    assert wanted(judged(above(0.4), evidence), 0.05, 40) == {("a", 1.0): FEWEST}
    assert wanted(judged(above(0.4), evidence), 0.05, 4) == {("a", 1.0): 4}
    same = evidence_of({("a", 1.0): np.full(PILOT, 0.5), ("a", 2.0): np.full(PILOT, 0.3)})
    assert wanted(judged(above(0.4), same), 0.05, 40) == {("a", 2.0): FEWEST}
    # Of several on the wrong side the one that is so by the most standard errors.
    far = evidence_of({("a", 1.0): swinging(0.3, 0.2, 4), ("a", 2.0): swinging(0.35, 0.01, 4)})
    assert wanted(judged(above(0.4), far), 0.05, 40) == {("a", 2.0): FEWEST}


def test_a_point_is_given_up_where_three_times_the_repeats_would_not_decide() -> None:
    """By 1.5 standard errors in its favour, before the spec's repeats are used up."""
    assert CEILING == 3

    def needs(mean: float, n: int) -> dict[Any, int]:
        return wanted(judged(above(0.4), evidence_of({("a", 1.0): swinging(mean, n=n)})), 0.05, 40)

    result = t_mixture_cs(swinging(0.4, n=36) - 0.4, np.zeros(36))
    reach = next(e for e in np.arange(0.0, 0.3, 0.001) if result.shift(e).project_repeats(0.025, 120) is not None)
    given_up = 0.4 + reach - 1.5 * result.stderr
    assert needs(given_up + 0.005, 36) == {("a", 1.0): 40}
    assert needs(given_up - 0.005, 36) == {}


def test_levels_of_several_parts_and_points_decide_what_is_asked() -> None:
    """A point that supports at the part's level needs no more, though it would not turn a claim for some point."""
    at = next(
        m for m in np.arange(0.4, 1.0, 0.002) if t_mixture_cs(swinging(m, 0.2, 12), np.zeros(12)).p_above(0.4) < 0.02
    )
    assert t_mixture_cs(swinging(at, 0.2, 12), np.zeros(12)).p_above(0.4) > 0.0125
    both = evidence_of({("a", 1.0): swinging(at, 0.2, 12), ("a", 2.0): swinging(0.46, n=12)})
    assert wanted(judged(above(0.4), both), 0.05, 40) == {("a", 2.0): 13}
    # For some point it has to be at half the level, of two points.
    some = evidence_of({("a", 1.0): swinging(at, 0.2, 12), ("a", 2.0): swinging(0.2, n=12)})
    assert wanted(judged(above(0.4, "some"), some), 0.05, 40) == {("a", 1.0): 13}


def test_levels_of_several_parts_for_some_point() -> None:
    """Against a claim of two parts a point for some has to be at half the level, and then needs no more."""
    at = next(
        m for m in np.arange(0.4, 0.0, -0.002) if t_mixture_cs(swinging(m, 0.2, 12), np.zeros(12)).p_below(0.4) < 0.02
    )
    evidence = evidence_of({("a", 1.0): swinging(at, 0.2, 12), ("a", 2.0): swinging(0.35, n=12)})
    finding = judge(above(0.4, "some"), evidence, 0.05, 0, 2)
    assert 0.0125 < finding.points[0].p_oppose < 0.025
    assert wanted([finding], 0.05, 40) == {("a", 2.0): 13}
    open_ = PartResult("inconclusive", finding.point_results, quantifier="some")
    assert set(wanted([open_, open_], 0.05, 40)) == {("a", 1.0), ("a", 2.0)}


def test_models_that_a_verdict_stands_on() -> None:
    evidence = evidence_of({("a", 1.0): noisy(0.5, 12), ("a", 2.0): noisy(0.5, 7), ("b", 2.0): noisy(0.3, 9, 1)})
    result = [*judged(above(0.4), evidence), *judged(above(0.0, arm="b"), evidence)]
    assert cells_used(result) == (12 + 7 + 7, 3)
    nobody = [replace(f, point_results=tuple(replace(k, counted=0) for k in f.point_results)) for f in result]
    assert cells_used(nobody) == (0, 3)
