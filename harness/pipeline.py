"""The stages, as `dvc.yaml` and `harness run` call them: train, attack, check, report.

Each stage reads what the one before it wrote and writes finished tables. All of them may be repeated
at will: work that is done is taken from the cell store.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness import tracking
from harness.claims.check import ALPHA, ClaimError, check_spec, hardware
from harness.claims.statistics import estimate
from harness.claims.verdict import Verdict, VerdictFile, dump
from harness.data.dataset import TableDataset
from harness.data.fetch import MissingData, fetch, missing_mark
from harness.errors import HarnessError
from harness.execution.executor import RunReport, run_pieces
from harness.execution.plan import Piece, Plan, complete_repeats, make_plan
from harness.execution.store import Store
from harness.execution.table import measurement_table, model_table, read_measurements, write_parquet
from harness.files import atomic_path, write_text
from harness.hashing import fingerprint
from harness.paths import Project
from harness.progress import Progress
from harness.spec.load import Loaded
from harness.spec.profile import Profile, Scaled, scale

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

    def scaled(self, loaded: Loaded) -> Scaled:
        """A spec under the chosen profile."""
        return scale(loaded.spec, self.profile_name, self.profile)

    def models_file(self, spec_id: str) -> Path:
        return self.project.models / self.profile_name / f"{spec_id}.parquet"

    def folder(self, spec_id: str) -> Path:
        return self.project.reports / self.profile_name / spec_id

    def measurements_file(self, spec_id: str) -> Path:
        return self.folder(spec_id) / "measurements.parquet"

    def verdicts_file(self, spec_id: str) -> Path:
        return self.folder(spec_id) / "verdicts.json"


def plan_of(context: Context, loaded: Loaded) -> Plan:
    """The plan of a spec, its data fetched. Raises MissingData where the data cannot be had."""
    scaled = context.scaled(loaded)
    experiment = scaled.spec.experiment
    if experiment is not None and isinstance(experiment.dataset, TableDataset):
        mark = missing_mark(context.project, experiment.dataset)
        if mark.is_file():
            raise MissingData(json.loads(mark.read_text())["missing"])
        fetch(context.project, experiment.dataset, context.progress)
    with _located(loaded):
        return make_plan(context.project, scaled.spec)


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
        plan = plan_of(context, loaded)
    except MissingData as missing:
        context.progress.say(f"{loaded.spec.id}: not run: {missing}")
        write_parquet(pd.DataFrame({REASON: [str(missing)]}), context.models_file(loaded.spec.id))
        return None
    label = f"train {loaded.spec.id}"
    with _located(loaded):
        report = _compute(context, plan.pieces("train"), label)
    table = model_table(plan, loaded.spec, Store(context.project.store))
    write_parquet(table, context.models_file(loaded.spec.id))
    return report


def attack(context: Context, loaded: Loaded, partial: bool = False) -> RunReport | None:
    """Attack a spec's targets; write the measurements and log them. None: nothing to attack, or no data.

    `partial`: of the repeats that are trained completely. Raises HarnessError where there is none.
    """
    if loaded.spec.experiment is None:
        return None
    scaled = context.scaled(loaded)
    try:
        plan = plan_of(context, loaded)
    except MissingData as missing:
        write_parquet(pd.DataFrame({REASON: [str(missing)]}), context.measurements_file(loaded.spec.id))
        _write_plot(context, loaded.spec.id, None)
        return None
    if partial:
        plan = complete_repeats(plan, Store(context.project.store))
        if not plan.cells:
            raise HarnessError(f"{loaded.spec.id}: no repeat is trained completely yet; `harness run` goes on with it")
    label = f"attack {loaded.spec.id}"
    with _located(loaded):
        report = _compute(context, plan.pieces(), label)
    table = measurement_table(plan, scaled.spec, Store(context.project.store))
    # Kept in the file's metadata: a verdict names the data and the machine of the measurements, not of the judge.
    table.attrs = {
        "data_sha256": plan.data_sha256, "hardware": hardware(), "experiment_sha256": experiment_digest(scaled),
    }  # fmt: skip
    write_parquet(table, context.measurements_file(loaded.spec.id))
    _write_plot(context, loaded.spec.id, table)
    tracking.log_run(context.project, scaled, loaded.sha256, plan, table, context.progress)
    return report


def _write_plot(context: Context, spec_id: str, table: pd.DataFrame | None) -> None:
    """`advantage.csv`: what `dvc plots` draws, mean advantage with its 95% interval over epsilon."""
    rows = []
    if table is not None:
        chosen = table[table["metric"] == "advantage"]
        for (arm, name, epsilon), group in chosen.groupby(["arm", "attack", "epsilon"]):
            found = estimate(group["value"].to_numpy(float), group["stderr"].to_numpy(float))
            low, high = found.interval()
            rows.append((f"{arm}/{name}", epsilon, found.mean, low, high))
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
    content = scaled.spec.model_dump(mode="json", by_alias=True, include={"experiment", "attacks"})
    if scaled.spec.experiment is not None:
        content["experiment"]["training"] = scaled.spec.experiment.training.content()
    return fingerprint(content)


def measurements(context: Context, loaded: Loaded) -> tuple[pd.DataFrame | None, str]:
    """A spec's measurements, or None and the reason why there are none."""
    path = context.measurements_file(loaded.spec.id)
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
    """Judge a spec's claims from the measurements that are there."""
    scaled = context.scaled(loaded)
    table, why_not = measurements(context, loaded) if scaled.spec.experiment is not None else (None, "")
    try:
        return check_spec(scaled, loaded.sha256, table, why_not)
    except ClaimError as error:
        path, line = loaded.document.place(("claims", error.index, "expect"))
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        raise HarnessError(f"{shown}:{line}: claims.{error.index}.expect: {error}") from None


def check(context: Context, loaded: Loaded) -> list[Verdict]:
    """Judge a spec's claims and write its verdicts."""
    verdicts = judge(context, loaded)
    content = VerdictFile(profile=context.profile_name, alpha=ALPHA, verdicts=tuple(verdicts))
    write_text(context.verdicts_file(loaded.spec.id), dump(content))
    return verdicts


def read_verdicts(path: Path) -> VerdictFile:
    """Read a verdict file. Raises HarnessError where it is missing or malformed."""
    try:
        return VerdictFile.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HarnessError(f"{path}: no verdicts; run `harness check` first") from None
    except ValueError as error:
        raise HarnessError(f"{path}: not a verdict file: {str(error).splitlines()[0]}") from None
