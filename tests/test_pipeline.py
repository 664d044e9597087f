"""The real `dvc.yaml` under real DVC, on a small project: what an edit re-runs, and what it does not."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from ruamel.yaml import YAML

from harness.imports import modules_within, source
from harness.paths import Project
from harness.pipeline.code import PLUGINS, STAGES
from harness.spec.load import load_specs
from harness.spec.profile import load_params
from harness.spec.selection import specs_to_decide
from tests.conftest import PARAMS, REPO, SMALL_SPEC, run_cli, write_cancer
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
    assert sorted(stages_run(root)) == sorted(ALL)
    return root


def test_nothing_to_do_does_nothing(root: Path) -> None:
    assert stages_run(root) == []
    assert reproduce(root) == []


def test_an_edited_expectation_runs_check_and_report_alone(root: Path) -> None:
    edit(root, "specs/own/cancer.yaml", "rows: 569", "rows: 570")
    assert sorted(reproduce(root)) == ["judge", "report", "resolve"]
    assert "Rows is 569 (printed: 570)" in (root / "reports/full/summary.md").read_text()


def test_an_edited_attack_never_retrains(root: Path) -> None:
    before = trained(root)
    edit(root, "specs/own/cancer.yaml", "epochs: 2}", "epochs: 4}")
    assert [s for s in reproduce(root) if s != "judge"] == ["resolve", "attack", "report"]
    assert trained(root) == before
    module, old, new = "harness/attacks/logloss.py", "threshold = inside.mean()", "threshold = inside.mean() + 0.0"
    edit(root, module, old, new)
    assert "attack" in stale(root)
    assert "train" not in stale(root)
    edit(root, module, new, old)


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


def test_the_repository_pipeline_lists_every_spec_that_its_profile_runs() -> None:
    """It is what `harness pipeline` writes, and none of what is left out costs a stage."""
    assert run_cli(REPO, "pipeline", "--check").returncode == 0
    stages = YAML(typ="safe").load((REPO / "dvc.yaml").read_text())["stages"]
    params = load_params(Project(REPO))
    every = load_specs(Project(REPO), [])
    decided = {loaded.spec.id: loaded.spec for loaded in specs_to_decide(params.profiles[params.profile], every)}
    measured = {name for name, spec in decided.items() if spec.experiment is not None}
    assert measured
    assert measured < {loaded.spec.id for loaded in every if loaded.spec.experiment is not None}
    assert params.profiles[params.profile].design == "sequential"
    assert stages.keys().isdisjoint({"train", "attack"})
    for stage in ("measure", "judge"):
        assert [word for word in stages[stage]["cmd"].split() if "/" in word] == sorted(measured)
    theory = decided.keys() - measured
    assert theory == {loaded.spec.id for loaded in every if loaded.spec.experiment is None}
    assert {word for word in stages["theory"]["cmd"].split() if "/" in word} == theory


@pytest.mark.parametrize("pipeline", ["dvc.yaml", "flagship/dvc.yaml"])
def test_every_module_that_a_stage_rests_on_is_among_its_dependencies(pipeline: str) -> None:
    """Of the closure over imports, with what specs name; a module that is missing here makes no stage run again."""
    stages = YAML(typ="safe").load((REPO / pipeline).read_text())["stages"]
    assert stages.keys() <= STAGES.keys()
    for name, stage in stages.items():
        deps = [dep for dep in stage.get("do", stage)["deps"] if dep.startswith("harness")]
        paths = [path.relative_to(REPO).as_posix() for m in STAGES[name].modules() if (path := source(m)) is not None]
        assert len(paths) > 10
        assert [p for p in paths if not any(p == dep or p.startswith(f"{dep}/") for dep in deps)] == []


@pytest.mark.parametrize("name", ["judge", "theory"])
def test_an_edit_in_any_module_of_the_judge_makes_its_stage_stale(root: Path, name: str) -> None:
    from dvc.repo import Repo

    with Repo(str(root)) as repo, repo.lock:
        (stage,) = repo.stage.load_all(str(root / "dvc.yaml"), name)
        assert not stage.changed_deps()
        paths = [root / path.relative_to(REPO) for m in STAGES[name].modules() if (path := source(m)) is not None]
        assert len(paths) > 60
        for path in paths:
            before = path.read_bytes()
            path.write_bytes(before + b"\nUNUSED = 1\n")
            assert stage.changed_deps(), path
            path.write_bytes(before)
        assert not stage.changed_deps()


ANYWHERE = (
    "harness.commands",
    "harness.progress",
    "harness.pipeline",
    "harness.errors",
    "harness.files",
    "harness.links",
)
"""What starts stages, says how they go on, looks at where they write, and writes what they give it: of no stage's result."""
BEFORE = {
    "train": ("harness.spec", "harness.claims", "harness.theory", "harness.execution", "harness.attacks"),
    "attack": (
        *("harness.spec", "harness.claims", "harness.theory", "harness.execution", "harness.tracking"),
        *("harness.git", "harness.verdicts.check"),  # the commit, and the name of the machine
    ),
    "judge": (
        *("harness.attacks", "harness.data", "harness.training"),
        *("harness.spec.selection", "harness.verdicts.counts"),  # the claims that `resolve` wrote; counts for the log
    ),
    "theory": ("harness.spec.selection", "harness.verdicts.counts"),
}
"""What reads a spec, of which a stage has what `resolve` wrote; for the judge, what checks the settings of what was
measured; what names the attacks that come later, hands out work
and logs it."""


@pytest.mark.parametrize("name", ["train", "attack", "judge", "theory"])
def test_what_a_stage_calls_is_among_what_it_rests_on(root: Path, name: str) -> None:
    """Every function of the package that really runs is of a module that makes the stage run again."""
    command = (
        YAML(typ="safe").load((root / "dvc.yaml").read_text())["stages"][name]["cmd"].replace("${profile}", "full")
    )
    store = root / ".harness" / "store"
    for kind in {"train": ("train", "split"), "attack": ("evaluate", "fit")}.get(name, ()):
        shutil.rmtree(store / kind, ignore_errors=True)
    for package in PLUGINS:  # what runs as they are imported is not what a stage calls
        for module in modules_within(package) if package != "harness.training" else ():  # TensorFlow, which starts once
            importlib.import_module(module)
    package = source("harness")
    assert package is not None
    here, called = str(package.parent), set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(here) and frame.f_code.co_name != "<module>":
            called.add(str(frame.f_globals.get("__name__")))

    sys.setprofile(note)
    try:
        ran = run_cli(root, *command.split()[1:])
    finally:
        sys.setprofile(None)
    assert ran.returncode == 0, ran.stderr
    known = set(STAGES[name].modules())
    assert len(called & known) > 15
    assert {m for m in called - known if not m.startswith((*ANYWHERE, *BEFORE[name]))} == set()


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
