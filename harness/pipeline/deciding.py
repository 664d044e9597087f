"""Runs that go on until each claim is decided, or cannot be any more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from harness.claims.allocation import PILOT, next_look
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.operands import MetricOperand
from harness.claims.series import is_of_runs
from harness.coordinates import Attacked, Cell
from harness.execution import curves
from harness.execution.damage import discard_damaged
from harness.execution.executor import OutOfTime, RunReport, WorkerPool, read_with_repair, run_pieces
from harness.execution.plan import Plan, first_repeats
from harness.execution.reuse import RUNS_PER_GROUP, MeasurementCache, known_repeats, pieces_to_run
from harness.execution.store import MissingResults, Store
from harness.execution.table import measurement_table
from harness.inference import FEWEST
from harness.metrics import METRICS
from harness.metrics.metric import source_of
from harness.pipeline.context import Run
from harness.pipeline.judging import locate_claim_faults
from harness.pipeline.tables import Notes, join_notes, read_known_measurements, write_measurements
from harness.spec.model import Spec
from harness.spec.profile import Scaled
from harness.verdicts.wanted import repeats_wanted


def run_until_decided(run: Run, plan: Plan, worker_pool: WorkerPool) -> tuple[Plan, RunReport, pd.DataFrame]:
    """Compute repeats of a plan's cells, round by round, until each claim is decided or cannot be any more.

    `plan` has as many repeats as a cell may get. A first round gives every cell a few, which decide nothing.
    Rounds that were computed before are taken from the store, or from tables where the profile says so, so a run that
    was stopped goes on where it was; measurements are written after each round. While a round comes to its end and
    is judged, workers that have nothing to do begin with what the next one is likely to ask for: it is kept in the
    store, and is in no table unless it is asked for. Returns the cells, how the run went, and their measurements.
    """
    scaled = run.scaled
    experiment = scaled.spec.own_experiment
    assert experiment is not None
    spec_repeats, store, total_report = experiment.repeats, Store(run.context.project.store), RunReport()
    metrics = metrics_of_claims(scaled)
    known, earlier_notes = read_known_measurements(run, plan)
    first = max(PILOT, min(RUNS_PER_GROUP, spec_repeats)) if _needs_groups_of_runs(scaled, metrics) else PILOT
    groups = dict.fromkeys(cell.group for cell in plan.cells)
    choosing_repeats = _choosing_repeats(scaled)
    attacked = (
        _attacked_by_claims(scaled.spec, groups)
        if run.declared.claims is not None
        else _all_attacked(scaled.spec, groups)
    )
    repeats = {
        (group, attack): min(spec_repeats, max(first, choosing_repeats.get(group[0], 0))) for group, attack in attacked
    }
    repeats_in_tables = known_repeats(plan, known)
    likely_repeats = {of: FEWEST for of, asked_for in repeats.items() if repeats_in_tables.get(of, 0) < asked_for}
    repeats |= {of: max(repeats.get(of, 0), n) for of, n in repeats_in_tables.items()}
    open_claims = len(scaled.spec.claims)
    for round_number in itertools.count(1):
        round_plan = first_repeats(plan, repeats)
        label = f"{run.id}, round {round_number}, {open_claims} claim{'s' if open_claims != 1 else ''} open"
        pieces = pieces_to_run(round_plan, scaled.spec, known, metrics)
        likely_plan = first_repeats(plan, {of: max(n, likely_repeats.get(of, 0)) for of, n in repeats.items()})
        try:
            report = run_pieces(worker_pool, pieces, label, pieces_to_run(likely_plan, scaled.spec, known, metrics))
            read = partial(measurement_table, round_plan, scaled.spec, store, known)
            table, repair = read_with_repair(worker_pool, partial(list, pieces), label, read)
        except (OutOfTime, KeyboardInterrupt):
            if run.context.profile.from_tables:  # a clone without this store goes on from the table
                spent = join_notes(earlier_notes, total_report.join(worker_pool.report))
                is_first = run.declared.claims is not None and round_number == 1
                done = replace(run, declared=replace(run.declared, claims=frozenset())) if is_first else run
                _write_finished(done, round_plan, known, spent)
            raise
        total_report = total_report.join(report).join(repair)
        notes = join_notes(earlier_notes, total_report) if run.context.profile.from_tables else earlier_notes
        write_measurements(run, round_plan, table, notes)
        with locate_claim_faults(run):
            needed_repeats = repeats_wanted(scaled, table, cheapest=run.context.options.deadline is not None)
        before, likely_repeats = dict(repeats), {}
        for cells in needed_repeats.values():
            for cell, target in cells.items():
                repeats[cell] = max(repeats.get(cell, 0), target)
                likely_repeats[cell] = next_look(repeats[cell], experiment.repeats * scaled.repeat_factor)
        if repeats == before:
            break
        open_claims = len(needed_repeats)
    if requested := curves.requested_curves(round_plan, scaled.spec):
        pieces = curves.pieces_to_draw(curves.missing_curves(requested, earlier_notes.curves))
        label = f"{run.id}, curves"
        total_report = total_report.join(run_pieces(worker_pool, pieces, label))
        draw = partial(curves.draw_curves, store, requested, earlier_notes.curves)
        points, repair = read_with_repair(worker_pool, partial(list, pieces), label, draw)
        total_report = total_report.join(repair)
        notes = join_notes(earlier_notes, total_report) if run.context.profile.from_tables else earlier_notes
        notes.curves = points
        write_measurements(run, round_plan, table, notes)
    used = f"{len(round_plan.cells)} models, of the fixed design's {len(groups) * spec_repeats}"
    run.context.progress.say(f"{run.id}: every claim is decided or out of reach; {used}")
    return round_plan, total_report, table


def _write_finished(run: Run, round_plan: Plan, known: MeasurementCache, notes: Notes) -> None:
    """Write the measurements of a round that was stopped: of each cell the repeats that are finished."""
    store, spec = Store(run.context.project.store), run.spec
    while True:
        finished = known_repeats(round_plan, known, store)
        repeats = {(group, a): min(n, finished[group, ""]) for (group, a), n in finished.items()}
        plan = first_repeats(round_plan, repeats)
        if not plan.cells:
            return
        try:
            table = measurement_table(plan, spec, store, known, unfinished=True)
        except MissingResults as missing:
            if not discard_damaged(store, missing.faults, run.context.progress):
                raise
        else:
            write_measurements(run, plan, table, notes)
            return


def metrics_of_claims(scaled: Scaled) -> set[str]:
    """Metrics that have to be measured for the claims on measurements: their own, or those that they derive from."""
    parts = [part for claim in scaled.spec.claims if not claim.theory for part in scaled.spec.parts(claim)]
    return {source_of(m) for part in parts for o in part.operands() for m in o.metrics}


def restrict_to_claims(run: Run, plan: Plan) -> Plan:
    """The part of a plan that a run may compute: where it adds repeats until some claims are decided, the cells and
    attacks that these need."""
    if run.declared.claims is None or not run.context.is_sequential:
        return plan
    groups = dict.fromkeys(cell.group for cell in plan.cells)
    repeats = 1 + max((cell.repeat for cell in plan.cells), default=0)
    return first_repeats(plan, dict.fromkeys(_attacked_by_claims(run.spec, groups), repeats))


def _all_attacked(spec: Spec, groups: Iterable[Cell]) -> list[Attacked]:
    """Every cell with each attack that a claim or a figure names there, and once without an attack ("")."""
    return [(group, attack) for group in groups for attack in ("", *spec.attacks_asked[group[0]])]


def _attacked_by_claims(spec: Spec, groups: Collection[Cell]) -> list[Attacked]:
    """The cells and attacks without which the claims cannot be judged."""
    parts = [part for claim in spec.claims for part in _flatten_parts(spec.parts(claim))]
    # What has no measured side is about the records that an arm draws, which any of its cells shows: the first.
    drawing = {arm for part in parts if not part.operands() for arm in part.arms()}
    first_of_arm = {group[0]: group for group in reversed(list(groups))}
    return [
        (group, attack)
        for group in groups
        for attack in ("", *spec.attacks)
        if (attack == "" and group[0] in drawing and first_of_arm[group[0]] == group)
        or any(attack in ("", *part.attacks().get(group[0], ())) and _is_about(part, group) for part in parts)
    ]


def _flatten_parts(parts: Iterable[MeasuredClaimKind]) -> Iterator[MeasuredClaimKind]:
    """The parts of claims, each that is made of others replaced by these."""
    for part in parts:
        if several := part.made_of():
            yield from _flatten_parts(several)
        else:
            yield part


def _is_about(part: MeasuredClaimKind, group: Cell) -> bool:
    """Whether a part of a claim needs the models of a cell, as measured or as the baseline of another cell."""
    arm, where = group
    for operand in part.operands():
        if operand.chosen is not None and operand.chosen.arm == arm:
            return True
        if arm not in operand.arm:
            continue
        open_axes = {*operand.mean_over, *([operand.chosen.axis] if operand.chosen is not None else [])}
        levels_asked = {axis: values for axis, values in part.levels_asked().items() if axis not in open_axes}
        if "epsilon" not in {*levels_asked, *open_axes, *operand.fixed_axes} and _leaves_out_infinity(part):
            levels_asked["epsilon"] = [value for axis, value in where if axis == "epsilon" and value != math.inf]
        levels_asked |= {axis: [value] for axis, value in operand.fixed_axes.items()}
        relative = math.inf if _is_relative(operand) else None
        if all(value in (*levels_asked.get(axis, [value]), relative) for axis, value in where):
            return True
    return False


def _leaves_out_infinity(part: MeasuredClaimKind) -> bool:
    """Whether a part that says nothing of epsilon is about its finite values alone: one that has a field `at`."""
    return "at" in type(part).model_fields


def _is_relative(operand: MetricOperand) -> bool:
    """Whether an operand has a metric that is relative to the model without noise."""
    chosen = operand.chosen.metric if operand.chosen is not None else None
    return any(METRICS[m].scope == "baseline" for m in (*operand.metric, operand.minus, chosen) if m in METRICS)


def _choosing_repeats(scaled: Scaled) -> dict[str, int]:
    """By arm whose first repeats choose a place on an axis for another arm: how many repeats choose."""
    repeats: dict[str, int] = {}
    for claim in scaled.spec.claims:
        for chosen in (o.chosen for part in scaled.spec.parts(claim) for o in part.operands()):
            if chosen is not None and chosen.arm is not None and chosen.repeats is not None:
                repeats[chosen.arm] = max(repeats.get(chosen.arm, 0), chosen.repeats)
    return repeats


def _needs_groups_of_runs(scaled: Scaled, metrics: Collection[str]) -> bool:
    """Whether a metric is of several runs on the same records, so that the first round needs a whole group of them."""
    assert scaled.spec.own_experiment is not None
    return scaled.spec.own_experiment.resample == "training" and any(map(is_of_runs, metrics))
