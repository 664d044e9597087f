"""What another repository's CI does with this one, step by step as `action.yml` has them; and a core without TensorFlow."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from harness.paths import Project
from tests.conftest import REPO, SMALL_SPEC, run_cli
from tests.test_docs import faults_of_commands

Make = Callable[..., Project]


def steps_of_the_action() -> dict[str, dict[str, Any]]:
    action = YAML(typ="safe").load((REPO / "action.yml").read_text())
    return {step["name"]: step for step in action["runs"]["steps"] if "run" in step}


def run_step(name: str, project: Project, tmp_path: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """One step, with what a runner sets and the inputs that a repository gives."""
    action = YAML(typ="safe").load((REPO / "action.yml").read_text())
    inputs = {key: str(value["default"]) for key, value in action["inputs"].items()} | given
    step = steps_of_the_action()[name]

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m.group(1)], text)

    env = {**os.environ, "GITHUB_ACTION_PATH": str(REPO), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    env |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    env |= {key: filled(value) for key, value in step.get("env", {}).items()}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", filled(step["run"])],
        cwd=project.root, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_second_repository_verifies_its_own_spec(make_project: Make, tmp_path: Path) -> None:
    """It declares one spec, accepts what was found, and hears of it when a verdict is no longer so."""
    project = make_project(SMALL_SPEC, where="second")
    assert run_cli(project.root, "run", "-q").returncode == 0
    assert run_cli(project.root, "compare", "--update", "-q").returncode == 0
    ran = run_step("Verify", project, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "as accepted" in ran.stdout
    assert run_step("Verify", project, tmp_path, profile="full", specs="own/cancer").returncode == 0
    assert run_step("Summary", project, tmp_path).returncode == 0
    assert "All as accepted." in (tmp_path / "summary.md").read_text()
    assert run_step("Site", project, tmp_path, profile="full").returncode == 0
    assert (project.reports / "full/site/index.html").is_file()
    spec = project.specs / "own" / "cancer.yaml"
    spec.write_text(SMALL_SPEC.replace("rows: 569", "rows: 570"))
    ran = run_step("Verify", project, tmp_path)
    assert ran.returncode == 1
    assert "own/cancer#counts: reproduced accepted, violated found" in ran.stdout
    assert '<failure message="reproduced accepted, violated found' in (project.root / "claims-junit.xml").read_text()
    assert run_step("Verify", project, tmp_path, profile="none").returncode == 2


RESULTS = """\
paper: own
title: A method of ours
where: results.csv
experiment: {kind: table, path: ../../results.csv, format: wide, columns: {repeat: seed}, metrics: {accuracy: [0, 1]}}
claims:
  - {id: good, where: README, statement: It is good., expect: {kind: compare, left: {metric: accuracy}, relation: ">", right: {value: 0.8}}}
"""


def test_a_repository_with_nothing_but_results_and_claims_is_verified(tmp_path: Path) -> None:
    """A results file, a spec, a baseline: no measurements, no verdicts, no data. An edited result is named."""
    project = Project(tmp_path / "results")
    (project.specs / "ours").mkdir(parents=True)
    (project.specs / "ours" / "good.yaml").write_text(RESULTS)
    project.params.write_text("profile: mine\nprofiles: {mine: {}}\n")
    rows = "".join(f"{seed},0.9{seed}\n" for seed in range(8))
    (project.root / "results.csv").write_text(f"seed,accuracy\n{rows}")
    assert run_step("Verify", project, tmp_path).returncode == 2  # nothing is accepted yet
    assert run_cli(project.root, "compare", "--update", "-q").returncode == 0
    there = {path.relative_to(project.root).as_posix() for path in project.root.rglob("*") if path.is_file()}
    assert there == {"params.yaml", "results.csv", "specs/ours/good.yaml", "reports/mine/baseline.json"}
    ran = run_step("Verify", project, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "1 claims judged, as accepted" in ran.stdout
    (project.root / "results.csv").write_text(f"seed,accuracy\n{rows}".replace("0.97", "0.10"))
    ran = run_step("Verify", project, tmp_path)
    assert ran.returncode == 1
    assert "ours/good#good: reproduced accepted, inconclusive found" in ran.stdout
    (project.root / "results.csv").write_text(f"seed,accuracy\n{rows}".replace("0.97", "0.98"))
    ran = run_step("Verify", project, tmp_path)
    assert ran.returncode == 1, "the verdict is the same, and follows from other results"
    (project.root / "results.csv").unlink()
    ran = run_step("Verify", project, tmp_path)
    assert ran.returncode == 2
    assert "experiment.path: ../../results.csv: no such file" in ran.stderr


def test_the_action_installs_the_packages_that_a_project_names(
    make_project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the project's folder, each as an argument of its own; by a Python that writes down what it is asked."""
    project = make_project()
    fake = tmp_path / "bin" / "python"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nfor one; do echo "$one"; done > asked.txt\n')
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    ran = run_step("Install packages of plug-ins", project, tmp_path, packages="-r requirements.txt ./mine")
    assert ran.returncode == 0, ran.stderr
    asked = (project.root / "asked.txt").read_text().split()
    assert asked == ["-m", "pip", "install", "--quiet", "--no-compile", "-r", "requirements.txt", "./mine"]
    assert steps_of_the_action()["Install packages of plug-ins"]["if"] == "inputs.packages != ''"


def test_workflows_name_files_and_commands_that_are_there() -> None:
    for path in (REPO / ".github/workflows").glob("*.yml"):
        jobs = YAML(typ="safe").load(path.read_text())["jobs"]
        for job in jobs.values():
            for step in job["steps"]:
                assert ("uses" in step) != ("run" in step), path
                for target in re.findall(r"\bmake (\S+)", step.get("run", "")):
                    assert re.search(rf"^({re.escape(target)}|\$\(STAMP\)):", (REPO / "Makefile").read_text(), re.M)
                for command in re.findall(r"\bharness [a-z][^&|\n]*", step.get("run", "")):
                    assert faults_of_commands(command) == "", command
    assert "verify.sh" in steps_of_the_action()["Verify"]["run"]
    assert os.access(REPO / ".github/verify.sh", os.X_OK)


WITHOUT = """
import importlib.metadata as metadata, sys
known = metadata.version
def version(name):
    if name.startswith("tensorflow"):
        raise metadata.PackageNotFoundError(name)
    return known(name)
metadata.version = version
for name in ("tensorflow", "tensorflow_privacy", "keras", "mlflow", "dvc"):
    sys.modules[name] = None
from harness.commands.app import main
sys.argv = ["harness", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["run", "-q", "-p", "quick", "humphries2020/fig6"],
            2,
            "this needs tensorflow: pip install 'mi-dp-harness[train]'",
        ),
        (["audit", "fast", "-q"], 2, "this needs tensorflow: pip install 'mi-dp-harness[train]'"),
        (["compare", "-q", "-p", "sequential", "humphries2020/fig1", "humphries2020/fig6"], 0, "as accepted"),
        (["list"], 0, "humphries2020/fig6"),
    ],
)
def test_the_light_core_judges_and_says_what_training_needs(arguments: list[str], code: int, said: str) -> None:
    """As installed without the extra: none of its packages can be imported, and their versions are not known."""
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], cwd=REPO, capture_output=True, text=True, check=False
    )
    assert ran.returncode == code, ran.stderr
    assert said in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
