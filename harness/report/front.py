"""What the front of a site shows: how claims came out in one sentence, a square a claim, and what does not hold.

A square is a claim of a paper; its sign and colour are its verdict, its filling how sure that is. Squares stand in the
order of the paper's figures, sections and theorems, as its page has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.claims.verdict import Verdict
from harness.claims.words import Certainty, Word
from harness.report.contents import NO_PAPERS, Paper, Site
from harness.verdicts.costs import cost_to_decide
from harness.verdicts.counts import (
    Count,
    certainty_phrase,
    count,
    count_certainties,
    group_of,
    sentences_of,
)

Filling = Literal["proof", "sure", "alone", "none"]
"""How a square is filled: hatched for what is proved, counted or computed, whole for what is corrected for all claims,
hollow for what is not, and with its sign alone where nothing is decided."""
OPEN_SHOWN = 5
"""Open claims that the front names."""
PAPERS_GROUPS = ("papers", "papers elsewhere", "not compared")
"""The groups of claims that a paper makes."""
ON_RUNS = ("distribution-free", "t-test", "record-sampling")
"""The bases of verdicts on measurements that vary from run to run."""


@dataclass(frozen=True)
class Square:
    """A claim in the matrix."""

    verdict: Verdict
    filling: Filling


@dataclass(frozen=True)
class MatrixRow:
    """The claims of one paper, by the figure or section that they are of."""

    paper: Paper
    groups: tuple[tuple[str, tuple[Square, ...]], ...]
    """Each with its name in words."""

    @property
    def total(self) -> int:
        """How many claims it has."""
        return sum(len(squares) for _, squares in self.groups)


@dataclass(frozen=True)
class Headline:
    """How the papers' claims came out, for one sentence."""

    papers: int
    claims: int
    hold: int
    fail: int
    fail_by_proof: int
    """Of those that do not hold: how many by proof or count, and not on data."""
    errors: int
    """Distinct findings that claims rest on which do not hold; 0: none is declared."""
    open: int
    elsewhere: int
    """Tried on other data, or a stand-in, alone."""


@dataclass(frozen=True)
class OpenClaim:
    """An open claim on a paper's data that some minutes of computing would be expected to decide."""

    verdict: Verdict
    minutes: float


def matrix_of(site: Site) -> list[MatrixRow]:
    """The claims of each paper as squares."""
    rows = []
    for paper in site.papers:
        groups: dict[str, list[Square]] = {}
        for section in paper.sections:
            for verdict in section.verdicts:
                if group_of(verdict) in PAPERS_GROUPS:
                    groups.setdefault(section.spec.title, []).append(Square(verdict, filling_of(verdict)))
        if groups:
            rows.append(MatrixRow(paper, tuple((name, tuple(squares)) for name, squares in groups.items())))
    return rows


def filling_of(verdict: Verdict) -> Filling:
    """How the square of a claim is filled."""
    if verdict.certainty is None:
        return "none"
    if verdict.certainty in (Certainty.PROVED, Certainty.COUNTED):
        return "proof"
    return "sure" if verdict.certainty is Certainty.STANDS else "alone"


def headline_of(site: Site) -> Headline:
    """The three numbers of the front, and what they are made of."""
    theirs = [v for v in site.main_verdicts if group_of(v) in PAPERS_GROUPS]
    own = [v for v in theirs if group_of(v) == "papers"]
    fail = [v for v in own if v.verdict is Word.VIOLATED]
    ids = {v.id for v in fail}
    return Headline(
        papers=sum(any(group_of(v) in PAPERS_GROUPS for v in p.verdicts) for p in site.main_papers),
        claims=len(theirs),
        hold=sum(v.verdict is Word.REPRODUCED for v in own),
        fail=len(fail),
        fail_by_proof=sum(filling_of(v) == "proof" for v in fail),
        errors=len({f.finding.id for f in site.findings for v in f.claims if v.id in ids}),
        open=sum(v.verdict in (Word.INCONCLUSIVE, Word.NOT_RUN) for v in own),
        elsewhere=len(theirs) - len(own),
    )


@dataclass(frozen=True)
class Failing:
    """Claims of a paper that do not hold, for one and the same error."""

    verdicts: tuple[Verdict, ...]
    text: str
    """What came out; empty where no finding says it."""
    weight: str
    """What hangs on the error, in the paper; empty where no finding says it."""

    def places(self, sure_of: Callable[[Verdict], str]) -> list[str]:
        """Where the paper says so, with how sure it is that it does not hold; each once."""
        return list(dict.fromkeys(f"{v.claim.where}: {sure_of(v)}" for v in self.verdicts))


def failing_by_paper(site: Site) -> list[tuple[Paper, list[Failing]]]:
    """Each paper with its claims that do not hold, those of one error together; none of a paper that has none."""
    short = {v.id: f for f in site.findings if f.short for v in f.claims if v.verdict is Word.VIOLATED}
    by_paper = []
    for paper in site.main_papers:
        if paper.key in NO_PAPERS:
            continue
        errors: dict[str, list[Verdict]] = {}
        for v in paper.verdicts:
            if group_of(v) == "papers" and v.verdict is Word.VIOLATED:
                errors.setdefault(short[v.id].finding.id if v.id in short else v.id, []).append(v)
        told = [
            Failing(tuple(vs), short[vs[0].id].short, short[vs[0].id].weight)
            if vs[0].id in short
            else Failing(tuple(vs), "", "")
            for vs in errors.values()
        ]
        by_paper.append((paper, told))
    return by_paper


def words_counted(site: Site) -> dict[str, dict[str, int]]:
    """How many claims of papers have each verdict: those of theory or on the papers' data, and the others."""
    by_group: dict[str, list[Word]] = {"Of theory, or on the paper’s data": [], "On other data": []}
    own, others = by_group.values()
    for v in site.main_verdicts:
        if group_of(v) in PAPERS_GROUPS:
            (own if group_of(v) == "papers" else others).append(v.verdict)
    counted = {name: {word.value: n for word in Word if (n := words.count(word))} for name, words in by_group.items()}
    return {name: words for name, words in counted.items() if words}


def cheapest_open(site: Site) -> list[OpenClaim]:
    """Open claims of the papers on their data that more runs are expected to decide, the cheapest first."""
    found = []
    for verdict in site.main_verdicts:
        if group_of(verdict) != "papers" or verdict.verdict is not Word.INCONCLUSIVE or not verdict.would_decide:
            continue
        cost = cost_to_decide(verdict.would_decide)
        if cost is not None and cost.seconds is not None and cost.limit != "at least":
            found.append(OpenClaim(verdict, cost.seconds / 60))
    return sorted(found, key=lambda one: (one.minutes, one.verdict.id))[:OPEN_SHOWN]


def counts_of(site: Site) -> dict[str, object]:
    """Counts of all claims by group and by certainty, for the page about the site."""
    counted = count(site.verdicts)
    if not counted:
        return {"counted": (), "certain": {}, "beside": None}
    group = counted[0].group
    return {
        "counted": counted,
        "certain": count_certainties(site.verdicts, group),
        "beside": _beside(site, counted),
    }


def _beside(site: Site, counted: Sequence[Count]) -> Mapping[str, object]:
    """Counts that stand beside those of claims: of sentences, errors, readings and exploratory verdicts."""
    of_papers = [v for v in site.verdicts if group_of(v) == counted[0].group]
    told = {word: [v for v in of_papers if v.verdict == word] for word in ("reproduced", "violated")}
    violated = {v.id for v in told["violated"]}
    return {
        "sentences": {word: sentences_of(verdicts) for word, verdicts in told.items()},
        "errors": len({f.finding.id for f in site.findings for v in f.claims if v.id in violated}),
        "in_every_reading": counted[0].in_every_reading.get(Word.REPRODUCED, 0),
        "not_severe": sum(one.not_severe for one in counted),
        "exploratory": sum(v.certainty is Certainty.EXPLORATORY for v in site.verdicts),
        "measured": sum(v.certainty is not None and v.rests_on.basis in ON_RUNS for v in site.verdicts),
    }


def square_label(verdict: Verdict, heading: str) -> str:
    """What a square says when pointed at, and to who hears the page."""
    sure = certainty_phrase(verdict)
    return f"{verdict.verdict.shown}{f', {sure}' if sure else ''}: {heading}"
