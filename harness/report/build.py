"""Gather every spec's verdicts into `reports/<profile>/`: HTML, Markdown, `verdicts.json`, `metrics.json`."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jinja2
import pandas as pd
from ruamel.yaml import YAML

from harness import tracking
from harness.claims.design import design_of
from harness.claims.evidence import means, ordered
from harness.claims.verdict import Verdict, VerdictFile, basis_text, dump
from harness.files import write_text
from harness.pipeline import Context, core_seconds, left_out, measurements, read_verdicts
from harness.places import shown
from harness.places import text as places_text
from harness.report.figures import draw, draw_bounds
from harness.report.tables import exposed_rows, formula_tables, outcome_rows, printed_tables
from harness.spec.load import Loaded
from harness.spec.model import Unstated
from harness.spec.profile import Scaled, as_run, load_params, stopped_early
from harness.verdicts.catalogue import RATE, corrected
from harness.verdicts.check import ALPHA, hardware, repeats_wanted

ORDER = ("violated", "inconclusive", "not run", "reproduced")


@dataclass(frozen=True)
class Section:
    """One spec in the report."""

    spec: Any
    reductions: tuple[str, ...]
    substitution: str | None
    verdicts: tuple[Verdict, ...]
    svg: str
    means: list[dict[str, Any]]
    tables: list[dict[str, Any]]
    """Tables that the paper prints, in its layout."""
    formulas: list[dict[str, Any]]
    """Printed tables of formulas, in its layout."""
    exposed: list[dict[str, Any]]
    """Members exposed in one, in some and in every run."""
    outcomes: list[dict[str, Any]]
    """Advantage by the outcome that a split draws."""
    unstated: tuple[Unstated, ...]
    sha256: str
    data_sha256: str
    folder: str
    files: str
    """Its folder, from the page."""
    why_not: str
    sequential: bool
    models: int
    models_fixed: int
    """Trained targets, and how many the fixed design has."""


def judged(context: Context, specs: Iterable[Loaded]) -> list[Loaded]:
    """Those of the specs that have verdicts under the profile; the others are not run yet."""
    return [loaded for loaded in specs if context.verdicts_file(loaded.spec.id).is_file()]


def build(context: Context, specs: Sequence[Loaded]) -> VerdictFile:
    """Write the report of a profile from the verdicts that `check` wrote, of all its specs. Returns all verdicts."""
    there = judged(context, specs)
    absent = [loaded for loaded in specs if loaded not in there]
    left = [loaded.spec.id for loaded in absent if left_out(context, loaded)]
    not_yet = [loaded.spec.id for loaded in absent if not left_out(context, loaded)]
    sections = [_section(context, loaded) for loaded in there]
    verdicts = corrected([v for s in sections for v in s.verdicts])
    by_id = {v.id: v for v in verdicts}
    sections = [replace(s, verdicts=tuple(by_id[v.id] for v in s.verdicts)) for s in sections]
    everything = VerdictFile(profile=context.profile_name, alpha=ALPHA, verdicts=verdicts)
    root = context.page
    counts = Counter(str(v.verdict) for v in verdicts)
    tally = {name: counts.get(name, 0) for name in ORDER}
    write_text(root / "verdicts.json", dump(everything))
    write_text(root / "metrics.json", json.dumps({"claims": len(verdicts), **tally}, indent=1) + "\n")
    write_text(root / "summary.md", _markdown(context, sections, tally))
    papers = YAML(typ="safe").load((context.project.specs / "papers.yaml").read_text(encoding="utf-8"))
    html = (
        _environment()
        .get_template("report.html")
        .render(
            profile=context.profile_name,
            sections=sections,
            verdicts=verdicts,
            tally=tally,
            alpha=ALPHA,
            papers=papers,
            catalogue=catalogue_sentence(verdicts),
            not_yet=not_yet,
            left=left,
            flagship=_flagship(context),
        )
    )
    write_text(root / "index.html", html)
    _write_run(context, there)
    return everything


def _flagship(context: Context) -> str | None:
    """Where the page of the run that decides lies, seen from this one; None where this is it, or there is none."""
    name = load_params(context.project).flagship
    page = None if name is None else context.project.reports / name / "index.html"
    if page is None or name == context.profile_name or not page.is_file():
        return None
    return os.path.relpath(page, context.page)


def _section(context: Context, loaded: Loaded) -> Section:
    scaled: Scaled = context.scaled(loaded)
    judged = read_verdicts(context, loaded).verdicts
    table, why_not = measurements(context, loaded) if scaled.spec.experiment is not None else (None, "")
    if table is not None:
        svg, means = draw(scaled.spec, table), _means(table, scaled.spec.axes)
    else:
        svg, means = ("" if scaled.spec.experiment is not None else draw_bounds(scaled.spec)), []
    sequential = table is not None and design_of(table).name == "sequential"
    done = scaled if table is None or sequential else as_run(scaled, int(table["repeat"].nunique()))
    if sequential and table is not None and (still_open := repeats_wanted(scaled, table)):
        done = stopped_early(scaled, len(still_open))
    experiment = scaled.spec.experiment
    return Section(
        sequential=sequential,
        models=0 if table is None or experiment is None else _models(table, experiment.coordinates),
        models_fixed=experiment.models() if experiment else 0,
        spec=scaled.spec,
        reductions=done.reductions,
        substitution=scaled.substitution,
        verdicts=judged,
        svg=svg,
        means=means,
        tables=printed_tables(scaled.spec, judged),
        formulas=formula_tables(scaled.spec, judged),
        exposed=[] if table is None else exposed_rows(table),
        outcomes=[] if table is None else outcome_rows(table),
        unstated=scaled.spec.unstated,
        sha256=loaded.sha256,
        folder=loaded.spec.id,
        files=context.folder(loaded.spec.id).relative_to(context.page).as_posix(),
        why_not=why_not,
        data_sha256=next((v.data_sha256 for v in judged if v.data_sha256), ""),
    )


def _models(table: pd.DataFrame, axes: Sequence[str]) -> int:
    return len(table.drop_duplicates(["arm", *axes, "repeat"]))


def _means(table: pd.DataFrame, axes: Sequence[str]) -> list[dict[str, Any]]:
    """Mean and 95% interval of every metric but counts, by arm, attack and place, ready to print.

    Columns are the values of epsilon, or of the first axis where epsilon follows from others.
    """
    wanted = ("advantage", "tpr", "fpr", "auc", "accuracy_train", "accuracy_test", "accuracy_nonmembers")
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    every = means(table, wanted, axes)
    across = "epsilon" if "epsilon" in axes else axes[0]
    levels = ordered({dict(where)[across]: None for *_, where in every if across in dict(where)})
    for (arm, attack, metric, where), found in every.items():
        at = dict(where)
        if across not in at:
            continue
        low, high = found.interval()
        half = max(high - found.mean, found.mean - low)
        others = "".join(f", {axis} {shown(value)}" for axis, value in where if axis != across)
        label = f"{attack}: {metric}" if attack else str(metric)
        row = rows.setdefault((arm, label, others), {"arm": arm + others, "metric": label, "of": metric, "cells": {}})
        row["cells"][at[across]] = f"{found.mean:.3f}" + (f" ± {half:.3f}" if math.isfinite(half) else "")
    listed = sorted(rows.values(), key=lambda r: (r["arm"], wanted.index(r["of"])))
    return [
        {**r, "values": [r["cells"].get(e, "") for e in levels], "across": across, "levels": levels} for r in listed
    ]


def _markdown(context: Context, sections: Sequence[Section], tally: dict[str, int]) -> str:
    lines = [f"# Verdicts, profile `{context.profile_name}`", ""]
    lines.append(", ".join(f"{count} {name}" for name, count in tally.items() if count) + ".")
    verdicts = [v for s in sections for v in s.verdicts]
    if text := catalogue_sentence(verdicts):
        lines += ["", text]
    for section in sections:
        lines += ["", f"## {section.spec.id}: {section.spec.title}", ""]
        if section.substitution:
            lines += [f"Substituted: {section.substitution}", ""]
        if section.reductions:
            lines += [f"Scaled: {'; '.join(section.reductions)}.", ""]
        lines += ["| claim | verdict | basis | why |", "| --- | --- | --- | --- |"]
        for v in section.verdicts:
            why = ". ".join(filter(None, [v.reason, v.halves, v.would_decide and f"Would decide: {v.would_decide}"]))
            why = why.replace("|", "\\|")
            claim = f"{v.statement.replace('|', chr(92) + '|')} ({v.where})"
            lines.append(f"| {claim} | **{v.verdict}** | {basis_text(v)} | {why} |")
    return "\n".join(lines) + "\n"


def catalogue_sentence(verdicts: Sequence[Verdict]) -> str:
    """How many verdicts on measurements stand when all claims share one level; empty where none was decided."""
    known = [v for v in verdicts if v.p_catalogue is not None]
    if not known:
        return ""
    fallen = [v.id for v in known if (v.p_catalogue or 0.0) > ALPHA]
    bases = Counter(v.basis for v in known)
    on = [
        f"{bases['distribution-free']} are distribution-free" if bases["distribution-free"] else "",
        f"{bases['shape']} rest on no outcome being rarer than stated" if bases["shape"] else "",
        f"{bases['records']} on errors of drawing records" if bases["records"] else "",
    ]
    stand = sum(bool(v.stands) for v in known)
    text = (
        f"Of the {len(known)} verdicts decided on measurements, {', '.join(filter(None, on))}. "
        f"{stand} of them stand at a false discovery rate of {RATE:.0%} over all {known[0].claims_tested} claims "
        f"tested (e-BH, for any dependence between them), and {len(known) - len(fallen)} at level {ALPHA:g} for all "
        "together (Holm)."
    )
    return text + (f" Not at that level: {', '.join(fallen)}." if fallen else "")


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = lambda x: "" if x is None else f"{x:.4g}"
    environment.filters["epsilon"] = shown
    environment.filters["places"] = places_text
    environment.filters["basis"] = basis_text
    environment.filters["slug"] = lambda text: text.replace("/", "-").replace("#", "-")
    return environment


def _write_run(context: Context, specs: Sequence[Loaded]) -> None:
    """`run.js`: times, commit and machine of this very run, apart so that the page itself is reproducible.

    Left as it is where the cells of the run are not in this machine's store (a clone that only checks).
    """
    ran = [one for one in specs if one.spec.experiment is not None and not left_out(context, one)]
    timings: dict[str, Any] = {}
    for one in ran:
        timings[one.spec.id] = core_seconds(context, one)
        if timings[one.spec.id] is None and (context.page / "run.js").is_file():
            return
    target = context.page / "run.js"
    facts = {"commit": tracking.commit(context.project), "machine": hardware(), "timings": timings}
    write_text(target, "window.HARNESS_RUN = " + json.dumps(facts, indent=1, sort_keys=True) + ";\n")
