"""What the pages of a site show: papers with their sections, findings, and what is known of the whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.claims.verdict import Verdict
from harness.ids import page_stem
from harness.report.citations import Citation
from harness.report.claim_record import ClaimRecord, claim_records
from harness.report.drawing import Drawing
from harness.report.findings import Finding, ShownFinding
from harness.report.findings import findings_that_hold as shown_findings
from harness.report.gather import Section
from harness.report.own_run import OwnRun
from harness.report.provenance import Provenance
from harness.spec.coverage import Coverage
from harness.verdicts.counts import Count, count

NO_PAPERS = {"own": "Claims of one's own", "harness": "Checks of the harness"}
"""What stands in the place of a paper for claims that are of none, and its title where no citation has one."""


@dataclass(frozen=True)
class Paper:
    """A paper, its citation and its sections in its own order."""

    key: str
    cited: Citation
    """Empty where `specs/papers.yaml` lacks the paper."""
    sections: tuple[Section, ...]
    coverage: Coverage | None = None
    """What can be checked in it; None where no file lists that."""
    not_compared: int = 0
    """How many headings and quotations of the former are not noted as found in the paper's text."""

    @property
    def title(self) -> str:
        """The paper's title; its key where none is known."""
        return self.cited.title or NO_PAPERS.get(self.key, self.key)

    @property
    def is_further(self) -> bool:
        """Whether it stands apart from the papers that the site is about."""
        return self.cited.further

    @property
    def about(self) -> str:
        """What it claims, on one line."""
        return " ".join(self.cited.about.split())

    @property
    def verdicts(self) -> list[Verdict]:
        return [v for s in self.sections for v in s.verdicts]

    @property
    def counts(self) -> tuple[Count, ...]:
        """How many claims of each kind came out how."""
        return count(self.verdicts)

    @property
    def short_name(self) -> str:
        """`Humphries et al. 2020`; the title where no authors are known."""
        names = self.cited.family_names
        if self.key in NO_PAPERS or not names:
            return self.title
        who = names[0] if len(names) == 1 else f"{names[0]} & {names[1]}" if len(names) == 2 else f"{names[0]} et al."
        return f"{who} {self.cited.year}" if self.cited.year else who


@dataclass(frozen=True)
class Site:
    """Everything that the pages show."""

    profile: str
    papers: tuple[Paper, ...]
    findings: tuple[ShownFinding, ...]
    pictures: Mapping[str, Drawing]
    """By finding."""
    changes: tuple[tuple[Verdict, str], ...]
    """Claims whose verdict is another than the accepted one, and that."""
    sentence: str
    """How many verdicts stand among all."""
    facts: Mapping[str, object]
    """Commit, machine and times of the run, where they are known."""
    flagship: str | None
    docs: Path
    """Folder of Markdown; none of its pages where it is not there."""
    tables: Path
    """Folder of the profile, where the folders of specs are."""
    not_yet: tuple[str, ...] = ()
    run: OwnRun | None = None
    """What the front says in place of findings, where this is a run of one's own beside the deciding one."""
    about: Provenance = field(default_factory=lambda: Provenance((), (), {}))

    @property
    def verdicts(self) -> list[Verdict]:
        return [v for paper in self.papers for v in paper.verdicts]

    @cached_property
    def records(self) -> dict[str, ClaimRecord]:
        """What is said of each claim, by its id: made once, since every page asks for them."""
        return claim_records(self.verdicts, {s.spec.id: s.spec for p in self.papers for s in p.sections})

    @property
    def main_papers(self) -> list[Paper]:
        """The papers that the site is about, without further ones."""
        return [paper for paper in self.papers if not paper.is_further]

    @property
    def main_verdicts(self) -> list[Verdict]:
        """The verdicts on their claims."""
        return [v for paper in self.main_papers for v in paper.verdicts]


@dataclass(frozen=True)
class Row:
    """A claim in the table of all claims."""

    paper: Paper
    verdict: Verdict
    datasets: tuple[str, ...]
    measured: str
    """Number and interval at the place that decides; empty where the claim is no comparison of numbers."""
    of: str
    """What that is a number of, and where."""
    line: str
    """What it is compared with."""


def slug(verdict_id: str) -> str:
    """The name of a claim's page."""
    spec, _, claim = verdict_id.partition("#")
    return f"{page_stem(spec)}--{claim}"


def sort_sections(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The specs of a paper in order: its figures by name and number, other measurements, then theory."""

    def key(section: Section) -> tuple[int, list[tuple[str, int]]]:
        spec = section.spec
        measured = spec.experiment is not None or bool(spec.figure)
        ours = not any(claim.catalogue for claim in spec.claims)
        numbered = re.findall(r"(\D+)(\d*)", spec.id)
        return 1 if ours else 0 if measured else 2, [(word, int(number or 0)) for word, number in numbered]

    return tuple(sorted(sections, key=key))


def papers_of(sections: Sequence[Section], citations: Mapping[str, Citation]) -> tuple[Paper, ...]:
    """The papers of the sections, in the order of the citations; the project's own checks come last."""
    by_paper: dict[str, list[Section]] = {}
    for section in sections:
        by_paper.setdefault(section.spec.paper, []).append(section)
    order = [*(k for k in citations if k in by_paper), *(k for k in by_paper if k not in citations)]
    order.sort(key=lambda k: k in NO_PAPERS)
    return tuple(Paper(key, citations.get(key, Citation()), sort_sections(by_paper[key])) for key in order)


def chosen_findings(
    findings: Sequence[Finding], sections: Sequence[Section], verdicts: Sequence[Verdict]
) -> tuple[tuple[ShownFinding, ...], list[str]]:
    """The findings that hold under these verdicts, and a line on each that does not."""
    specs = {s.spec.id: s.spec for s in sections}
    papers = {s.spec.paper for s in sections}
    mine = [f for f in findings if f.paper in papers]
    kept, dropped = shown_findings(mine, {v.id: v for v in verdicts}, specs)
    return tuple(kept), dropped
