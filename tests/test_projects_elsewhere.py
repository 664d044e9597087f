"""Projects outside of this checkout: every command in the least that is one, pages without citations, `new project`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from harness.commands import new_project
from harness.paths import Project, find_project
from tests.conftest import REPO, run_cli, run_in_turn, run_process, whole_program
from tests.test_ci import run_step

SPEC = """\
paper: nobody2024
title: A mixture
where: Figure 1
experiment:
  seed: 1
  dataset: {kind: mixture, m: 3, sigma: 0.5}
  sizes: {members: 30, test: 30, nonmembers: 30}
  split: {kind: random}
  model: {kind: logistic}
  training: {engine: fast, learning_rate: 0.05, batch_size: 10, epochs: 2}
  privacy: {epsilons: [10], delta: 1.0e-3}
  repeats: 2
attacks:
  gap: {kind: gap}
ambiguities:
  rate: {choice: rate, field: experiment.training.learning_rate, chosen: 0.05, alternatives: [0.1], why: none}
claims:
  - id: leaks
    where: here
    statement: The gap attack tells members from others.
    expect: {kind: compare, left: {metric: advantage, attack: gap}, relation: ">", right: {value: 0}}
"""
CLAIM = "own/mix#leaks"
COMMANDS: dict[str, tuple[str, int, str]] = {
    "validate": ("", 0, "pages call these papers by their key or title: nobody2024"),
    "list": ("", 0, "own/mix"),
    "schema": ("", 0, "specs/schema.json"),
    "plan": ("", 0, "profile declared: "),
    "declare": ("", 0, "1 of 1 claims on measurements are new or changed"),
    "resolve": ("", 0, ""),
    "run": ("-q", 0, "report: reports/declared/site/index.html"),
    "judge": ("-q", 0, CLAIM),
    "report": ("--brief", 0, "profile declared: 1 claims"),
    "site": ("", 0, "site: reports/declared/site/index.html"),
    "explain": (CLAIM, 0, "The gap attack tells members from others (mixture "),
    "status": ("", 0, "profile declared: 1 claims"),
    "alternatives": ("-q", 0, "leaks"),
    "bundle": (CLAIM, 0, "own-mix--leaks.crate.zip: "),
    "compare": ("--update -q", 0, "accepted"),
    "new": ("formula mine", 0, "mine/mine.py"),
    "accountants": ("--epsilon 1", 0, "rdp"),
    "audit": ("fast --epsilon 4 --runs 4 -q", 0, ""),
    "survey": ("table.csv --label y --repeats 2 -q", 0, "advantage"),
    "data fetch": ("", 0, "no spec names a data set that has to be fetched"),
    "data status": ("purchase100-substitute", 0, "purchase100-substitute"),
    "store verify": ("-q", 0, "0 damaged"),
    "store push": ("shared -q", 0, ""),
    "store pull": ("shared -q", 0, ""),
    "store gc": ("", 0, "stay"),
    "what-is-in": ("table.csv", 0, "table.csv"),
    "demo": ("", 2, "demo: needs the committed tables of humphries2020/fig6; run it in a clone of the project"),
    "pipeline": ("", 2, "params.yaml: no such file, and dvc.yaml reads the profile from it"),
}
"""By command: what is typed after it, the exit code, and what it prints, in the order in which they are typed."""


def commands(group: Any, before: str = "") -> Iterator[str]:
    """The full names of all commands of a group."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def test_every_command_is_tried() -> None:
    assert set(commands(whole_program())) == set(COMMANDS)


@pytest.mark.integration
def test_every_command_works_in_the_least_project(tmp_path: Path) -> None:
    """One spec, whose paper nobody cites: no params.yaml, no papers.yaml, no git."""
    root = tmp_path / "least"
    (root / "specs" / "own").mkdir(parents=True)
    (root / "specs" / "own" / "mix.yaml").write_text(SPEC)
    (root / "table.csv").write_text("x,z,y\n" + "".join(f"{n % 7},{n % 5},{n % 2}\n" for n in range(120)))
    failed = []
    for name, (arguments, code, text) in COMMANDS.items():
        ran = run_cli(root, *name.split(), *arguments.split())
        if ran.returncode != code or text not in ran.stdout + ran.stderr or "Traceback" in ran.stderr:
            failed.append((name, ran.returncode, ran.stdout, ran.stderr))
    assert failed == []
    assert dead_links(root / "reports" / "declared" / "site") == []


def dead_links(site: Path) -> list[str]:
    """Links between pages of a site that lead nowhere."""
    result = []
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
            path = unquote(unescape(target).partition("#")[0])
            if path and not path.startswith(("http", "data:")) and not (page.parent / path).exists():
                result.append(f"{page.relative_to(site)}: {target}")
    return result


RESULTS = """\
paper: nobody2024
title: Results of nobody
where: Table 1
experiment: {kind: table, path: ../results.csv, format: wide, columns: {repeat: seed}, metrics: {accuracy: [0, 1]}}
claims:
  - {id: good, where: README, statement: It is good., expect: {kind: compare, left: {metric: accuracy}, relation: ">", right: {value: 0.8}}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that brings its results, so that nothing is trained."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "good.yaml").write_text(RESULTS)
    (tmp_path / "params.yaml").write_text("profile: mine\nprofiles: {mine: {}}\n")
    (tmp_path / "results.csv").write_text("seed,accuracy\n" + "".join(f"{seed},0.9{seed}\n" for seed in range(8)))
    return tmp_path


@pytest.mark.parametrize(
    ("papers", "heading"),
    [
        (None, "nobody2024"),
        ("{}\n", "nobody2024"),
        ("other2020: {title: Other, authors: O. Ther, year: 2020}\n", "nobody2024"),
        ("nobody2024: {title: A Paper}\n", "A Paper"),
        ("nobody2024: {title: A Paper, year: 2024, authors: ''}\n", "A Paper"),
        ("nobody2024: {authors: 'A. Nobody, B. Nemo, '}\n", "Nobody &amp; Nemo"),
        ("nobody2024: {title: A Paper, authors: 'A. Nobody', year: 2024}\n", "Nobody 2024"),
    ],
)
def test_a_paper_is_called_by_what_is_known_of_it(project: Path, papers: str | None, heading: str) -> None:
    if papers is not None:
        (project / "specs" / "papers.yaml").write_text(papers)
    assert run_cli(project, "judge", "-q").returncode == 0
    ran = run_cli(project, "report")
    assert ran.returncode == 0, ran.stderr
    site = project / "reports" / "mine" / "site"
    title = "A Paper" if "title: A Paper" in (papers or "") else heading
    assert f"<h1>{title}</h1>" in (site / "papers" / "nobody2024.html").read_text()
    assert f">{heading}</a>" in (site / "index.html").read_text()
    assert dead_links(site) == []


def test_the_project_is_the_nearest_folder_with_both_else_with_specs(project: Path) -> None:
    inner = project / "inner"
    (inner / "specs").mkdir(parents=True)
    (inner / "specs" / "theirs.yaml").write_text(RESULTS)
    assert find_project(inner).root == project
    (project / "params.yaml").unlink()
    assert find_project(inner).root == inner
    (inner / "specs" / "theirs.yaml").unlink()
    assert find_project(inner).root == project


@pytest.mark.parametrize(
    ("citation", "texts"),
    [
        ("title: Ours\n", ["<p>Ours.</p>", "@software{ours,"]),
        (
            "title: Our Work\nauthors: [{given-names: Ada, family-names: Lovelace}, {name: A Group}]\nversion: 1.0\n",
            ["Our Work, by Ada Lovelace, A Group. Version 1.0.", "author = {{Lovelace, Ada and A Group}}"],
        ),
        (
            "title: Ours\nlicense: [MIT, Apache-2.0]\ndate-released: 2025-02-03\n",
            ["Ours. Released 2025-02-03. Licence: MIT, Apache-2.0.", "year = {{2025}}"],
        ),
    ],
)
def test_a_project_is_cited_by_what_it_says(project: Path, citation: str, texts: list[str]) -> None:
    """CITATION.cff of another repository has other fields than ours."""
    (project / "CITATION.cff").write_text(f"cff-version: 1.2.0\nmessage: Cite it.\n{citation}")
    assert run_cli(project, "judge", "-q").returncode == 0
    ran = run_cli(project, "site")
    assert ran.returncode == 0, ran.stderr
    page = unescape((project / "reports" / "mine" / "site" / "about.html").read_text())
    assert [text for text in texts if text not in page] == []


def test_docs_of_a_project_stand_beside_the_pages_that_are_made(project: Path) -> None:
    docs = project / "docs"
    docs.mkdir()
    for name in ("index", "reference", "method"):
        (docs / f"{name}.md").write_text(f"# Ours: {name}\n\nThis is ours. See [the start](index.md).\n")
    assert run_cli(project, "judge", "-q").returncode == 0
    assert run_cli(project, "site").returncode == 0
    site = project / "reports" / "mine" / "site"
    assert "Ours: index" in (site / "docs" / "index-page.html").read_text()
    assert 'href="index-page.html"' in (site / "docs" / "method.html").read_text()
    assert "Ours: reference" in (site / "docs" / "reference-page.html").read_text()
    assert dead_links(site) == []


# --- `harness new project`


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True).stdout


@pytest.mark.integration
def test_a_new_project_runs_is_small_in_git_and_passes_the_action(tmp_path: Path) -> None:
    """As its README has it; what a run leaves besides results is ignored, which the store of pieces and MLflow's are."""
    ran = run_cli(tmp_path, "new", "project", "study")
    assert ran.returncode == 0, ran.stderr
    assert "next: cd study; harness validate; harness run; harness compare --update" in ran.stdout
    root = tmp_path / "study"
    git(root, "init", "-q")
    assert run_cli(root, "validate").stdout == "1 specs are valid\n"
    ran = run_cli(root, "run", "-q", MLFLOW_TRACKING_URI="")
    assert ran.stdout.count("reproduced") == 3, ran.stdout + ran.stderr
    assert "noise-protects\treproduced\tholds at every point" in ran.stdout
    assert run_cli(root, "compare", "--update", "-q").returncode == 0
    run_cli(root, "bundle", "example/mixture#noise-protects")
    git(root, "add", "-A")
    staged = git(root, "ls-files").splitlines()
    assert sum((root / name).stat().st_size for name in staged) < 1_000_000
    everything = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    assert everything > 1_000_000, "so that something was left out"
    needed = {"reports/declared/baseline.json", "reports/declared/example/mixture/measurements.parquet"}
    assert needed <= set(staged)
    assert not [name for name in staged if name.startswith((".harness", "models", "mlflow", "reports/declared/site"))]
    clone = tmp_path / "clone"
    git(root, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "Results")
    git(tmp_path, "clone", "-q", str(root), str(clone))
    ran = run_step("Verify", Project(clone), tmp_path, profile="declared")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert run_step("Site", Project(clone), tmp_path, profile="declared").returncode == 0
    assert dead_links(clone / "reports" / "declared" / "site") == []


def test_a_new_project_in_an_empty_folder_and_in_a_repository_without_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    ran = run_cli(tmp_path, "new", "project", ".")
    assert ran.returncode == 0, ran.stderr
    assert "next: harness validate;" in ran.stdout
    assert {path.name for path in tmp_path.iterdir()} == {
        ".git",
        *(name.partition("/")[0] for name in new_project.FILES),
    }
    assert run_cli(tmp_path, "validate").returncode == 0


def test_nothing_is_left_of_a_new_project_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the third file."""
    written: list[Path] = []

    def write(path: Path, text: str) -> None:
        if len(written) == 2:
            raise OSError(28, "No space left on device", str(path))
        written.append(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    monkeypatch.setattr(new_project, "write_text", write)
    ran = run_cli(tmp_path, "new", "project", "study")
    assert (ran.returncode, "No space left on device; nothing half-written was left" in ran.stderr) == (2, True)
    assert len(written) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_new_project_runs_under_dvc(tmp_path: Path) -> None:
    """Its stages depend on nothing that lies in the harness' own checkout, and a second run has nothing to do."""
    assert run_cli(tmp_path, "new", "project", "study").returncode == 0
    root = tmp_path / "study"
    git(root, "init", "-q")
    assert run_process(root, "pipeline").returncode == 0
    (tmp_path / "harness").write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    (tmp_path / "harness").chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(REPO), "DVC_NO_ANALYTICS": "1"}
    for line in ("dvc init -q", "dvc repro -q", "dvc status -q"):
        ran = subprocess.run(line.split(), cwd=root, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 reproduced" in (root / "reports" / "declared" / "summary.md").read_text()


# --- plug-ins


def install(package: Path, site: Path, name: str) -> None:
    """What pip makes of a package of one module: the module, and what says that it is there."""
    described = site / f"{name.replace('-', '_')}-0.1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\nRequires-Dist: numpy\n")
    module = name.replace("-", "_")
    (described / "entry_points.txt").write_text(f"[harness.plugins]\n{module} = {module}\n")
    shutil.copy(package / f"{module}.py", site)


@pytest.mark.integration
def test_a_bundle_of_a_project_with_a_plug_in_judges_itself_again(tmp_path: Path) -> None:
    """With nothing but what is in it; without the plug-in one line names the package."""
    root, site, there = tmp_path / "p", tmp_path / "site", tmp_path / "there"
    (root / "specs" / "own").mkdir(parents=True)
    (root / "specs" / "own" / "mix.yaml").write_text(SPEC.replace("{kind: gap}", "{kind: my-attack}"))
    (root / "params.yaml").write_text("profile: all\nprofiles: {all: {}}\nplugins: {my-attack: [my-attack]}\n")
    for sort in ("attack", "dataset"):
        assert run_cli(root, "new", sort, f"my-{sort}").returncode == 0
        install(root / f"my-{sort}", site, f"my-{sort}")
    path = f"{site}:{REPO}"
    for ran in run_in_turn(root, ("run", "-q"), ("bundle", CLAIM, "-o", "x.zip"), PYTHONPATH=path):
        assert ran.returncode == 0, ran.stderr
    zipfile.ZipFile(root / "x.zip").extractall(there)
    installed = json.loads((there / "installed.json").read_text())
    assert installed["harness"].startswith("harness ")
    (plugin,) = installed["plugins"]
    assert (plugin["package"], plugin["version"], plugin["modules"]) == ("my-attack", "0.1.0", ["my_attack"])
    assert (there / "plugins" / "my_attack.py").read_bytes() == (site / "my_attack.py").read_bytes()
    assert not list(there.rglob("my_dataset*")), "no spec names it"
    pinned = (there / "requirements.installed.txt").read_text().splitlines()
    assert {line.partition("==")[0] for line in pinned} >= {"numpy", "pydantic", "typer"}
    assert not [line for line in pinned if line.startswith(("tensorflow", "mi-dp-harness", "my-attack"))]
    readme = (there / "README.md").read_text()
    assert "PYTHONPATH=plugins .venv/bin/python -m harness judge --profile all own/mix" in readme
    crate = json.loads((there / "ro-crate-metadata.json").read_text())["@graph"]
    files = {p.relative_to(there).as_posix() for p in there.rglob("*") if p.is_file()}
    assert {e["@id"] for e in crate if e.get("@type") == "File"} == files - {"ro-crate-metadata.json"}
    (dataset,) = [e for e in crate if e["@id"] == "./"]
    assert "license" not in dataset, "the project states none"
    ran = run_process(there, "judge", "-q", "own/mix", "--json", PYTHONPATH=f"{there / 'plugins'}:{there}")
    assert ran.returncode == 0, ran.stderr
    judged = {v["id"]: v for v in json.loads(ran.stdout)}
    assert judged[CLAIM] == json.loads((there / "verdict.json").read_text())
    ran = run_process(there, "judge", "-q", "own/mix", PYTHONPATH=str(there))
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert "unknown kind 'my-attack'; known: " in line
    assert line.endswith("; the package my-attack, which adds it, is not installed: pip install my-attack")


def test_a_bundle_of_results_in_a_project_without_params_is_a_project(project: Path, tmp_path: Path) -> None:
    """A spec outside of specs/, in a project that has nothing else."""
    (project / "params.yaml").unlink()
    (project / "mine.yaml").write_text(RESULTS.replace("../results.csv", "results.csv"))
    assert run_cli(project, "judge", "-q", "mine.yaml").returncode == 0
    ran = run_cli(project, "bundle", "mine.yaml#good", "-o", "x.zip")
    assert ran.returncode == 0, ran.stderr
    there = tmp_path / "there"
    zipfile.ZipFile(project / "x.zip").extractall(there)
    assert "-m harness judge mine.yaml\n" in (there / "README.md").read_text()
    ran = run_cli(there, "judge", "-q", "mine.yaml", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)[0] == json.loads((there / "verdict.json").read_text())
