"""What had been seen when a claim was declared, or last changed, is no test of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.claims.later import leave_out_seen
from harness.claims.words import Certainty
from harness.coordinates import Cell, place
from harness.paths import Project
from harness.pipeline.context import Context
from harness.pipeline.declaring import put_new_on_record
from harness.progress import Progress
from harness.report.claim_page import declared_text
from harness.spec.declared import assertion_of, read_records, tables_of
from harness.spec.load import Loaded, load_specs
from harness.spec.profile import Profile, scale
from harness.spec.recording import put_on_record
from harness.verdicts.check import judge_spec
from harness.verdicts.multiplicity import correct_for_all_claims
from harness.verdicts.publish import publish
from harness.verdicts.wanted import repeats_wanted
from tests.conftest import SMALL_SPEC, committed_specs, run_cli
from tests.verdicts.test_basis import around, table_of

Make = Callable[..., Project]
SPEC = SMALL_SPEC.replace("repeats: 2", "repeats: 10")
Values = dict[tuple[str, float], Any]


def cells(by_arm: Mapping[str, int]) -> dict[Cell, int]:
    return {(arm, place({"epsilon": e})): n for arm, n in by_arm.items() for e in (1.0, 10.0, math.inf)}


def same_everywhere(size: Any, iid: Any) -> Values:
    return {(arm, e): v for arm, v in (("size", size), ("iid", iid)) for e in (1.0, 10.0, math.inf)}


def declared_after(project: Project, seen: Mapping[str, int]) -> Loaded:
    """The spec, put on record when so many repeats of each arm had been measured."""
    (one,) = load_specs(project, [])
    put_on_record(project, [one.spec], lambda _: cells(seen))
    table = project.reports / "full" / "own" / "cancer" / "measurements.parquet"
    table.parent.mkdir(parents=True, exist_ok=True)
    table.touch()  # something is measured
    (again,) = load_specs(project, [])
    return again


def judge(loaded: Loaded, values: Values, claim: str = "biased-beats-iid") -> Any:
    scaled = scale(loaded.spec, "made-up", Profile())
    (found,) = [v for v in judge_spec(scaled, "0", table_of(values, "sequential")) if v.id.endswith(f"#{claim}")]
    declared = next(one for one in loaded.spec.claims if one.id == claim)
    return publish(found, declared, scaled, ())


def test_a_claim_is_judged_on_the_runs_since_it_was_declared(make_project: Make) -> None:
    """Eight runs say yes, and twenty-four after them no."""
    turned = same_everywhere(np.r_[around(0.9, 8), around(0.2, 24)], np.r_[around(0.1, 8), around(0.6, 24)])
    found = judge(declared_after(make_project(SPEC), {"size": 8, "iid": 8}), turned)
    assert (found.verdict, found.rests_on.seen, found.rests_on.exploratory) == ("violated", 8, False)
    assert {point.repeats for point in found.numbers.points} <= set(range(6, 25))
    assert all(point.left == pytest.approx(0.2, abs=0.02) for point in found.numbers.points)


def test_sides_of_which_unlike_numbers_had_been_seen_are_judged_where_both_are_new(make_project: Make) -> None:
    loaded = declared_after(make_project(SPEC), {"size": 2, "iid": 9})
    found = judge(loaded, same_everywhere(around(0.9, 25), around(0.1, 25)))
    assert (found.verdict, found.rests_on.seen, found.rests_on.exploratory) == ("reproduced", 9, False)
    assert {point.repeats for point in found.numbers.points} == {16}
    # Nothing is known of a place at which one side has no new run.
    early = judge(loaded, same_everywhere(around(0.9, 25), around(0.1, 9)))
    assert (early.verdict, early.certainty) == ("reproduced", Certainty.EXPLORATORY)


def test_what_takes_runs_that_had_been_seen_is_exploratory_and_does_not_stand(make_project: Make) -> None:
    project, clear = make_project(SPEC), same_everywhere(around(0.9, 30), around(0.1, 30))
    before = judge(load_specs(project, [])[0], clear)
    assert (before.verdict, before.rests_on.seen, before.certainty) == ("reproduced", 0, Certainty.BY_ITSELF)
    found = judge(declared_after(project, {"size": 27, "iid": 27}), clear)
    assert (found.verdict, found.rests_on.seen, found.certainty) == ("reproduced", 27, Certainty.EXPLORATORY)
    assert [v.numbers.stands for v in correct_for_all_claims([before])] == [True]
    (corrected,) = correct_for_all_claims([found])
    assert (corrected.numbers.stands, corrected.numbers.p_catalogue) == (False, 1.0)
    assert corrected.certainty is Certainty.EXPLORATORY


def test_a_claim_that_is_not_on_record_as_it_is_has_seen_all_there_is(make_project: Make) -> None:
    project = make_project(SPEC)
    declared_after(project, {"size": 0, "iid": 0})
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(path.read_text().replace("The size split leaks more", "That split leaks far more"))
    (reworded,) = load_specs(project, [])
    clear = same_everywhere(around(0.9, 30), around(0.1, 30))
    assert judge(reworded, clear).certainty is Certainty.BY_ITSELF
    path.write_text(path.read_text().replace('relation: ">"', 'relation: ">="'))
    (changed,) = load_specs(project, [])
    assert judge(changed, clear).certainty is Certainty.EXPLORATORY
    assert judge(changed, clear, "counts").certainty is Certainty.COUNTED  # nothing of it varies
    assert changed.spec.seen_before("iid-held") == {}


def test_a_page_says_whether_a_claim_came_before_its_runs(make_project: Make) -> None:
    def said(spec: Any) -> set[str]:
        return {declared_text(spec, claim) for claim in spec.claims}

    project = make_project(SPEC)
    assert said(load_specs(project, [])[0].spec) == {""}  # no record is kept
    early, late = ({"size": n, "iid": n} for n in (0, 5))
    assert said(declared_after(project, early).spec) == {
        "The claim was written before any run of its spec was measured."
    }
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(path.read_text().replace('relation: ">"', 'relation: ">="'))
    changed = load_specs(project, [])[0].spec
    assert declared_text(changed, changed.claims[0]).startswith("The claim is not on record as it is")
    (project.specs / "declared.json").unlink()
    text = "The claim was written, or last edited, after runs of its spec had been measured."
    assert said(declared_after(project, late).spec) == {text}
    theory = [spec for spec in (one.spec for one in committed_specs()) if spec.experiment is None]
    assert {text for spec in theory for text in said(spec)} == {""}


def test_open_claims_are_open_whatever_had_been_seen(make_project: Make) -> None:
    found = judge(declared_after(make_project(SPEC), {"size": 3, "iid": 3}), same_everywhere(around(0.5, 4), [0.1] * 4))
    assert (found.verdict, found.certainty, found.rests_on.seen) == ("inconclusive", None, 0)


@settings(deadline=None)
@given(
    left=st.integers(0, 9),
    right=st.integers(0, 9),
    n=st.tuples(st.integers(10, 20), st.integers(10, 20)),
    seed=st.integers(0, 99),
)
def test_sides_are_paired_by_the_repeats_that_neither_had_seen(
    left: int, right: int, n: tuple[int, int], seed: int
) -> None:
    from harness.claims.design import in_step
    from harness.claims.series import all_series

    rng = np.random.default_rng(seed)
    values = {("size", 1.0): rng.random(n[0]), ("iid", 1.0): rng.random(n[1])}
    seen = {("size", place({"epsilon": 1.0})): left, ("iid", place({"epsilon": 1.0})): right}
    later = leave_out_seen(table_of(values, "sequential"), seen, ["epsilon"])
    series = {key[0]: one for key, one in all_series(later, ["advantage"]).items()}
    a, b = in_step([series["size"], series["iid"]])
    common = slice(max(left, right), min(n))
    np.testing.assert_array_equal(a.values, values["size", 1.0][common])
    np.testing.assert_array_equal(b.values, values["iid", 1.0][common])
    difference = series["size"].subtract(series["iid"])
    np.testing.assert_allclose(difference.values, a.values - b.values)
    assert difference.start == common.start


def test_numbers_of_several_runs_start_with_a_group_that_nobody_had_seen() -> None:
    """Groups of five, of which six runs had been seen: the second group has one of them."""
    rows = [("a", "x", "exposed_in_every_run_at_1pct_fpr", 1.0, r, float(r), 0.0) for r in (4, 9, 14, 19)]
    rows += [("a", "x", "accuracy_loss_nonmembers", 1.0, r, float(r), 0.0) for r in range(20)]
    rows += [("a", "", "count_rows", 1.0, r, 9.0, 0.0) for r in range(20)]
    table = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])
    seen = {("a", place({"epsilon": 1.0})): 6, ("a", place({"epsilon": math.inf})): 8}
    later = leave_out_seen(table, seen, ["epsilon"])
    by_metric = {name: of["value"].tolist() for name, of in later.groupby("metric")}
    assert by_metric["exposed_in_every_run_at_1pct_fpr"] == [14.0, 19.0]
    assert later.loc[later.metric.str.startswith("exposed"), "repeat"].tolist() == [4, 9]
    # A loss is relative to the model without noise, of which eight had been seen.
    assert by_metric["accuracy_loss_nonmembers"] == [*map(float, range(8, 20))]
    assert len(by_metric["count_rows"]) == 20


def test_claims_written_in_sight_of_results_are_wrong_no_more_often_than_their_level(make_project: Make) -> None:
    """Of arms alike, a claim is written that says what eight runs say most clearly; thirty runs are measured in all."""
    project, rng = make_project(SPEC), np.random.default_rng(5)
    loaded = declared_after(project, {"size": 8, "iid": 8})
    wrong = exploratory = 0
    n = 100
    for _ in range(n):
        size, iid = rng.normal(0.5, 0.1, (2, 3, 30))
        if np.mean((size - iid)[:, :8].mean(axis=1) > 0) < 1:  # the writer looks on, at another pair of arms
            size[:, :8], iid[:, :8] = np.maximum(size, iid)[:, :8], np.minimum(size, iid)[:, :8]
        values = {
            (arm, e): v
            for arm, of in (("size", size), ("iid", iid))
            for e, v in zip((1.0, 10.0, math.inf), of, strict=True)
        }
        found = judge(loaded, values)
        if found.verdict == "reproduced":
            exploratory += found.rests_on.exploratory
            wrong += not found.rests_on.exploratory
    assert exploratory > 0.2 * n
    assert wrong <= 0.05 * n + 2 * math.sqrt(0.05 * 0.95 * n)


def test_a_profile_that_asks_for_more_than_a_verdict_goes_on_with_new_runs(make_project: Make) -> None:
    loaded = declared_after(make_project(SPEC), {"size": 12, "iid": 12})
    table = table_of(same_everywhere(around(0.9, 14), around(0.1, 14)), "sequential")
    more = scale(loaded.spec, "made-up", Profile(design="sequential", basis="distribution-free", max_repeats=60))
    wanted = repeats_wanted(more, table)["biased-beats-iid"]
    assert {n for (cell, _), n in wanted.items() if dict(cell[1])["epsilon"] != math.inf} == {12 + 6}
    plain = scale(loaded.spec, "made-up", Profile(design="sequential", max_repeats=60))
    assert "biased-beats-iid" not in repeats_wanted(plain, table)


def test_runs_go_on_until_a_claim_reaches_both_targets(make_project: Make) -> None:
    loaded = declared_after(make_project(SPEC), {"size": 12, "iid": 12})
    more = scale(loaded.spec, "made-up", Profile(design="sequential", basis="distribution-free", max_repeats=90))
    asked = {}
    for n in (26, 32, 38, 60):
        values = same_everywhere(around(0.8, n), around(0.3, n))
        found = judge(loaded, values)
        numbers = found.numbers
        assert (found.verdict, found.rests_on.exploratory) == ("reproduced", False)
        reached = numbers.p_anytime <= 0.01, numbers.p_by_bets <= 0.001
        asked[reached] = "biased-beats-iid" in repeats_wanted(more, table_of(values, "sequential"))
    assert asked == {(True, False): True, (True, True): False} | {k: True for k in asked if not k[0]}


def test_a_run_of_limited_time_confirms_a_claim_before_it_pursues_an_open_one_that_takes_more(
    make_project: Make,
) -> None:
    loaded = declared_after(make_project(SPEC), {"size": 12, "iid": 12})
    near = np.where(np.arange(14) % 2, 0.2, 0.7)  # about the bound at an epsilon of 1
    values = same_everywhere(around(0.9, 14), around(0.1, 14)) | {("iid", 1.0): near}
    table = table_of(values, "sequential")
    more = scale(loaded.spec, "made-up", Profile(design="sequential", basis="distribution-free", max_repeats=200))
    assert "biased-beats-iid" not in repeats_wanted(more, table)
    assert set(repeats_wanted(more, table, cheapest=True)) == {"biased-beats-iid"}


def test_a_profile_with_seeds_of_its_own_has_a_record_of_its_own(make_project: Make) -> None:
    project = make_project(SPEC)
    loaded = declared_after(project, {"size": 27, "iid": 27})
    profile = Profile(own_seeds=True)
    own = scale(loaded.spec, "quick", profile)
    same = scale(loaded.spec, "quick", Profile())
    assert own.spec.own_experiment is not None
    assert same.spec.own_experiment is not None
    assert (own.spec.own_experiment.seed != 7, same.spec.own_experiment.seed) == (True, 7)
    assert own.spec.seen_before("biased-beats-iid") == {}
    assert same.spec.seen_before("biased-beats-iid") == cells({"size": 27, "iid": 27})
    # A claim that is edited in sight of its runs has seen them, whatever the record beside the specs says.
    context = Context(project, "quick", profile, 1, Progress(quiet=True))
    with put_new_on_record([(context, [context.resolve(loaded)])]):
        table = context.resolve(loaded).measurements_file
        table.parent.mkdir(parents=True)
        table_of(same_everywhere([0.9] * 4, [0.1] * 4)).assign(cell="a").to_parquet(table)
    (project.root / "params.yaml").write_text("profile: quick\nprofiles:\n  quick: {own_seeds: true}\n  full: {}\n")
    assert context.resolve(load_specs(project, [])[0]).spec.seen_before("iid-held") == {}
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(path.read_text().replace('relation: "<="', 'relation: "<"'))
    (edited,) = load_specs(project, [])
    put_on_record(project, [edited.spec], lambda _: {})
    assert context.resolve(load_specs(project, [])[0]).spec.seen_before("iid-held") is None
    assert context.resolve(load_specs(project, [])[0]).spec.seen_before("biased-beats-iid") == {}
    # And its table is none of the others'.
    assert [path.relative_to(project.reports).parts[0] for path in tables_of(project, "own/cancer")] == ["full"]


MANY = """\
  - id: both
    where: here
    statement: Both.
    expect: {kind: at-least, needed: 2, of: [
      {kind: compare, left: {metric: advantage, arm: size, attack: logloss}, relation: ">", right: {value: 0.3}, at: [1]},
      {kind: compare, left: {metric: advantage, arm: size, attack: logloss}, relation: ">", right: {value: 0.2}, at: [10]}]}
"""


def test_a_claim_that_is_counted_over_places_has_seen_what_any_of_them_had(make_project: Make) -> None:
    project = make_project(SPEC + MANY)
    (one,) = load_specs(project, [])
    put_on_record(project, [one.spec], lambda _: {("size", place({"epsilon": 10.0})): 30})
    (project.reports / "full" / "own" / "cancer").mkdir(parents=True)
    (project.reports / "full" / "own" / "cancer" / "measurements.parquet").touch()
    (loaded,) = load_specs(project, [])
    found = judge(loaded, same_everywhere(around(0.9, 30), around(0.1, 30)), "both")
    assert (found.verdict, found.rests_on.seen, found.certainty) == ("reproduced", 30, Certainty.EXPLORATORY)


@pytest.mark.parametrize(
    ("edit", "counts"),
    [
        (("epochs: 3", "epochs: 30"), False),  # the set-up that it is about
        (("values: [small]", "values: [large]"), False),
        (("value: 0.2}", "value: 0.25}"), True),  # another claim
    ],
)
def test_a_claim_is_another_where_its_arms_or_attacks_are(
    make_project: Make, edit: tuple[str, str], counts: bool
) -> None:
    project = make_project(SPEC + MANY)
    declared_after(project, {"size": 5, "iid": 5})
    path = project.specs / "own" / "cancer.yaml"
    assert edit[0] in path.read_text()
    path.write_text(path.read_text().replace(*edit))
    (again,) = load_specs(project, [])
    assert (again.spec.seen_before("biased-beats-iid") is not None) == counts


def test_readings_may_be_added_and_not_taken_away(make_project: Make) -> None:
    project = make_project(SPEC)
    reading = '\n    also_read_as: {"by much": {kind: count, arm: iid, equals: {rows: 569}}}'
    path = project.specs / "own" / "cancer.yaml"
    bare = path.read_text()
    declared_after(project, {"size": 5, "iid": 5})
    marked = "    expect: {kind: count, arm: iid, equals: {rows: 569, members: 120}}"
    path.write_text(bare.replace(marked, marked + reading))
    (more,) = load_specs(project, [])
    assert more.spec.seen_before("counts") == cells({"size": 5, "iid": 5})
    put_on_record(project, [more.spec], lambda _: {})  # nothing is new
    (project.specs / "declared.json").unlink()
    put_on_record(project, [more.spec], lambda _: {})
    path.write_text(bare)
    assert load_specs(project, [])[0].spec.seen_before("counts") is None


def test_a_record_of_other_arms_says_nothing_of_what_was_seen(make_project: Make) -> None:
    """An arm by another name has the same models: what had been seen of them is not known to be new."""
    project = make_project(SPEC)
    declared_after(project, {"size": 5, "iid": 5})
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(path.read_text().replace("arm: iid", "arm: rnd").replace("    iid: {", "    rnd: {"))
    (renamed,) = load_specs(project, [])
    put_on_record(project, [renamed.spec], lambda _: cells({"size": 9, "iid": 9}), in_form_alone=True)
    assert load_specs(project, [])[0].spec.seen_before("iid-held") is None


def test_a_record_counts_although_tables_are_gone(make_project: Make) -> None:
    project = make_project(SPEC)
    declared_after(project, {"size": 5, "iid": 5})
    (project.reports / "full" / "own" / "cancer" / "measurements.parquet").unlink()
    assert load_specs(project, [])[0].spec.seen_before("iid-held") == cells({"size": 5, "iid": 5})


def test_runs_are_asked_for_that_a_cell_may_get(make_project: Make) -> None:
    loaded = declared_after(make_project(SPEC), {"size": 20, "iid": 20})
    more = scale(loaded.spec, "made-up", Profile(design="sequential", basis="distribution-free", max_repeats=24))
    table = table_of(same_everywhere(around(0.9, 22), around(0.1, 22)), "sequential")
    assert "biased-beats-iid" not in repeats_wanted(more, table)


def test_bets_alone_may_decide_the_runs_since(make_project: Make) -> None:
    """Of identical results a t-test says nothing."""
    loaded = declared_after(make_project(SPEC), {"size": 10, "iid": 10})
    found = judge(loaded, same_everywhere([1.0] * 60, [0.0] * 60))
    assert (found.verdict, found.rests_on.exploratory) == ("reproduced", False)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_models_that_other_tables_had_before_the_first_run_count_as_seen(make_project: Make, when: str) -> None:
    project = make_project(SPEC)
    (project.specs / "declared.json").write_text("{}")
    (loaded,) = load_specs(project, [])
    context = Context(project, "full", Profile(), 1, Progress(quiet=True))
    other = project.reports / "full" / "own" / "other" / "measurements.parquet"
    other.parent.mkdir(parents=True)
    models = table_of({("iid", 1.0): [0.1] * 4}).query("metric == 'advantage'").assign(cell=["m0", "m1", "m2", "m3"])
    mine = context.resolve(loaded).measurements_file
    mine.parent.mkdir(parents=True)
    if when == "before":
        models[models["repeat"] < 3].to_parquet(other)
    with put_new_on_record([(context, [context.resolve(loaded)])]):
        models[models["repeat"] < 3].to_parquet(other)
        models.to_parquet(mine)
    (now,) = load_specs(project, [])
    seen = {("iid", place({"epsilon": 1.0})): 3} if when == "before" else {}
    assert now.spec.seen_before("iid-held") == seen


def test_a_record_is_asked_for_where_a_claim_is_new_or_changed(make_project: Make) -> None:
    project = make_project(SPEC)
    assert run_cli(project.root, "validate").returncode == 0  # a project that keeps none
    ran = run_cli(project.root, "declare")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "3 of 3 claims on measurements are new or changed; on record in specs/declared.json" in ran.stdout
    assert "0 of 3 claims" in run_cli(project.root, "declare").stdout
    path = project.specs / "own" / "cancer.yaml"
    text = path.read_text().replace('relation: "<="', 'relation: "<"')
    path.write_text(text)
    table = project.reports / "full" / "own" / "cancer" / "measurements.parquet"
    table.parent.mkdir(parents=True)
    table_of({("iid", 1.0): [0.1] * 4}, "sequential").to_parquet(table)
    ran = run_cli(project.root, "validate")
    line = 1 + text.splitlines().index("  - id: iid-held")
    assert ran.returncode == 2
    assert ran.stderr.removeprefix("harness: ").strip() == (
        f"specs/own/cancer.yaml:{line}: claims.iid-held: changed since it was put on record; `harness declare own/cancer` "
        "records it, and what was measured until then counts as seen before it was written"
    )
    assert run_cli(project.root, "declare", "own/cancer").stdout.splitlines()[0] == "own/cancer#iid-held"
    (now,) = load_specs(project, [])
    assert now.spec.seen_before("iid-held") == {("iid", place({"epsilon": 1.0})): 4}
    assert now.spec.seen_before("biased-beats-iid") == {}
    assert run_cli(project.root, "validate").returncode == 0


def test_a_change_of_form_alone_keeps_what_is_on_record(make_project: Make) -> None:
    project = make_project(SPEC)
    declared_after(project, {"size": 5, "iid": 5})
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(path.read_text().replace('relation: "<="', 'relation: "<"'))
    (one,) = load_specs(project, [])
    told = put_on_record(project, [one.spec], lambda _: cells({"size": 99, "iid": 99}), in_form_alone=True)
    assert told == {"own/cancer": ["iid-held"]}
    (again,) = load_specs(project, [])
    assert again.spec.seen_before("iid-held") == cells({"size": 5, "iid": 5})
    put_on_record(project, [replace(one).spec], lambda _: {})
    records = read_records(project)
    assert records is not None
    assert records["own/cancer"].claims["iid-held"][0] == assertion_of(one.spec, one.spec.claims[1])


def test_the_first_run_of_a_spec_puts_all_its_claims_on_record(make_project: Make) -> None:
    project = make_project(SPEC.replace("repeats: 10", "repeats: 1"))
    assert run_cli(project.root, "run", "--stage", "train").returncode == 0
    assert read_records(project) is None  # a project that keeps none
    (project.specs / "declared.json").write_text("{}")
    (project.root / "params.yaml").write_text("profile: one\nprofiles:\n  one: {decide: [own/cancer#counts]}\n")
    assert run_cli(project.root, "run", "--stage", "train").returncode == 0
    records = read_records(project)
    assert records is not None
    assert set(records["own/cancer"].claims) == {"biased-beats-iid", "iid-held", "counts"}
    assert set(records["own/cancer"].seen) == {""}


@pytest.mark.parametrize("text", ["{", "[]", '{"own/cancer": {"claims": {"counts": ["a", "b"]}}}', '{"own/cancer": 3}'])
def test_a_record_that_is_none_is_one_line(make_project: Make, text: str) -> None:
    project = make_project(SPEC)
    (project.specs / "declared.json").write_text(text)
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    assert "specs/declared.json: not a record of declarations; take it from version control" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_every_claim_of_the_papers_is_on_record_with_what_its_tables_had() -> None:
    from tests.conftest import REPO

    written = json.loads((REPO / "specs" / "declared.json").read_text())
    project = Project(REPO)
    records = read_records(project)
    assert records is not None
    assert set(records) == set(written)
    specs = {one.spec.id: one.spec for one in load_specs(project, [])}
    for name, record in records.items():
        for claim, (_, seen) in record.claims.items():
            assert seen in record.seen, (name, claim)
            assert specs[name].seen_before(claim) is not None, (name, claim)
