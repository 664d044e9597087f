"""The tidy table of a spec's measurements: one row a number, with its coordinates and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from harness.attacks import MembershipAttack
from harness.errors import HarnessError
from harness.execution.plan import Cell, Plan
from harness.execution.store import Store
from harness.files import atomic_path
from harness.metrics.exposure import exposure
from harness.metrics.membership import Value
from harness.metrics.model import accuracy_loss
from harness.spec.model import Spec

COORDINATES = ["arm", "epsilon", "repeat", "attack", "metric"]
COLUMNS = [
    "spec", "arm", "epsilon", "delta", "accountant", "noise_multiplier", "repeat", "attack", "metric",
    "value", "stderr", "n", "cell",
]  # fmt: skip


def model_table(plan: Plan, spec: Spec, store: Store) -> pd.DataFrame:
    """One row a trained target: coordinates, noise, and the digest of its weights and outputs."""
    records = store.records("train", [cell.target.key for cell in plan.cells])
    rows = [
        {
            "spec": spec.id, "arm": cell.arm, "epsilon": cell.epsilon, "repeat": cell.repeat,
            "noise_multiplier": cell.noise_multiplier, "cell": cell.target.key,
            "outputs_sha256": records[cell.target.key]["arrays_sha256"],
        }
        for cell in plan.cells
    ]  # fmt: skip
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
            "accountant": experiment.accounting_of(cell.arm)[0], "noise_multiplier": cell.noise_multiplier,
            "repeat": cell.repeat, "attack": attack, "metric": metric, "value": float(value),
            "stderr": float(stderr), "n": int(n), "cell": key,
        })  # fmt: skip

    splits = store.records("split", [cell.split.key for cell in plan.cells])
    evaluated = [p.key for cell in plan.cells for p in (cell.model, *cell.evaluations.values())]
    evaluations = store.records("evaluate", evaluated)
    for cell in plan.cells:
        for name, value in splits[cell.split.key]["facts"].items():
            add(cell, "", f"count_{name}", value, 0.0, 1, cell.split.key)
        for attack, piece in {"": cell.model, **cell.evaluations}.items():
            # A model's own metrics are those of its weights: their rows name the trained cell.
            key = piece.key if attack else cell.target.key
            for name, (value, stderr, n) in evaluations[piece.key]["metrics"].items():
                add(cell, attack, name, value, stderr, n, key)
    for attack, metric, cell, found, key in _derived(plan, spec, store, evaluations):
        add(cell, attack, metric, found.value, found.stderr, found.n, key)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.sort_values(COORDINATES, kind="stable", ignore_index=True)


def _derived(
    plan: Plan, spec: Spec, store: Store, evaluations: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, str, Cell, Value, str]]:
    """Measurements of more than one model: relative to the model without noise, and over runs on the same members."""
    without = {(c.arm, c.repeat): c for c in plan.cells if math.isinf(c.epsilon)}
    for cell in plan.cells:
        baseline = without.get((cell.arm, cell.repeat))
        for of in ("test", "nonmembers") if baseline is not None else ():
            assert baseline is not None
            own, base = (Value(*evaluations[c.model.key]["metrics"][f"accuracy_{of}"]) for c in (cell, baseline))
            if base.value > 0:
                yield "", f"accuracy_loss_{of}", cell, accuracy_loss(own, base), cell.target.key
    assert spec.experiment is not None
    if spec.experiment.redraw != "training":
        return
    groups: dict[tuple[str, float], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.arm, cell.epsilon), []).append(cell)
    for cells in groups.values():
        for name, attack in spec.attacks.items():
            if len(cells) > 1 and isinstance(attack, MembershipAttack):
                keys = [cell.evaluations[name].key for cell in cells]
                stored = [store.get("evaluate", key).arrays for key in keys]
                runs = [(arrays["member_scores"], arrays["nonmember_scores"]) for arrays in stored]
                for metric, found in exposure(runs).items():
                    yield name, metric, cells[0], found, keys[0]


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
