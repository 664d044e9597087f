"""Gather every spec's verdicts into `reports/<profile>/`: `verdicts.json`, `metrics.json`, a summary, and the site."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness import tracking
from harness.bounds import read_text
from harness.claims.verdict import Verdict, VerdictFile, dump
from harness.files import write_text
from harness.paths import Project
from harness.pipeline.context import Context, Run
from harness.pipeline.judging import has_verdicts, read_verdicts
from harness.pipeline.parallel import Shared, Task, compute_side_by_side
from harness.report.citations import read_citations
from harness.report.claim_record import claim_records
from harness.report.contents import Paper, Site, chosen_findings, papers_of
from harness.report.drawing import Drawing
from harness.report.exports import write_beside
from harness.report.findings import FINDINGS, Picture, read_findings
from harness.report.gather import Section, counterexample, gather, judged_runs, read_measured, timings
from harness.report.own_run import committed_verdicts, gather_own_run
from harness.report.pictures import draw_picture
from harness.report.provenance import provenance
from harness.report.site import common_pages, manual_pages, paper_pages, write_site
from harness.report.summary import catalogue_sentence, markdown
from harness.spec.coverage import read_coverage
from harness.spec.model import ALPHA, Spec
from harness.spec.profile import load_params
from harness.verdicts import baseline
from harness.verdicts.counts import count
from harness.verdicts.multiplicity import correct_for_all_claims
from harness.verdicts.provenance import hardware

RUN = "run.json"
Pictures = Mapping[str, Drawing]
"""By finding."""


def build(context: Context, specs: Sequence[Run]) -> VerdictFile:
    """Write the report of a profile from the verdicts that `judge` wrote. Returns all verdicts."""
    sections, pictures = _draw_sections(context, specs)
    verdicts = tuple(v for s in sections for v in s.verdicts)
    everything = VerdictFile(profile=context.profile_name, alpha=ALPHA, verdicts=verdicts)
    root = context.page
    tally = {c.group: {"claims": c.total, **c.by_word} for c in count(verdicts)}
    write_text(root / "verdicts.json", dump(everything))
    write_text(root / "metrics.json", json.dumps({"claims": len(verdicts), **tally}, indent=1) + "\n")
    records = claim_records(verdicts, {s.spec.id: s.spec for s in sections})
    write_text(root / "summary.md", markdown(context.profile_name, sections, records))
    write_beside(root, verdicts, records)
    _write_run(context, judged_runs(specs))
    _write_site(context, specs, sections, pictures)
    return everything


def build_site(context: Context, specs: Sequence[Run], root: Path | None = None) -> Path:
    """Write the site from the verdicts that are there, to `root` or to its own place. Returns its front page."""
    return _write_site(context, specs, *_draw_sections(context, specs), root)


def _draw_sections(context: Context, specs: Sequence[Run]) -> tuple[list[Section], Pictures]:
    """The sections of all judged specs, with verdicts corrected for all claims of the profile; and the pictures of
    findings."""
    judged = judged_runs(specs)
    by_id = {one.id: one for one in judged}
    with_picture = {f.id: f.picture for f in read_findings(context.project.specs / FINDINGS) if f.picture is not None}
    of_cards = [(name, by_id[p.of_spec], p) for name, p in with_picture.items() if p.of_spec in by_id]
    pieces: list[Task[Section | Drawing | None]] = [Task(gather, (one,), one.id, _size(one)) for one in judged]
    pieces += [Task(draw_card, (one, picture), name, 1) for name, one, picture in of_cards]
    drawn = compute_side_by_side(pieces, context, "drawing")
    sections = [one for one in drawn if isinstance(one, Section)]
    cards = zip(of_cards, drawn[len(judged) :], strict=True)
    pictures = {name: drawing for (name, *_), drawing in cards if isinstance(drawing, Drawing)}
    corrected = {v.id: v for v in correct_for_all_claims([v for s in sections for v in s.verdicts])}
    return [replace(s, verdicts=tuple(corrected[v.id] for v in s.verdicts)) for s in sections], pictures


def _size(run: Run) -> int:
    """Estimated effort of drawing a spec: the size in bytes of its table."""
    file = run.measurements_file
    return file.stat().st_size if file.is_file() else len(run.spec.claims)


def draw_card(run: Run, picture: Picture) -> Drawing | None:
    """The small figure of a finding; None where it has no measurements, or where the claim is not refuted."""
    spec = run.spec
    if picture.counterexample is not None:
        judged = read_verdicts(run).verdicts
        return next((counterexample(v, spec, small=True) for v in judged if v.id == picture.counterexample), None)
    table, _ = read_measured(run)
    return None if table is None or picture.panel is None else draw_picture(spec, table, picture.panel, picture)


def _write_site(
    context: Context, specs: Sequence[Run], sections: list[Section], pictures: Pictures, root: Path | None = None
) -> Path:
    site = site_of(context, specs, sections, pictures)
    verdicts = site.verdicts
    root = front(context).parent if root is None else root
    shared = Shared(site)
    pieces = [Task(paper_pages, (shared, paper.key), paper.key, len(paper.verdicts)) for paper in site.papers]
    pieces.append(Task(common_pages, (shared,), "front and table", len(verdicts)))
    pieces.append(Task(manual_pages, (shared,), "documentation", len(verdicts) / 3))
    written = compute_side_by_side(pieces, context, "writing")
    foreign = write_site(root, site, {name: text for pages in written for name, text in pages.items()})
    if foreign:
        which = f"{foreign[0]}{f' and {len(foreign) - 1} more' if len(foreign) > 1 else ''}"
        context.progress.warn(f"{root}: {which}: pages that no site here is known to have written; they stay")
    return root / "index.html"


def site_of(context: Context, specs: Sequence[Run], sections: list[Section], pictures: Pictures) -> Site:
    """What the site of a profile shows. `sections` are those of the judged `specs`."""
    absent = [run for run in specs if not has_verdicts(run)]
    verdicts = [v for s in sections for v in s.verdicts]
    findings, _ = chosen_findings(read_findings(context.project.specs / FINDINGS), sections, verdicts)
    papers = papers_of(sections, read_citations(context.project))
    site = Site(
        profile=context.profile_name,
        papers=_with_coverage(context.project, papers),
        findings=findings,
        pictures=pictures,
        changes=_changes(context, verdicts),
        sentence=catalogue_sentence(verdicts),
        facts=_facts(context),
        flagship=_flagship(context),
        docs=context.project.root / "docs",
        tables=context.page,
        about=provenance(context.project.root, sections, verdicts),
        not_yet=tuple(run.id for run in absent),
    )
    flagship = flagship_context(context)
    if flagship is None or context.profile_name != load_params(context.project).profile:
        return site
    judged = judged_runs(specs)
    return replace(site, run=gather_own_run(context, judged, verdicts, flagship))


def _with_coverage(project: Project, papers: Sequence[Paper]) -> tuple[Paper, ...]:
    """The papers, each with what can be checked in it where a file lists that."""
    listed = read_coverage(project)
    return tuple(
        replace(p, coverage=listed[p.key].coverage, not_compared=listed[p.key].not_compared(project))
        if p.key in listed
        else p
        for p in papers
    )


def front(context: Context) -> Path:
    """The first page of a profile's site."""
    return context.page / "site" / "index.html"


def accepted_verdicts(context: Context) -> dict[str, str]:
    """The accepted verdicts of a profile by claim; empty where none were accepted."""
    path = context.page / "baseline.json"
    if not path.is_file():
        return {}
    return {f"{spec}#{c}": was for spec, of in baseline.read(path).specs.items() for c, was in of.verdicts.items()}


def judged_specs_of(context: Context, specs: Sequence[Run]) -> dict[str, Spec]:
    """The judged specs among these, under the profile, by id."""
    return {one.id: one.spec for one in judged_runs(specs)}


def _changes(context: Context, verdicts: Sequence[Verdict]) -> tuple[tuple[Verdict, str], ...]:
    accepted = accepted_verdicts(context)
    return tuple((v, accepted[v.id]) for v in verdicts if v.id in accepted and accepted[v.id] != v.verdict)


def flagship_verdicts(context: Context, claims: Collection[str]) -> tuple[str, dict[str, Verdict]]:
    """The flagship's name and its verdicts on some claims, by id, where this profile is another one; else an empty
    name."""
    flagship = flagship_context(context)
    return ("", {}) if flagship is None else (flagship.profile_name, committed_verdicts(flagship, claims))


def flagship_context(context: Context) -> Context | None:
    """The context of the profile that decides; None where this is it, or there is none."""
    params = load_params(context.project)
    name = params.flagship
    if name is None or name == context.profile_name or context.own is not None:
        return None
    return replace(
        context, profile_name=name, profile=params.profiles[name], options=replace(context.options, max_repeats=None)
    )


def flagship_front(context: Context) -> Path | None:
    """The flagship's front page; None where this profile is the flagship, or there is none."""
    name = load_params(context.project).flagship
    page = None if name is None else context.project.reports / name / "site" / "index.html"
    if page is None or name == context.profile_name or not (page.parents[1] / "verdicts.json").is_file():
        return None
    return page


def _flagship(context: Context) -> str | None:
    """The path to the flagship's front page from this one; None where there is no other."""
    page = flagship_front(context)
    return None if page is None else os.path.relpath(page, front(context).parent)


def _facts(context: Context) -> dict[str, object]:
    path = context.page / RUN
    try:
        facts: dict[str, object] = json.loads(read_text(path))
    except (OSError, ValueError):
        return {}
    return facts


def _write_run(context: Context, specs: Sequence[Run]) -> None:
    """Write `run.json`: times, commit and machine of the run. Other pages have none of these, so they are reproducible.

    The file is left as it is where this machine's store lacks the run's cells, as in a clone that only checks.
    """
    target = context.page / RUN
    known = timings(specs)
    if known is None:
        return
    facts = {"commit": tracking.commit(context.project), "machine": hardware(), "timings": known}
    write_text(target, json.dumps(facts, indent=1, sort_keys=True) + "\n")
