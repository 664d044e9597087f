"""A spec's table of measurements: what it holds already, writing it, and the curves beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from harness import tracking
from harness.claims.series import means
from harness.coordinates import format_level
from harness.execution import curves
from harness.execution.executor import RunReport
from harness.execution.plan import Plan
from harness.execution.reuse import MeasurementCache, work_of
from harness.execution.table import axes_of, read_table, write_parquet
from harness.files import atomic_path
from harness.hashing import canonical_json
from harness.pipeline.context import Context, Run
from harness.pipeline.sources import REASON, experiment_digest
from harness.spec.resolve import content
from harness.verdicts.judge import CLAIMS
from harness.verdicts.provenance import hardware

PREPARED = "prepared"
"""What a table's file remembers of how data became features; those that are committed leave it to their data sets."""
DIGITS = 9
"""Of numbers in `advantage.csv`: no more than processors agree on that compute the same means."""


@dataclass
class Notes:
    """What a table's file remembers of how it came about."""

    commits: dict[str, str] = field(default_factory=dict)
    """By code: the commit at which it measured."""
    core_seconds: dict[str, float] = field(default_factory=dict)
    """By kind of piece, of all runs that added to it."""
    curves: str = ""
    """Of the spec's figure, as JSON."""


def join_notes(earlier: Notes, report: RunReport) -> Notes:
    """The notes of an earlier table with the core-seconds of a further run added."""
    kinds = {*earlier.core_seconds, *report.by_kind}
    spent = {k: round(earlier.core_seconds.get(k, 0.0) + report.by_kind.get(k, 0.0), 1) for k in sorted(kinds)}
    return Notes(earlier.commits, spent, earlier.curves)


def read_known_measurements(run: Run, plan: Plan) -> tuple[MeasurementCache, Notes]:
    """What tables hold of a plan's work, and the notes of the spec's own table; nothing unless the profile reads
    tables.

    Tables are read in this order: the spec's own, the spec's in other profiles, other specs' of the same paper. The
    same records, model and attack give the same numbers whichever spec asks. Of other specs only the work of this plan
    is taken.
    """
    known, notes = MeasurementCache(), Notes()
    if not run.context.profile.from_tables:
        return known, notes
    own, reports = run.measurements_file, run.context.project.reports
    of_spec = [own, *sorted(reports.glob(f"*/{run.id}/measurements.parquet"))]
    of_paper = sorted(reports.glob(f"{own.relative_to(reports).parts[0]}/{run.spec.paper}/*/measurements.parquet"))
    wanted = work_of(plan, run.spec)
    for path in dict.fromkeys([*of_spec, *of_paper]):
        if not path.is_file():
            continue
        table = read_table(path)
        known.add(table, None if path in of_spec else wanted)
        codes = set(known.code.values())
        notes.commits = {c: at for c, at in table.attrs.get("commits", {}).items() if c in codes} | notes.commits
        if path == own:
            notes.core_seconds = table.attrs.get("core_seconds", {})
            notes.curves = table.attrs.get(curves.ATTRIBUTE, "")
    return known, notes


def write_measurements(run: Run, plan: Plan, table: pd.DataFrame, notes: Notes) -> None:
    """Write a spec's table of measurements. Its metadata name the data, the machine and the code that measured."""
    scaled = run.scaled
    table.attrs = {
        "data_sha256": plan.data_sha256,
        "hardware": hardware(),
        "experiment_sha256": experiment_digest(scaled),
        "experiment": canonical_json(content(scaled)),
        "design": "sequential" if run.context.is_sequential else "fixed",
        **({"commits": _commits(run.context, table, notes)} if run.context.profile.from_tables else {}),
        **({} if run.context.profile.from_tables else {PREPARED: [one.in_json() for one in plan.preparations]}),
        **({CLAIMS: sorted(run.declared.claims)} if run.declared.claims is not None else {}),
        **({"core_seconds": notes.core_seconds} if notes.core_seconds else {}),
        **({curves.ATTRIBUTE: notes.curves} if notes.curves else {}),
    }
    write_parquet(table, run.measurements_file)


def _commits(context: Context, table: pd.DataFrame, notes: Notes) -> dict[str, str]:
    """By code, the commit at which it measured. Only for tables that are kept in git: it would change others at each
    commit."""
    now = tracking.commit(context.project, "harness", "requirements.lock")
    return {code: notes.commits.get(code, now) for code in sorted(set(table["code"]))}


def count_models(run: Run) -> int:
    """The number of models that a spec's table of measurements is of, or its index of models where there is no table.

    Models that its attacks train for themselves (shadow models) are not among them.
    """
    for path in (run.measurements_file, run.models_file):
        if path.is_file() and REASON not in (table := read_table(path)):
            own = run.spec.own_experiment
            return 0 if own is None else len(table.drop_duplicates(["arm", *own.coordinates, "repeat"]))
    return 0


def write_plot(run: Run) -> bool:
    """Write `advantage.csv` from a spec's table. Returns False where there is no table."""
    path = run.measurements_file
    if not path.is_file():
        return False
    table = read_table(path)
    write_curves(run, None if REASON in table else table)
    return True


def write_curves(run: Run, table: pd.DataFrame | None) -> None:
    """Write `advantage.csv` of a table, atomically; empty where `table` is None."""
    frame = advantages(table, axes_of(run.spec))
    with atomic_path(run.folder / "advantage.csv") as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n", float_format=f"%.{DIGITS}g")


def advantages(table: pd.DataFrame | None, axes: Sequence[str] = ()) -> pd.DataFrame:
    """The rows of `advantage.csv`, which `dvc plots` draws: mean advantage with its 95% interval at each epsilon."""
    averages = {} if table is None else means(table, ("advantage",), ("epsilon", *axes))
    rows = []
    for (arm, name, _, where), mean in averages.items():
        if "epsilon" not in dict(where):
            continue
        others = "".join(f" {axis}={format_level(value)}" for axis, value in where if axis != "epsilon")
        rows.append((f"{arm}/{name}{others}", dict(where)["epsilon"], mean.mean, *mean.interval()))
    return pd.DataFrame(rows, columns=["series", "epsilon", "advantage", "low", "high"])
