"""The command line. Exit codes: 0 fine, 1 a verdict differs from what was asked to hold, 2 bad input."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.accountants import accountants
from harness.commands.common import (
    COLOURS,
    AsJson,
    Names,
    ProfileName,
    Quiet,
    Root,
    Workers,
    console,
    context_for,
    load,
    print_json,
    print_verdicts,
    project_here,
    state,
    table_of,
)
from harness.commands.data import data_app
from harness.commands.multiverse import multiverse
from harness.commands.store import store_app
from harness.commands.verify import verify
from harness.errors import HarnessError

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
* `harness verify` exit 1 unless every verdict is what the committed baseline says
* `harness validate specs/own/my-table.yaml` check a spec of your own
""",
)  # fmt: skip
app.add_typer(data_app, name="data")
app.add_typer(store_app, name="store")


@app.callback()
def _global(project: Root = None) -> None:
    state["root"] = project


@app.command("ls")
def list_specs(specs: Names = None, as_json: AsJson = False) -> None:
    """List specs with their place in the paper, their claims, and what they need."""
    rows: list[dict[str, Any]] = []
    for loaded in load(project_here(), specs):
        spec, experiment = loaded.spec, loaded.spec.experiment
        rows.append({
            "id": spec.id, "where": spec.where, "title": spec.title, "claims": [c.id for c in spec.claims],
            "dataset": experiment.dataset.plugin_name() if experiment else None,
            "arms": list(experiment.arms) if experiment else [], "attacks": list(spec.attacks),
            "catalogue": sorted({c for claim in spec.claims for c in claim.catalogue}), "sha256": loaded.sha256,
        })  # fmt: skip
    if as_json:
        print_json(rows)
        return
    table = table_of("spec", "where", "dataset", "arms", "attacks", "claims")
    for row in rows:
        table.add_row(
            row["id"], row["where"], row["dataset"] or "theory", ", ".join(row["arms"]), ", ".join(row["attacks"]),
            str(len(row["claims"])),
        )  # fmt: skip
    console.print(table)


@app.command()
def validate(specs: Names = None, as_json: AsJson = False) -> None:
    """Check specs without running anything: every fault with its file, line and field; exit 2 if there is one."""
    loaded = load(project_here(), specs)
    if as_json:
        print_json([{"id": one.spec.id, "sha256": one.sha256, "valid": True} for one in loaded])
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

    project = project_here()
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
def resolve(specs: Names = None, profile: ProfileName = None) -> None:
    """Write specs as they are run: what they inherit filled in, what the profile takes away taken away.

    JSON in `models/<profile>/resolved/`; the stages of `dvc.yaml` depend on it, so an edit that leaves it as it was
    trains and attacks nothing again.
    """
    from harness import pipeline

    context = context_for(profile, None, True)
    found = load(context.project, specs)
    for loaded in found:
        pipeline.resolve(context, loaded)
    print(f"{context.resolved.relative_to(context.project.root)}: {len(found)} specs")


@app.command()
def plan(specs: Names = None, profile: ProfileName = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Show the cells that a run would compute, what is there already, and what the rest would cost."""
    from harness.execution.store import Store
    from harness.pipeline import plan_of

    context = context_for(profile, None, quiet)
    store = Store(context.project.store)
    rows, seen = [], set()
    for loaded in load(context.project, specs):
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
        print_json({**summary, "specs": rows})
        return
    table = table_of("spec", "cells", "pieces", "shared", "to do", "estimate")
    for r in rows:
        estimate = f"{float(str(r['core_seconds'])) / 60:.1f} core-min"
        table.add_row(
            str(r["spec"]), str(r["cells"]), str(r["pieces"]), str(r["shared_with_earlier_specs"]), str(r["missing"]),
            estimate,
        )  # fmt: skip
    console.print(table)
    wall = total / context.workers / 60
    most = "at most " if context.sequential else ""
    print(f"profile {context.profile_name}: {most}about {wall:.1f} min with {context.workers} workers")


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
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Add repeats only where an open claim needs them, and stop when all are decided (docs/statistics.md).",
        ),
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

    if partial and until_decided:
        raise HarnessError("--partial judges the repeats that are there, --until-decided adds some: give one of them")
    context = dataclasses.replace(
        context_for(profile, workers, quiet), scheduler=scheduler, until_decided=until_decided
    )
    loaded = load(context.project, specs)
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
    print_verdicts(everything.verdicts)
    where = (context.project.reports / context.profile_name / "index.html").relative_to(context.project.root)
    print(f"report: {where}")


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
    context = context_for(profile, None, True)
    verdicts = [v for one in load(context.project, specs) for v in pipeline.check(context, one)]
    if as_json:
        print_json([v.model_dump(mode="json") for v in verdicts])
    else:
        print_verdicts(verdicts)
    if require is not None and any(v.verdict != require for v in verdicts):
        raise typer.Exit(1)


@app.command()
def report(specs: Names = None, profile: ProfileName = None) -> None:
    """Write `reports/<profile>/`: the page, a Markdown summary and all verdicts, from what `check` wrote."""
    context = context_for(profile, None, True)
    _report(context, load(context.project, specs))


app.command()(verify)
app.command()(multiverse)
app.command()(accountants)


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
