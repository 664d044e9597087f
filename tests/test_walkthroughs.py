"""The docs as a reader uses them: YAML is validated, Python runs, commands are typed, walk-throughs come out as they say."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from harness.paths import Project
from tests.conftest import REPO, SMALL_SPEC, run_cli, write_cancer

PAGES = sorted([*(REPO / "docs").glob("*.md"), *(REPO / "examples").rglob("*.md")])
WALKS = ("walk-adult", "walk-table", "walk-results", "walk-paper", "walk-project")
PLUGIN = "sure-attack"
"""A kind that a package adds which only its walk-through installs."""
YAMLS = YAML(typ="safe")


def fenced(language: str, pages: list[Path] = PAGES) -> list[Any]:
    """Every block of a language, with its page as the test's name."""
    result = []
    for page in pages:
        for number, block in enumerate(re.findall(rf"(?ms)^```{language}\n(.*?)^```$", page.read_text())):
            result.append(pytest.param(block, id=f"{page.stem}-{number}"))
    return result


@pytest.fixture(scope="session")
def walk() -> ModuleType:
    spec = importlib.util.spec_from_file_location("walk", REPO / "docs" / "walk.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["walk"] = module
    spec.loader.exec_module(module)
    return module


# --- YAML: each block is put where its keys belong, and the whole is validated


def merged(into: dict[str, Any], what: dict[str, Any]) -> dict[str, Any]:
    """`what` over `into`; of a choice by `kind`, another kind takes the place of the whole."""
    result = dict(into)
    for key, value in what.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, dict) and ("kind" not in value or "kind" not in old)
        result[key] = merged(old, value) if both and isinstance(old, dict) else value
    return result


def as_specs(block: str) -> list[dict[str, Any]]:
    """The specs that a block of YAML is part of."""
    if len(re.findall(r"(?m)^dataset:", block)) > 1:  # alternatives, one a line
        return [spec for line in block.splitlines() for spec in as_specs(line)]
    data = YAMLS.load(block)
    if "paper" in data:
        return [data]
    if "expect" in data:
        claim = {"id": "it", "where": "docs", "statement": "It holds.", "expect": data["expect"]}
        return [{"paper": "own", "title": "docs", "where": "docs", "claims": [claim]}]
    if "claims" in data and "experiment" not in data:
        figure = REPO / "specs/humphries2020/fig2.yaml"  # which has the arms and attacks that the block speaks of
        host = YAMLS.load(figure.read_text())
        return [{**host, "extends": str(figure.parent / host["extends"]), **data}]
    if "arms" in data:
        data = {"experiment": data}
    whole = {"claims", "attacks", "experiment", "figure", "paper_run"}
    spec = {k: v for k, v in data.items() if k in whole}
    spec = merged(spec, {"experiment": {k: v for k, v in data.items() if k not in whole}})
    base = {k: v for k, v in YAMLS.load(SMALL_SPEC).items() if k != "claims"}
    base["attacks"] = {"gap": {"kind": "gap"}}  # which no defence refuses
    if spec["experiment"].get("split", {}).get("kind") == "sub-sample":  # divides the members itself
        base["experiment"]["sizes"].pop("nonmembers")
    base["experiment"] = {k: v for k, v in base["experiment"].items() if k != "arms"} | {"split": {"kind": "random"}}
    left = {"metric": "accuracy_test", "arm": next(iter(spec["experiment"].get("arms", {"only": {}})))}
    expect = {"kind": "compare", "left": left, "relation": ">", "right": {"value": 0}}
    claim = {"id": "it", "where": "docs", "statement": "It holds.", "expect": expect}
    return [merged({**base, "claims": [claim]}, spec)]


@pytest.mark.parametrize("block", fenced("yaml"))
def test_yaml_is_valid(block: str, make_project: Callable[..., Project], walk: ModuleType) -> None:
    """As part of a spec; the two that are none as what they are."""
    project = make_project()
    shutil.copytree(REPO / "docs" / "examples" / "results", project.specs / "own" / "docs" / "examples" / "results")
    data = None if re.search(r"(?ms)^dataset:.*^dataset:", block) else YAMLS.load(block)
    if isinstance(data, dict) and "jobs" in data:
        known = YAMLS.load((REPO / "action.yml").read_text())["inputs"]
        steps = data["jobs"]["claims"]["steps"]
        assert all(n in known for step in steps if "OWNER" in step["uses"] for n in step.get("with", {}))
        assert all(step["with"]["persist-credentials"] is False for step in steps if "checkout" in step["uses"])
        assert data["permissions"] == {"contents": "read"}
        return
    if PLUGIN in block:
        return
    if isinstance(data, dict) and "places" in data:
        from harness.spec.coverage import Coverage

        assert len(Coverage.model_validate(data).places) == len(data["places"])
        return
    if isinstance(data, dict) and "findings" in data:
        findings = project.root / "specs" / "findings.yaml"
        findings.write_text(block)
        from harness.report.findings import read_findings

        assert [finding.id for finding in read_findings(findings)] == [one["id"] for one in data["findings"]]
        return
    for file, function in re.findall(r"(\w+\.py):(\w+)", block):  # training functions, of which nothing is run here
        (project.specs / "own" / file).write_text(f"def {function}(records, labels, **settings): ...\n")
    for number, spec in enumerate(as_specs(block)):
        path = project.specs / "own" / f"doc{number}.yaml"
        if spec["paper" if "paper" in spec else "extends"] == "lira2022":
            with (project.specs / "papers.yaml").open("a") as papers:
                papers.write("lira2022: {title: t, authors: a, year: 2022}\n")
        with path.open("w") as file:
            YAML().dump(spec, file)
        ran = run_cli(project.root, "validate", f"own/doc{number}")
        stumbles = "says nothing of epsilon, which then takes its finite values"  # which the walk-through then mends
        assert ran.returncode == 0 or (spec.get("paper") == "lira2022" and stumbles in ran.stderr), ran.stderr


# --- Python


@pytest.mark.parametrize("block", [one for one in fenced("python") if not one.values[0].startswith(">>>")])
def test_python_runs(block: str) -> None:
    # Examples with prompts are doctests (tests/inference/test_examples.py).
    # A cluster; runs, which `test_recipes` has; PyTorch; training functions, which tests/testing/test_engines.py has.
    if any(name in block for name in ("dask_jobqueue", "mlflow", "import torch", "check_training_function(")):
        compile(block, "docs", "exec")
        return
    before = (
        "import numpy as np\n"
        "def train(features, labels, seed):\n"
        "    from sklearn.linear_model import LogisticRegression\n"
        "    return LogisticRegression().fit(features, labels)\n"
    )
    code = before + block.replace("runs=1000", "runs=40")
    ran = subprocess.run([sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


# --- shell

ELSEWHERE = {
    "make ": "the Makefile's targets are what CI runs",
    "dvc ": "`test_recipes`, tests/test_pipeline.py and test_flagship.py, under DVC",
    "dask ": "tests/execution/test_cluster.py, on workers of a real Dask",
    "OMP_NUM_THREADS=1 dask ": "the same",
    "pip install ": "tests/report/test_exports.py and test_explain_status_demo.py, on installed packages",
    "harness run examples/plugins/": "tests/test_own_specs.py",
    "export HARNESS_FUNCTIONS_BELOW": "tests/training/test_function.py",
    "harness run examples/training/": "the same: forests, JAX where an interpreter has it; PyTorch by hand",
    "harness run mine/dropout": "the same, with forests",
}
"""Lines that are run by other tests."""
STANDS_FOR = {"s3://bucket/folder": "shared", "/mnt/group/store": "shared", "--runs 200": "--runs 40"}
"""An S3 server is what tests/execution/test_sharing.py has."""


def lines() -> list[tuple[str, str]]:
    """Every line of shell in README and docs but the walk-throughs', with its page."""
    result = []
    for page in [REPO / "README.md", *PAGES]:
        if page.stem in (*WALKS, "audit-model"):  # typed again by tests/extensions/audit/model/test_walk.py
            continue
        for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", page.read_text()):
            for line in block.splitlines():
                command = re.sub(r"\s+#.*$", "", line).strip()
                if command and not command.startswith("#"):
                    result.append((page.stem, command))
    return result


def test_every_line_is_run_by_a_test() -> None:
    others = [line for _, line in lines() if not line.startswith("harness ") and not line.startswith(tuple(ELSEWHERE))]
    assert others == []


@pytest.mark.slow
def test_commands_run(tmp_path: Path, make_project: Callable[..., Project]) -> None:
    """In the order of the docs, in one project whose specs have the names that the docs use and take seconds."""
    project = make_project()
    one = "{repeats: 2, epochs: 1}"
    params = f"profile: quick\nflagship: sequential\nprofiles:\n  quick: {one}\n  paper: {one}\n"
    (project.root / "params.yaml").write_text(
        params + "  sequential: {design: sequential, repeats: 2, epochs: 1, from_tables: true}\n"
    )
    readings = "ambiguities:\n  rate: {choice: rate, field: experiment.training.learning_rate, chosen: 0.05, alternatives: [0.1], why: none}\n"
    for name in ("fig2", "fig4", "fig6"):
        (project.specs / "humphries2020").mkdir(exist_ok=True)
        text = SMALL_SPEC.replace("paper: own", "paper: humphries2020").replace("seed: 7", f"seed: {ord(name[-1])}")
        (project.specs / "humphries2020" / f"{name}.yaml").write_text(text + readings)
    shutil.rmtree(project.specs / "own")
    shutil.copy(REPO / "examples" / "audit_output_perturbation.py", project.root / "mine.py")
    (project.root / "shared").mkdir()
    failed = []
    for page, line in lines():
        if not line.startswith("harness ") or line.startswith(tuple(ELSEWHERE)):
            continue
        command = re.sub(r" --scheduler \S+", "", line)
        for name, instead in STANDS_FOR.items():
            command = command.replace(name, instead)
        if line.startswith("harness compare"):
            run_cli(project.root, "compare", "--update", "--quiet", "--profile", "paper")
        ran = run_cli(project.root, *shlex.split(command)[1:])
        known = 1 if "--require" in line or line.startswith(("harness compare", "harness audit")) else 0
        if ran.returncode not in (0, known):
            failed.append((page, line, ran.returncode, ran.stderr))
    assert failed == []


@pytest.mark.slow
def test_recipes(tmp_path: Path) -> None:
    """docs/recipes.md under real DVC and MLflow, in a project that is as `make repro` leaves it."""
    root = tmp_path / "p"
    (root / "specs" / "own").mkdir(parents=True)
    shutil.copytree(REPO / "harness", root / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPO / "specs" / "papers.yaml", root / "specs")
    shutil.copy(REPO / ".dvcignore", root)
    (root / "specs" / "own" / "cancer.yaml").write_text(SMALL_SPEC)
    (root / "params.yaml").write_text("profile: quick\nprofiles:\n  quick: {epochs: 2}\n")
    (root / ".gitignore").write_text("/.harness\n/mlflow.db*\n/models\n/data\n__pycache__\n/plots\n")
    write_cancer(root / "cancer.csv")
    (root / "bin").mkdir()
    (root / "bin" / "harness").write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    (root / "bin" / "harness").chmod(0o755)
    path = f"{root / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PATH": path, "PYTHONPATH": str(root), "HOME": str(tmp_path), "DVC_NO_ANALYTICS": "1"}

    def typed(line: str) -> str:
        ran = subprocess.run(
            ["bash", "-c", line], cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, f"{line}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    shutil.copytree(REPO / ".dvc", root / ".dvc", ignore=lambda folder, names: set(names) - {"config", ".gitignore"})
    typed("harness pipeline && dvc repro -q")
    before = len(list((root / ".harness" / "store" / "train").rglob("*.npz")))
    (root / "params.yaml").write_text((root / "params.yaml").read_text().replace("epochs: 2", "epochs: 1"))
    text = (REPO / "docs" / "recipes.md").read_text()
    for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", text):
        said = "".join(typed(line) for line in block.splitlines())
        assert "reproduced" in said or "plots/index.html" in said
    assert len(list((root / ".harness" / "store" / "train").rglob("*.npz"))) == 2 * before  # the first ones stay
    (block,) = re.findall(r"(?ms)^```python\n(.*?)^```$", text)
    ran = subprocess.run([sys.executable, "-c", block], cwd=root, capture_output=True, text=True, check=True)
    assert re.search(r"own/cancer +iid +1\b", ran.stdout), ran.stdout


# --- walk-throughs


def masked(text: str) -> str:
    """Words alone: another processor may move the last digits, and a bar of numbers its columns."""
    return " ".join(re.sub(r"[-−]?\d[\d,.]*(×10[⁻⁰¹²³⁴-⁹]+)?", "0", text).split())


def test_walk_throughs_are_what_was_typed(walk: ModuleType) -> None:
    """Each has a file, lines to type, and what came."""
    for name in WALKS:
        page = (REPO / "docs" / f"{name}.md").read_text()
        languages = [block.language for block in walk.blocks(page)]
        assert {"yaml", "sh", "text"} == set(languages)
        assert any(block.path for block in walk.blocks(page))
        assert any(word in page for word in ("✓ reproduced", "✗ violated", "? inconclusive", "≠ differs"))


@pytest.mark.slow
@pytest.mark.parametrize("name", WALKS)
def test_walk_throughs_come_out(
    name: str, walk: ModuleType, real_data: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed again in a copy of the checkout: the same words, to the digits."""
    root = tmp_path / "checkout"
    hidden = shutil.ignore_patterns("site", "__pycache__", "quick", "paper")
    for folder in ("specs", "reports"):
        shutil.copytree(REPO / folder, root / folder, ignore=hidden)
    (root / "flagship").mkdir()
    shutil.copy(REPO / "params.yaml", root)
    shutil.copytree(REPO / "docs" / "examples", root / "docs" / "examples")
    shutil.copytree(real_data.root / "data", root / "data", dirs_exist_ok=True)
    (tmp_path / "bin").mkdir()
    for command, module in (("harness", "-m harness"), ("python", "")):
        path = tmp_path / "bin" / command
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    installed = {"PIP_TARGET": str(tmp_path / "site"), "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "off"}
    for variable, value in (installed | {"PYTHONPATH": f"{REPO}:{tmp_path / 'site'}"}).items():
        monkeypatch.setenv(variable, value)
    shutil.copytree(REPO / ".github", root / ".github")
    page = (REPO / "docs" / f"{name}.md").read_text()
    played = list(walk.play(page, root))
    assert played
    for block, said in played:
        assert masked(said) == masked(block.text)
    patterns = ("reports/*/site/index.html", "reports/own/*/site/index.html", "study/reports/*/site/index.html")
    assert any(list(root.glob(pattern)) for pattern in patterns)
