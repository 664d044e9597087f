"""Attacks on labels and defences from a spec to its table, on a real table."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable

import pandas as pd
import pytest

from harness.errors import HarnessError
from harness.paths import Project
from harness.spec.load import load_specs
from tests.conftest import run_cli

SPEC = """\
paper: own
title: Breast cancer, labels alone
where: a table of one's own
experiment:
  seed: 7
  dataset: {kind: csv, path: cancer.csv, label: target, categorical: [size]}
  preprocessing: {impute: mean-mode, scaling: standard}
  sizes: {members: 140, test: 140, nonmembers: 140}
  split: {kind: quarters}
  arms:
    plain: {}
    argmax: {defence: {kind: argmax}}
    coins: {defence: {kind: randomized-response}}
  model: {kind: mlp, hidden: [32]}
  training: {engine: fast, learning_rate: 0.05, batch_size: 20, epochs: 12, epochs_measured: each, early_stopping: {patience: 2}}
  privacy: {epsilons: [.inf], delta: 1.0e-3}
  pools: {shadows: {count: 1}}
  repeats: 2
attacks:
  lrn: {kind: posterior-network, labels_as: one-hot, epochs: 5}
  lrn-free: {kind: max-posterior, labels_as: one-hot}
  gap: {kind: gap}
  sampling: {kind: sampling, by: gaussian, scale: [0.3, 1], queries: {axis: queries, values: [3, 20]}, fitting_queries: 5}
claims:
  - id: chance
    where: here
    statement: Of labels alone, posteriors tell nothing.
    expect: {kind: close, left: {metric: auc, arm: argmax, attack: lrn-free}, right: {value: 0.5}, tolerance: 0.001, at: [.inf]}
"""


def test_defences_change_what_attacks_see_and_no_model(make_project: Callable[..., Project]) -> None:
    project = make_project(SPEC)
    done = run_cli(project.root, "run", "--quiet", "-p", "full")
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(project.root / "reports" / "full" / "own" / "cancer" / "measurements.parquet")

    def of(arm: str, attack: str, metric: str, **where: float) -> list[float]:
        rows = table[(table["arm"] == arm) & (table["attack"] == attack) & (table["metric"] == metric)]
        for axis, value in where.items():
            rows = rows[rows[axis] == value]
        return list(rows.sort_values("repeat")["value"])

    assert of("argmax", "lrn-free", "auc") == [0.5, 0.5]
    assert of("plain", "lrn-free", "auc") != [0.5, 0.5]
    # One trained model for all arms, and without a coin the same labels whoever is asked.
    assert of("plain", "", "accuracy_test") == of("argmax", "", "accuracy_test") == of("coins", "", "accuracy_test")
    assert len(set(table.loc[table["metric"] == "accuracy_test", "cell"])) == 2
    assert of("plain", "gap", "auc") == of("argmax", "gap", "auc")
    right, wrong = (of("plain", "", f"accuracy_{name}") for name in ("train", "nonmembers"))
    assert of("plain", "gap", "advantage") == pytest.approx([a - b for a, b in zip(right, wrong, strict=True)])
    # What the attack asks is counted, whatever stands in front.
    for arm in ("plain", "argmax", "coins"):
        assert of(arm, "sampling", "queries_per_record", queries=20) == [20, 20]
    assert of("argmax", "sampling", "auc", queries=20) == of("plain", "sampling", "auc", queries=20)
    stable = [of(arm, "sampling", "member_stability", queries=20)[0] for arm in ("argmax", "coins")]
    assert stable[0] - stable[1] > 0.1
    assert all(2 < epochs <= 12 for epochs in of("plain", "", "epochs_trained"))
    assert "not logged" not in done.stderr
    with contextlib.closing(sqlite3.connect(project.root / "mlflow.db")) as store:
        logged = {row[0] for row in store.execute("select key from latest_metrics")}
    assert {"sampling.queries 3.auc", "sampling.queries 20.auc"} <= logged


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        (
            "lrn-free: {kind: max-posterior, labels_as: one-hot}",
            "lrn-free: {kind: max-posterior}",
            "attack 'lrn-free' needs posteriors, and in the arm 'argmax' the defence 'argmax' answers labels alone; "
            "set labels_as: one-hot in the attack, or leave the attack or the arm out",
        ),
        ("gap: {kind: gap}", "gap: {kind: logloss}", "attack 'gap' needs posteriors, and in the arm 'argmax'"),
        (
            "sizes: {members: 140, test: 140",
            "sizes: {members: 140, test: 100",
            "split 'quarters' has parts of one size",
        ),
        ("scale: [0.3, 1]", "scale: [-0.3, 1]", "scale is -0.3"),
        ("patience: 2", "patience: 12", "no training of 12 epochs can end early"),
        ("values: [3, 20]", "values: [0, 20]", "greater than or equal to 1"),
    ],
)
def test_what_does_not_go_together_is_one_clear_line(
    make_project: Callable[..., Project], was: str, now: str, message: str
) -> None:
    assert was in SPEC
    with pytest.raises(HarnessError) as found:
        load_specs(make_project(SPEC.replace(was, now)), ["own/cancer"])
    assert message in str(found.value)
    assert str(found.value).count("\n") == 0
