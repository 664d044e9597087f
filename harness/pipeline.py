"""The stages, as `dvc.yaml` and `harness run` call them: resolve, train, attack, check, report.

Each stage reads what the one before it wrote and writes finished tables. All of them may be repeated
at will: work that is done is taken from the cell store.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from harness import tracking
from harness.claims.anytime import first_decision
from harness.claims.check import ALPHA, ClaimError, check_spec, hardware, repeats_wanted
from harness.claims.evidence import means
from harness.claims.sequential import CEILING
from harness.claims.verdict import ReadingVerdict, Verdict, VerdictFile, dump
from harness.data.dataset import TableDataset
from harness.data.fetch import MissingData, fetch, missing_mark
from harness.errors import HarnessError
from harness.execution.executor import RunReport, Workforce, run_pieces, run_with
from harness.execution.plan import Piece, Plan, complete_repeats, first_repeats, make_plan, trained_repeats
from harness.execution.store import Store
from harness.execution.table import measurement_table, model_table, read_measurements, write_parquet
from harness.files import atomic_path, write_text
from harness.hashing import fingerprint
from harness.paths import Project
from harness.progress import Progress
from harness.spec.load import Loaded
from harness.spec.profile import Profile, Scaled, scale
from harness.spec.readings import Reading, readings
from harness.spec.resolve import content, write_resolved

REASON = "not_run_because"
FIELDS_BY_WORDS = (
    ("sizes", ("sizes",)), ("split ", ("arms",)), ("cannot be removed", ("arms",)), ("privacy:", ("privacy",)),
    ("diverged", ("training",)), (".csv", ("dataset",)), ("dataset", ("dataset",)), ("column", ("dataset",)),
)  # fmt: skip


@dataclass(frozen=True)
class Context:
    """What every stage is told."""

    project: Project
    profile_name: str
    profile: Profile
    workers: int
    progress: Progress
    scheduler: str | None = None
    """Address of a Dask scheduler; None: local processes."""
    until_decided: bool = False
    """Add repeats until claims are decided, whatever the profile says."""

    @property
    def sequential(self) -> bool:
        """Whether repeats are added until claims are decided."""
        return self.until_decided or self.profile.design == "sequential"

    @property
    def times(self) -> int:
        """Times a spec's repeats that a cell may get."""
        return CEILING if self.sequential else 1

    def scaled(self, loaded: Loaded) -> Scaled:
        """A spec under the chosen profile."""
        return scale(loaded.spec, self.profile_name, self.profile)

    @property
    def resolved(self) -> Path:
        """Where the specs lie as they are run."""
        return self.project.models / self.profile_name / "resolved"

    def models_file(self, spec_id: str) -> Path:
        return self.project.models / self.profile_name / f"{spec_id}.parquet"

    def folder(self, spec_id: str) -> Path:
        return self.project.reports / self.profile_name / spec_id

    def measurements_file(self, spec_id: str) -> Path:
        return self.folder(spec_id) / "measurements.parquet"

    def verdicts_file(self, spec_id: str) -> Path:
        return self.folder(spec_id) / "verdicts.json"


def resolve(context: Context, loaded: Loaded) -> None:
    """Write what a spec's stages are to do under the profile."""
    if loaded.spec.experiment is not None:
        left_out = loaded.spec.id in context.profile.skip
        write_resolved(context.resolved, context.scaled(loaded), left_out, context.sequential)


def plan_of(context: Context, loaded: Loaded, times: int = 1) -> Plan:
    """The plan of a spec, of `times` its repeats, its data fetched. Raises MissingData where those cannot be had."""
    if loaded.spec.id in context.profile.skip:
        raise MissingData(f"the profile {context.profile_name!r} leaves this spec out")
    scaled = context.scaled(loaded)
    experiment = scaled.spec.experiment
    if experiment is not None and isinstance(experiment.dataset, TableDataset):
        mark = missing_mark(context.project, experiment.dataset)
        if mark.is_file():
            raise MissingData(json.loads(mark.read_text())["missing"])
        fetch(context.project, experiment.dataset, context.progress)
    with _located(loaded):
        return make_plan(context.project, scaled.spec, times)


@contextlib.contextmanager
def _located(loaded: Loaded) -> Iterator[None]:
    """Put file, line and field before a fault that shows only once the data are at hand."""
    try:
        yield
    except MissingData:
        raise
    except HarnessError as error:
        message = str(error)
        field = next((f for words, f in FIELDS_BY_WORDS if words in message), ())
        path, line = loaded.document.place(("experiment", *field))
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        raise HarnessError(f"{shown}:{line}: {'.'.join(('experiment', *field))}: {message}") from None


def _compute(context: Context, pieces: list[Piece], label: str) -> RunReport:
    return run_pieces(context.project, pieces, context.workers, context.progress, label, context.scheduler)


def train(context: Context, loaded: Loaded) -> RunReport | None:
    """Train a spec's targets and shadow models; write the index of models. None: nothing to train, or no data."""
    if loaded.spec.experiment is None:
        return None
    try:
        plan = plan_of(context, loaded, context.times)
    except MissingData as missing:
        context.progress.say(f"{loaded.spec.id}: not run: {missing}")
        write_parquet(pd.DataFrame({REASON: [str(missing)]}), context.models_file(loaded.spec.id))
        return None
    with _located(loaded):
        if context.sequential:
            plan, report = until_decided(context, loaded, plan)
        else:
            report = _compute(context, plan.pieces("train"), f"train {loaded.spec.id}")
    table = model_table(plan, loaded.spec, Store(context.project.store))
    write_parquet(table, context.models_file(loaded.spec.id))
    return report


def attack(context: Context, loaded: Loaded, partial: bool = False) -> RunReport | None:
    """Attack a spec's targets; write the measurements and log them. None: nothing to attack, or no data.

    `partial`: of the repeats that are trained completely (by cell, where the design is sequential, whose tests
    hold wherever a run stops). Raises HarnessError where there is none.
    """
    if loaded.spec.experiment is None:
        return None
    scaled = context.scaled(loaded)
    try:
        plan = plan_of(context, loaded, context.times)
    except MissingData as missing:
        write_parquet(pd.DataFrame({REASON: [str(missing)]}), context.measurements_file(loaded.spec.id))
        _write_plot(context, loaded.spec.id, None)
        return None
    if partial:
        choose = trained_repeats if context.sequential else complete_repeats
        plan = choose(plan, Store(context.project.store))
        wanted = {(a, e) for a in scaled.spec.experiment.arms for e in scaled.spec.experiment.privacy.epsilons}  # type: ignore[union-attr]
        if {(cell.arm, cell.epsilon) for cell in plan.cells} != wanted:
            raise HarnessError(f"{loaded.spec.id}: no repeat is trained completely yet; `harness run` goes on with it")
    with _located(loaded):
        if context.sequential and not partial:
            plan, report = until_decided(context, loaded, plan)
        else:
            report = _compute(context, plan.pieces(), f"attack {loaded.spec.id}")
    table = measurement_table(plan, scaled.spec, Store(context.project.store))
    # Kept in the file's metadata: a verdict names the data and the machine of the measurements, not of the judge.
    table.attrs = {
        "data_sha256": plan.data_sha256, "hardware": hardware(), "experiment_sha256": experiment_digest(scaled),
        "design": "sequential" if context.sequential else "fixed",
    }  # fmt: skip
    write_parquet(table, context.measurements_file(loaded.spec.id))
    _write_plot(context, loaded.spec.id, table)
    tracking.log_run(context.project, scaled, loaded.sha256, plan, table, context.progress)
    return report


def until_decided(context: Context, loaded: Loaded, plan: Plan) -> tuple[Plan, RunReport]:
    """Compute repeats of a plan's cells, round by round, until each claim is decided or cannot be any more.

    `plan` has as many repeats as a cell may get. A first round gives every cell those that any decision needs.
    Rounds that were computed before are taken from the store, so a run that was stopped goes on where it was.
    Returns the cells computed.
    """
    scaled = context.scaled(loaded)
    assert scaled.spec.experiment is not None
    usual, store, total = scaled.spec.experiment.repeats, Store(context.project.store), RunReport()
    repeats = {(cell.arm, cell.epsilon): min(usual, first_decision(ALPHA)) for cell in plan.cells}
    open_claims = len(scaled.spec.claims)
    with Workforce(context.project, context.workers, context.progress, context.scheduler) as workforce:
        for number in itertools.count(1):
            chosen = first_repeats(plan, repeats)
            label = f"{loaded.spec.id}, round {number}, {open_claims} claims open"
            total = total.joined(run_with(workforce, chosen.pieces(), label))
            table = measurement_table(chosen, scaled.spec, store)
            table.attrs["design"] = "sequential"
            try:
                needs = repeats_wanted(scaled, table)
            except ClaimError as error:
                raise _misplaced(loaded, error) from None
            if not needs:
                break
            open_claims = len(needs)
            for cells in needs.values():
                for cell, target in cells.items():
                    repeats[cell] = max(repeats[cell], target)
    used = f"{len(chosen.cells)} models, of the fixed design's {len(repeats) * usual}"
    context.progress.say(f"{loaded.spec.id}: every claim is decided or out of reach; {used}")
    return chosen, total


def _write_plot(context: Context, spec_id: str, table: pd.DataFrame | None) -> None:
    """`advantage.csv`: what `dvc plots` draws, mean advantage with its 95% interval over epsilon."""
    found = {} if table is None else means(table, ("advantage",))
    rows = [(f"{arm}/{name}", e, mean.mean, *mean.interval()) for (arm, name, _, e), mean in found.items()]
    frame = pd.DataFrame(rows, columns=["series", "epsilon", "advantage", "low", "high"])
    with atomic_path(context.folder(spec_id) / "advantage.csv") as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


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
        found[kind] = {"pieces": len(records), "core_seconds": seconds}
    return {kind: {**entry, "core_seconds": round(entry["core_seconds"], 1)} for kind, entry in found.items()}


def experiment_digest(scaled: Scaled) -> str:
    """Hash of what measurements follow from: the experiment and the attacks, under the profile."""
    return fingerprint(content(scaled))


def measurements(context: Context, loaded: Loaded) -> tuple[pd.DataFrame | None, str]:
    """A spec's measurements, or None and the reason why there are none."""
    path = context.measurements_file(loaded.spec.id)
    if loaded.spec.id in context.profile.skip:
        return None, f"the profile {context.profile_name!r} leaves this spec out"
    if not path.is_file():
        return None, f"no measurements at {path.relative_to(context.project.root)}; run `harness run {loaded.spec.id}`"
    raw = pd.read_parquet(path)
    if REASON in raw.columns:
        return None, str(raw[REASON].iloc[0])
    table = read_measurements(path)
    if table.attrs.get("experiment_sha256") != experiment_digest(context.scaled(loaded)):
        return None, f"the measurements are of another version of the experiment; run `harness run {loaded.spec.id}`"
    return table, ""


def judge(context: Context, loaded: Loaded) -> list[Verdict]:
    """Judge a spec's claims from the measurements that are there, in the spec's reading and in those that were run."""
    verdicts = _judge_one(context, loaded)
    found: dict[str, list[ReadingVerdict]] = {}
    for reading, variant in other_readings(context, loaded):
        if not context.measurements_file(variant.spec.id).is_file():
            continue
        for verdict in _judge_one(context, variant):
            one = ReadingVerdict(
                choice=reading.choice, field=reading.field, value=reading.value, verdict=verdict.verdict,
                reason=verdict.reason,
            )  # fmt: skip
            found.setdefault(verdict.id.split("#")[1], []).append(one)
    return [v.model_copy(update={"readings": tuple(found.get(v.id.split("#")[1], ()))}) for v in verdicts]


def other_readings(context: Context, loaded: Loaded) -> list[tuple[Reading, Loaded]]:
    """The readings of a spec whose experiment or attacks, under the profile, are not those of the spec itself."""
    own = experiment_digest(context.scaled(loaded))
    variants = [(reading, replace(loaded, spec=reading.spec)) for reading in readings(loaded.spec)]
    return [(r, v) for r, v in variants if experiment_digest(context.scaled(v)) != own]


def _judge_one(context: Context, loaded: Loaded) -> list[Verdict]:
    scaled = context.scaled(loaded)
    table, why_not = measurements(context, loaded) if scaled.spec.experiment is not None else (None, "")
    try:
        return check_spec(scaled, loaded.sha256, table, why_not)
    except ClaimError as error:
        raise _misplaced(loaded, error) from None


def _misplaced(loaded: Loaded, error: ClaimError) -> HarnessError:
    path, line = loaded.document.place(("claims", error.index, "expect"))
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return HarnessError(f"{shown}:{line}: claims.{error.index}.expect: {error}")


def check(context: Context, loaded: Loaded) -> list[Verdict]:
    """Judge a spec's claims and write its verdicts."""
    verdicts = judge(context, loaded)
    file = VerdictFile(profile=context.profile_name, alpha=ALPHA, verdicts=tuple(verdicts))
    write_text(context.verdicts_file(loaded.spec.id), dump(file))
    return verdicts


def read_verdicts(path: Path) -> VerdictFile:
    """Read a verdict file. Raises HarnessError where it is missing or malformed."""
    try:
        return VerdictFile.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HarnessError(f"{path}: no verdicts; run `harness check` first") from None
    except ValueError as error:
        raise HarnessError(f"{path}: not a verdict file: {str(error).splitlines()[0]}") from None
