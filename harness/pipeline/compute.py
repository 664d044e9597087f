"""The stages that compute: from a spec to trained models, and to measurements."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from harness import tracking
from harness.claims.sequential import PILOT, grown
from harness.claims.series import means, of_runs
from harness.claims.statistics import FEWEST
from harness.data.dataset import Dataset, TableDataset
from harness.data.datasets.csv_table import CsvTable
from harness.data.fetch import MissingData, fetch, missing_mark, read_table
from harness.errors import HarnessError
from harness.execution import curves
from harness.execution.executor import OutOfTime, RunReport, Workforce, run_with
from harness.execution.known import RUNS, Known, repeats_known, to_do, work_of
from harness.execution.plan import Piece, Plan, arms_using, complete_repeats, first_repeats, in_order, trained_repeats
from harness.execution.planner import data_digest, make_plan
from harness.execution.store import Store
from harness.execution.table import axes_of, measurement_table, model_table, write_parquet
from harness.execution.table import read_table as read_measured
from harness.files import atomic_path
from harness.hashing import canonical_json
from harness.pipeline.context import Context
from harness.pipeline.judging import REASON, experiment_digest, in_place, left_out, why_left_out
from harness.places import shown
from harness.spec.document import located
from harness.spec.load import Loaded
from harness.spec.profile import Scaled
from harness.spec.resolve import content, write_resolved
from harness.verdicts.check import hardware
from harness.verdicts.findings import repeats_wanted

DIGITS = 9
"""Of numbers in `advantage.csv`: no more than processors agree on that compute the same means."""


def resolve(context: Context, loaded: Loaded) -> None:
    """Write what a spec's stages are to do under the profile."""
    kept = context.profile.from_tables
    data = {
        dataset.name: digest
        for dataset, digest in _data_of(context, loaded).items()
        if not kept or isinstance(dataset, CsvTable)  # others are what the code of their datasets says, fetched or not
    }
    write_resolved(context.resolved, context.scaled(loaded), context.sequential and not kept, data)


def _data_of(context: Context, loaded: Loaded) -> dict[Dataset, str | None]:
    """By dataset: the hash of its table, or of its generator's code; none where it is not there."""
    found: dict[Dataset, str | None] = {}
    for dataset in datasets(loaded, context):
        table = None
        try:
            if isinstance(dataset, TableDataset):
                table = read_table(context.project, dataset)
            found[dataset] = data_digest(dataset, table)
        except MissingData:
            found[dataset] = None
    return found


def datasets(loaded: Loaded, context: Context) -> list[Dataset]:
    """The datasets of a spec's arms under the profile."""
    experiment = context.scaled(loaded).spec.experiment
    return [] if experiment is None else list({v.setup.dataset: None for v in experiment.variants()})


def plan_of(context: Context, loaded: Loaded, times: int = 1) -> Plan:
    """The plan of a spec, of `times` its repeats, its data fetched. Raises MissingData where those cannot be had."""
    if left_out(context, loaded):
        raise MissingData(why_left_out(context))
    with _located(loaded, None):
        for dataset in datasets(loaded, context):
            if isinstance(dataset, TableDataset):
                mark = missing_mark(context.project, dataset)
                if mark.is_file():
                    raise MissingData(json.loads(mark.read_text())["missing"])
                fetch(context.project, dataset, context.progress)
        return make_plan(context.project, context.scaled(loaded).spec, times)


def pieces_left(context: Context, loaded: Loaded, plan: Plan) -> list[Piece]:
    """Pieces of a plan that tables do not make needless; whether the store has them is another question."""
    scaled = context.scaled(loaded)
    if not context.profile.from_tables:
        return plan.pieces()
    known, notes = _known(context, loaded, plan)
    drawn = curves.pieces_of(curves.missing(curves.asked(plan, scaled.spec), notes.curves))
    pieces = [*to_do(plan, scaled.spec, known, _metrics_of_claims(scaled)), *drawn]
    return in_order({piece.key: piece for piece in pieces}.values())


@contextlib.contextmanager
def _located(loaded: Loaded, plan: Plan | None) -> Iterator[None]:
    """Put file, line and field before a fault that shows only once the data are at hand."""
    try:
        yield
    except MissingData:
        raise
    except HarnessError as error:
        arms = arms_using(plan, error.piece) if plan is not None and error.piece else []
        assert loaded.spec.experiment is not None
        arm = error.arm or (arms or list(loaded.spec.experiment.arms))[0]
        known = error.field or error.arm or error.piece
        keys = loaded.document.said(("experiment", *(("arms", arm, *error.field.split(".")) if error.field else ())))
        if not known:
            raise
        raise HarnessError(f"{located(loaded.document, keys)}: {'.'.join(map(str, keys))}: {error}") from None


def workforce_of(context: Context) -> Workforce:
    """The workers that a context asks for; they are started with the first piece, and serve every spec after that."""
    return Workforce(context.project, context.workers, context.progress, context.scheduler, context.deadline)


def train(context: Context, specs: Sequence[Loaded], workforce: Workforce) -> None:
    """Train the targets and shadow models of specs; write their indices of models.

    Models of all specs are trained side by side. Where the design is sequential a spec is run whole after another, for
    what is trained next depends on what was measured. Without its data a spec's index says why there are no models.
    """

    def absent(loaded: Loaded, missing: MissingData) -> None:
        context.progress.say(f"{loaded.spec.id}: not run: {missing}")
        write_parquet(pd.DataFrame({REASON: [str(missing)]}), context.models_file(loaded.spec.id))

    plans = _plans(context, specs, absent)
    if context.sequential:
        for loaded, plan in plans:
            with _located(loaded, plan):
                decided, _, _ = until_decided(context, loaded, plan, workforce)
            _write_models(context, loaded, decided)
    else:
        for loaded, plan in _computed(_plans_at_once(plans, workforce), "train", workforce):
            _write_models(context, loaded, plan)


def attack(context: Context, specs: Sequence[Loaded], workforce: Workforce, partial: bool = False) -> None:
    """Attack the targets of specs, of all of them side by side; write their measurements and log them.

    `partial`: of the repeats that are trained completely (by cell, where the design is sequential, whose tests
    hold wherever a run stops). Raises HarnessError where there is none. Without its data a spec's table says why it is
    empty, or stays as it is where the profile goes on from its tables.
    """

    def absent(loaded: Loaded, missing: MissingData) -> None:
        path = context.measurements_file(loaded.spec.id)
        if context.profile.from_tables and path.is_file() and REASON not in read_measured(path):
            context.progress.say(f"{loaded.spec.id}: nothing added, the table stays: {missing}")
        else:
            write_parquet(pd.DataFrame({REASON: [str(missing)]}), path)
            _write_plot(context, loaded.spec.id, None)

    plans = _plans(context, specs, absent)
    if partial:
        plans = ((loaded, _trained_part(context, loaded, plan)) for loaded, plan in plans)
    if context.sequential and not partial:
        for loaded, plan in plans:
            with _located(loaded, plan):
                decided, _, table = until_decided(context, loaded, plan, workforce)
            _publish(context, loaded, decided, table)
    else:
        for loaded, plan in _computed(_plans_at_once(plans, workforce), "all", workforce):
            store, spec = Store(context.project.store), context.scaled(loaded).spec
            table = measurement_table(plan, spec, store)
            asked = curves.asked(plan, spec)
            _write(context, loaded, plan, table, Notes(curves=curves.drawn(store, asked, None) if asked else ""))
            _publish(context, loaded, plan, table)


def _plans_at_once(plans: Iterable[tuple[Loaded, Plan]], workforce: Workforce) -> list[tuple[Loaded, Plan]]:
    """All plans. Workers get ready while they are made, which takes seconds: noise is calibrated."""
    workforce.get_ready()
    return list(plans)


def _plans(
    context: Context, specs: Sequence[Loaded], absent: Callable[[Loaded, MissingData], None]
) -> Iterator[tuple[Loaded, Plan]]:
    """The plan of each spec that runs anything; of one whose data cannot be had, `absent` is told."""
    for loaded in specs:
        if loaded.spec.experiment is not None:
            try:
                plan = plan_of(context, loaded, context.times(loaded))
            except MissingData as missing:
                absent(loaded, missing)
            else:
                yield loaded, plan


def _computed(
    plans: Sequence[tuple[Loaded, Plan]], stage: Literal["train", "all"], workforce: Workforce
) -> Iterator[tuple[Loaded, Plan]]:
    """Compute the pieces of all plans together, then hand out each plan.

    Where the run ends early (its time is over, or Ctrl-C), those that are whole are handed out before it does.
    """
    pieces = {piece.key: piece for _, plan in plans for piece in plan.pieces(stage)}
    names = plans[0][0].spec.id if len(plans) == 1 else f"{len(plans)} specs"
    try:
        run_with(workforce, in_order(pieces.values()), f"{'train' if stage == 'train' else 'attack'} {names}")
    except (OutOfTime, KeyboardInterrupt):
        store = Store(workforce.project.store)
        yield from ((one, plan) for one, plan in plans if all(store.has(p.kind, p.key) for p in plan.pieces(stage)))
        raise
    except HarnessError as error:
        for loaded, plan in plans:
            if error.piece and arms_using(plan, error.piece):
                with _located(loaded, plan):
                    raise
        raise
    yield from plans


def _trained_part(context: Context, loaded: Loaded, plan: Plan) -> Plan:
    """The part of a plan whose models are trained. Raises HarnessError where a cell has none."""
    choose = trained_repeats if context.sequential else complete_repeats
    part = choose(plan, Store(context.project.store))
    if {cell.group for cell in part.cells} != {cell.group for cell in plan.cells}:
        raise HarnessError(f"{loaded.spec.id}: no repeat is trained completely yet; `harness run` goes on with it")
    return part


def _write_models(context: Context, loaded: Loaded, plan: Plan) -> None:
    table = model_table(plan, loaded.spec, Store(context.project.store))
    write_parquet(table, context.models_file(loaded.spec.id))


def _publish(context: Context, loaded: Loaded, plan: Plan, table: pd.DataFrame) -> None:
    """Beside a table: its curves for `dvc plots`, and its runs in MLflow."""
    scaled = context.scaled(loaded)
    _write_plot(context, loaded.spec.id, table, axes_of(scaled.spec))
    tracking.log_run(context.project, scaled, loaded.sha256, plan, table, context.progress)


def plot(context: Context, loaded: Loaded) -> bool:
    """Write `advantage.csv` from a spec's table as it is; whether there is one."""
    path = context.measurements_file(loaded.spec.id)
    if not path.is_file():
        return False
    table = read_measured(path)
    _write_plot(context, loaded.spec.id, None if REASON in table else table, axes_of(context.scaled(loaded).spec))
    return True


def until_decided(
    context: Context, loaded: Loaded, plan: Plan, workforce: Workforce
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
    metrics = _metrics_of_claims(scaled)
    known, earlier = _known(context, loaded, plan)
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
            report = run_with(workforce, pieces, label, to_do(ahead, scaled.spec, known, metrics))
        except (OutOfTime, KeyboardInterrupt):
            if context.profile.from_tables:  # a clone without this store goes on from the table
                spent = _joined_notes(earlier, total.joined(workforce.report))
                _write_finished(context, loaded, chosen, known, spent)
            raise
        total = total.joined(report)
        table = measurement_table(chosen, scaled.spec, store, known)
        notes = _joined_notes(earlier, total) if context.profile.from_tables else earlier
        _write(context, loaded, chosen, table, notes)
        with in_place(loaded):
            needs = repeats_wanted(scaled, table)
        before, likely = dict(repeats), {}
        for cells in needs.values():
            for cell, target in cells.items():
                repeats[cell] = max(repeats.get(cell, 0), target)
                likely[cell] = grown(repeats[cell], experiment.repeats * scaled.times)
        if repeats == before:
            break
        open_claims = len(needs)
    if wanted := curves.asked(chosen, scaled.spec):
        pieces = curves.pieces_of(curves.missing(wanted, earlier.curves))
        total = total.joined(run_with(workforce, pieces, f"{loaded.spec.id}, curves"))
        notes = _joined_notes(earlier, total) if context.profile.from_tables else earlier
        notes.curves = curves.drawn(store, wanted, earlier.curves)
        _write(context, loaded, chosen, table, notes)
    used = f"{len(chosen.cells)} models, of the fixed design's {len(groups) * usual}"
    context.progress.say(f"{loaded.spec.id}: every claim is decided or out of reach; {used}")
    return chosen, total, table


def _write_finished(context: Context, loaded: Loaded, chosen: Plan, known: Known, notes: Notes) -> None:
    """Write the measurements of a round that was stopped: of each arm and place the repeats that are finished."""
    store, spec = Store(context.project.store), context.scaled(loaded).spec
    finished = repeats_known(chosen, known, store)
    plan = first_repeats(chosen, {(group, a): min(n, finished[group, ""]) for (group, a), n in finished.items()})
    if plan.cells:
        _write(context, loaded, plan, measurement_table(plan, spec, store, known), notes)


def _metrics_of_claims(scaled: Scaled) -> set[str]:
    parts = [part for claim in scaled.spec.claims if not claim.theory for part in scaled.spec.parts(claim)]
    return {m for part in parts for o in part.operands() for m in o.metrics}


def _repeats_that_choose(scaled: Scaled) -> dict[str, int]:
    """By arm whose first repeats choose a place on an axis for another arm: how many."""
    found: dict[str, int] = {}
    for claim in scaled.spec.claims:
        for chosen in (o.chosen for part in scaled.spec.parts(claim) for o in part.operands()):
            if chosen is not None and chosen.arm is not None and chosen.repeats is not None:
                found[chosen.arm] = max(found.get(chosen.arm, 0), chosen.repeats)
    return found


def _over_runs(scaled: Scaled, metrics: Collection[str]) -> bool:
    assert scaled.spec.experiment is not None
    return scaled.spec.experiment.redraw == "training" and any(map(of_runs, metrics))


def _known(context: Context, loaded: Loaded, plan: Plan) -> tuple[Known, Notes]:
    """What tables hold of a plan, and what they remember of it.

    The spec's own first, then its tables in other profiles, then those of the paper's other specs: the same records,
    model and attack come out the same, whichever spec asks. What only those hold is taken as far as a run asks for it,
    so a table follows from its own spec.
    """
    known, notes = Known(), Notes()
    if not context.profile.from_tables:
        return known, notes
    own, reports = context.measurements_file(loaded.spec.id), context.project.reports
    of_spec = [own, *sorted(reports.glob(f"*/{loaded.spec.id}/measurements.parquet"))]
    of_paper = sorted(reports.glob(f"{own.relative_to(reports).parts[0]}/{loaded.spec.paper}/*/measurements.parquet"))
    wanted = work_of(plan, context.scaled(loaded).spec)
    for path in dict.fromkeys([*of_spec, *of_paper]):
        if not path.is_file():
            continue
        table = read_measured(path)
        known.add(table, None if path in of_spec else wanted)
        codes = set(known.code.values())
        notes.commits = {c: at for c, at in table.attrs.get("commits", {}).items() if c in codes} | notes.commits
        if path == own:
            notes.core_seconds = table.attrs.get("core_seconds", {})
            notes.curves = table.attrs.get(curves.ATTRIBUTE, "")
    return known, notes


@dataclass
class Notes:
    """What a table's file remembers of how it came about."""

    commits: dict[str, str] = field(default_factory=dict)
    """By code: the commit at which it measured."""
    core_seconds: dict[str, float] = field(default_factory=dict)
    """By kind of piece, of all runs that added to it."""
    curves: str = ""
    """Of the spec's figure, as JSON."""


def _joined_notes(earlier: Notes, report: RunReport) -> Notes:
    kinds = {*earlier.core_seconds, *report.by_kind}
    spent = {k: round(earlier.core_seconds.get(k, 0.0) + report.by_kind.get(k, 0.0), 1) for k in sorted(kinds)}
    return Notes(earlier.commits, spent, earlier.curves)


def _write(context: Context, loaded: Loaded, plan: Plan, table: pd.DataFrame, notes: Notes) -> None:
    """Write a spec's measurements.

    What a verdict says of their origin is kept in the file's metadata: the data and the machine of the measurements,
    not of the judge.
    """
    scaled = context.scaled(loaded)
    table.attrs = {
        "data_sha256": plan.data_sha256,
        "hardware": hardware(),
        "experiment_sha256": experiment_digest(scaled),
        "experiment": canonical_json(content(scaled)),
        "design": "sequential" if context.sequential else "fixed",
        **({"commits": _commits(context, table, notes)} if context.profile.from_tables else {}),
        **({"core_seconds": notes.core_seconds} if notes.core_seconds else {}),
        **({curves.ATTRIBUTE: notes.curves} if notes.curves else {}),
    }
    write_parquet(table, context.measurements_file(loaded.spec.id))


def _commits(context: Context, table: pd.DataFrame, notes: Notes) -> dict[str, str]:
    """By code, the commit at which it measured; for tables that are kept in git, since others change with each."""
    now = tracking.commit(context.project, "harness", "requirements.lock")
    return {code: notes.commits.get(code, now) for code in sorted(set(table["code"]))}


def _write_plot(context: Context, spec_id: str, table: pd.DataFrame | None, axes: Sequence[str] = ()) -> None:
    frame = advantages(table, axes)
    with atomic_path(context.folder(spec_id) / "advantage.csv") as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n", float_format=f"%.{DIGITS}g")


def advantages(table: pd.DataFrame | None, axes: Sequence[str] = ()) -> pd.DataFrame:
    """What `dvc plots` draws, and `advantage.csv` holds: mean advantage with its 95% interval over epsilon."""
    found = {} if table is None else means(table, ("advantage",), ("epsilon", *axes))
    rows = []
    for (arm, name, _, where), mean in found.items():
        others = "".join(f" {axis}={shown(value)}" for axis, value in where if axis != "epsilon")
        rows.append((f"{arm}/{name}{others}", dict(where)["epsilon"], mean.mean, *mean.interval()))
    return pd.DataFrame(rows, columns=["series", "epsilon", "advantage", "low", "high"])


def core_seconds(context: Context, loaded: Loaded) -> dict[str, dict[str, float]] | None:
    """Computing time of a spec's pieces by kind, as the store remembers it; None where it lacks some.

    A piece shared with another spec counts in both.
    """
    try:
        plan = make_plan(context.project, context.scaled(loaded).spec)
    except HarnessError:
        return None
    store = Store(context.project.store)
    found: dict[str, dict[str, float]] = {}
    keys: dict[str, list[str]] = {}
    for piece in plan.pieces():
        keys.setdefault(piece.kind, []).append(piece.key)
    for kind, wanted in keys.items():
        try:
            records = store.records(kind, wanted)
        except KeyError:
            return None
        seconds = sum(record["seconds"] for record in records.values())
        found[kind] = {"pieces": len(records), "core_seconds": round(seconds, 1)}
    return found
