"""`harness validate --paper`: quotations are compared with a text that the user has; others are not the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from harness.claims.verdict import Verdict
from harness.paths import Project
from harness.spec.load import load_spec
from harness.spec.quotations import read_compared
from harness.verdicts.counts import group_of
from tests.conftest import SMALL_SPEC, run_cli

Make = Callable[..., Project]
QUOTED = """
    origin: paper
    quotes: [{section: Abstract, text: "the biased split ... leaks far more"}, {section: Abstract, text: "by a wide mar-gin"}]
"""
TEXT = "We find that the biased split of the\ntable leaks far more than any other, and by a wide mar-\ngin, too.\n"


@pytest.fixture
def project(make_project: Make) -> Project:
    spec = SMALL_SPEC.replace("  - id: biased-beats-iid\n", "  - id: biased-beats-iid" + QUOTED, 1)
    project = make_project(spec.replace("paper: own\n", "paper: own\npaper_run: {data: [csv], epochs: 1}\n", 1))
    (project.root / "paper.txt").write_text(TEXT)
    return project


def claim_of(project: Project) -> tuple[bool, ...]:
    spec = load_spec(project, project.specs / "own" / "cancer.yaml").spec
    (claim,) = [one for one in spec.claims if one.id == "biased-beats-iid"]
    return tuple(quote.compared for quote in claim.quotes)


def test_quotations_that_stand_in_the_text_are_noted_without_it(project: Project) -> None:
    assert claim_of(project) == (False, False)
    ran = run_cli(project.root, "validate", "--paper", "paper.txt")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "2 quotations stand in the texts of own; noted in quotations.json" in ran.stdout
    noted = (project.specs / "quotations.json").read_text()
    assert "biased" not in noted
    assert len(json.loads(noted)["own"]) == 2
    assert claim_of(project) == (True, True)
    # Another word, and it is another quotation.
    path = project.specs / "own" / "cancer.yaml"
    path.write_text(path.read_text().replace("far more", "more"))
    assert claim_of(project) == (False, True)


def test_a_quotation_that_is_not_in_the_text_is_named_with_its_line(project: Project) -> None:
    (project.root / "paper.txt").write_text(TEXT.replace("far more", "hardly more"))
    ran = run_cli(project.root, "validate", "own/cancer", "--paper", "paper.txt")
    assert ran.returncode == 2
    assert "cancer.yaml:" in ran.stderr
    assert "claims.0.quotes.0: not in the paper's text" in ran.stderr or "quotes.0: not in the paper's" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert claim_of(project) == (False, True)  # what stands there is noted


@pytest.mark.parametrize(
    ("text", "argument", "says"),
    [
        (None, "none.txt", r"--paper none.txt: cannot be read: No such file or directory"),
        (b"\xff\xfe\x00", "paper.txt", "--paper paper.txt: cannot be read: it is no text in UTF-8"),
        (
            b"Another paper.",
            "paper.txt",
            "--paper paper.txt: none of 2 quotations is in it; give the text that is quoted",
        ),
        (None, "empty", "--paper empty: no text in it of own, such as own.txt"),
    ],
)
def test_a_text_that_is_none(text: bytes | None, argument: str, says: str, project: Project) -> None:
    (project.root / "empty").mkdir()
    if text is not None:
        (project.root / argument).write_bytes(text)
    ran = run_cli(project.root, "validate", "--paper", argument)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (project.specs / "quotations.json").exists()


def test_a_damaged_record_is_one_line(project: Project) -> None:
    (project.specs / "quotations.json").write_text("[1]")
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    assert "quotations.json: not a record of quotations" in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.integration
def test_a_claim_whose_quotation_was_not_compared_is_not_counted_as_the_papers(project: Project) -> None:
    ran = run_cli(project.root, "run", "own/cancer", "-q")
    assert ran.returncode == 0, ran.stderr
    path = next(project.reports.rglob("verdicts.json"))

    def groups() -> set[str]:
        written = json.loads(path.read_text())["verdicts"]
        return {group_of(Verdict.model_validate(v)) for v in written if v["id"].endswith("#biased-beats-iid")}

    assert groups() == {"not compared"}
    page = next(path.parent.rglob("own-cancer--biased-beats-iid.html")).read_text()
    assert "not compared with the paper’s text" in page
    assert run_cli(project.root, "validate", "--paper", "paper.txt").returncode == 0
    assert run_cli(project.root, "run", "own/cancer", "-q").returncode == 0
    assert groups() <= {"papers", "papers elsewhere"}
    assert (
        "not compared with the paper’s text"
        not in next(path.parent.rglob("own-cancer--biased-beats-iid.html")).read_text()
    )
    assert read_compared(project)["own"]
