"""`harness plan` and `run`: what would be computed, and computing it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harness.commands.common import (
    RESUME_HINT,
    AsJson,
    Minutes,
    Names,
    ProfileName,
    Quiet,
    Workers,
    deadline_in,
    exit_on_interrupt,
    print_json,
    resolve_specs,
)
from harness.commands.judging import write_page
from harness.commands.tables import print_table, print_text
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.execution.executor import WorkerPool
    from harness.pipeline.context import Context, Run
    from harness.report.preparation import PreparationText


def plan(specs: Names = None, profile: ProfileName = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Show the cells that a run would compute, what is there already, what the rest would cost, and what is done to
    tables on their way to features."""
    from harness.data.fetch import MissingData
    from harness.execution.naming import missing_packages, trains_with_function
    from harness.execution.planner import SECONDS_PER_MODEL
    from harness.execution.store import Store
    from harness.pipeline.compute import pieces_left, plan_of
    from harness.pipeline.deciding import restrict_to_claims
    from harness.report.preparation import describe_preparation

    rows: list[dict[str, Any]] = []
    tables: list[tuple[str, PreparationText]] = []
    keys_listed: set[str] = set()
    not_installed: dict[str, None] = {}
    of_function: list[str] = []
    groups = resolve_specs(specs, profile, None, quiet)
    for context, runs in groups:
        store = Store(context.project.store)
        for one in runs:
            if one.spec.results is not None:
                rows.append(_row_of_results(one))
                continue
            try:
                spec_plan = restrict_to_claims(one, plan_of(one, to_run=False))
            except MissingData as missing:
                context.progress.say(f"{one.id}: not run: {missing}")
                continue
            pieces_of_spec = pieces_left(one, spec_plan)
            pieces = [p for p in pieces_of_spec if p.key not in keys_listed]
            keys_listed |= {p.key for p in pieces}
            if pieces_of_spec and one.spec.own_experiment is not None:
                not_installed |= dict.fromkeys(missing_packages(one.spec.own_experiment))
                of_function += [one.id] if trains_with_function(one.spec.own_experiment) else []
            faulty = {key for _, key, _ in store.faults((p.kind, p.key) for p in pieces)}
            missing_pieces = [p for p in pieces if p.key in faulty]
            tables += [(one.id, table) for table in describe_preparation(spec_plan.preparations)]
            rows.append(
                {
                    "spec": one.id,
                    "cells": len(spec_plan.cells),
                    "pieces": len(pieces_of_spec),
                    "shared_with_earlier_specs": len(pieces_of_spec) - len(pieces),
                    "missing": len(missing_pieces),
                    "core_seconds": round(sum(p.cost for p in missing_pieces), 1),
                    "reductions": one.scaled.reductions,
                    "tables": [preparation.in_json() for preparation in spec_plan.preparations],
                }
            )
    total = sum(float(r["core_seconds"]) for r in rows)
    context = groups[0][0]
    if not_installed:
        context.progress.warn(
            f"not installed: {', '.join(not_installed)}; models are named by what trains them, so all count as to do"
        )
    if of_function:
        context.progress.warn(
            f"{', '.join(of_function)}: trained by a function of yours, which nobody here can time; a model counts as "
            f"{SECONDS_PER_MODEL['tf-privacy']:g} s"
        )
    if as_json:
        summary = {"profile": context.profile_name, "workers": context.workers, "core_seconds": total}
        print_json({**summary, "specs": rows})
        return
    if rows:
        shown = ("spec", "cells", "pieces", "shared_with_earlier_specs", "missing")
        print_table(
            ("spec", "cells", "pieces", "shared", "to do", "estimate"),
            [(*(str(r[key]) for key in shown), f"{float(r['core_seconds']) / 60:.1f} core-min") for r in rows],
        )
    print_tables(tables)
    wall = total / context.workers / 60
    at_most = "at most " if context.is_sequential else ""
    print_text(f"profile {context.profile_name}: {at_most}about {wall:.1f} min with {context.workers} workers")


def _row_of_results(one: Run) -> dict[str, object]:
    """The row of a spec on results from elsewhere, for which nothing is computed. Raises HarnessError where its file is
    wrong."""
    from harness.pipeline.sources import source_of_run

    table, _ = source_of_run(one).read(one)
    places = ["arm", *(axis for axis in one.spec.axes), "repeat"]
    cells = 0 if table is None else len(table.drop_duplicates(places))
    pieces = dict.fromkeys(("pieces", "shared_with_earlier_specs", "missing"), 0)
    return {"spec": one.id, "cells": cells, **pieces, "core_seconds": 0.0, "reductions": (), "tables": []}


def print_tables(tables: list[tuple[str, PreparationText]]) -> None:
    """What becomes of tables: of each, and of each way to prepare it, the first spec's in full."""
    shown: dict[PreparationText, list[str]] = {}
    for spec, table in tables:
        shown.setdefault(table, []).append(spec)
    for table, specs in shown.items():
        more = f" and {len(specs) - 1} more" if len(specs) > 1 else ""
        print_text(f"table {table.table} ({specs[0]}{more})")
        for line in table.lines:
            print_text(f"  {line}")
        for arm, lines in table.arms:
            print_text("; ".join([f"  {arm}", *lines]))


def run(
    specs: Names = None,
    profile: ProfileName = None,
    stage: Annotated[
        Literal["train", "attack", "all"], typer.Option(help="`all`: train, attack, judge and report.")
    ] = "all",
    workers: Workers = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            envvar="DASK_SCHEDULER_ADDRESS",
            metavar="ADDRESS",
            help="Compute on a Dask cluster: the address of its scheduler, such as `tcp://127.0.0.1:8786`.",
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
    max_repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="REPEATS",
            help="Repeats that a cell may get where an open claim needs them, in place of the profile's `max_repeats`.",
        ),
    ] = None,
    minutes: Minutes = None,
    quiet: Quiet = False,
) -> None:
    """Run specs. Finished pieces of work (a model, an attack on one) are never run again; Ctrl-C or a crash
    loses only those at work.

    A spec in a file outside of specs/ is run as it is declared, under no profile, onto a page of its own in
    reports/own/. Running some specs of a profile leaves the others on its page.

    Local processes compute on one thread each. With --scheduler, work goes to a Dask cluster instead: its workers need
    this package and no shared file system; what they compute comes back into this checkout's store (docs/cluster.md).
    """
    from harness.pipeline.context import Options
    from harness.pipeline.declaring import put_new_on_record

    if partial and until_decided:
        raise HarnessError("--partial judges the repeats that are there, --until-decided adds some: give one of them")
    deadline = deadline_in(minutes)
    options = Options(scheduler, until_decided, max_repeats, deadline)
    groups = resolve_specs(specs, profile, workers, quiet, options=options)
    if max_repeats is not None and not all(context.is_sequential for context, _ in groups):
        raise HarnessError(
            "--max-repeats is for runs that add repeats where claims are open: give --until-decided too, or a profile "
            "with `design: sequential`"
        )
    with put_new_on_record(groups):
        if stage != "all":
            _compute_stage(groups, stage, partial)
            return
        _run_wholly(groups, partial)


def _run_wholly(groups: list[tuple[Context, list[Run]]], partial: bool) -> None:
    """Train, attack, judge and report, once it is sure that pages can be made."""
    from harness.report.page_inputs import check_page_inputs

    for context, runs in groups:
        check_page_inputs(context.project, [run.declared for run in runs])
    for context, runs in compute(groups, partial=partial):
        if runs:
            write_page(context, runs)


def _compute_stage(groups: list[tuple[Context, list[Run]]], stage: str, partial: bool) -> None:
    """Carry out one stage of a pipeline, and say what it made and how long it took."""
    from harness.pipeline.stages import timed_stage
    from harness.pipeline.tables import count_models

    context = groups[0][0]
    with timed_stage(context, "measure" if context.is_sequential else stage) as done:
        before = _models_stored(context)
        reached = compute(groups, stage, partial)
        specs = [one for _, runs in reached for one in runs]
        done.trained = len(_models_stored(context) - before)
        done.models = sum(count_models(one) for one in specs)
        what = f"{done.models} models in {len(specs)} specs"
        done.made = what if stage == "train" else f"attacks on {what}" if not context.is_sequential else what


def _models_stored(context: Context) -> set[str]:
    """The keys of all models in the store."""
    from harness.execution.store import Store

    return {key for key, _ in Store(context.project.store).files("train")}


def compute(
    groups: list[tuple[Context, list[Run]]], stage: str = "all", partial: bool = False
) -> list[tuple[Context, list[Run]]]:
    """Carry out a stage of specs, or all of them. Returns those that were reached before the deadline, with verdicts.

    Ctrl-C exits with 130; a deadline that passes is said on standard error.
    """
    from harness.execution.executor import OutOfTime
    from harness.pipeline.compute import worker_pool_of
    from harness.pipeline.judging import write_verdicts
    from harness.pipeline.tables import write_plot

    reached: list[tuple[Context, list[Run]]] = []
    try:
        with exit_on_interrupt(), worker_pool_of(groups[0][0]) as worker_pool:
            for context, runs in groups:
                reached.append((context, []))
                # A stage of a fixed design computes for all specs at once; else each is judged as it is finished.
                at_once = stage != "all" and not context.is_sequential
                for batch in [runs] if at_once else [[one] for one in runs]:
                    _run_batch(context, batch, stage, partial, worker_pool)
                    reached[-1][1].extend(batch)
    except OutOfTime:
        every = [one for _, runs in groups for one in runs]
        _say_out_of_time(every[sum(len(done) for _, done in reached) :], len(batch))
        context, runs = reached[-1]
        if stage != "train" and len(batch) == 1 and write_plot(batch[0]):
            runs.append(batch[0])
            if stage == "all":
                write_verdicts(batch[0])
    return reached


def _say_out_of_time(left: list[Run], at_once: int) -> None:
    """Print which specs are not finished; the first `at_once` of those left were begun."""
    what = f"{left[0].id} is not finished" if at_once == 1 else f"not all of {at_once} specs are finished"
    more = f" and {len(left) - at_once} more not looked at" if left[at_once:] else ""
    print(f"harness: out of time, {what}{more}; {RESUME_HINT}", file=sys.stderr)


def _run_batch(context: Context, batch: list[Run], stage: str, partial: bool, worker_pool: WorkerPool) -> None:
    from harness.pipeline.compute import attack, train
    from harness.pipeline.judging import write_verdicts

    # A run until decided attacks as it trains, so its attacks train what they need.
    if stage == "train" or (stage == "all" and not partial and not context.is_sequential):
        train(context, batch, worker_pool)
    if stage in ("attack", "all"):
        attack(context, batch, worker_pool, partial)
    if stage == "all":
        for one in batch:
            write_verdicts(one)
