"""Attacks on labels and defences from a spec to its table, on a real table."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
from collections.abc import Callable

import pandas as pd
import pytest

from harness.claims.verdict import Verdict
from harness.coordinates import place
from harness.errors import HarnessError
from harness.paths import Project
from harness.report.anchors import mark, marks_of
from harness.report.prose import sentence
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
    done = run_cli(project.root, "run", "--quiet", "-p", "full", MLFLOW_TRACKING_URI="")
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
    with pytest.raises(HarnessError) as result:
        load_specs(make_project(SPEC.replace(was, now)), ["own/cancer"])
    assert message in str(result.value)
    assert str(result.value).count("\n") == 0


CHOSEN = {
    "    coins: {defence: {kind: randomized-response}}\n": (
        "    private: {privacy: {epsilons: [2, 400, .inf]}}\n"
        "    shadow: {split: {swap_roles: true}, privacy: {epsilons: [2, 400, .inf]}}\n"
    ),
    "repeats: 2\n": "repeats: 3\n",
    "    statement: Of labels alone, posteriors tell nothing.\n": (
        "    statement: With noise that a shadow model of half the accuracy can bear, the sampling attack is at chance.\n"
    ),
    "left: {metric: auc, arm: argmax, attack: lrn-free}, right: {value: 0.5}, tolerance: 0.001, at: [.inf]": (
        "left: {metric: auc, arm: private, attack: sampling, chosen: {metric: accuracy_loss_nonmembers, at_most: 0.5, "
        "arm: shadow, repeats: 2}}, right: {value: 0.5}, tolerance: 0.2, at: {queries: [20]}"
    ),
}


def chosen_spec() -> str:
    text = SPEC
    for was, now in CHOSEN.items():
        assert was in text
        text = text.replace(was, now)
    return text


def test_attacks_are_asked_for_where_a_claim_or_a_figure_speaks_of_them(make_project: Callable[..., Project]) -> None:
    every = ("lrn", "lrn-free", "gap", "sampling")
    (plain,) = load_specs(make_project(SPEC), [])
    assert plain.spec.attacks_asked == {
        "plain": every,
        "argmax": ("lrn", "lrn-free", "gap", "sampling"),
        "coins": every,
    }
    text = (
        chosen_spec()
        + "figure:\n  - {title: Gap, metrics: [auc], attacks: [gap], arms: [private], at: {epsilon: .inf}}\n"
    )
    (drawn,) = load_specs(make_project(text), [])
    assert drawn.spec.attacks_asked == {"plain": every, "argmax": every, "private": every, "shadow": ()}
    everywhere = text.replace("attacks: [gap], arms: [private]", "attacks: [gap]")
    (drawn,) = load_specs(make_project(everywhere), [])
    assert drawn.spec.attacks_asked["shadow"] == ("lrn", "lrn-free", "gap")
    of_models = text.replace("metrics: [auc], attacks: [gap], arms: [private]", "metrics: [accuracy_test]")
    (drawn,) = load_specs(make_project(of_models), [])
    assert drawn.spec.attacks_asked["shadow"] == ()


def test_noise_is_chosen_on_shadow_models_that_nothing_attacks(make_project: Callable[..., Project]) -> None:
    """Until it is decided, an arm of which a claim wants the models alone is not attacked."""
    project = make_project(chosen_spec())
    (project.root / "params.yaml").write_text("profile: until\nprofiles:\n  until: {design: sequential}\n")
    done = run_cli(project.root, "run", "--quiet")
    assert done.returncode in (0, 1), done.stderr
    reports = project.root / "reports" / "until" / "own" / "cancer"
    table = pd.read_parquet(reports / "measurements.parquet")
    assert {*table.loc[table["arm"] == "shadow", "attack"]} == {""}
    assert {*table.loc[table["arm"] == "private", "attack"]} == {"", "lrn", "lrn-free", "gap", "sampling"}
    lost = table[(table["arm"] == "shadow") & (table["metric"] == "accuracy_loss_nonmembers") & (table["repeat"] < 2)]
    by_epsilon = lost.groupby("epsilon")["value"].mean()
    chosen = by_epsilon.index[by_epsilon <= 0.5].min()
    (verdict,) = json.loads((reports / "verdicts.json").read_text())["verdicts"]
    assert f"epsilon chosen by shadow: {chosen:g}" in verdict["reason"]
    levels = (2.0, 400.0, math.inf)
    marks = {mark("private", "sampling", "auc", place({"epsilon": e, "queries": 20})) for e in levels}
    (loaded,) = load_specs(project, [])
    assert marks <= set(marks_of(Verdict.model_validate(verdict), loaded.spec))
    assert verdict["numbers"]["points"][0]["chosen"] == {"epsilon": [chosen]}
    text = sentence(Verdict.model_validate(verdict), loaded.spec)
    assert f"the chosen ε = {chosen:g}, the" in text
    assert "without noise" not in text.lower()
    assert "The chosen ε is the least at which the accuracy loss on non-members (sh" in text
    spec = project.root / "specs" / "own" / "cancer.yaml"
    spec.write_text(spec.read_text().replace("at_most: 0.5", "at_most: -2"))
    done = run_cli(project.root, "judge", "--quiet")
    (verdict,) = json.loads((reports / "verdicts.json").read_text())["verdicts"]
    assert done.returncode == 0
    assert verdict["verdict"] == "inconclusive"
    assert verdict["reason"].startswith(
        "no epsilon can be chosen: accuracy_loss_nonmembers(shadow) is at most -2 at none of 2, 400 (nearest: "
    )
