"""Quotations are the papers' own words, and every claim of a paper has one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.claims.origin import Quote, normal_form
from harness.paths import Project
from harness.report.citations import read_citations
from harness.spec.load import Loaded
from harness.spec.quotations import quotation_key, read_compared
from tests.conftest import REPO, committed_specs

PAPERS = Path(os.environ.get("HARNESS_PAPERS", REPO.parent / "shared" / "papers"))
LONGEST = 60
"""Words."""

FURTHER = {key for key, one in read_citations(Project(REPO)).items() if one.further}
"""Papers whose texts were read in conversions, and not compared."""


@pytest.fixture(scope="module")
def specs() -> tuple[Loaded, ...]:
    return committed_specs()


def quotes(specs: tuple[Loaded, ...]) -> list[tuple[str, str, Quote]]:
    result = []
    for one in specs:
        run = one.spec.paper_run
        result += [(one.spec.paper, f"{one.spec.id}: paper_run", run.quote)] if run is not None and run.quote else []
        result += [(one.spec.paper, f"{one.spec.id}#{c.id}", quote) for c in one.spec.claims for quote in c.quotes]
    return result


def test_quotations_stand_in_the_papers(specs: tuple[Loaded, ...]) -> None:
    if not PAPERS.is_dir():
        pytest.skip("the papers' texts are not at hand (HARNESS_PAPERS)")
    texts = {path.stem: normal_form(path.read_text(encoding="utf-8")) for path in PAPERS.glob("*.txt")}
    wrong = []
    for paper, where, quote in quotes(specs):
        if paper not in texts and paper in FURTHER:
            continue
        at = 0
        for piece in quote.pieces():
            at = texts[paper].find(piece, at)
            if at < 0:
                wrong.append(f"{where}: {quote.text}")
                break
    assert not wrong, "\n".join(wrong)


def test_every_quotation_is_noted_as_compared(specs: tuple[Loaded, ...]) -> None:
    """Where the papers' texts are not at hand, too; `harness validate --paper` notes new ones."""
    compared = read_compared(Project(REPO))
    listed = [(paper, where, quote) for paper, where, quote in quotes(specs) if paper not in FURTHER]
    assert not [where for paper, where, quote in listed if quotation_key(quote) not in compared[paper]]
    assert all(quote.compared for _, _, quote in listed)


def test_quotations_are_short(specs: tuple[Loaded, ...]) -> None:
    assert not [where for _, where, quote in quotes(specs) if len(quote.text.split()) > LONGEST]


def test_what_is_corrected_is_there(specs: tuple[Loaded, ...]) -> None:
    there = {f"{one.spec.id}#{claim.id}": claim for one in specs for claim in one.spec.claims}
    for one in specs:
        for claim in one.spec.claims:
            if claim.corrects is not None:
                named = claim.corrects if "#" in claim.corrects else f"{one.spec.id}#{claim.corrects}"
                assert there[named].origin == "paper", f"{one.spec.id}#{claim.id}"


def test_normal_form_folds_what_typesetting_adds() -> None:
    assert normal_form("mem-\nbership “in-\nference” ﬁts") == normal_form('membership "inference" fits')
    assert Quote(section="1", text="the ad-\nvantage ... is small").pieces() == ["theadvantage", "issmall"]
