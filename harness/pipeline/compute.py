"""The stages that compute: from a spec to trained models, and to measurements."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError
from typing import Literal

import pandas as pd

from harness import reference_engine, tracking
from harness.bounds import read_text
from harness.data.dataset import Dataset, TableDataset
from harness.data.datasets.csv_table import CsvTable
from harness.data.fetch import MissingData, digest_of, fetch, missing_mark
from harness.errors import AttacksError, HarnessError
from harness.execution import curves
from harness.execution.executor import OutOfTime, WorkerPool, read_with_repair, run_pieces
from harness.execution.plan import (
    Piece,
    Plan,
    arms_using,
    complete_repeats,
    faults_of_models,
    sort_pieces,
    trained_repeats,
)
from harness.execution.planner import data_digest, make_plan
from harness.execution.reuse import pieces_to_run
from harness.execution.store import ABSENT, Fault, MissingResults, Store
from harness.execution.table import measurement_table, model_table, write_parquet
from harness.execution.table import read_table as read_measured
from harness.pipeline.context import Context, Run
from harness.pipeline.deciding import metrics_of_claims, run_until_decided
from harness.pipeline.sources import REASON, source_of_run
from harness.pipeline.tables import Notes, read_known_measurements, write_curves, write_measurements
from harness.spec.document import locate
from harness.spec.resolve import write_resolved


def resolve(run: Run) -> None:
    """Write what the stages of a spec read in place of the spec and the profile (`harness.spec.resolve`)."""
    kept = run.context.profile.from_tables
    named = [d for d in source_of_run(run).datasets(run) if not kept or isinstance(d, CsvTable)]
    # The data of a run whose tables are committed are what the code of their datasets says, fetched or not.
    data = {dataset.name: _digest_of(run.context, dataset) for dataset in named}
    write_resolved(run.context.resolved_folder, run.scaled, run.context.is_sequential and not kept, data)


def _digest_of(context: Context, dataset: Dataset) -> str | None:
    """The hash of a dataset's table, or what names a generator's records; None where the table is not fetched."""
    if not isinstance(dataset, TableDataset):
        return data_digest(dataset, None)
    try:
        return digest_of(context.project, dataset)
    except MissingData:
        return None


def plan_of(run: Run, repeat_factor: int = 1, to_run: bool = True) -> Plan:
    """The plan of a spec with `repeat_factor` times its repeats; fetches its data. `to_run`: as for `make_plan`.

    Raises MissingData where data cannot be had, and HarnessError, with file and line, for a set-up that does not fit
    the data.
    """
    with _locate_data_faults(run, None):
        for dataset in source_of_run(run).datasets(run):
            if isinstance(dataset, TableDataset):
                mark = missing_mark(run.context.project, dataset)
                if mark.is_file():
                    raise MissingData(json.loads(read_text(mark))["missing"])
                fetch(run.context.project, dataset, run.context.progress)
        spec = run.spec
        planned = spec.with_values(experiment=None) if run.is_of_theory else spec
        return make_plan(run.context.project, planned, repeat_factor, to_run)


def pieces_left(run: Run, plan: Plan) -> list[Piece]:
    """Pieces of a plan whose results no table holds; the store may still have them."""
    scaled = run.scaled
    if not run.context.profile.from_tables:
        return plan.pieces()
    known, notes = read_known_measurements(run, plan)
    drawn = curves.pieces_to_draw(curves.missing_curves(curves.requested_curves(plan, scaled.spec), notes.curves))
    pieces = [*pieces_to_run(plan, scaled.spec, known, metrics_of_claims(scaled)), *drawn]
    return sort_pieces({piece.key: piece for piece in pieces}.values())


@contextlib.contextmanager
def _locate_data_faults(run: Run, plan: Plan | None) -> Iterator[None]:
    """Context manager: put file, line and field before a HarnessError that shows only once the data are read.
    MissingData passes."""
    try:
        yield
    except MissingData:
        raise
    except HarnessError as error:
        arms = arms_using(plan, error.piece) if plan is not None and error.piece else []
        assert run.spec.own_experiment is not None
        arm = error.arm or (arms or list(run.spec.own_experiment.arms))[0]
        known = error.field or error.arm or error.piece
        field = tuple(error.field.split(".")) if error.field else ()
        path = field if isinstance(error, AttacksError) else ("experiment", *(("arms", arm, *field) if field else ()))
        keys = run.declared.document.keys_in_file(path)
        if not known:
            raise
        raise HarnessError(f"{locate(run.declared.document, keys)}: {'.'.join(map(str, keys))}: {error}") from None


def worker_pool_of(context: Context) -> WorkerPool:
    """The worker pool of a context. Its workers start with the first piece and serve all specs."""
    return WorkerPool(
        context.project, context.workers, context.progress, context.options.scheduler, context.options.deadline
    )


def train(context: Context, specs: Sequence[Run], worker_pool: WorkerPool) -> None:
    """Train the targets and shadow models of specs; write their indices of models.

    Models of all specs are trained side by side. Where the design is sequential a spec is run whole after another, for
    what is trained next depends on what was measured. Without its data a spec's index says why there are no models.
    """

    def record_absence(run: Run, missing: str) -> None:
        context.progress.say(f"{run.id}: not run: {missing}")
        write_parquet(pd.DataFrame({REASON: [missing]}), run.models_file)

    for run in specs:
        source_of_run(run).write_models(run)
    plans = _make_plans(context, specs, record_absence)
    if context.is_sequential:
        for run, plan in plans:
            with _locate_data_faults(run, plan):
                decided, _, _ = run_until_decided(run, plan, worker_pool)
            _write_models(run, decided, "all", worker_pool)
    else:
        for run, plan in _compute_plans(_list_plans(plans, worker_pool), "train", worker_pool):
            _write_models(run, plan, "train", worker_pool)


def attack(context: Context, specs: Sequence[Run], worker_pool: WorkerPool, partial: bool = False) -> None:
    """Attack the targets of specs, of all of them side by side; write their measurements and log them.

    `partial`: of the repeats that are trained completely (by cell, where the design is sequential, whose tests
    hold wherever a run stops). Raises HarnessError where there is none. Without its data a spec's table says why it is
    empty, or stays as it is where the profile goes on from its tables.
    """

    def record_absence(run: Run, missing: str) -> None:
        path = run.measurements_file
        if context.profile.from_tables and path.is_file() and REASON not in read_measured(path):
            context.progress.say(f"{run.id}: nothing added, the table stays: {missing}")
        else:
            context.progress.say(f"{run.id}: not run: {missing}")
            write_parquet(pd.DataFrame({REASON: [missing]}), path)
            write_curves(run, None)

    for run in specs:
        if (table := source_of_run(run).write_table(run)) is not None:
            write_curves(run, table)
    plans = _make_plans(context, specs, record_absence)
    if partial:
        plans = ((run, _select_trained(run, plan)) for run, plan in plans)
    if context.is_sequential and not partial:
        for run, plan in plans:
            with _locate_data_faults(run, plan):
                decided, _, table = run_until_decided(run, plan, worker_pool)
            _publish(run, decided, table)
    else:
        for run, plan in _compute_plans(_list_plans(plans, worker_pool), "all", worker_pool):
            _publish(run, plan, _write_measurements(run, plan, worker_pool))


def _write_measurements(run: Run, plan: Plan, worker_pool: WorkerPool) -> pd.DataFrame:
    """Write the measurements of a plan that is computed, with the curves of the spec's figure. Returns them."""
    store, spec = Store(run.context.project.store), run.spec
    asked = curves.requested_curves(plan, spec)

    def read() -> tuple[pd.DataFrame, str]:
        return measurement_table(plan, spec, store), curves.draw_curves(store, asked, None) if asked else ""

    (table, points), _ = read_with_repair(worker_pool, plan.pieces, f"attack {run.id}", read)
    write_measurements(run, plan, table, Notes(curves=points))
    return table


def _list_plans(plans: Iterator[tuple[Run, Plan]], worker_pool: WorkerPool) -> list[tuple[Run, Plan]]:
    """All plans as a list. Workers warm up meanwhile, since calibrating noise takes seconds, unless the first plan has
    nothing to compute: probably none has."""
    first, store = list(itertools.islice(plans, 1)), Store(worker_pool.project.store)
    if not all(store.has(piece.kind, piece.key) for _, plan in first for piece in plan.pieces()):
        worker_pool.warm_up()
    return [*first, *plans]


def _make_plans(
    context: Context, specs: Sequence[Run], record_absence: Callable[[Run, str], None]
) -> Iterator[tuple[Run, Plan]]:
    """The plan of each spec that has an experiment to run. `record_absence` is called for a spec whose data, or whose
    engine, cannot be had."""
    for run in specs:
        if run.spec.own_experiment is not None and not run.is_of_theory:
            try:
                plan = plan_of(run, run.repeat_factor)
            except MissingData as missing:
                record_absence(run, str(missing))
            except PackageNotFoundError as missing:
                if missing.name != reference_engine.PACKAGE:
                    raise
                record_absence(run, reference_engine.WHY_NOT_RUN)
            else:
                yield run, plan


def _compute_plans(
    plans: Sequence[tuple[Run, Plan]], stage: Literal["train", "all"], worker_pool: WorkerPool
) -> Iterator[tuple[Run, Plan]]:
    """Compute the pieces of all plans together, then yield each plan.

    On OutOfTime and on Ctrl-C the plans whose pieces are all finished are yielded before the exception is raised again.
    """
    pieces = {piece.key: piece for _, plan in plans for piece in plan.pieces(stage)}
    names = plans[0][0].spec.id if len(plans) == 1 else f"{len(plans)} specs"
    try:
        run_pieces(worker_pool, sort_pieces(pieces.values()), f"{'train' if stage == 'train' else 'attack'} {names}")
    except (OutOfTime, KeyboardInterrupt) as end:
        store, worker_pool.is_interrupted = Store(worker_pool.project.store), isinstance(end, KeyboardInterrupt)
        yield from ((one, plan) for one, plan in plans if all(store.has(p.kind, p.key) for p in plan.pieces(stage)))
        raise
    except HarnessError as error:
        for run, plan in plans:
            if error.piece and arms_using(plan, error.piece):
                with _locate_data_faults(run, plan):
                    raise
        raise
    yield from plans


def _select_trained(run: Run, plan: Plan) -> Plan:
    """The repeats of a plan whose models are all trained. What is left out as a model cannot be read is said.

    Raises HarnessError where a cell has no such repeat.
    """
    choose = trained_repeats if run.context.is_sequential else complete_repeats
    faults = faults_of_models(plan, Store(run.context.project.store))
    part = choose(plan, {key for _, key, _ in faults})
    damaged = [fault for fault in faults if fault[2] != ABSENT]
    again, what = run.command("run"), _count_damaged(damaged)
    if {cell.group for cell in part.cells} != {cell.group for cell in plan.cells}:
        why = f" ({what})" if damaged else ""
        raise HarnessError(f"{run.id}: no repeat is trained completely yet{why}; `{again}` goes on with it")
    if damaged:
        trained = choose(plan, {key for _, key, fault in faults if fault == ABSENT})
        counts = [(len(one.cells), sum(len(cell.evaluations) for cell in one.cells)) for one in (trained, part)]
        targets, attacks = (f"{every - kept} of {every}" for every, kept in zip(*counts, strict=True))
        left_out = f"{targets} targets and {attacks} attacks are left out"
        run.context.progress.warn(f"{run.id}: {what}; {left_out}; `{again}` trains them anew")
    return part


def _count_damaged(faults: Sequence[Fault]) -> str:
    """How many models cannot be read, which is the first, and why; "" where there is none."""
    if not faults:
        return ""
    kind, key, fault = faults[0]
    first = f"{kind}/{key}, {fault}"
    return f"a model is damaged: {first}" if len(faults) == 1 else f"{len(faults)} models are damaged, first {first}"


def _write_models(run: Run, plan: Plan, stage: Literal["train", "all"], worker_pool: WorkerPool) -> None:
    """Write the index of a plan's models, once the pieces of a stage are computed."""
    store = Store(run.context.project.store)
    table, _ = read_with_repair(
        worker_pool,
        lambda: plan.pieces("train") if stage == "train" else pieces_left(run, plan),
        f"train {run.id}",
        lambda: model_table(plan, run.spec, store),
    )
    write_parquet(table, run.models_file)


def _publish(run: Run, plan: Plan, table: pd.DataFrame) -> None:
    """Write the curves of a table for `dvc plots`, and log its runs in MLflow."""
    write_curves(run, table)
    tracking.log_run(run.context.project, run.scaled, run.declared.sha256, plan, table, run.context.progress)


def core_seconds(run: Run) -> dict[str, dict[str, float]] | None:
    """Number and core-seconds of a spec's pieces by kind, from the store; None where the store lacks a piece or it is
    damaged.

    A piece that two specs share counts in both.
    """
    try:
        plan = make_plan(run.context.project, run.spec, to_run=False)
    except HarnessError:
        return None
    store = Store(run.context.project.store)
    by_kind: dict[str, dict[str, float]] = {}
    keys: dict[str, list[str]] = {}
    for piece in plan.pieces():
        keys.setdefault(piece.kind, []).append(piece.key)
    for kind, wanted in keys.items():
        try:
            records = store.records(kind, wanted)
        except MissingResults:
            return None
        seconds = sum(record["seconds"] for record in records.values())
        by_kind[kind] = {"pieces": len(records), "core_seconds": round(seconds, 1)}
    return by_kind
