"""How much of a spec is run: profiles that leave out an attack or choose the engine, and runs that are not finished."""

from __future__ import annotations

import json
from collections.abc import Callable

import pandas as pd
import pytest

from harness.execution.planner import make_plan
from harness.execution.store import Store
from harness.paths import Project
from harness.spec.load import load_specs
from harness.spec.profile import Profile, scale
from tests.conftest import run_cli
from tests.test_end_to_end import SHADOWS

Make = Callable[..., Project]
CLAIM = """\
  - id: both-above-none
    where: here
    statement: Both attacks do better than nothing.
    expect:
      - {kind: compare, left: {metric: advantage, arm: iid, attack: logloss}, relation: ">", right: {value: -1}}
      - {kind: compare, left: {metric: advantage, arm: iid, attack: shokri}, relation: ">", right: {value: -1}}
"""


def verdicts(project: Project, profile: str) -> dict[str, dict[str, object]]:
    path = project.reports / profile / "own/cancer" / "verdicts.json"
    return {v["id"].split("#")[1]: v for v in json.loads(path.read_text())["verdicts"]}


def test_claims_on_an_attack_that_is_left_out_are_not_run(make_project: Make) -> None:
    """No shadow model is trained; a claim of two parts is not run, one on the other attack alone is judged exactly."""
    project = make_project(SHADOWS + CLAIM)
    project.params.write_text("profile: loss\nprofiles:\n  loss: {attacks: [logloss]}\n")
    ran = run_cli(project.root, "run", "-q")
    assert ran.returncode == 0, ran.stderr
    result = verdicts(project, "loss")
    assert result["both-above-none"]["verdict"] == "not run"
    assert result["both-above-none"]["parts"] == ["reproduced", "not run"]
    assert "leaves out the attack shokri" in str(result["both-above-none"]["reason"])
    assert result["counts"]["rests_on"]["data"] == "own"
    table = pd.read_parquet(project.reports / "loss/own/cancer/measurements.parquet")
    assert set(table["attack"]) == {"", "logloss"}
    assert len(list(Store(project.store).files("train"))) == 12


def test_a_run_that_is_not_finished_is_judged_on_its_whole_repeats(make_project: Make) -> None:
    project = make_project(SHADOWS)
    assert run_cli(project.root, "run", "-q").returncode == 0
    spec = load_specs(project, [])[0].spec
    plan, store = make_plan(project, spec), Store(project.store)
    store.remove("train", plan.cells[-1].target.key)
    assert plan.cells[-1].repeat == 1
    ran = run_cli(project.root, "run", "--partial")
    assert ran.returncode == 0, ran.stderr
    assert not store.has("train", plan.cells[-1].target.key)  # nothing was trained
    table = pd.read_parquet(project.reports / "full/own/cancer/measurements.parquet")
    assert set(table["repeat"]) == {0}
    result = verdicts(project, "full")["biased-beats-iid"]
    assert result["rests_on"]["reductions"] == ["repeats 1 of 2 (run so far)"]
    assert (
        "repeats 1 of 2 (run so far)"
        in (project.reports / "full/site/claims/own-cancer--biased-beats-iid.html").read_text()
    )
    for cell in plan.cells:
        store.remove("train", cell.target.key)
    none = run_cli(project.root, "run", "--partial")
    assert (none.returncode, "no repeat is trained completely yet" in none.stderr) == (2, True)


def test_a_profile_chooses_the_engine_and_seeds_stay(make_project: Make) -> None:
    """The same coordinates give the same seeds, so the two engines see the same data, batches and initial weights."""
    project = make_project()
    spec = load_specs(project, [])[0].spec
    other = scale(spec, "reference", Profile(engine="tf-privacy"))
    assert other.spec.experiment is not None
    assert {arm.training.engine for arm in other.spec.experiment.arms.values()} == {"tf-privacy"}
    assert other.reductions == ()
    ours, theirs = (make_plan(project, s).cells for s in (spec, other.spec))
    assert all(a.target.key != b.target.key for a, b in zip(ours, theirs, strict=True))
    assert [c.target.seed for c in ours] == [c.target.seed for c in theirs]
    project.params.write_text("profile: x\nprofiles:\n  x: {engine: torch}\n")
    ran = run_cli(project.root, "plan")
    assert (ran.returncode, "params.yaml:3" in ran.stderr, "unknown engine 'torch'" in ran.stderr) == (2, True, True)


@pytest.mark.slow
def test_the_engines_agree_within_their_intervals(make_project: Make) -> None:
    """Accuracy and advantage of both engines on one spec: paired by repeat, the mean difference is not told from zero.

    Six repeats, two arms, two epsilons, two metrics: at level 0.05 / 8 the chance of a false alarm is 5%; the seeds are
    fixed, so this either always fails or never. At the papers' sizes: specs/harness/engines.yaml.
    """
    from scipy import stats

    text = SHADOWS.split("  shokri")[0] + "claims" + SHADOWS.split("claims")[1]
    text = (
        text.replace("repeats: 2", "repeats: 6")
        .replace("epochs: 3}", "epochs: 15}")
        .replace("[1, 10, .inf]", "[10, .inf]")
    )
    project = make_project(text)
    project.params.write_text("profile: ours\nprofiles:\n  ours: {}\n  theirs: {engine: tf-privacy}\n")
    tables = []
    for profile in ("ours", "theirs"):
        ran = run_cli(project.root, "run", "-q", "-p", profile)
        assert ran.returncode == 0, ran.stderr
        table = pd.read_parquet(project.reports / profile / "own/cancer/measurements.parquet")
        tables.append(table.set_index(["arm", "epsilon", "metric", "repeat"])["value"].sort_index())
    ours, theirs = tables
    compared = 0
    for arm in ("size", "iid"):
        for epsilon in sorted(set(ours.index.get_level_values("epsilon"))):
            for metric in ("accuracy_test", "advantage"):
                difference = (ours[arm, epsilon, metric] - theirs[arm, epsilon, metric]).to_numpy()
                assert len(difference) == 6
                if difference.std() > 0:
                    assert stats.ttest_1samp(difference, 0.0).pvalue > 0.05 / 8, (arm, epsilon, metric)
                compared += 1
    assert compared == 8
    exact = [
        (ours[arm, float("inf"), "loss_train"] - theirs[arm, float("inf"), "loss_train"]) for arm in ("size", "iid")
    ]
    assert max(abs(e).max() for e in exact) < 1e-4  # without noise the engines take the same path
