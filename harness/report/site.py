"""The site of a profile: a front, a page a paper, a page a claim, theory, and how to read it all.

Static files that need no network and no script; with scripts there are search, filters and readable hover.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import jinja2
from markupsafe import Markup

from harness.claims.basis import basis_text
from harness.claims.expression import domains
from harness.claims.origin import TOLERANCE_SOURCES
from harness.claims.verdict import Verdict, value_text
from harness.claims.words import Word
from harness.coordinates import format_level
from harness.coordinates import text as places_text
from harness.escaping import visible_text, web_address
from harness.ids import page_stem
from harness.links import is_regular_file
from harness.report import feed, front, manual
from harness.report.anchors import marks_of
from harness.report.claim_page import claim_context, prose_html
from harness.report.compare import EPSILONS, Comparison, comparisons, draw_comparison, epsilon_words
from harness.report.contents import NO_PAPERS, Paper, Row, Site, slug
from harness.report.coverage import count_sentence, sections_shown
from harness.report.drawing import Drawing, figure_files
from harness.report.exports import claims_csv, claims_table
from harness.report.findings import SORTS
from harness.report.gather import Section
from harness.report.glossary import define_terms, read_glossary
from harness.report.headings import datasets_of
from harness.report.overview import draw_overview
from harness.report.prose import compared_numbers
from harness.report.reference import HEADINGS, reference
from harness.report.site_files import write_files
from harness.report.tex import untex
from harness.report.vocabulary import DATA, LETTERS, ORIGINS, figure, letter, letters
from harness.verdicts.counts import CERTAINTIES, GROUPS, group_of

STATIC = ("site.css", "site.js")
ACCOUNTANTS = "images/accountants.svg"
"""Of the docs: noise and what it is worth, by accountant."""
SURVEYS = "adult-and-compas-surveyed"
"""Where the page of the docs on surveys has those of committed tables."""
TABLES = ("measurements.parquet", "advantage.csv")
"""Of a spec's folder: files that its page offers."""
Compared = list[tuple[Comparison, tuple[str, Drawing]]]
OTHERS = {"on other data": ("papers elsewhere",), "corrected": ("corrected",), "ours": ("ours",), "checks": ("checks",)}
"""The columns of claims beside a paper's own, and the groups that each counts."""
KINDS = {"theory": "theory", "simulation": "simulation", "training": "measured"}


def write_site(root: Path, site: Site, pages: dict[str, str]) -> list[str]:
    """Write every page below `root`, and remove what an earlier site wrote and this one lacks.

    Args:
        pages: text of each file by its path, of `common_pages`, of `manual_pages` and of `paper_pages` of each paper.

    Returns the pages in the folder that are of no site. Raises HarnessError where the folder, or one in it, is a link.
    """
    for name in STATIC:
        pages[f"static/{name}"] = files("harness.report").joinpath("static", name).read_text(encoding="utf-8")
    for section in (section for paper in site.papers for section in paper.sections):
        figures = figure_stems(section) | {slug(name): one for name, one in section.counterexamples.items()}
        pages |= figure_files(figures)
    contents = {name: text.encode() for name, text in pages.items()}
    records = site.records
    contents["claims.json"] = feed.feed_text(site, records).encode()
    contents["claims.csv"] = claims_csv(site.verdicts, records).encode()
    contents["claims.parquet"] = claims_table(site.verdicts, records).to_parquet(None, index=False, compression="zstd")
    for image in {image for name in pages if name.startswith("docs/") for image in manual.images_of(pages[name])}:
        if manual.is_image(site.docs / image, site.docs) and (site.docs / image).is_file():
            contents[f"docs/{image}"] = manual.read_image(site.docs / image)
    for section in (section for paper in site.papers for section in paper.sections if section.measured):
        for name in _tables_of(site, section):
            contents[f"tables/{section.spec.id}/{name}"] = (site.tables / section.files / name).read_bytes()
    return write_files(root, site.docs.parent, contents)


def _tables_of(site: Site, section: Section) -> list[str]:
    """The files of a spec's folder that its page offers: results from elsewhere may have no advantage."""
    return [name for name in TABLES if is_regular_file(site.tables / section.files / name, site.tables)]


def common_pages(site: Site) -> dict[str, str]:
    """The pages that belong to no single paper, with their figures: text by path."""
    page = _page_renderer(site)
    compared = _compare(site)
    rows = [_row(paper, section, v) for paper in site.papers for section in paper.sections for v in section.verdicts]
    surveys = (
        SURVEYS if (site.docs / "survey.md").is_file() and any(p.key not in NO_PAPERS for p in site.papers) else ""
    )
    first = page(
        "front.html" if site.run is None else "run.html",
        "",
        run=site.run,
        paper_names={paper.key: paper.short_name for paper in site.papers},
        pictures=_finding_pictures(site),
        surveys=surveys,
        **(_front_context(site) if site.run is None else {}),
    )
    pages = {
        "index.html": first,
        "claims.html": page("claims.html", "", rows=rows, datasets=_datasets_in_use(rows)),
        "compare.html": page("compare.html", "", **_comparison_context(site, compared)),
        "reading.html": page("reading.html", ""),
        "about.html": page("about.html", "", others=OTHERS, **front.counts_of(site)),
        "theory.html": page("theory.html", "", rows=_theory_rows(site)),
    }
    return pages | figure_files(dict(drawn for _, drawn in compared))


def paper_pages(site: Site, key: str) -> dict[str, str]:
    """The pages of a paper and of its claims: text by path."""
    page, terms = _page_renderer(site), read_glossary(site.docs / "glossary.md")
    paper = next(paper for paper in site.papers if paper.key == key)
    statements = {v.id: v.claim.statement for v in site.verdicts}
    mine = [f for f in site.findings if f.finding.paper == key]
    given = {"paper": paper, "figures": {s.spec.id: figure_stems(s) for s in paper.sections}}
    given["tables"] = {s.spec.id: _tables_of(site, s) for s in paper.sections}
    given |= _coverage_context(site, paper)
    records = site.records
    overview = draw_overview(paper, records)
    matrix = [row for row in front.matrix_of(site) if row.paper.key == key]
    given |= {"overview": overview, "matrix": matrix, "label": front.square_label}
    html = page("paper.html", "../", findings=mine, pictures=_finding_pictures(site), **given)
    pages = {f"papers/{key}.html": define_terms(html, terms, "../"), **figure_files(overview)}
    for section in paper.sections:
        claims = {f"{section.spec.id}#{c.id}": c for c in section.spec.claims}
        for index, verdict in enumerate(section.verdicts):
            given = claim_context(site, section, verdict, claims[verdict.id])
            given["tables"] = _tables_of(site, section) if section.measured and not claims[verdict.id].theory else []
            around = section.verdicts[index - 1 : index] if index else (), section.verdicts[index + 1 : index + 2]
            neighbours = {"before": around[0], "after": around[1], "paper": paper, "section": section}
            neighbours["review"] = feed.claim_review(paper, verdict, records[verdict.id], site)
            neighbours["prose"] = partial(prose_html, spec=section.spec.id, statements=statements)
            html = page("claim.html", "../", **given, **neighbours)
            pages[f"claims/{slug(verdict.id)}.html"] = define_terms(html, terms, "../")
    return pages


def _coverage_context(site: Site, paper: Paper) -> dict[str, object]:
    """What the page of a paper says of its places; no sections where no file lists them."""
    if paper.coverage is None:
        return {"places": (), "places_counted": ""}
    shown = sections_shown(paper.coverage, {v.id: v for v in site.verdicts})
    return {"places": shown, "places_counted": count_sentence(paper.coverage, paper.not_compared)}


def _finding_pictures(site: Site) -> dict[str, Drawing | None]:
    """The picture of each finding, where it has one."""
    return {f.finding.id: site.pictures.get(f.finding.id) for f in site.findings}


def _page_renderer(site: Site) -> Callable[..., str]:
    """What renders a template of the site, given its name, the way up to the root, and what it alone needs."""
    environment = page_environment()
    records = site.records
    common: dict[str, object] = {
        "site": site,
        "record": records,
        "said": {name: record.finding for name, record in records.items()},
        "heading": {name: record.heading for name, record in records.items()},
        "about": site.about,
        "groups": GROUPS,
        "group_of": group_of,
        "words": tuple(Word),
        "certainties": CERTAINTIES,
        "data": DATA,
        "origins": ORIGINS,
        "tolerance_sources": TOLERANCE_SOURCES,
        "sure_of": lambda verdict: records[verdict.id].certainty_with_runs,
        "kinds": KINDS,
        "marks": marks_of,
        "sorts": SORTS,
    }

    def page(template: str, up: str, **given: object) -> str:
        return visible_text(environment.get_template(template).render(**common, up=up, **given))

    return page


def figure_stems(section: Section) -> dict[str, Drawing]:
    """The figures of a section by the names of their files."""
    return {f"{page_stem(section.spec.id)}-{n}": drawing for n, drawing in enumerate(section.figures, 1)}


def _front_context(site: Site) -> dict[str, object]:
    """What the front shows beside its findings."""
    every = front.matrix_of(site)
    matrix, further = ([row for row in every if row.paper.is_further is apart] for apart in (False, True))
    failing = front.failing_by_paper(site)
    return {
        "headline": front.headline_of(site),
        "matrix": matrix,
        "further": further,
        "word_counts": front.words_counted(site),
        "label": front.square_label,
        "failing": failing if any(wrong for _, wrong in failing) else (),
        "others": [paper for paper in site.papers if paper.key not in {row.paper.key for row in every}],
        "open_claims": front.cheapest_open(site),
    }


def _compare(site: Site) -> Compared:
    """One quantity beside itself over all papers, with its figure and the name of its file."""
    sections = (section for paper in site.papers for section in paper.sections)
    names = _short_names(site)
    return [
        (one, ("compare-" + re.sub(r"\W|_", "-", one.metric), draw_comparison(one, names)))
        for one in comparisons(sections)
    ]


def _short_names(site: Site) -> dict[str, str]:
    own = {"own": "tables of one's own", "harness": "this project"}
    return {paper.key: own.get(paper.key, paper.short_name) for paper in site.papers}


def _comparison_context(site: Site, compared: Compared) -> dict[str, object]:
    columns = [epsilon_words(epsilon) for epsilon in EPSILONS]
    accountants = ACCOUNTANTS if (site.docs / ACCOUNTANTS).is_file() else ""
    return {
        "comparisons": compared, "columns": columns, "short_names": _short_names(site), "accountants": accountants,
    }  # fmt: skip


def _datasets_in_use(rows: Sequence[Row]) -> list[str]:
    """All data sets that rows name, sorted."""
    return sorted({name for row in rows for name in row.datasets}, key=str.casefold)


def _row(paper: Paper, section: Section, verdict: Verdict) -> Row:
    numbers = compared_numbers(verdict, section.spec) or ("", "", "")
    return Row(paper, verdict, datasets_of(section.spec), *numbers)


def manual_pages(site: Site) -> dict[str, str]:
    """The documentation, and the reference of what a spec may name: text by path."""
    page, written = _page_renderer(site), manual.pages(site.docs)
    index = Markup(manual.index_json(written))
    pages = {
        "docs/index.html": page(
            "manual.html", "../", parts=manual.group_by_part(written), doors=manual.DOORS, index=index
        ),
        "docs/reference.html": page(
            "reference.html", "../", reference={HEADINGS[sort]: entries for sort, entries in reference().items()}
        ),
    }
    return pages | {
        f"docs/{one.name}.html": page("doc.html", "../", page=one, html=Markup(one.html)) for one in written
    }


def _theory_rows(site: Site) -> list[tuple[Paper, list[tuple[Verdict, str]]]]:
    """Claims that need no training, by paper, each with its domain and how it was settled."""
    by_paper = []
    for paper in site.papers:
        rows = []
        for section in paper.sections:
            claims = {f"{section.spec.id}#{c.id}": c for c in section.spec.claims}
            for verdict in section.verdicts:
                if claims[verdict.id].theory:
                    over = [part.of(letter) for tree in verdict.claim.expressions for part in domains(tree)]
                    rows.append((verdict, "; ".join(dict.fromkeys(over))))
        if rows:
            by_paper.append((paper, rows))
    return by_paper


def first_sentences(text: str, count: int) -> str:
    """The first sentences of a text: each ends with a full stop before a blank and a capital letter."""
    return " ".join(re.split(r"(?<=[.!?]) (?=[A-Z“])", text)[:count])


@cache
def page_environment(extension: str = "") -> jinja2.Environment:
    """What renders the templates of pages, with the filters that they use: one for all pages of a process.

    `extension` names a package that has templates of its own, which may extend those here.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in ("harness.report", extension) if name]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals["no_papers"] = NO_PAPERS
    environment.filters["number"] = lambda x: "" if x is None else figure(float(x))
    environment.filters["level"] = format_level
    environment.filters["value"] = value_text
    environment.filters["places"] = places_text
    environment.filters["basis"] = basis_text
    environment.filters["letters"] = letters
    environment.filters["letter"] = lambda name: LETTERS.get(name, name)
    environment.filters["slug"] = slug
    environment.filters["web"] = web_address
    environment.filters["host"] = lambda url: {"arxiv.org": "arXiv", "doi.org": "DOI"}.get(urlsplit(url).netloc, url)
    environment.filters["untex"] = untex
    environment.filters["sentences"] = first_sentences
    environment.filters["said"] = lambda word: Word(word).shown
    environment.filters["sign"] = lambda word: Word(word).sign
    environment.filters["counted"] = lambda word: Word(word).counted
    environment.filters["word"] = lambda text: text.replace(" ", "-")
    environment.filters["anchor"] = lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower())
    return environment
