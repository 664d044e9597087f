"""The stages that compute: from a spec to trained models, and to measurements."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import pandas as pd

from harness import tracking
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
from harness.execution.table import axes_of, measurement_table, model_table, write_parquet
from harness.execution.table import read_table as read_measured
from harness.pipeline.context import Context
from harness.pipeline.deciding import metrics_of_claims, run_until_decided
from harness.pipeline.judging import REASON
from harness.pipeline.results import results_table, write_results
from harness.pipeline.tables import Notes, read_known_measurements, write_curves, write_measurements
from harness.spec.document import locate
from harness.spec.load import Loaded
from harness.spec.resolve import write_resolved
from harness.spec.selection import is_of_theory

NOTHING_TRAINED = "results from elsewhere: nothing is trained for them"
"""What stands in the index of models of a spec that has none."""


def resolve(context: Context, loaded: Loaded) -> None:
    """Write what the stages of a spec read in place of the spec and the profile (`harness.spec.resolve`)."""
    kept = context.profile.from_tables
    named = [d for d in datasets(loaded, context) if not kept or isinstance(d, CsvTable)]
    # The data of a run whose tables are committed are what the code of their datasets says, fetched or not.
    data = {dataset.name: _digest_of(context, dataset) for dataset in named}
    write_resolved(context.resolved_folder, context.scale(loaded), context.is_sequential and not kept, data)


def _digest_of(context: Context, dataset: Dataset) -> str | None:
    """The hash of a dataset's table, or what names a generator's records; None where the table is not fetched."""
    if not isinstance(dataset, TableDataset):
        return data_digest(dataset, None)
    try:
        return digest_of(context.project, dataset)
    except MissingData:
        return None


def datasets(loaded: Loaded, context: Context) -> list[Dataset]:
    """The datasets of a spec's arms under the profile; none where it is run for claims of theory alone."""
    experiment = context.scale(loaded).spec.own_experiment
    return (
        []
        if experiment is None or is_of_theory(loaded)
        else list({v.setup.dataset: None for v in experiment.variants()})
    )


def plan_of(context: Context, loaded: Loaded, repeat_factor: int = 1, to_run: bool = True) -> Plan:
    """The plan of a spec with `repeat_factor` times its repeats; fetches its data. `to_run`: as for `make_plan`.

    Raises MissingData where data cannot be had, and HarnessError, with file and line, for a set-up that does not fit
    the data.
    """
    with _locate_data_faults(loaded, None):
        for dataset in datasets(loaded, context):
            if isinstance(dataset, TableDataset):
                mark = missing_mark(context.project, dataset)
                if mark.is_file():
                    raise MissingData(json.loads(read_text(mark))["missing"])
                fetch(context.project, dataset, context.progress)
        spec = context.scale(loaded).spec
        planned = spec.with_values(experiment=None) if is_of_theory(loaded) else spec
        return make_plan(context.project, planned, repeat_factor, to_run)


def pieces_left(context: Context, loaded: Loaded, plan: Plan) -> list[Piece]:
    """Pieces of a plan whose results no table holds; the store may still have them."""
    scaled = context.scale(loaded)
    if not context.profile.from_tables:
        return plan.pieces()
    known, notes = read_known_measurements(context, loaded, plan)
    drawn = curves.pieces_to_draw(curves.missing_curves(curves.requested_curves(plan, scaled.spec), notes.curves))
    pieces = [*pieces_to_run(plan, scaled.spec, known, metrics_of_claims(scaled)), *drawn]
    return sort_pieces({piece.key: piece for piece in pieces}.values())


@contextlib.contextmanager
def _locate_data_faults(loaded: Loaded, plan: Plan | None) -> Iterator[None]:
    """Context manager: put file, line and field before a HarnessError that shows only once the data are read.
    MissingData passes."""
    try:
        yield
    except MissingData:
        raise
    except HarnessError as error:
        arms = arms_using(plan, error.piece) if plan is not None and error.piece else []
        assert loaded.spec.own_experiment is not None
        arm = error.arm or (arms or list(loaded.spec.own_experiment.arms))[0]
        known = error.field or error.arm or error.piece
        field = tuple(error.field.split(".")) if error.field else ()
        path = field if isinstance(error, AttacksError) else ("experiment", *(("arms", arm, *field) if field else ()))
        keys = loaded.document.keys_in_file(path)
        if not known:
            raise
        raise HarnessError(f"{locate(loaded.document, keys)}: {'.'.join(map(str, keys))}: {error}") from None


def worker_pool_of(context: Context) -> WorkerPool:
    """The worker pool of a context. Its workers start with the first piece and serve all specs."""
    return WorkerPool(context.project, context.workers, context.progress, context.scheduler, context.deadline)


def train(context: Context, specs: Sequence[Loaded], worker_pool: WorkerPool) -> None:
    """Train the targets and shadow models of specs; write their indices of models.

    Models of all specs are trained side by side. Where the design is sequential a spec is run whole after another, for
    what is trained next depends on what was measured. Without its data a spec's index says why there are no models.
    """

    def record_absence(loaded: Loaded, missing: MissingData) -> None:
        context.progress.say(f"{loaded.spec.id}: not run: {missing}")
        write_parquet(pd.DataFrame({REASON: [str(missing)]}), context.models_file(loaded.spec.id))

    for loaded in specs:
        if loaded.spec.results is not None:
            results_table(context.scale(loaded))  # refuses a file that is wrong before anything is written
            write_parquet(pd.DataFrame({REASON: [NOTHING_TRAINED]}), context.models_file(loaded.spec.id))
    plans = _make_plans(context, specs, record_absence)
    if context.is_sequential:
        for loaded, plan in plans:
            with _locate_data_faults(loaded, plan):
                decided, _, _ = run_until_decided(context, loaded, plan, worker_pool)
            _write_models(context, loaded, decided, "all", worker_pool)
    else:
        for loaded, plan in _compute_plans(_list_plans(plans, worker_pool), "train", worker_pool):
            _write_models(context, loaded, plan, "train", worker_pool)


def attack(context: Context, specs: Sequence[Loaded], worker_pool: WorkerPool, partial: bool = False) -> None:
    """Attack the targets of specs, of all of them side by side; write their measurements and log them.

    `partial`: of the repeats that are trained completely (by cell, where the design is sequential, whose tests
    hold wherever a run stops). Raises HarnessError where there is none. Without its data a spec's table says why it is
    empty, or stays as it is where the profile goes on from its tables.
    """

    def record_absence(loaded: Loaded, missing: MissingData) -> None:
        path = context.measurements_file(loaded.spec.id)
        if context.profile.from_tables and path.is_file() and REASON not in read_measured(path):
            context.progress.say(f"{loaded.spec.id}: nothing added, the table stays: {missing}")
        else:
            write_parquet(pd.DataFrame({REASON: [str(missing)]}), path)
            write_curves(context, loaded.spec.id, None)

    for loaded in specs:
        if loaded.spec.results is not None:
            _write_results(context, loaded)
    plans = _make_plans(context, specs, record_absence)
    if partial:
        plans = ((loaded, _select_trained(context, loaded, plan)) for loaded, plan in plans)
    if context.is_sequential and not partial:
        for loaded, plan in plans:
            with _locate_data_faults(loaded, plan):
                decided, _, table = run_until_decided(context, loaded, plan, worker_pool)
            _publish(context, loaded, decided, table)
    else:
        for loaded, plan in _compute_plans(_list_plans(plans, worker_pool), "all", worker_pool):
            _publish(context, loaded, plan, _write_measurements(context, loaded, plan, worker_pool))


def _write_measurements(context: Context, loaded: Loaded, plan: Plan, worker_pool: WorkerPool) -> pd.DataFrame:
    """Write the measurements of a plan that is computed, with the curves of the spec's figure. Returns them."""
    store, spec = Store(context.project.store), context.scale(loaded).spec
    asked = curves.requested_curves(plan, spec)

    def read() -> tuple[pd.DataFrame, str]:
        return measurement_table(plan, spec, store), curves.draw_curves(store, asked, None) if asked else ""

    (table, points), _ = read_with_repair(worker_pool, plan.pieces, f"attack {loaded.spec.id}", read)
    write_measurements(context, loaded, plan, table, Notes(curves=points))
    return table


def _write_results(context: Context, loaded: Loaded) -> None:
    """Write a spec's results from elsewhere as a measurement table, with its curves."""
    scaled = context.scale(loaded)
    table = write_results(scaled, context.measurements_file(loaded.spec.id))
    write_curves(context, loaded.spec.id, table, axes_of(scaled.spec))


def _list_plans(plans: Iterator[tuple[Loaded, Plan]], worker_pool: WorkerPool) -> list[tuple[Loaded, Plan]]:
    """All plans as a list. Workers warm up meanwhile, since calibrating noise takes seconds."""
    first = list(itertools.islice(plans, 1))
    if first:
        worker_pool.warm_up()
    return [*first, *plans]


def _make_plans(
    context: Context, specs: Sequence[Loaded], record_absence: Callable[[Loaded, MissingData], None]
) -> Iterator[tuple[Loaded, Plan]]:
    """The plan of each spec that has an experiment to run. `record_absence` is called for a spec whose data cannot be
    had."""
    for loaded in specs:
        if loaded.spec.own_experiment is not None and not is_of_theory(loaded):
            try:
                plan = plan_of(context, loaded, context.repeat_factor(loaded))
            except MissingData as missing:
                record_absence(loaded, missing)
            else:
                yield loaded, plan


def _compute_plans(
    plans: Sequence[tuple[Loaded, Plan]], stage: Literal["train", "all"], worker_pool: WorkerPool
) -> Iterator[tuple[Loaded, Plan]]:
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
        for loaded, plan in plans:
            if error.piece and arms_using(plan, error.piece):
                with _locate_data_faults(loaded, plan):
                    raise
        raise
    yield from plans


def _select_trained(context: Context, loaded: Loaded, plan: Plan) -> Plan:
    """The repeats of a plan whose models are all trained. What is left out as a model cannot be read is said.

    Raises HarnessError where a cell has no such repeat.
    """
    choose = trained_repeats if context.is_sequential else complete_repeats
    faults = faults_of_models(plan, Store(context.project.store))
    part = choose(plan, {key for _, key, _ in faults})
    damaged = [fault for fault in faults if fault[2] != ABSENT]
    again, what = context.command("run", loaded), _count_damaged(damaged)
    if {cell.group for cell in part.cells} != {cell.group for cell in plan.cells}:
        why = f" ({what})" if damaged else ""
        raise HarnessError(f"{loaded.spec.id}: no repeat is trained completely yet{why}; `{again}` goes on with it")
    if damaged:
        trained = choose(plan, {key for _, key, fault in faults if fault == ABSENT})
        counts = [(len(one.cells), sum(len(cell.evaluations) for cell in one.cells)) for one in (trained, part)]
        targets, attacks = (f"{every - kept} of {every}" for every, kept in zip(*counts, strict=True))
        left_out = f"{targets} targets and {attacks} attacks are left out"
        context.progress.warn(f"{loaded.spec.id}: {what}; {left_out}; `{again}` trains them anew")
    return part


def _count_damaged(faults: Sequence[Fault]) -> str:
    """How many models cannot be read, which is the first, and why; "" where there is none."""
    if not faults:
        return ""
    kind, key, fault = faults[0]
    first = f"{kind}/{key}, {fault}"
    return f"a model is damaged: {first}" if len(faults) == 1 else f"{len(faults)} models are damaged, first {first}"


def _write_models(
    context: Context, loaded: Loaded, plan: Plan, stage: Literal["train", "all"], worker_pool: WorkerPool
) -> None:
    """Write the index of a plan's models, once the pieces of a stage are computed."""
    store = Store(context.project.store)
    table, _ = read_with_repair(
        worker_pool,
        lambda: plan.pieces("train") if stage == "train" else pieces_left(context, loaded, plan),
        f"train {loaded.spec.id}",
        lambda: model_table(plan, loaded.spec, store),
    )
    write_parquet(table, context.models_file(loaded.spec.id))


def _publish(context: Context, loaded: Loaded, plan: Plan, table: pd.DataFrame) -> None:
    """Write the curves of a table for `dvc plots`, and log its runs in MLflow."""
    scaled = context.scale(loaded)
    write_curves(context, loaded.spec.id, table, axes_of(scaled.spec))
    tracking.log_run(context.project, scaled, loaded.sha256, plan, table, context.progress)


def core_seconds(context: Context, loaded: Loaded) -> dict[str, dict[str, float]] | None:
    """Number and core-seconds of a spec's pieces by kind, from the store; None where the store lacks a piece or it is
    damaged.

    A piece that two specs share counts in both.
    """
    try:
        plan = make_plan(context.project, context.scale(loaded).spec)
    except HarnessError:
        return None
    store = Store(context.project.store)
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
