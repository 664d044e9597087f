"""Runs that go on until each claim is decided, or cannot be any more."""

from __future__ import annotations

import itertools
from collections.abc import Collection

import pandas as pd

from harness.claims.sequential import PILOT, next_look
from harness.claims.series import of_runs
from harness.claims.statistics import FEWEST
from harness.execution import curves
from harness.execution.executor import OutOfTime, RunReport, WorkerPool, run_with
from harness.execution.plan import Plan, first_repeats
from harness.execution.reuse import RUNS, Known, repeats_known, to_do
from harness.execution.store import Store
from harness.execution.table import measurement_table
from harness.pipeline.context import Context
from harness.pipeline.judging import in_place
from harness.pipeline.tables import Notes, join_notes, known_of, write_measurements
from harness.spec.load import Loaded
from harness.spec.profile import Scaled
from harness.verdicts.findings import repeats_wanted


def until_decided(
    context: Context, loaded: Loaded, plan: Plan, worker_pool: WorkerPool
) -> tuple[Plan, RunReport, pd.DataFrame]:
    """Compute repeats of a plan's cells, round by round, until each claim is decided or cannot be any more.

    `plan` has as many repeats as a cell may get. A first round gives every cell a few, which decide nothing.
    Rounds that were computed before are taken from the store, or from tables where the profile says so, so a run that
    was stopped goes on where it was; measurements are written after each round. While a round comes to its end and
    is judged, workers that have nothing to do begin with what the next one is likely to ask for: it is kept in the
    store, and is in no table unless it is asked for. Returns the cells, how the run went, and their measurements.
    """
    scaled = context.scaled(loaded)
    experiment = scaled.spec.experiment
    assert experiment is not None
    usual, store, total = experiment.repeats, Store(context.project.store), RunReport()
    metrics = metrics_of_claims(scaled)
    known, earlier = known_of(context, loaded, plan)
    first = max(PILOT, min(RUNS, usual)) if _over_runs(scaled, metrics) else PILOT
    groups = dict.fromkeys(cell.group for cell in plan.cells)
    asked, by = scaled.spec.attacks_asked, _repeats_that_choose(scaled)
    repeats = {
        (group, attack): min(usual, max(first, by.get(group[0], 0)))
        for group in groups
        for attack in ("", *asked[group[0]])
    }
    there = repeats_known(plan, known)
    likely = {of: FEWEST for of, asked_for in repeats.items() if there.get(of, 0) < asked_for}
    repeats |= {of: max(repeats.get(of, 0), n) for of, n in there.items()}
    open_claims = len(scaled.spec.claims)
    for number in itertools.count(1):
        chosen = first_repeats(plan, repeats)
        label = f"{loaded.spec.id}, round {number}, {open_claims} claims open"
        pieces = to_do(chosen, scaled.spec, known, metrics)
        ahead = first_repeats(plan, {of: max(n, likely.get(of, 0)) for of, n in repeats.items()})
        try:
            report = run_with(worker_pool, pieces, label, to_do(ahead, scaled.spec, known, metrics))
        except (OutOfTime, KeyboardInterrupt):
            if context.profile.from_tables:  # a clone without this store goes on from the table
                spent = join_notes(earlier, total.joined(worker_pool.report))
                _write_finished(context, loaded, chosen, known, spent)
            raise
        total = total.joined(report)
        table = measurement_table(chosen, scaled.spec, store, known)
        notes = join_notes(earlier, total) if context.profile.from_tables else earlier
        write_measurements(context, loaded, chosen, table, notes)
        with in_place(loaded):
            needs = repeats_wanted(scaled, table)
        before, likely = dict(repeats), {}
        for cells in needs.values():
            for cell, target in cells.items():
                repeats[cell] = max(repeats.get(cell, 0), target)
                likely[cell] = next_look(repeats[cell], experiment.repeats * scaled.times)
        if repeats == before:
            break
        open_claims = len(needs)
    if wanted := curves.curves_asked(chosen, scaled.spec):
        pieces = curves.pieces_of(curves.missing(wanted, earlier.curves))
        total = total.joined(run_with(worker_pool, pieces, f"{loaded.spec.id}, curves"))
        notes = join_notes(earlier, total) if context.profile.from_tables else earlier
        notes.curves = curves.draw_curves(store, wanted, earlier.curves)
        write_measurements(context, loaded, chosen, table, notes)
    used = f"{len(chosen.cells)} models, of the fixed design's {len(groups) * usual}"
    context.progress.say(f"{loaded.spec.id}: every claim is decided or out of reach; {used}")
    return chosen, total, table


def _write_finished(context: Context, loaded: Loaded, chosen: Plan, known: Known, notes: Notes) -> None:
    """Write the measurements of a round that was stopped: of each arm and place the repeats that are finished."""
    store, spec = Store(context.project.store), context.scaled(loaded).spec
    finished = repeats_known(chosen, known, store)
    plan = first_repeats(chosen, {(group, a): min(n, finished[group, ""]) for (group, a), n in finished.items()})
    if plan.cells:
        write_measurements(context, loaded, plan, measurement_table(plan, spec, store, known), notes)


def metrics_of_claims(scaled: Scaled) -> set[str]:
    parts = [part for claim in scaled.spec.claims if not claim.theory for part in scaled.spec.parts(claim)]
    return {m for part in parts for o in part.operands() for m in o.metrics}


def _repeats_that_choose(scaled: Scaled) -> dict[str, int]:
    """By arm whose first repeats choose a place on an axis for another arm: how many."""
    repeats: dict[str, int] = {}
    for claim in scaled.spec.claims:
        for chosen in (o.chosen for part in scaled.spec.parts(claim) for o in part.operands()):
            if chosen is not None and chosen.arm is not None and chosen.repeats is not None:
                repeats[chosen.arm] = max(repeats.get(chosen.arm, 0), chosen.repeats)
    return repeats


def _over_runs(scaled: Scaled, metrics: Collection[str]) -> bool:
    assert scaled.spec.experiment is not None
    return scaled.spec.experiment.resample == "training" and any(map(of_runs, metrics))
