"""`new`, `explain`, `status`, `demo`: what a stranger types first."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.paths import Project
from tests.conftest import REPO, run_cli

CLAIM = "humphries2020/fig6#logloss-cap-corrected"


def test_the_demo_catches_a_changed_number_and_a_changed_claim() -> None:
    """In a copy: the committed tables are as they were."""
    table = REPO / "reports/sequential/humphries2020/fig6/measurements.parquet"
    before = table.read_bytes()
    ran = run_cli(REPO, "demo")
    assert ran.returncode == 0, ran.stderr
    one, two, three = ran.stdout.split("\n\n")[:3]
    assert "✓ reproduced" in one
    assert "compare: as accepted" in one
    assert "the measurements changed" in two
    assert "the spec changed" in three
    assert "reproduced accepted, " in three
    assert table.read_bytes() == before


def test_the_demo_needs_committed_tables(make_project: Callable[..., Project]) -> None:
    ran = run_cli(make_project().root, "demo")
    assert (ran.returncode, "needs the committed tables" in ran.stderr) == (2, True)


def test_a_claim_is_explained(tmp_path: Path) -> None:
    ran = run_cli(REPO, "explain", CLAIM, "-p", "sequential")
    assert ran.returncode == 0, ran.stderr
    for text in (
        "✓ reproduced",
        "the claim needs at most 0.95, with a tolerance of 0.005",
        "How sure",
        "What it rests on",
        "advantage(joint",
    ):
        assert text in " ".join(ran.stdout.split())
    told = json.loads(run_cli(REPO, "explain", CLAIM, "-p", "sequential", "--json").stdout)
    assert (told["id"], told["verdict"]) == (CLAIM, "reproduced")
    assert told["sentence"].endswith(".")
    ran = run_cli(REPO, "explain", "humphries2020/fig6#cap", "-p", "sequential")
    assert (ran.returncode, "no claim 'cap'; it has " in ran.stderr) == (2, True)


def test_status_counts_what_is_committed() -> None:
    known = json.loads((REPO / "reports/sequential/metrics.json").read_text())
    told = json.loads(run_cli(REPO, "status", "-p", "sequential", "--json").stdout)
    for group, counted in known.items():
        if group == "claims":
            continue
        for verdict, number in counted.items():
            if verdict != "claims":
                assert sum(by.get(group, {}).get(verdict, 0) for by in told["papers"].values()) == number
    assert len(told["open"]) == sum(c.get("inconclusive", 0) for c in known.values() if isinstance(c, dict))


def test_what_is_begun_passes_its_test_and_is_known(tmp_path: Path) -> None:
    """As its user runs it: the generated tests in a process of their own, with the packages on its path."""
    sorts = ("attack", "dataset", "formula", "claim")
    for sort in sorts:
        folder = tmp_path / sort
        ran = run_cli(REPO, "new", sort, f"my-{sort}", "--into", str(folder))
        assert ran.returncode == 0, ran.stderr
        assert f'my_{sort} = "my_{sort}"' in (folder / "pyproject.toml").read_text()
        again = run_cli(REPO, "new", sort, f"my-{sort}", "--into", str(folder))
        assert (again.returncode, "is there already; nothing was written" in again.stderr) == (2, True)
    path = ":".join([str(REPO), *(str(tmp_path / sort) for sort in sorts)])
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path, env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert tested.returncode == 0, tested.stdout
    assert "8 passed" in tested.stdout


def test_a_spec_that_is_begun_is_valid(make_project: Callable[..., Project]) -> None:
    project = make_project()
    ran = run_cli(project.root, "new", "spec", "mine")
    assert ran.returncode == 0, ran.stderr
    assert (project.specs / "own" / "mine.yaml").is_file()
    ran = run_cli(project.root, "validate", "own/mine")
    assert ran.returncode == 0, ran.stderr
    assert run_cli(project.root, "plan", "own/mine").returncode == 0


@pytest.mark.parametrize("name", ["Mine", "a b", "class", "../up"])
def test_names_that_cannot_be_are_one_line(name: str, tmp_path: Path) -> None:
    ran = run_cli(REPO, "new", "attack", name, "--into", str(tmp_path / "x"))
    assert ran.returncode == 2
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "x").exists()
