"""What can be checked in a paper, place by place, and which claims check it: `specs/<paper>/_coverage.yaml`.

A file lists the paper's sections, and in each the sentences, theorems, tables and figures that state something which
can be checked. A place has claims, or the reason why it has none. `harness validate` checks these files, and with
`--paper TEXT` their headings and quotations.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError, model_validator

from harness.claims.origin import Quote
from harness.config import Config
from harness.errors import HarnessError
from harness.links import check_inside
from harness.paths import Project
from harness.spec.document import Document, Keys, load_document, locate
from harness.spec.load import Loaded, spec_id, spec_paths
from harness.spec.quotations import first_missing, quotation_key, read_compared

FILE = "_coverage.yaml"
"""Of a paper's folder; files whose name starts with `_` are no specs."""


class Place(Config):
    """One place of a paper that states something which can be checked."""

    section: str
    """A section of the file's table of them."""
    at: str = ""
    """Where in the section, such as `Theorem 3.1`, `Table 2` or `footnote 3`; may stand for a quotation."""
    quote: str = ""
    """As few of the paper's words as identify the place; `...` stands for what is left out."""
    claims: tuple[str, ...] = ()
    """The claims that render it, such as `paper/spec#claim`."""
    no_claim: str = ""
    """Why there is none: what would be needed, or that it is a definition, or another paper's."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Place:
        if not self.quote.strip() and not self.at.strip():
            raise ValueError("a place has a quotation (quote) or the name of a table or figure (at)")
        if bool(self.claims) == bool(self.no_claim.strip()):
            raise ValueError("a place has claims, or a sentence under no_claim that says why it has none, one of them")
        return self

    @property
    def quotation(self) -> Quote | None:
        """Its quotation as one of a claim; None for a table or figure that is named."""
        return Quote(section=self.section, text=self.quote) if self.quote.strip() else None

    @property
    def names(self) -> frozenset[str]:
        """How a claim's quotation may call where it stands."""
        return frozenset({self.section, self.at, f"{self.section}, {self.at}"} - {""})


class Coverage(Config):
    """The places of one paper."""

    sections: Mapping[str, str]
    """The heading of each section by its name, in the paper's order; a section may have no place."""
    places: tuple[Place, ...]

    def of_section(self, section: str) -> tuple[Place, ...]:
        """The places of a section, in the order of the file."""
        return tuple(place for place in self.places if place.section == section)


@dataclass(frozen=True)
class Listed:
    """The places of a paper, and their document (for line numbers)."""

    paper: str
    coverage: Coverage
    document: Document

    def quotations(self) -> Iterator[tuple[Keys, Quote]]:
        """What has to stand in the paper's text, headings and quotations, and where it is in the document."""
        for section, heading in self.coverage.sections.items():
            yield ("sections", section), Quote(section=section, text=heading)
        for number, place in enumerate(self.coverage.places):
            if (quotation := place.quotation) is not None:
                yield ("places", number, "quote"), quotation

    def compare(self, text: str) -> tuple[list[str], list[str]]:
        """Keys of the quotations that stand in a text in normal form, and a line on each that does not."""
        keys, faults = [], []
        for place, quote in self.quotations():
            missing = first_missing(quote, text)
            if missing is None:
                keys.append(quotation_key(quote))
            else:
                faults.append(_line(self.document, place, missing))
        return keys, faults

    def not_compared(self, project: Project) -> int:
        """How many of the headings and quotations are not noted as found in the paper's text."""
        known = read_compared(project).get(self.paper, frozenset())
        return sum(quotation_key(quote) not in known for _, quote in self.quotations())


def read_coverage(project: Project) -> dict[str, Listed]:
    """The places of every paper that has a file of them. A paper is called as its folder of `specs/`.

    Raises HarnessError with one line a fault: file, line, field, and what would be right; and for a link that leads out
    of the project.
    """
    listed, faults = dict[str, Listed](), list[str]()
    for path in sorted(project.specs.glob(f"*/{FILE}")):
        check_inside(path, project.root)  # what a link leads to would be published
        try:
            listed[path.parent.name] = _read(path.parent.name, load_document(path))
        except HarnessError as error:
            faults += error.lines
    if faults:
        raise HarnessError(*faults)
    return listed


def _read(paper: str, document: Document) -> Listed:
    try:
        coverage = Coverage.model_validate(document.data)
    except ValidationError as error:
        raise HarnessError(*(_line(document, tuple(f["loc"]), _explain(f)) for f in error.errors())) from None
    faults = [
        _line(document, ("places", number, "section"), _unknown("section", place.section, list(coverage.sections)))
        for number, place in enumerate(coverage.places)
        if place.section not in coverage.sections
    ]
    if faults:
        raise HarnessError(*faults)
    return Listed(paper, coverage, document)


def check_coverage(project: Project, loaded: Sequence[Loaded]) -> list[Listed]:
    """The places of the papers of some specs; a claim of a spec that is there and not among them is not looked up.

    Raises HarnessError with one line a fault, as `read_coverage` does, and for a claim that is not there.
    """
    papers = {one.spec.paper for one in loaded}
    listed = [one for paper, one in read_coverage(project).items() if paper in papers]
    known = {one.spec.id: [claim.id for claim in one.spec.claims] for one in loaded}
    there = [spec_id(project, path) for path in spec_paths(project)]
    faults = list[str]()
    for one in listed:
        for number, place in enumerate(one.coverage.places):
            for index, name in enumerate(place.claims):
                if fault := _fault_of(name, known, there):
                    faults.append(_line(one.document, ("places", number, "claims", index), fault))
    if faults:
        raise HarnessError(*faults)
    return listed


def _fault_of(name: str, known: Mapping[str, Sequence[str]], there: Sequence[str]) -> str:
    """What is wrong with the name of a claim; empty where nothing is."""
    spec, _, claim = name.partition("#")
    if not claim:
        return f"{name!r} names no claim; right is such as paper/spec#claim"
    if spec not in there:
        return _unknown("spec", spec, there)
    if spec in known and claim not in known[spec]:
        return _unknown("claim", name, [f"{spec}#{one}" for one in known[spec]])
    return ""


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"unknown {what} {name!r}" + (f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}")


def _line(document: Document, keys: Keys, message: str) -> str:
    return f"{locate(document, keys)}: {'.'.join(map(str, keys)) or 'coverage'}: {message}"


def _explain(fault: Any) -> str:
    """What is wrong with a field, and what would be right."""
    known = sorted(Place.model_fields if fault["loc"][:1] == ("places",) else Coverage.model_fields)
    if fault["type"] == "extra_forbidden":
        return _unknown("field", str(fault["loc"][-1]), known)
    if fault["type"] == "missing":
        return "is missing; it has to be given"
    return " ".join(fault["msg"].split()).removeprefix("Value error, ")
