"""The tidy table of a spec's measurements: one row a number, with its coordinates and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyarrow.lib import ArrowException

from harness.attacks import MembershipAttack
from harness.errors import HarnessError
from harness.execution.plan import Cell, Plan
from harness.execution.store import Store
from harness.files import atomic_path
from harness.metrics import Value
from harness.metrics.metric import against_baseline, over_runs
from harness.places import Cell as Group
from harness.places import Place
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
]
"""Of every table of measurements; it has one more for each axis besides epsilon."""


def axes_of(spec: Spec) -> list[str]:
    """Names of the columns of its axes, besides epsilon."""
    return [axis for axis in spec.axes if axis != "epsilon"]


def model_table(plan: Plan, spec: Spec, store: Store) -> pd.DataFrame:
    """One row a trained target: coordinates, noise, and the digest of its weights and outputs."""
    records = store.records("train", [cell.target.key for cell in plan.cells])
    rows = [
        {
            "spec": spec.id,
            "arm": cell.arm,
            **_others(cell.place),
            "epsilon": cell.epsilon,
            "repeat": cell.repeat,
            "noise_multiplier": cell.noise_multiplier,
            "cell": cell.target.key,
            "outputs_sha256": records[cell.target.key]["arrays_sha256"],
        }
        for cell in plan.cells
    ]
    return pd.DataFrame(rows)


def _others(where: Place) -> dict[str, Any]:
    return {axis: value for axis, value in where if axis != "epsilon"}


def measurement_table(plan: Plan, spec: Spec, store: Store) -> pd.DataFrame:
    """All measurements of a finished plan, sorted by coordinates. `attack` is empty for a model's own metrics.

    A column for each axis besides epsilon; it is empty in rows that do not vary along it.
    """
    axes = axes_of(spec)
    columns = [*COLUMNS, *axes]
    experiment = spec.experiment
    if experiment is None:
        return pd.DataFrame(columns=columns)
    rows: list[dict[str, Any]] = []

    def add(cell: Cell, attack: str, where: Place, metric: str, found: Value, key: str) -> None:
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
                "value": float(found.value),
                "stderr": float(found.stderr),
                "n": int(found.n),
                "cell": key,
                **_others(cell.place),
                **dict(where),
            }
        )

    splits = store.records("split", [cell.split.key for cell in plan.cells])
    evaluated = [p.key for cell in plan.cells for p in (cell.model, *cell.evaluations.values())]
    evaluations = store.records("evaluate", evaluated)
    for cell in plan.cells:
        for name, value in splits[cell.split.key]["facts"].items():
            add(cell, "", (), f"count_{name}", Value(value, 0.0, 1), cell.split.key)
        # A model's own metrics are those of its weights: their rows name the trained cell.
        for name, stored in evaluations[cell.model.key]["metrics"].items():
            add(cell, "", (), name, Value(*stored), cell.target.key)
        for (attack, where), piece in cell.evaluations.items():
            for name, stored in evaluations[piece.key]["metrics"].items():
                add(cell, attack, where, name, Value(*stored), piece.key)
    for attack, where, metric, cell, found, key in _derived(plan, spec, store, evaluations):
        add(cell, attack, where, metric, found, key)
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["arm", *axes, "epsilon", "repeat", "attack", "metric"], kind="stable", ignore_index=True)


def _derived(
    plan: Plan, spec: Spec, store: Store, evaluations: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, Place, str, Cell, Value, str]]:
    """Measurements of more than one model: relative to the model without noise, and over runs on the same members."""

    def own(cell: Cell) -> dict[str, Value]:
        return {name: Value(*stored) for name, stored in evaluations[cell.model.key]["metrics"].items()}

    def but_epsilon(cell: Cell) -> tuple[str, tuple[Any, ...], int]:
        return cell.arm, tuple(_others(cell.place).items()), cell.repeat

    without = {but_epsilon(c): c for c in plan.cells if math.isinf(c.epsilon)}
    for cell in plan.cells:
        baseline = without.get(but_epsilon(cell))
        if baseline is not None:
            for name, found in against_baseline(own(cell), own(baseline)).items():
                yield "", (), name, cell, found, cell.target.key
    assert spec.experiment is not None
    if spec.experiment.redraw != "training":
        return
    groups: dict[Group, list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault(cell.group, []).append(cell)
    for cells in groups.values():
        for name, where in cells[0].evaluations:
            if len(cells) > 1 and isinstance(spec.attacks[name], MembershipAttack):
                keys = [cell.evaluations[name, where].key for cell in cells]
                stored = [store.get("evaluate", key).arrays for key in keys]
                runs = [(arrays["member_scores"], arrays["nonmember_scores"]) for arrays in stored]
                for metric, found in over_runs(runs).items():
                    yield name, where, metric, cells[0], found, keys[0]


def write_parquet(table: pd.DataFrame, target: Path) -> None:
    """Write a table atomically; the same table always gives the same bytes."""
    with atomic_path(target) as temporary:
        table.to_parquet(temporary, index=False, compression="zstd")


def read_table(path: Path) -> pd.DataFrame:
    """Read a Parquet table. Raises HarnessError where it is missing or damaged."""
    if not path.is_file():
        raise HarnessError(f"{path}: no measurements; run `harness run` first")
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError, ArrowException) as error:
        why = str(error).splitlines()[0]
        raise HarnessError(f"{path}: damaged, not a readable Parquet table: {why}; delete it and run again") from None


def read_measurements(path: Path, table: pd.DataFrame | None = None) -> pd.DataFrame:
    """Read a measurement table, or take it as read. Raises HarnessError where it is missing or not one."""
    found = read_table(path) if table is None else table
    missing = [c for c in COLUMNS if c not in found.columns]
    if missing:
        raise HarnessError(f"{path}: not a measurement table: no column {', '.join(missing)}")
    return found
