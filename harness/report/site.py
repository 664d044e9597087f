"""The site of a profile: a front, a page a paper, a page a claim, theory, and how to read it all.

Static files that need no network and no script; with scripts there are search, filters and readable hover.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import jinja2
from markupsafe import Markup, escape

from harness.claims.expression import domains
from harness.claims.verdict import Verdict, basis_text, value_text
from harness.coordinates import format_level
from harness.coordinates import text as places_text
from harness.execution.table import write_parquet
from harness.files import write_bytes, write_text
from harness.report import manual
from harness.report.anchors import marks_of
from harness.report.certainty import certainty_words, how_sure
from harness.report.compare import EPSILONS, comparisons
from harness.report.exports import claims_csv, claims_table
from harness.report.findings import SORTS, Finding, Shown
from harness.report.findings import findings_that_hold as shown_findings
from harness.report.forest import forests
from harness.report.forms import Form
from harness.report.gather import Section
from harness.report.headings import datasets_of, headings
from harness.report.mathml import mathml
from harness.report.prose import compared_numbers, counterexample_words, deciding_point, sentence
from harness.report.provenance import Provenance
from harness.report.tex import untex
from harness.report.vocabulary import DATA, LETTERS, ORIGINS, SAID, SIGNS, figure, letter, letters
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.verdicts.counts import CERTAINTIES, GROUPS, WORDS, Count, count, count_certainties, group_of

STATIC = ("site.css", "site.js")
TABLES = ("measurements.parquet", "advantage.csv")
"""Of a spec's folder: files that its page offers."""
KINDS = {"theory": "theory", "simulation": "simulation", "training": "measured"}


@dataclass(frozen=True)
class Paper:
    """A paper, its citation and its sections in its own order."""

    key: str
    title: str
    authors: str
    year: int
    url: str
    about: str
    sections: tuple[Section, ...]

    @property
    def verdicts(self) -> list[Verdict]:
        return [v for s in self.sections for v in s.verdicts]

    @property
    def counts(self) -> tuple[Count, ...]:
        """How many claims of each kind came out how."""
        return count(self.verdicts)

    @property
    def short_name(self) -> str:
        """`Humphries et al. 2020`."""
        names = [name.split()[-1] for name in self.authors.split(", ")]
        if self.key in ("own", "harness"):
            return self.title
        who = names[0] if len(names) == 1 else f"{names[0]} & {names[1]}" if len(names) == 2 else f"{names[0]} et al."
        return f"{who} {self.year}"


@dataclass(frozen=True)
class Site:
    """Everything that the pages show."""

    profile: str
    papers: tuple[Paper, ...]
    findings: tuple[Shown, ...]
    pictures: Mapping[str, str]
    """By finding: one `<svg>`."""
    changes: tuple[tuple[Verdict, str], ...]
    """Claims whose verdict is another than the accepted one, and that."""
    sentence: str
    """How many verdicts stand among all."""
    facts: Mapping[str, Any]
    """Commit, machine and times of the run, where they are known."""
    flagship: str | None
    alpha: float
    docs: Path
    """Folder of Markdown; none of its pages where it is not there."""
    tables: Path
    """Folder of the profile, where the folders of specs are."""
    forms: Mapping[str, Form] = field(default_factory=dict)
    """By claim: since when it has its present form."""
    left: tuple[str, ...] = ()
    not_yet: tuple[str, ...] = ()
    about: Provenance = field(default_factory=lambda: Provenance((), (), {}))

    @property
    def verdicts(self) -> list[Verdict]:
        return [v for paper in self.papers for v in paper.verdicts]


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
    """Name of a claim's page."""
    spec, _, claim = verdict_id.partition("#")
    return f"{spec.replace('/', '-')}--{claim}"


def sort_sections(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The specs of a paper by name and number, what was measured besides after its figures, and then theory."""

    def key(section: Section) -> tuple[int, list[tuple[str, int]]]:
        spec = section.spec
        measured = spec.experiment is not None or bool(spec.figure)
        ours = not any(claim.catalogue for claim in spec.claims)
        numbered = re.findall(r"(\D+)(\d*)", spec.id)
        return 1 if ours else 0 if measured else 2, [(word, int(number or 0)) for word, number in numbered]

    return tuple(sorted(sections, key=key))


def papers_of(sections: Sequence[Section], citations: Mapping[str, Mapping[str, Any]]) -> tuple[Paper, ...]:
    """The papers that sections belong to, in the order of the citations; own checks last."""
    by_paper: dict[str, list[Section]] = {}
    for section in sections:
        by_paper.setdefault(section.spec.paper, []).append(section)
    order = [*(k for k in citations if k in by_paper), *(k for k in by_paper if k not in citations)]
    order.sort(key=lambda k: k in ("own", "harness"))
    papers = []
    for key in order:
        cited = citations.get(key, {})
        papers.append(
            Paper(
                key=key,
                title=str(cited.get("title", key)),
                authors=str(cited.get("authors", "")),
                year=int(cited.get("year", 0)),
                url=str(cited.get("url", "")),
                about=" ".join(str(cited.get("about", "")).split()),
                sections=sort_sections(by_paper[key]),
            )
        )
    return tuple(papers)


def chosen_findings(
    findings: Sequence[Finding], sections: Sequence[Section], verdicts: Sequence[Verdict]
) -> tuple[tuple[Shown, ...], list[str]]:
    """The findings that hold under these verdicts, and a line on each that does not."""
    specs = {s.spec.id: s.spec for s in sections}
    papers = {s.spec.paper for s in sections}
    mine = [f for f in findings if f.paper in papers]
    kept, dropped = shown_findings(mine, {v.id: v for v in verdicts}, specs)
    return tuple(kept), dropped


def write_site(root: Path, site: Site) -> int:
    """Write every page below `root`, remove those of claims that are gone, and return how many there are."""
    pages = dict(_pages(site))
    for name in STATIC:
        pages[f"static/{name}"] = files("harness.report").joinpath("static", name).read_text(encoding="utf-8")
    for name, text in pages.items():
        write_text(root / name, text, durable=False)
    write_text(root / "claims.csv", claims_csv(site.verdicts))
    write_parquet(claims_table(site.verdicts), root / "claims.parquet")
    for image in {image for one in manual.pages(site.docs) for image in one.images}:
        if (site.docs / image).is_file():
            write_bytes(root / "docs" / image, (site.docs / image).read_bytes())
    for section in (section for paper in site.papers for section in paper.sections if section.measured):
        for name in TABLES:
            if (table := site.tables / section.files / name).is_file():
                write_bytes(root / "tables" / section.spec.id / name, table.read_bytes())
    for path in root.rglob("*.html"):
        if path.relative_to(root).as_posix() not in pages:
            path.unlink()
    return len(pages)


def _pages(site: Site) -> Sequence[tuple[str, str]]:
    environment = _environment()
    specs = {s.spec.id: s for p in site.papers for s in p.sections}
    sentences = {v.id: sentence(v, specs[v.spec].spec) for v in site.verdicts}
    rows = [_row(paper, section, v) for paper in site.papers for section in paper.sections for v in section.verdicts]
    common: dict[str, object] = {
        "site": site,
        "said": sentences,
        "heading": headings(site.verdicts, {name: section.spec for name, section in specs.items()}),
        "about": site.about,
        "signs": SIGNS,
        "groups": GROUPS,
        "group_of": group_of,
        "words": WORDS,
        "data": DATA,
        "origins": ORIGINS,
        "sure_of": certainty_words,
        "kinds": KINDS,
        "marks": marks_of,
        "sorts": SORTS,
    }

    def page(template: str, up: str, **given: object) -> str:
        return environment.get_template(template).render(**common, up=up, **given)

    pictures = {f.finding.id: Markup(site.pictures.get(f.finding.id, "")) for f in site.findings}
    pages = [
        ("index.html", page("front.html", "", pictures=pictures, **_totals(site))),
        ("claims.html", page("claims.html", "", rows=rows, datasets=_in_use(rows))),
        ("compare.html", page("compare.html", "", **_compared(site))),
        ("reading.html", page("reading.html", "")),
        ("about.html", page("about.html", "")),
        ("theory.html", page("theory.html", "", rows=_theory_rows(site))),
    ]
    known = frozenset(sentences)
    pages += _manual(site, page)
    for paper in site.papers:
        mine = [f for f in site.findings if f.finding.paper == paper.key]
        figures = {s.spec.id: [Markup(svg) for svg in s.figures] for s in paper.sections}
        given = {"paper": paper, "figures": figures}
        pages.append((f"papers/{paper.key}.html", page("paper.html", "../", findings=mine, pictures=pictures, **given)))
        for section in paper.sections:
            claims = {f"{section.spec.id}#{c.id}": c for c in section.spec.claims}
            for index, verdict in enumerate(section.verdicts):
                given = _claim(site, section, verdict, claims[verdict.id])
                around = section.verdicts[index - 1 : index] if index else (), section.verdicts[index + 1 : index + 2]
                neighbours = {"before": around[0], "after": around[1], "paper": paper, "section": section}
                neighbours["prose"] = partial(_prose_html, spec=section.spec.id, known=known)
                pages.append((f"claims/{slug(verdict.id)}.html", page("claim.html", "../", **given, **neighbours)))
    return pages


def _totals(site: Site) -> dict[str, Any]:
    """How many claims came out how; of the first group, how sure one is of those that are decided."""
    counted = count(site.verdicts)
    certain = count_certainties(site.verdicts, counted[0].group) if counted else {}
    return {"counted": counted, "certain": certain, "certainties": CERTAINTIES}


def _compared(site: Site) -> dict[str, object]:
    """One quantity beside itself over all papers."""
    sections = (section for paper in site.papers for section in paper.sections)
    names = {paper.key: paper.short_name for paper in site.papers}
    return {"comparisons": comparisons(sections), "epsilons": EPSILONS, "infinity": math.inf, "short_names": names}


def _in_use(rows: Sequence[Row]) -> list[str]:
    """Every data set that a row names, by name."""
    return sorted({name for row in rows for name in row.datasets}, key=str.casefold)


def _row(paper: Paper, section: Section, verdict: Verdict) -> Row:
    numbers = compared_numbers(verdict, section.spec) or ("", "", "")
    return Row(paper, verdict, datasets_of(section.spec), *numbers)


def _report_link(site: Site, verdict: Verdict) -> str:
    """Where an error in a verdict is reported; empty where the project does not say where its code is."""
    repository = str(site.about.cited.get("repository-code", ""))
    return f"{repository}/issues/new?{urlencode({'title': verdict.id})}" if repository else ""


def _manual(site: Site, page: Callable[..., str]) -> list[tuple[str, str]]:
    """The documentation, and the reference of what a spec may name."""
    written = manual.pages(site.docs)
    index = Markup(manual.index_json(written))
    pages = [
        ("docs/index.html", page("manual.html", "../", parts=manual.by_part(written), index=index)),
        ("docs/reference.html", page("reference.html", "../", reference=manual.reference())),
    ]
    return pages + [
        (f"docs/{one.name}.html", page("doc.html", "../", page=one, html=Markup(one.html))) for one in written
    ]


def _claim(site: Site, section: Section, verdict: Verdict, claim: Claim) -> dict[str, object]:
    spec = section.spec
    parts = [] if claim.theory else spec.parts(claim)
    point = deciding_point(verdict)
    drawn, hidden = forests(verdict.points, parts, spec, site.alpha)
    return {
        "v": verdict,
        "claim": claim,
        "slug": slug(verdict.id),
        "math": [
            (Markup(mathml(tree)), verdict.parts[i] if i < len(verdict.parts) else None)
            for i, tree in enumerate(verdict.expressions)
        ],
        "forests": drawn,
        "hidden": hidden,
        "counterexample": Markup(section.counterexamples.get(verdict.id, "")),
        "where_refuted": counterexample_words(verdict.counterexample) if verdict.counterexample else "",
        "sure": how_sure(verdict, point),
        "fewer_runs": _runs_of_paper(verdict, spec),
        "form": site.forms.get(verdict.id),
        "answer": Markup(section.answers.get(claim.id, "")),
        "report": _report_link(site, verdict),
        "commands": _commands(site, section, verdict),
    }


def _runs_of_paper(verdict: Verdict, spec: Spec) -> int | None:
    """How many runs the paper has, where the verdict is decided by fewer of them on its data."""
    of_paper = spec.paper_run.repeats if spec.paper_run is not None else None
    if of_paper is None or verdict.repeats is None or verdict.data not in ("paper", "smaller"):
        return None
    return of_paper if verdict.repeats < of_paper else None


def _commands(site: Site, section: Section, verdict: Verdict) -> list[tuple[str, str]]:
    """What judges it again, and what measures it again."""
    profile = f" --profile {site.profile}"
    if section.files == "." or site.profile == "own":
        return [(f"harness judge {shlex.quote(section.called)}", "judges it again from the table that is here")]
    commands = [(f"harness judge{profile} {section.spec.id}", "judges it again from the committed table, in seconds")]
    if section.spec.experiment is not None:
        cost = f"; {section.models:,} models stand behind it" if section.models else ""
        commands.append((f"harness run{profile} {section.spec.id}", f"trains and attacks what the table lacks{cost}"))
    return commands


def _theory_rows(site: Site) -> list[tuple[Paper, list[tuple[Verdict, str]]]]:
    """Claims that need no training, by paper: over what domain, and by what."""
    by_paper = []
    for paper in site.papers:
        rows = []
        for section in paper.sections:
            claims = {f"{section.spec.id}#{c.id}": c for c in section.spec.claims}
            for verdict in section.verdicts:
                if claims[verdict.id].theory:
                    over = [part.of(letter) for tree in verdict.expressions for part in domains(tree)]
                    rows.append((verdict, "; ".join(dict.fromkeys(over))))
        if rows:
            by_paper.append((paper, rows))
    return by_paper


_CODE = re.compile(r"`([^`]+)`")


def _prose_html(text: str, spec: str, known: Collection[str]) -> Markup:
    """Text of a spec as HTML: names in backticks are links where they are claims of it, or in full, and else code."""

    def link_or_code(match: re.Match[str]) -> str:
        name = match.group(1)
        for claim in (name, f"{spec}#{name}", f"{spec.partition('/')[0]}/{name}"):
            if claim in known:
                return f'<a href="{slug(claim)}.html">{name}</a>'
        return f"<code>{name}</code>"

    return Markup(_CODE.sub(link_or_code, str(escape(letters(text)))))


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = lambda x: "" if x is None else figure(float(x))
    environment.filters["level"] = format_level
    environment.filters["value"] = value_text
    environment.filters["places"] = places_text
    environment.filters["basis"] = basis_text
    environment.filters["letters"] = letters
    environment.filters["letter"] = lambda name: LETTERS.get(name, name)
    environment.filters["slug"] = slug
    environment.filters["host"] = lambda url: {"arxiv.org": "arXiv", "doi.org": "DOI"}.get(urlsplit(url).netloc, url)
    environment.filters["untex"] = untex
    environment.filters["said"] = lambda word: SAID.get(word, word)
    environment.filters["word"] = lambda text: text.replace(" ", "-")
    environment.filters["anchor"] = lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower())
    return environment
