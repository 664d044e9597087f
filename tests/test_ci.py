"""What another repository's CI does with this one, step by step as `action.yml` has them; and a core without TensorFlow."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML

from harness.commands import new_project
from harness.paths import Project
from tests.conftest import REPO, SMALL_SPEC, run_cli
from tests.program import run_script
from tests.test_docs import faults_of_commands

Make = Callable[..., Project]


def steps_of_the_action() -> dict[str, dict[str, Any]]:
    action = YAML(typ="safe").load((REPO / "action.yml").read_text())
    return {step["name"]: step for step in action["runs"]["steps"] if "run" in step}


def runner_temp(tmp_path: Path) -> Path:
    """The runner's folder for what lasts as long as a job, outside of the checkout."""
    folder = tmp_path / "runner-temp"
    folder.mkdir(exist_ok=True)
    return folder


def run_step(
    name: str, project: Project, tmp_path: Path, /, started: bool = False, **given: str
) -> subprocess.CompletedProcess[str]:
    """One step, with what a runner sets and the inputs that a repository gives.

    The program that it calls is `started` as a process of its own, or carried out by this process.
    """
    action = YAML(typ="safe").load((REPO / "action.yml").read_text())
    inputs = {key: str(value["default"]) for key, value in action["inputs"].items()} | given
    step = steps_of_the_action()[name]

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m.group(1)], text)

    env = {**os.environ, "GITHUB_ACTION_PATH": str(REPO), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    env |= {"GITHUB_WORKSPACE": str(project.root), "RUNNER_TEMP": str(runner_temp(tmp_path))}
    env |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    env |= {key: filled(value) for key, value in step.get("env", {}).items()}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", filled(step["run"])]
    if started:
        return subprocess.run(command, cwd=project.root, env=env, capture_output=True, text=True, check=False)
    return run_script(command, project.root, env)


def test_a_second_repository_verifies_its_own_spec(make_project: Make, tmp_path: Path) -> None:
    """It declares one spec, accepts what was found, and hears of it when a verdict is no longer so."""
    project = make_project(SMALL_SPEC, where="second")
    assert run_cli(project.root, "run", "-q").returncode == 0
    assert run_cli(project.root, "compare", "--update", "-q").returncode == 0
    ran = run_step("Verify", project, tmp_path, started=True)
    assert ran.returncode == 0, ran.stderr
    assert "as accepted" in ran.stdout
    assert run_step("Verify", project, tmp_path, profile="full", specs="own/cancer").returncode == 0
    assert run_step("Summary", project, tmp_path).returncode == 0
    assert "All as accepted." in (tmp_path / "summary.md").read_text()
    assert run_step("Site", project, tmp_path, started=True, profile="full").returncode == 0
    assert (project.reports / "full/site/index.html").is_file()
    assert (runner_temp(tmp_path) / "claims/reports/full/site/index.html").is_file()
    assert {path.name for path in project.root.iterdir()}.isdisjoint(
        {"claims-junit.xml", "claims-summary.md", "claims"}
    )
    spec = project.specs / "own" / "cancer.yaml"
    spec.write_text(SMALL_SPEC.replace("rows: 569", "rows: 570"))
    ran = run_step("Verify", project, tmp_path)
    assert ran.returncode == 1
    assert "own/cancer#counts: reproduced accepted, violated found" in ran.stdout
    assert (
        '<failure message="reproduced accepted, violated found'
        in (runner_temp(tmp_path) / "claims/junit.xml").read_text()
    )
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
    assert asked == ["-I", "-m", "pip", "install", "--quiet", "--no-compile", "-r", "requirements.txt", "./mine"]
    assert steps_of_the_action()["Install packages of plug-ins"]["if"] == "inputs.packages != ''"


@pytest.fixture
def accepted(tmp_path: Path) -> Project:
    """A project on results from elsewhere, with a baseline."""
    project = Project(tmp_path / "results")
    (project.specs / "ours").mkdir(parents=True)
    (project.specs / "ours" / "good.yaml").write_text(RESULTS)
    project.params.write_text("profile: mine\nprofiles: {mine: {}}\n")
    (project.root / "results.csv").write_text("seed,accuracy\n" + "".join(f"{seed},0.9{seed}\n" for seed in range(8)))
    assert run_cli(project.root, "compare", "--update", "-q").returncode == 0
    return project


def test_a_committed_summary_is_not_the_summary_of_the_step(accepted: Project, tmp_path: Path) -> None:
    """The comparison ends before it writes its own, as a spec is faulty; nor is one of a former run."""
    assert run_step("Verify", accepted, tmp_path).returncode == 0
    (accepted.root / "claims").mkdir()
    for name in ("claims-summary.md", "claims/summary.md", "summary.md"):
        (accepted.root / name).write_text("All as accepted.\n")
    (accepted.specs / "ours" / "good.yaml").write_text("paper: [")
    assert run_step("Verify", accepted, tmp_path).returncode == 2
    assert run_step("Summary", accepted, tmp_path).returncode == 0
    assert not (tmp_path / "summary.md").exists()


def test_the_base_branch_judges_a_pull_request(accepted: Project, tmp_path: Path) -> None:
    """Claim, results and baseline are changed together: accepted by its own baseline, and not by the former one."""
    base = tmp_path / "base.json"
    shutil.copy(accepted.reports / "mine/baseline.json", base)
    ran = run_step("Verify", accepted, tmp_path, baseline=str(base))
    assert ran.returncode == 0, ran.stderr
    spec = accepted.specs / "ours" / "good.yaml"
    spec.write_text(RESULTS.replace("value: 0.8", "value: 0.99"))
    assert run_cli(accepted.root, "compare", "--update", "-q").returncode == 0
    assert run_step("Verify", accepted, tmp_path).returncode == 0
    ran = run_step("Verify", accepted, tmp_path, baseline=str(base))
    assert ran.returncode == 1
    assert "ours/good#good: reproduced accepted, violated found" in ran.stdout
    (accepted.root / "base").mkdir()
    shutil.copy(base, accepted.root / "base")
    ran = run_step("Verify", accepted, tmp_path, baseline="base/base.json")
    assert ran.returncode == 1, "a path is one from the workspace"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "none.json"], "--baseline none.json: no such file; name a baseline.json"),
        (["--baseline", "params.yaml"], "params.yaml: not a baseline"),
        (["--baseline", "other.json"], "--baseline other.json: is of the profile 'other', not of 'mine'"),
        (["--baseline", "other.json", "--update"], "--baseline: is read, and --update writes the profile's own"),
    ],
)
def test_a_baseline_that_is_none_is_one_line(accepted: Project, arguments: list[str], message: str) -> None:
    text = (accepted.reports / "mine/baseline.json").read_text()
    (accepted.root / "other.json").write_text(text.replace('"profile": "mine"', '"profile": "other"'))
    ran = run_cli(accepted.root, "compare", "-q", *arguments)
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert message in ran.stderr
    assert (accepted.reports / "mine/baseline.json").read_text() == text


PLACES = {
    "results": ("specs/ours/good.yaml", RESULTS.replace("../../results.csv", "SECRET")),
    "what a spec extends": ("specs/ours/good.yaml", f"extends: SECRET\n{RESULTS}"),
    "a table": ("specs/ours/good.yaml", SMALL_SPEC.replace("path: cancer.csv", "path: SECRET")),
}


@pytest.mark.parametrize("way", ["path", "link", ".git"])
@pytest.mark.parametrize("what", PLACES)
def test_the_action_reads_no_file_outside_of_the_project(
    what: str, way: str, accepted: Project, tmp_path: Path
) -> None:
    """By a path, by a link that git carries, and the checkout's own token: none of their text is in the log."""
    (accepted.root / ".git").mkdir()
    secret = accepted.root / ".git" / "config" if way == ".git" else tmp_path / "secret"
    secret.write_text("root:PASSWORD,root:PASSWORD\nroot:PASSWORD\n")
    name, text = PLACES[what]
    (accepted.root / "link.csv").symlink_to(secret)
    path = str(accepted.root / "link.csv") if way == "link" else str(secret)
    (accepted.root / name).write_text(text.replace("SECRET", path))
    ran = run_step("Verify", accepted, tmp_path)
    if what == "a table":  # which judging does not read
        assert "PASSWORD" not in ran.stdout + ran.stderr
        ran = run_cli(accepted.root, "plan", HARNESS_ONLY_BELOW=str(accepted.root))
    assert ran.returncode == 2, ran.stdout
    assert "PASSWORD" not in ran.stdout + ran.stderr
    assert "lies outside of" in ran.stderr
    assert "HARNESS_ONLY_BELOW" in ran.stderr
    elsewhere = run_cli(accepted.root, "plan" if what == "a table" else "validate")
    assert "lies outside of" not in elsewhere.stderr, "at home any path may be read"


def test_names_of_specs_are_no_options_and_no_patterns(accepted: Project, tmp_path: Path) -> None:
    (accepted.root / "good.yaml").write_text(RESULTS.replace("../../results.csv", "results.csv"))
    before = (accepted.reports / "mine/baseline.json").read_text()
    for specs, message in (("--update", "no spec '--update'"), ("*.yaml", "*.yaml: no such file")):
        ran = run_step("Verify", accepted, tmp_path, specs=specs)
        assert ran.returncode == 2
        assert message in ran.stderr
    assert (accepted.reports / "mine/baseline.json").read_text() == before
    assert run_step("Verify", accepted, tmp_path, specs="ours/good ours").returncode == 0


def test_the_project_is_in_the_workspace(accepted: Project, tmp_path: Path) -> None:
    (accepted.root / "out").symlink_to(tmp_path)
    for name, code in ((".", 0), ("specs", 0), ("..", 2), ("out", 2)):
        assert run_step("Folder", accepted, tmp_path, project=name).returncode == code, name


def test_what_is_uploaded_has_no_links(accepted: Project, tmp_path: Path) -> None:
    assert run_cli(accepted.root, "judge", "-q").returncode == 0
    for name in ("mine/site/secret.html", "other/site", "third"):
        (accepted.reports / name).parent.mkdir(parents=True, exist_ok=True)
        (accepted.reports / name).symlink_to(tmp_path)
    ran = run_step("Site", accepted, tmp_path)
    assert ran.returncode == 0, ran.stderr
    uploaded = runner_temp(tmp_path) / "claims" / "reports"
    assert (uploaded / "mine/site/index.html").is_file()
    assert {path.name for path in uploaded.iterdir()} == {"mine"}
    assert not [path for path in uploaded.rglob("*") if path.is_symlink()]


def test_pip_of_the_workspace_is_not_run(accepted: Project, tmp_path: Path) -> None:
    """The step as it is, but that pip prints its version."""
    (accepted.root / "pip.py").write_text("print('OURS')\n")
    step = steps_of_the_action()["Install the light core"]["run"]
    started, _, _ = step.partition(" install ")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command, ours in ((f"{started} --version", False), ("python -m pip --version", True)):
        ran = subprocess.run(
            ["bash", "-c", command], cwd=accepted.root, env=env, capture_output=True, text=True, check=False
        )
        assert ("OURS" in ran.stdout) == ours


def workflows() -> dict[str, dict[str, Any]]:
    """This repository's, and the one that `harness new project` writes."""
    template = REPO / "harness/commands/templates/project-workflow.yml.in"
    paths = [*(REPO / ".github/workflows").glob("*.yml"), template]
    return {path.name: YAML(typ="safe").load(path.read_text()) for path in paths}


@pytest.mark.parametrize(("name", "workflow"), workflows().items())
def test_workflows_ask_for_no_more_than_they_need(name: str, workflow: dict[str, Any]) -> None:
    """Reading alone, but for the job that publishes and runs no code of ours; no token stays in a checkout."""
    assert workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in str(workflow)
    for title, job in workflow["jobs"].items():
        if title == "publish":
            assert not [step for step in job["steps"] if "run" in step]
        else:
            assert "permissions" not in job
        for step in job["steps"]:
            assert "${{ github.event" not in step.get("run", "")
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_the_container_does_not_run_as_root() -> None:
    lines = (REPO / "Dockerfile").read_text().splitlines()
    (user,) = [number for number, line in enumerate(lines) if line.startswith("USER ")]
    assert lines[user] != "USER root"
    assert not [line for line in lines[user:] if line.startswith(("RUN", "COPY"))]


def run_workflow(project: Path, temp: Path, **environment: str) -> dict[str, subprocess.CompletedProcess[str]]:
    """Every step of a project's workflow that runs something, as a runner runs it; by name."""
    workflow = YAML(typ="safe").load((project / ".github/workflows/claims.yml").read_text())
    given = {"github.workspace": str(project), "runner.temp": str(temp)}
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HARNESS_", "MLFLOW_"))} | workflow["env"]
    env |= {"GITHUB_STEP_SUMMARY": str(temp / "step.md"), "RUNNER_TEMP": str(temp), **environment}
    ran = {}
    for step in workflow["jobs"]["claims"]["steps"]:
        has_failed = any(one.returncode for one in ran.values())
        if "run" not in step or (has_failed and step.get("if") != "always()"):
            continue
        own = {k: re.sub(r"\$\{\{ (\S+) \}\}", lambda m: given[m[1]], v) for k, v in step.get("env", {}).items()}
        assert "${{" not in step["run"]
        ran[step["name"]] = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=project, env=env | own, capture_output=True, text=True, check=False,
        )  # fmt: skip
    return ran


@pytest.mark.integration
def test_the_workflow_of_a_new_project_works_as_it_is(tmp_path: Path) -> None:
    """It installs the package from an index, here a folder with its wheel, and fails where a verdict is another one."""
    for name in ("harness", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (REPO / name).is_dir() else shutil.copy
        copy(REPO / name, tmp_path / "source" / name)
    build = [sys.executable, "-I", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(tmp_path / "index"), str(tmp_path / "source")], check=True)
    assert run_cli(tmp_path, "new", "project", "study").returncode == 0
    project, site = tmp_path / "study", tmp_path / "site"
    assert "OWNER" not in (project / ".github/workflows/claims.yml").read_text()
    assert run_cli(project, "run", "-q", MLFLOW_TRACKING_URI="").returncode == 0
    assert run_cli(project, "compare", "--update", "-q").returncode == 0
    for name in (".harness", "mlflow.db", "reports/declared/site"):  # what .gitignore keeps out of a checkout
        path = project / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index"), "PIP_NO_DEPS": "1"}
    offline |= {"PIP_TARGET": str(site), "PYTHONPATH": str(site)}
    offline["PATH"] = f"{site / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"

    def run_job(name: str) -> dict[str, subprocess.CompletedProcess[str]]:
        (tmp_path / name).mkdir()
        return run_workflow(project, tmp_path / name, **offline)

    ran = run_job("accepted")
    assert {name: step.returncode for name, step in ran.items()} == dict.fromkeys(
        ("Install", "Compare", "Summary", "Site"), 0
    ), [step.stderr for step in ran.values()]
    assert (site / "harness" / "__main__.py").is_file()
    assert "3 claims judged, as accepted" in ran["Compare"].stdout
    assert "All as accepted." in (tmp_path / "accepted/step.md").read_text()
    assert (project / "reports/declared/site/index.html").is_file()
    spec = project / "specs/example/mixture.yaml"
    spec.write_text(spec.read_text().replace('relation: ">", right: {value: 0}', 'relation: "<", right: {value: 0}'))
    ran = run_job("changed")
    assert {name: step.returncode for name, step in ran.items()} == {"Install": 0, "Compare": 1, "Summary": 0}
    assert "example/mixture#leaks-without-noise: reproduced accepted, violated found" in ran["Compare"].stdout


def test_a_workflow_installs_what_it_is_told_to(tmp_path: Path) -> None:
    """Or the commit that this harness was installed from."""
    wanted = 'mine @ git+https://example.org/o/n@v1 ; python_version > "3"'
    ran = run_cli(tmp_path, "new", "project", "study", "--install", wanted)
    assert f"the workflow installs {wanted}; " in " ".join(ran.stdout.split())
    workflow = YAML(typ="safe").load((tmp_path / "study/.github/workflows/claims.yml").read_text())
    assert workflow["env"]["HARNESS"] == wanted


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "=="),
        ({"url": "file:///home/me/harness", "dir_info": {"editable": True}}, "=="),
        ({"url": "https://example.org/o/n", "vcs_info": {"vcs": "git", "commit_id": "ab12"}}, " @ git+https://example.org/o/n@ab12"),
        ({"url": "ssh://git@example.org/o/n", "vcs_info": {"vcs": "git", "commit_id": "ab12"}}, "=="),
        ([], "=="),
    ],
)  # fmt: skip
def test_the_default_is_what_another_machine_can_install(
    origin: object, requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = None if origin is None else json.dumps(origin)
    monkeypatch.setattr(new_project, "distribution", lambda _: SimpleNamespace(read_text=lambda _: written))
    assert new_project._own_requirement().startswith(f"mi-dp-harness{requirement}")


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
        (["plan", "-q", "-p", "quick", "humphries2020/fig6"], 0, "not installed: tensorflow; models are named by what"),
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


def test_actions_of_others_are_named_by_their_commits() -> None:
    """A tag can be moved. Docs and templates for others keep tags, which their readers can tell."""
    paths = [REPO / "action.yml", *(REPO / ".github/workflows").glob("*.yml")]
    used = [
        line.strip() for path in paths for line in path.read_text().splitlines() if re.match(r"\s*(- )?uses:", line)
    ]
    assert len(used) > 10
    loose = [line for line in used if not re.search(r"uses: (\./|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$", line)]
    assert loose == []
