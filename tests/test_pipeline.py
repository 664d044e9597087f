"""The real `dvc.yaml` under real DVC, on a small project: what an edit re-runs, and what it does not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from harness.paths import Project
from harness.spec.profile import load_params
from harness.spec.selection import specs_to_decide
from tests.conftest import PARAMS, REPO, SMALL_SPEC, committed_specs, run_cli, write_cancer
from tests.dvc_runs import dvc, edit, reproduce, stages_run, stale, trained

ALL = ["resolve", "train", "attack", "judge", "theory", "report"]
THEORY = """\
paper: own
title: The tight bound
where: here
claims:
  - id: tight
    where: here
    kind: theory
    statement: The bound is tight.
    expect: {kind: inequality, left: {formula: optimal-advantage}, relation: "=", right: {formula: humphries}, over: {epsilon: {low: 0, high: 1}, delta: {low: 0, high: 1}}}
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with the repository's code and dvc.yaml, its specs replaced by a small one."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(REPO / "harness", root / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "specs" / "own").mkdir(parents=True)
    shutil.copy(REPO / "specs" / "papers.yaml", root / "specs")
    experiment, rest = SMALL_SPEC.split("attacks:\n")
    base = "paper: own\ntitle: base\nwhere: base\nexperiment: {seed: 7}\nattacks: {}\ndeviations: []\n"
    (root / "specs" / "own" / "_base.yaml").write_text(base)
    pools = experiment.replace("  repeats: 2", "  pools: {shadows: {count: 1}}\n  repeats: 2")
    shokri = "attacks:\n  shokri: {kind: shokri, epochs: 2}\n"
    (root / "specs" / "own" / "cancer.yaml").write_text(f"extends: _base.yaml\n{pools}{shokri}{rest}ambiguities: []\n")
    (root / "specs" / "own" / "theory.yaml").write_text(THEORY)
    (root / "params.yaml").write_text(PARAMS)
    write_cancer(root / "cancer.csv")
    assert run_cli(root, "pipeline").returncode == 0
    shutil.copy(REPO / ".dvcignore", root)
    shutil.copytree(REPO / ".dvc", root / ".dvc", ignore=lambda folder, names: set(names) - {"config", ".gitignore"})
    assert sorted(reproduce(root)) == sorted(ALL)
    return root


def test_nothing_to_do_does_nothing(root: Path) -> None:
    assert stages_run(root) == []
    assert reproduce(root) == []


def test_an_edited_expectation_runs_check_and_report_alone(root: Path) -> None:
    edit(root, "specs/own/cancer.yaml", "rows: 569", "rows: 570")
    assert sorted(reproduce(root)) == ["judge", "report", "resolve"]
    assert "Rows: 569; the claim says 570" in (root / "reports/full/summary.md").read_text()


def test_an_edited_attack_never_retrains(root: Path) -> None:
    before = trained(root)
    edit(root, "specs/own/cancer.yaml", "epochs: 2}", "epochs: 4}")
    assert [s for s in reproduce(root) if s != "judge"] == ["resolve", "attack", "report"]
    assert trained(root) == before


def test_an_edited_theory_claim_touches_no_measurements(root: Path) -> None:
    edit(root, "specs/own/theory.yaml", "high: 1}, delta", "high: 2}, delta")
    assert reproduce(root, "resolve") == ["resolve"]
    assert {"theory"} <= stale(root) <= {"theory", "report"}


def test_an_edited_experiment_trains_what_is_new(root: Path) -> None:
    before = trained(root)
    edit(root, "specs/own/cancer.yaml", "epsilons: [1, 10, .inf]", "epsilons: [1, 10, 20, .inf]")
    assert sorted(reproduce(root)) == sorted(ALL)  # the theory that was edited before, too
    assert before < trained(root)
    assert len(trained(root) - before) == 4


def test_metrics_and_plots(root: Path) -> None:
    assert "reproduced" in dvc(root, "metrics", "show")
    assert "index.html" in dvc(root, "plots", "show", "-o", "plots")


def test_an_edited_module_enters_every_stage_and_trains_nothing_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the checkout's own code, which is the changed one: what it leaves as it was is in the store."""
    before = {path: path.stat().st_mtime_ns for path in (root / ".harness/store/train").rglob("*.npz")}
    attacked = {path.name for path in (root / ".harness/store/evaluate").rglob("*.npz")}
    assert before
    assert attacked
    edit(root, "harness/attacks/logloss.py", "threshold = inside.mean()", "threshold = inside.mean() + 0.0")
    assert {"train", "attack", "judge", "theory", "report"} <= stale(root)
    monkeypatch.setenv("PYTHONPATH", str(root))
    assert sorted(stages_run(root)) == sorted(ALL)
    assert {path: path.stat().st_mtime_ns for path in (root / ".harness/store/train").rglob("*.npz")} == before
    assert attacked < {path.name for path in (root / ".harness/store/evaluate").rglob("*.npz")}


def test_the_repository_pipeline_lists_every_spec_that_its_profile_runs() -> None:
    """It is what `harness pipeline` writes, and none of what is left out costs a stage."""
    assert run_cli(REPO, "pipeline", "--check").returncode == 0
    stages = YAML(typ="safe").load((REPO / "dvc.yaml").read_text())["stages"]
    params = load_params(Project(REPO))
    every = committed_specs()
    decided = {loaded.spec.id: loaded.spec for loaded in specs_to_decide(params.profiles[params.profile], every)}
    measured = {name for name, spec in decided.items() if spec.experiment is not None}
    assert measured
    assert measured < {loaded.spec.id for loaded in every if loaded.spec.experiment is not None}
    assert params.profiles[params.profile].design == "sequential"
    assert stages.keys().isdisjoint({"train", "attack"})
    for stage in ("measure", "judge"):
        assert [word for word in stages[stage]["cmd"].split() if "/" in word] == sorted(measured)
    theory = decided.keys() - measured
    left_out = params.profiles[params.profile].leave_out
    of_theory = {loaded.spec.id for loaded in every if loaded.spec.experiment is None}
    assert theory == {name for name in of_theory if name.partition("/")[0] not in left_out} < of_theory
    assert {word for word in stages["theory"]["cmd"].split() if "/" in word} == theory


@pytest.mark.parametrize("pipeline", ["dvc.yaml", "flagship/dvc.yaml"])
def test_a_pipeline_is_read_at_a_sitting_and_each_stage_depends_on_the_code(pipeline: str) -> None:
    text = (REPO / pipeline).read_text()
    assert len(text.splitlines()) <= 150
    assert max(map(len, text.splitlines())) <= 120
    stages = YAML(typ="safe").load(text)["stages"]
    assert len(stages) > 5
    for name, stage in stages.items():
        (code,) = (dep for dep in stage.get("do", stage)["deps"] if dep.split("/")[0] == "harness")
        assert code == ("harness/data" if name == "fetch" else "harness")


def test_another_attribute_split_of_adult_runs_without_code(real_data: Project, tmp_path: Path) -> None:
    """docs/examples/marital-status.yaml, cut down, straight from its file."""
    root = tmp_path / "p"
    (root / "specs").mkdir(parents=True)
    shutil.copy(REPO / "specs" / "papers.yaml", root / "specs")
    (root / "params.yaml").write_text(PARAMS)
    shutil.copytree(real_data.data / "adult", root / "data" / "adult")
    text = (REPO / "docs/examples/marital-status.yaml").read_text()
    text = (
        text.replace("epochs: 10", "epochs: 1")
        .replace("engine: tf-privacy", "engine: fast")
        .replace("[0.1, 1, .inf]", "[1]")
        .replace("repeats: 3", "repeats: 2")
    )
    (root / "mine.yaml").write_text(text)
    ran = run_cli(root, "run", "mine.yaml")
    assert ran.returncode == 0, ran.stderr
    assert "mine#breaks-bound" in ran.stdout


def test_the_own_table_example_runs_on_a_users_csv(tmp_path: Path) -> None:
    import numpy as np
    import pandas as pd

    root = tmp_path / "p"
    (root / "specs").mkdir(parents=True)
    shutil.copy(REPO / "specs" / "papers.yaml", root / "specs")
    (root / "params.yaml").write_text("profile: one\nprofiles:\n  one: {repeats: 1, epochs: 1, epsilons: [1]}\n")
    text = (REPO / "docs/examples/own-table.yaml").read_text()
    (root / "mine.yaml").write_text(
        text.replace("epochs: 20", "epochs: 1").replace("engine: tf-privacy", "engine: fast")
    )
    rng = np.random.default_rng(0)
    n = 4000
    age = rng.integers(18, 90, n).astype(object)
    age[::50] = "?"
    pd.DataFrame(
        {
            "id": range(n),
            "postcode": rng.integers(1000, 1010, n),
            "region": rng.choice(["north", "south"], n),
            "age": age,
            "outcome": rng.choice(["yes", "no"], n),
        }
    ).to_csv(root / "my-table.csv", index=False)
    ran = run_cli(root, "run", "mine.yaml")
    assert ran.returncode == 0, ran.stderr
    assert "mine#bound-holds" in ran.stdout
    # As declared: five repeats of four epsilons, whatever profile the project selects; a page of its own.
    table = pd.read_parquet(root / "reports/own/mine/measurements.parquet")
    assert table.groupby("repeat").size().index.tolist() == [0, 1, 2, 3, 4]
    assert sorted(table["epsilon"].unique()) == [0.1, 1, 10, np.inf]
    assert "mine" in (root / "reports/own/mine/site/papers/own.html").read_text()
    assert not (root / "reports/one").exists()


def test_a_table_called_by_a_number_is_a_dependency(make_project: Callable[..., Project]) -> None:
    """` #` begins a comment in YAML."""
    project = make_project(SMALL_SPEC.replace("path: cancer.csv", 'path: "my #1.csv"'))
    (project.root / "cancer.csv").rename(project.root / "my #1.csv")
    ran = run_cli(project.root, "pipeline")
    assert ran.returncode == 0, ran.stderr
    stages = YAML(typ="safe").load((project.root / "dvc.yaml").read_text())["stages"]
    assert "my #1.csv" in stages["resolve"]["deps"]
