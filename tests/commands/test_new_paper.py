"""`harness new paper`: what it writes is valid and judged as it stands, and nothing that is there is touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import run_cli


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A new project of one's own."""
    ran = run_cli(tmp_path, "new", "project", "study")
    assert ran.returncode == 0, ran.stderr
    return tmp_path / "study"


def test_a_new_paper_has_a_citation_a_list_and_a_claim_that_is_proved(folder: Path) -> None:
    before = (folder / "specs" / "papers.yaml").read_text()
    ran = run_cli(folder, "new", "paper", "lira2022")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[:3] == [
        "specs/lira2022/theory.yaml",
        "specs/lira2022/_coverage.yaml",
        "specs/papers.yaml",
    ]
    assert (folder / "specs" / "papers.yaml").read_text().startswith(before)
    assert run_cli(folder, "validate").returncode == 0
    judged = json.loads(run_cli(folder, "judge", "lira2022/theory", "--json", "-q").stdout)
    assert [(v["id"], v["verdict"], v["certainty"]) for v in judged] == [
        ("lira2022/theory#first", "reproduced", "proved")
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Carlini 2022"], "is no key of a paper"),
        (["../out"], "is no key of a paper"),
        (["example"], "has example already"),
        (["lira2022", "--into", "."], "leave --into out"),
    ],
)
def test_what_cannot_be_a_new_paper_is_one_line_and_leaves_all_as_it_was(
    folder: Path, arguments: list[str], says: str
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ran = run_cli(folder, "new", "paper", *arguments)
    assert ran.returncode == 2
    (line,) = ran.stderr.strip().splitlines()
    assert says in line
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_that_is_there_is_kept(folder: Path) -> None:
    (folder / "specs" / "mine").mkdir()
    ran = run_cli(folder, "new", "paper", "mine")
    assert ran.returncode == 2
    assert "is there already" in ran.stderr
