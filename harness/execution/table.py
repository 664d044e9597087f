"""The tidy table of a spec's measurements: one row a number, with its coordinates and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from pyarrow.lib import ArrowException

from harness.coordinates import Level, Place
from harness.errors import HarnessError
from harness.execution.plan import CellRepeat, Piece, Plan
from harness.execution.reuse import MeasurementCache, groups_of_runs, work_of_runs
from harness.execution.store import Store
from harness.files import atomic_path
from harness.metrics import Value
from harness.metrics.metric import measure_against_baseline, measure_runs
from harness.parquet import read_parquet
from harness.reading_bounds import check_place

if TYPE_CHECKING:
    from harness.spec.model import Spec

COLUMNS = [
    "spec",
    "arm",
    "epsilon",
    "delta",
    "accountant",
    "noise_multiplier",
    "repeat",
    "attack",
    "metric",
    "value",
    "stderr",
    "n",
    "cell",
    "work",
    "code",
]
"""The columns of every table of measurements, which has one more for each axis besides epsilon."""
RUNS_KEPT = 10_000
"""The number of groups of runs of which a process remembers what they say together."""
ORIGIN = ("work", "code")
"""The columns that say what a number is of, and by which code it was measured; tables made before 2026-11-22 lack
them."""


def axes_of(spec: Spec) -> list[str]:
    """The names of a spec's axes other than epsilon, which are columns of its table."""
    return [axis for axis in spec.axes if axis != "epsilon"]


def model_table(plan: Plan, spec: Spec, store: Store) -> pd.DataFrame:
    """The table of a plan's targets, one row each: coordinates, noise multiplier, digest of its weights and outputs.

    The digest is missing for a target that is not in the store since its measurements were known.
    """
    trained = [cell.target.key for cell in plan.cells if store.has("train", cell.target.key)]
    records = store.records("train", trained)
    rows = [
        {
            "spec": spec.id,
            "arm": cell.arm,
            **_other_axes(cell.place),
            "epsilon": cell.epsilon,
            "repeat": cell.repeat,
            "noise_multiplier": cell.noise_multiplier,
            "cell": cell.target.key,
            "outputs_sha256": records.get(cell.target.key, {}).get("arrays_sha256"),
        }
        for cell in plan.cells
    ]
    return pd.DataFrame(rows)


def _other_axes(where: Place) -> dict[str, Level]:
    """A place without epsilon, which has a column of its own."""
    return {axis: value for axis, value in where if axis != "epsilon"}


def measurement_table(
    plan: Plan, spec: Spec, store: Store, known: MeasurementCache | None = None, unfinished: bool = False
) -> pd.DataFrame:
    """The table of all measurements of a plan, sorted by coordinates, one row per number.

    `attack` is "" for a model's own metrics. Each axis besides epsilon has a column, empty in rows that do not vary
    along it. `work` names what a number was measured of ("" where it is derived from others), `code` the code that
    measured it. Measurements are taken from `known`, else from the store. With `unfinished`, for a round that was
    stopped, metrics of groups of runs are left out where the store lacks an answer: a table has numbers of runs and not
    their answers.
    """
    axes = axes_of(spec)
    columns = [*COLUMNS, *axes]
    experiment = spec.own_experiment
    if experiment is None:
        return pd.DataFrame(columns=columns)
    rows: list[dict[str, object]] = []

    known = known or MeasurementCache()

    source = _MeasurementSource(plan, store, known)

    def add_row(
        cell: CellRepeat,
        attack: str,
        where: Place,
        metric: str,
        estimate: Value,
        piece: Piece,
        named_after: Piece,
        work: str | None = None,
    ) -> None:
        """Add a row of what `piece` measured, under the name of `named_after`."""
        privacy = experiment.arms[cell.arm].privacy
        rows.append(
            {
                "spec": spec.id,
                "arm": cell.arm,
                "epsilon": cell.epsilon,
                "delta": privacy.delta,
                "accountant": privacy.accountant,
                "noise_multiplier": cell.noise_multiplier,
                "repeat": cell.repeat,
                "attack": attack,
                "metric": metric,
                "value": float(estimate.value),
                "stderr": float(estimate.stderr),
                "n": int(estimate.n),
                "cell": source.cell(piece, named_after),
                "work": piece.work if work is None else work,
                "code": source.code(piece),
                **_other_axes(cell.place),
                **dict(where),
            }
        )

    for cell in plan.cells:
        for name, estimate in source.metrics_of(cell.split).items():
            add_row(cell, "", (), name, estimate, cell.split, cell.split)
        # A model's own metrics are those of its weights: their rows name the trained cell.
        for name, estimate in source.metrics_of(cell.model).items():
            add_row(cell, "", (), name, estimate, cell.model, cell.target)
        for (attack, where), piece in cell.evaluations.items():
            for name, estimate in source.metrics_of(piece).items():
                if not spec.attacks[attack].threshold_policy.leaves_out(name):
                    add_row(cell, attack, where, name, estimate, piece, piece)
    for cell, baseline in _pair_with_baseline(plan):
        for name, estimate in measure_against_baseline(
            source.metrics_of(cell.model), source.metrics_of(baseline.model)
        ).items():
            add_row(cell, "", (), name, estimate, cell.model, cell.target, work="")
    for cells, attack, where in groups_of_runs(plan, spec):
        pieces = [cell.evaluations[attack, where] for cell in cells]
        work = work_of_runs(pieces)
        if unfinished and not source.has_runs(pieces, work):
            continue
        for name, estimate in source.metrics_of_runs(pieces, work).items():  # in the row of the last of them
            add_row(cells[-1], attack, where, name, estimate, pieces[0], pieces[0], work=work)
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["arm", *axes, "epsilon", "repeat", "attack", "metric"], kind="stable", ignore_index=True)


class _MeasurementSource:
    """The source of measurements: a cache of tables, or the store."""

    def __init__(self, plan: Plan, store: Store, known: MeasurementCache) -> None:
        self.store, self.known = store, known
        splits = {cell.split.key for cell in plan.cells if not known.has(cell.split.work)}
        pieces = [p for cell in plan.cells for p in (cell.model, *cell.evaluations.values())]
        self.splits = store.records("split", sorted(splits))
        self.evaluations = store.records("evaluate", [p.key for p in pieces if not self._is_from_cache(p)])

    def _is_from_cache(self, piece: Piece) -> bool:
        """Whether measurements of a piece are taken from the cache.

        The store goes first: it has the same numbers, and may have more metrics.
        """
        return self.known.has(piece.work) and not self.store.has(piece.kind, piece.key)

    def metrics_of(self, piece: Piece) -> dict[str, Value]:
        """The counts of a split, or the metrics of a model or an attack, by name."""
        if piece.kind == "split" and piece.key in self.splits:
            return {f"count_{name}": Value(v, 0.0, 1) for name, v in self.splits[piece.key]["facts"].items()}
        if piece.key in self.evaluations:
            return {name: Value(*stored) for name, stored in self.evaluations[piece.key]["metrics"].items()}
        return self.known.metrics[piece.work]

    def code(self, piece: Piece) -> str:
        """The name of the code that measured a piece."""
        return piece.code if self._is_in_store(piece) else self.known.code[piece.work]

    def cell(self, piece: Piece, named: Piece) -> str:
        """The key, in the store where `piece` was measured, of the piece that its rows are `named` after."""
        return named.key if self._is_in_store(piece) else self.known.cell[piece.work]

    def _is_in_store(self, piece: Piece) -> bool:
        """Whether measurements of a piece are taken from the store."""
        return piece.key in self.splits or piece.key in self.evaluations

    def has_runs(self, pieces: Sequence[Piece], work: str) -> bool:
        """Whether the metrics of a group of runs are known or can be computed from the store."""
        return self.known.has(work) or all(self.store.has(piece.kind, piece.key) for piece in pieces)

    def metrics_of_runs(self, pieces: Sequence[Piece], work: str) -> dict[str, Value]:
        """The metrics that a group of runs gives together."""
        if self.known.has(work):
            return self.known.metrics[work]
        return _metrics_of_runs(self.store.root, tuple(piece.key for piece in pieces))


@lru_cache(maxsize=RUNS_KEPT)
def _metrics_of_runs(store: Path, keys: tuple[str, ...]) -> dict[str, Value]:
    """The metrics that stored answers of a group of runs give together.

    They are cached, since a table is made after each round.
    """
    stored = [Store(store).get("evaluate", key).arrays for key in keys]
    return measure_runs([(arrays["member_scores"], arrays["nonmember_scores"]) for arrays in stored])


def _pair_with_baseline(plan: Plan) -> Iterator[tuple[CellRepeat, CellRepeat]]:
    """The repeats, each with that of the model without noise at the same place, where there is one."""

    def key_without_epsilon(cell: CellRepeat) -> tuple[str, tuple[tuple[str, Level], ...], int]:
        return cell.arm, tuple(_other_axes(cell.place).items()), cell.repeat

    without = {key_without_epsilon(c): c for c in plan.cells if math.isinf(c.epsilon)}
    for cell in plan.cells:
        if (baseline := without.get(key_without_epsilon(cell))) is not None:
            yield cell, baseline


def write_parquet(table: pd.DataFrame, target: Path) -> None:
    """Write a table atomically; the same table always gives the same bytes."""
    with atomic_path(target) as temporary:
        table.to_parquet(temporary, index=False, compression="zstd")


def read_table(path: Path) -> pd.DataFrame:
    """The table in a Parquet file. Raises HarnessError where it is missing or damaged."""
    check_place(path)
    if not path.is_file():
        raise HarnessError(f"{path}: no measurements")
    try:
        return read_parquet(path)
    except (OSError, ValueError, ArrowException) as error:
        why = str(error).splitlines()[0]
        raise HarnessError(f"{path}: damaged, not a readable Parquet table: {why}; delete it and run again") from None


def read_measurements(path: Path, table: pd.DataFrame | None = None) -> pd.DataFrame:
    """The measurement table of a file, read or taken as read. Raises HarnessError where it is missing or not one."""
    measurements = read_table(path) if table is None else table
    missing = [c for c in COLUMNS if c not in measurements.columns and c not in ORIGIN]
    if missing:
        raise HarnessError(f"{path}: not a measurement table: no column {', '.join(missing)}")
    return measurements
