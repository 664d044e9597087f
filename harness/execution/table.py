"""The tidy table of a spec's measurements: one row a number, with its coordinates and its uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from harness.errors import HarnessError
from harness.execution.attack_cell import model_metrics
from harness.execution.plan import Cell, Plan
from harness.execution.store import Store
from harness.files import atomic_path
from harness.spec.model import Spec

COORDINATES = ["arm", "epsilon", "repeat", "attack", "metric"]
COLUMNS = [
    "spec", "arm", "epsilon", "delta", "accountant", "noise_multiplier", "repeat", "attack", "metric",
    "value", "stderr", "n", "cell",
]  # fmt: skip


def model_table(plan: Plan, spec: Spec, store: Store) -> pd.DataFrame:
    """One row a trained target: coordinates, noise, weights' digest, the model's own metrics."""
    rows = []
    for cell in plan.cells:
        result = store.get("train", cell.target.key)
        metrics = {name: v.value for name, v in model_metrics(result).items()}
        rows.append({
            "spec": spec.id, "arm": cell.arm, "epsilon": cell.epsilon, "repeat": cell.repeat,
            "noise_multiplier": cell.noise_multiplier, "cell": cell.target.key,
            "outputs_sha256": result.digest, **metrics,
        })  # fmt: skip
    return pd.DataFrame(rows)


def measurement_table(plan: Plan, spec: Spec, store: Store) -> pd.DataFrame:
    """All measurements of a finished plan, sorted by coordinates. `attack` is empty for a model's own metrics."""
    rows: list[dict[str, Any]] = []
    experiment = spec.experiment
    if experiment is None:
        return pd.DataFrame(columns=COLUMNS)

    def add(cell: Cell, attack: str, metric: str, value: float, stderr: float, n: int, key: str) -> None:
        rows.append({
            "spec": spec.id, "arm": cell.arm, "epsilon": cell.epsilon, "delta": experiment.privacy.delta,
            "accountant": experiment.privacy.accountant, "noise_multiplier": cell.noise_multiplier,
            "repeat": cell.repeat, "attack": attack, "metric": metric, "value": float(value),
            "stderr": float(stderr), "n": int(n), "cell": key,
        })  # fmt: skip

    for cell in plan.cells:
        facts = store.get("split", cell.split.key).meta["facts"]
        for name, value in facts.items():
            add(cell, "", f"count_{name}", value, 0.0, 1, cell.split.key)
        for name, v in model_metrics(store.get("train", cell.target.key)).items():
            add(cell, "", name, v.value, v.stderr, v.n, cell.target.key)
        for attack, piece in cell.evaluations.items():
            for name, (value, stderr, n) in store.get("evaluate", piece.key).meta["metrics"].items():
                add(cell, attack, name, value, stderr, n, piece.key)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.sort_values(COORDINATES, kind="stable", ignore_index=True)


def write_parquet(table: pd.DataFrame, target: Path) -> None:
    """Write a table atomically; the same table always gives the same bytes."""
    with atomic_path(target) as temporary:
        table.to_parquet(temporary, index=False, compression="zstd")


def read_measurements(path: Path) -> pd.DataFrame:
    """Read a measurement table. Raises HarnessError where it is missing or not one."""
    if not path.is_file():
        raise HarnessError(f"{path}: no measurements; run `harness run` first")
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise HarnessError(f"{path}: not a readable Parquet table: {error}") from None
    missing = [c for c in COLUMNS if c not in table.columns]
    if missing:
        raise HarnessError(f"{path}: not a measurement table: no column {', '.join(missing)}")
    return table
