"""The lists of what can be checked in each paper: every claim of a paper is in its list, and every place is settled."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.claims.origin import Quote, normal_form
from harness.paths import Project
from harness.report.citations import read_citations
from harness.spec.coverage import Listed, Place, check_coverage, read_coverage
from harness.spec.load import Loaded, load_specs
from harness.spec.quotations import first_missing
from tests.conftest import REPO, SMALL_SPEC, run_cli

PAPERS = Path(os.environ.get("HARNESS_PAPERS", REPO.parent / "shared" / "papers"))
FIVE = ["humphries2020", "jayaraman2019", "rahimian2021", "thudi2022", "tramer2025"]
FURTHER = sorted(key for key, one in read_citations(Project(REPO)).items() if one.further)
Make = Callable[..., Project]
LIST = """\
sections:
  Abstract: "Abstract"
  Section 1: "Introduction"
places:
  - section: Abstract
    quote: "leaks far more ... by a wide margin"
    claims: [own/cancer#biased-beats-iid]
  - section: Section 1
    at: Table 1
    no_claim: "A definition."
"""
TEXT = "Abstract\nThe biased split leaks far more than any other, and by a wide mar-\ngin.\n1 Introduction\nTable 1.\n"


@pytest.fixture(scope="module")
def specs() -> list[Loaded]:
    return load_specs(Project(REPO), [])


@pytest.fixture(scope="module")
def listed(specs: list[Loaded]) -> dict[str, Listed]:
    return {one.paper: one for one in check_coverage(Project(REPO), specs)}


def is_within(part: Quote, whole: Quote) -> bool:
    """Whether a quotation's pieces stand in another one, in their order."""
    return first_missing(part, "".join(whole.pieces())) is None


def has(place: Place, quote: Quote) -> bool:
    """Whether a place is that of a claim's quotation: the same section, and one text within the other."""
    own = place.quotation
    return own is not None and quote.section in place.names and (is_within(quote, own) or is_within(own, quote))


def test_each_paper_has_a_list(listed: dict[str, Listed]) -> None:
    assert sorted(listed) == sorted([*FIVE, *FURTHER])


@pytest.mark.parametrize("paper", [*FIVE, *FURTHER])
def test_every_claim_of_a_paper_is_in_its_list(paper: str, specs: list[Loaded], listed: dict[str, Listed]) -> None:
    """Each of its quotations is that of a place which names it."""
    places = listed[paper].coverage.places
    missing = []
    for one in specs:
        for claim in one.spec.claims if one.spec.paper == paper else ():
            name = f"{one.spec.id}#{claim.id}"
            if claim.origin == "paper":
                for quote in claim.quotes:
                    if not any(has(place, quote) and name in place.claims for place in places):
                        missing.append((name, quote.section, quote.text))
    assert not missing


@pytest.mark.parametrize("paper", [*FIVE, *FURTHER])
def test_every_place_has_claims_or_a_reason(paper: str, specs: list[Loaded], listed: dict[str, Listed]) -> None:
    known = {f"{one.spec.id}#{claim.id}" for one in specs for claim in one.spec.claims}
    for place in listed[paper].coverage.places:
        assert set(place.claims) <= known
        assert bool(place.claims) != bool(place.no_claim)
        assert not place.no_claim or place.no_claim.endswith("."), place.no_claim


@pytest.mark.parametrize("paper", FIVE)
def test_no_place_is_listed_twice(paper: str, listed: dict[str, Listed]) -> None:
    places = listed[paper].coverage.places
    assert len({(place.section, place.at, place.quote) for place in places}) == len(places)


@pytest.mark.parametrize("paper", FIVE)
def test_quotations_stand_in_the_paper(paper: str, listed: dict[str, Listed]) -> None:
    path = PAPERS / f"{paper}.txt"
    if not path.is_file():
        pytest.skip("the papers' texts are not at hand (HARNESS_PAPERS)")
    assert listed[paper].compare(normal_form(path.read_text(encoding="utf-8")))[1] == []


@pytest.mark.parametrize("paper", FIVE)
def test_every_quotation_is_noted_as_compared(paper: str, listed: dict[str, Listed]) -> None:
    assert listed[paper].not_compared(Project(REPO)) == 0


@pytest.fixture
def project(make_project: Make) -> Project:
    project = make_project(SMALL_SPEC)
    (project.specs / "own" / "_coverage.yaml").write_text(LIST)
    (project.root / "own.txt").write_text(TEXT)
    return project


def test_a_list_is_no_spec(project: Project) -> None:
    assert [one.spec.id for one in load_specs(project, [])] == ["own/cancer"]
    ran = run_cli(project.root, "validate")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "1 specs are valid" in ran.stdout


def test_headings_and_quotations_are_compared_with_a_text(project: Project) -> None:
    assert read_coverage(project)["own"].not_compared(project) == 3
    ran = run_cli(project.root, "validate", "--paper", "own.txt")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "3 quotations stand in the texts of own" in ran.stdout
    assert read_coverage(project)["own"].not_compared(project) == 0


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("far more", "hardly more", "_coverage.yaml:6: places.0.quote: not in the paper's text"),
        ('"Introduction"', '"Preamble"', "_coverage.yaml:3: sections.Section 1: not in the paper's text"),
    ],
)
def test_what_is_not_in_the_text_is_named_with_its_line(right: str, wrong: str, says: str, project: Project) -> None:
    path = project.specs / "own" / "_coverage.yaml"
    path.write_text(path.read_text().replace(right, wrong))
    ran = run_cli(project.root, "validate", "--paper", "own.txt")
    assert ran.returncode == 2
    assert says in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("#biased-beats-iid", "#biased-beats-id", "7: places.0.claims.0: unknown claim 'own/cancer#biased-beats-id'; did you mean 'own/cancer#biased-beats-iid'?"),
        ("own/cancer#", "own/canser#", "7: places.0.claims.0: unknown spec 'own/canser'; did you mean 'own/cancer'?"),
        ("own/cancer#biased-beats-iid", "biased", "7: places.0.claims.0: 'biased' names no claim; right is such as paper/spec#claim"),
        ("- section: Section 1", "- section: Secton 1", "8: places.1.section: unknown section 'Secton 1'; did you mean 'Section 1'?"),
        ('"A definition."', '" "', "8: places.1: a place has claims, or a sentence under no_claim that says why it has none"),
        ("    at: Table 1\n", "", "8: places.1: a place has a quotation (quote) or the name of a table or figure (at)"),
        ("    claims: [own/cancer#biased-beats-iid]\n", "", "5: places.0: a place has claims, or a sentence under no_claim"),
        ("no_claim:", "no_clam:", "10: places.1.no_clam: unknown field 'no_clam'; did you mean 'no_claim'?"),
        ("  - section: Section 1\n    at", "  - at", "8: places.1.section: is missing; it has to be given"),
    ],
)  # fmt: skip
def test_a_fault_is_a_line_with_file_line_and_field(right: str, wrong: str, says: str, project: Project) -> None:
    path = project.specs / "own" / "_coverage.yaml"
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, wrong))
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    assert f"_coverage.yaml:{says}" in ran.stderr
    assert all("_coverage.yaml:" in line for line in ran.stderr.splitlines())


def test_a_list_that_a_link_leads_out_of_the_project_is_refused(project: Project, tmp_path: Path) -> None:
    path = project.specs / "own" / "_coverage.yaml"
    elsewhere = tmp_path / "elsewhere.yaml"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    assert "is a link that leads out of" in ran.stderr
