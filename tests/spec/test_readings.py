"""Readings of what a paper leaves open: built, refused, run, and shown with the verdict."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pandas as pd
import pytest

from harness.errors import HarnessError
from harness.execution.planner import make_plan
from harness.paths import Project
from harness.spec.load import load_specs
from harness.spec.readings import readings, with_field
from tests.conftest import SMALL_SPEC, run_cli

Make = Callable[..., Project]
OPEN = (
    SMALL_SPEC
    + """\
ambiguities:
  - choice: scaling
    field: experiment.preprocessing.scaling
    chosen: standard
    alternatives: [none, min-max]
    why: not stated
  - choice: what the authors had for lunch
    chosen: unknown
    alternatives: [soup]
    why: names no field, so it cannot be run
  - choice: proxies
    field: experiment.arms.size.split.proxy_columns
    chosen: [mean radius]
    alternatives: [[]]
    why: not stated
"""
)


def test_one_reading_for_each_alternative_of_a_field(make_project: Make) -> None:
    loaded = load_specs(make_project(OPEN), [])[0]
    spec, result = loaded.spec, readings(loaded.spec, loaded.raw)
    assert [r.text for r in result] == [
        "preprocessing.scaling = none",
        "preprocessing.scaling = min-max",
        "arms.size.split.proxy_columns = []",
    ]
    assert [r.spec.id for r in result] == [
        f"own/cancer/readings/{name}" for name in ("scaling-none", "scaling-min-max", "twins")
    ]
    for reading in result:  # one change at a time, and nothing else
        before, after = (s.model_dump(mode="json", by_alias=True, exclude={"id"}) for s in (spec, reading.spec))
        assert before != after
        back, _ = with_field(reading.raw, reading.field, spec.ambiguities[reading.index].chosen, spec.id)
        assert back == spec


def test_an_alternative_that_cannot_be_is_one_line(make_project: Make) -> None:
    project = make_project(OPEN.replace("[none, min-max]", "[none, sideways]"))
    with pytest.raises(HarnessError, match=r"cancer.yaml:\d+: ambiguities.alternatives: 'sideways' cannot stand at"):
        load_specs(project, [])
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


def test_a_reading_knows_the_formulas_that_its_spec_defines(make_project: Make) -> None:
    defined = """\
  - id: slope
    where: here
    kind: theory
    statement: Twice a number above zero is above it.
    expect: {kind: inequality, left: "doubled(x)", relation: ">", right: {variable: x}, over: {x: {low: 1, high: 5}}}
ambiguities:
"""
    spec = OPEN.replace("ambiguities:\n", defined) + "define: {doubled: {of: [x], is: 2 * x}}\n"
    loaded = load_specs(make_project(spec), [])[0]
    written = {str(reading.spec.claims[-1].expect) for reading in readings(loaded.spec, loaded.raw)}
    assert written == {str(loaded.spec.claims[-1].expect)}


@pytest.mark.integration
def test_readings_are_run_judged_and_shown(make_project: Make) -> None:
    project = make_project(OPEN)
    too_early = run_cli(project.root, "alternatives")
    assert (too_early.returncode, too_early.stdout) == (2, "")
    assert (
        too_early.stderr == "harness: own/cancer: nothing of it is measured yet; `harness run own/cancer` comes first\n"
    )
    assert run_cli(project.root, "run").returncode == 0
    listed = run_cli(project.root, "alternatives", "--plan")
    assert "proxy_columns" in listed.stdout
    ran = run_cli(project.root, "alternatives", "--only", "scaling", "--json", MLFLOW_TRACKING_URI="")
    assert ran.returncode == 0, ran.stderr
    assert "not logged" not in ran.stderr
    result = json.loads(ran.stdout)
    costs = json.loads(run_cli(project.root, "alternatives", "--plan", "--json").stdout)
    assert [c["run"] for c in costs] == [False] * (len(costs) - 2) + [True, True]
    assert all(c["models"] == 6 * 6 and c["claims"] for c in costs)  # six places, six runs
    held = result["own/cancer#iid-held"]
    assert [(r["field"], r["value"]) for r in held] == [
        ("experiment.preprocessing.scaling", "none"),
        ("experiment.preprocessing.scaling", "min-max"),
    ]
    assert {r["verdict"] for r in held} <= {"reproduced", "violated", "inconclusive"}
    folder = project.reports / "full" / "own" / "cancer" / "readings"
    assert sorted(p.name for p in folder.iterdir()) == ["index.json", "scaling-min-max", "scaling-none"]
    index = json.loads((folder / "index.json").read_text())
    assert [(row["folder"], row["claims"]) for row in index] == [
        ("scaling-none", "all"),
        ("scaling-min-max", "all"),
        ("twins", None),
    ]
    assert run_cli(project.root, "report").returncode == 0
    page = (project.reports / "full/site/claims/own-cancer--iid-held.html").read_text()
    assert ": min-max <span" in page
    assert "Of what the paper leaves open 2 other readings were run: " in page
    # A reading of another version of the experiment is not judged by its old measurements.
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(OPEN.replace("epochs: 3", "epochs: 2"))
    judged = json.loads(run_cli(project.root, "judge", "--json").stdout)
    assert [r for v in judged for r in v["rests_on"]["readings"]] == []
    # The baseline knows them by their reading.
    path.write_text(OPEN)
    assert run_cli(project.root, "compare", "--update").returncode == 0
    baseline = json.loads((project.reports / "full" / "baseline.json").read_text())
    assert "iid-held [experiment.preprocessing.scaling = none]" in baseline["specs"]["own/cancer"]["verdicts"]


@pytest.mark.integration
def test_what_is_violated_as_declared_is_run_in_every_reading_and_nothing_else(make_project: Make) -> None:
    claim = """\
  - id: all-but-sure
    where: here
    statement: Hardly a test record is wrong.
    expect: {kind: compare, left: {metric: accuracy_test, arm: iid}, relation: ">", right: {value: 0.999}, at: [.inf]}
ambiguities:
"""
    text = OPEN.replace("ambiguities:\n", claim).replace("  repeats: 2", "  repeats: 8")
    project = make_project(text)
    (project.root / "params.yaml").write_text("profile: until\nprofiles:\n  until: {design: sequential}\n")
    assert run_cli(project.root, "run").returncode in (0, 1)
    nothing = run_cli(project.root, "alternatives", "--minutes", "0", "--where-violated")
    assert (nothing.returncode, nothing.stderr.count("\n")) == (2, 1)
    measured = run_cli(project.root, "alternatives", "--where-violated", "--until-decided", "--measure-only")
    assert (measured.returncode, measured.stdout) == (0, "")
    ran = run_cli(project.root, "alternatives", "--where-violated", "--until-decided", "--json")
    assert ran.returncode == 0, ran.stderr
    readings_of = json.loads(ran.stdout)
    assert {r["verdict"] for r in readings_of["own/cancer#all-but-sure"]} == {"violated"}
    assert [r["value"] for r in readings_of["own/cancer#all-but-sure"]] == ["none", "min-max"]  # proxies are not iid's
    assert readings_of["own/cancer#iid-held"] == []
    folder = project.reports / "until" / "own" / "cancer" / "readings"
    tables = {path.name: pd.read_parquet(path / "measurements.parquet") for path in folder.glob("*/")}
    assert sorted(tables) == ["scaling-min-max", "scaling-none"]
    for table in tables.values():
        assert {*table["arm"]} == {"iid"}
        assert {*table["attack"]} == {""}
        assert {*table["epsilon"]} == {float("inf")}
    # Readings that were not run come before those that were.
    shutil.rmtree(folder / "scaling-min-max")
    planned = run_cli(project.root, "alternatives", "--where-violated", "--plan", "--json")
    assert [r["value"] for r in json.loads(planned.stdout)] == ["min-max", "none"]
    # A reading that was run for one claim says nothing of another, until it is run for all.
    ran = run_cli(project.root, "alternatives", "--only", "scaling", "--json")
    assert {r["verdict"] for r in json.loads(ran.stdout)["own/cancer#all-but-sure"]} == {"violated"}
    assert len(json.loads(ran.stdout)["own/cancer#iid-held"]) == 2
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(text.replace("value: 0.999", "value: 0.1"))
    calm = run_cli(project.root, "alternatives", "--where-violated")
    assert (calm.returncode, calm.stderr) == (0, "harness: no claim is violated as declared and waits for a reading\n")


@pytest.mark.integration
def test_a_sentence_may_be_read_otherwise_on_the_same_measurements(make_project: Make) -> None:
    text = """\
  - id: sure
    where: here
    statement: Few test records are wrong.
    expect: {kind: compare, left: {metric: accuracy_test, arm: iid}, relation: ">", right: {value: 0.999}, at: [.inf]}
    also_read_as:
      few are less than three in ten: {kind: compare, left: {metric: accuracy_test, arm: iid}, relation: ">", right: {value: 0.7}, at: [.inf]}
"""
    spec = SMALL_SPEC.replace("  repeats: 2", "  repeats: 8") + text
    project = make_project(spec)
    assert run_cli(project.root, "run").returncode in (0, 1)

    def judged() -> dict[str, object]:
        return next(v for v in json.loads(run_cli(project.root, "judge", "--json").stdout) if v["id"].endswith("sure"))

    open_ = judged()
    assert open_["verdict"] == "inconclusive"
    assert open_["hangs_on"] == ["the reading of the sentence by which few are less than three in ten (reproduced)"]
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(spec.replace("value: 0.7}", "value: 0.998}"))
    same = judged()
    assert same["verdict"] == "violated"
    assert [r["verdict"] for r in same["rests_on"]["readings"]] == ["violated"]  # type: ignore[attr-defined]
    path.write_text(
        spec.replace("value: 0.7}", "value: 0.7}").replace(
            'accuracy_test, arm: iid}, relation: ">", right: {value: 0.7',
            'accuracy_test, arm: idd}, relation: ">", right: {value: 0.7',
        )
    )
    refused = run_cli(project.root, "validate")
    assert refused.returncode == 2
    assert "claim 'sure': unknown arm 'idd'; did you mean 'iid'" in refused.stderr


def test_nothing_to_read_otherwise_is_one_line(make_project: Make) -> None:
    ran = run_cli(make_project().root, "alternatives")
    assert ran.returncode == 2
    assert "no other readings" in ran.stderr


@pytest.mark.integration
def test_training_alone_may_be_drawn_anew(make_project: Make) -> None:
    """All repeats on the first one's records: one split an arm, a model a repeat, each with its own random numbers."""
    text = SMALL_SPEC.replace("  repeats: 2", "  repeats: 3\n  resample: training")
    project = make_project(text)
    spec, anew = load_specs(project, [])[0].spec, load_specs(make_project(where="anew"), [])[0].spec
    plan = make_plan(project, spec)
    assert len({c.split.key for c in plan.cells}) == 2
    assert len({c.target.key for c in plan.cells}) == len(plan.cells) == 18
    assert len({c.target.seed for c in plan.cells}) == 18
    first = {(c.arm, c.epsilon): c.split.key for c in plan.cells if c.repeat == 0}
    others = {(c.arm, c.epsilon): c.split.key for c in make_plan(project, anew).cells if c.repeat == 0}
    assert first == others  # repeat 0 has the records that it would have had
    assert run_cli(project.root, "run").returncode == 0
    table = pd.read_parquet(project.reports / "full" / "own" / "cancer" / "measurements.parquet")
    losses = table[(table["metric"] == "loss_train") & (table["epsilon"] == 1.0) & (table["arm"] == "iid")]["value"]
    assert losses.nunique() == 3
