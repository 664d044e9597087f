"""Thresholds that are learnt in a rehearsal: one more repeat, whose members the adversary knows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.attacks import ATTACKS, Target
from harness.attacks.attack import AttackResult, Fitted, ScoringAttack
from harness.execution.planner import make_plan
from harness.execution.store import Store
from harness.execution.table import read_table
from harness.metrics import Answers
from harness.metrics.metric import measure_answers
from harness.paths import Project
from harness.spec.load import load_specs
from tests.conftest import SMALL_SPEC, run_cli

BOTH = SMALL_SPEC.replace(
    "  logloss: {kind: logloss}\n",
    "  logloss: {kind: logloss}\n"
    "  rehearsed: {kind: logloss, threshold_from: rehearsal}\n"
    "  shokri: {kind: shokri, epochs: 2}\n"
    "  shokri-rehearsed: {kind: shokri, epochs: 2, threshold_from: rehearsal}\n",
).replace("  repeats: 2\n", "  repeats: 2\n  pools: {shadows: {count: 1}}\n")
PAIRS = {"rehearsed": "logloss", "shokri-rehearsed": "shokri"}
OF_SCORES = ("auc", "tpr_at_5pct_fpr", "best_attack_accuracy", "held_out_advantage")


@pytest.mark.parametrize("resample", ["split", "training"])
def test_a_rehearsal_gives_the_threshold_and_changes_no_score(
    resample: str, make_project: Callable[..., Project]
) -> None:
    project = make_project(BOTH.replace("  repeats: 2\n", f"  repeats: 2\n  resample: {resample}\n"))
    done = run_cli(project.root, "run", "--quiet", "-p", "full")
    assert done.returncode == 0, done.stderr
    table = read_table(project.root / "reports" / "full" / "own" / "cancer" / "measurements.parquet")
    by = ["arm", "epsilon", "repeat", "attack", "metric"]
    values = table.set_index(by)["value"].sort_index()
    spec, store = load_specs(project, [])[0].spec, Store(project.store)
    plan = make_plan(project, spec)
    differs = 0
    for cell in plan.cells:
        for rehearsed, by_rule in PAIRS.items():
            at = cell.arm, cell.epsilon, cell.repeat
            for metric in OF_SCORES:
                assert values[(*at, rehearsed, metric)] == pytest.approx(values[(*at, by_rule, metric)], abs=1e-6)
            piece = cell.evaluations[rehearsed, ()]
            (rehearsal,) = [need for need in piece.needs if need.kind == "evaluate"]
            # Another model on other records, that no row is of.
            assert rehearsal.root not in {c.split for c in plan.cells}
            assert rehearsal.key not in set(table["cell"])
            own, earlier = (store.get("evaluate", p.key).arrays for p in (piece, rehearsal))
            expected = _advantage_at(_best_of(earlier), own)
            assert values[(*at, rehearsed, "advantage")] == pytest.approx(expected, abs=1e-12)
            assert values[(*at, rehearsed, "attack_accuracy")] == pytest.approx((1 + expected) / 2, abs=1e-12)
            differs += values[(*at, rehearsed, "advantage")] != values[(*at, by_rule, "advantage")]
    assert differs > len(plan.cells)


def _best_of(arrays: Fitted) -> float:
    """The threshold with the largest advantage, by trying all; of several, the highest."""
    candidates = np.unique(np.concatenate([arrays["member_scores"], arrays["nonmember_scores"]]))
    gains = np.array([_advantage_at(threshold, arrays) for threshold in candidates])
    return float(candidates[np.flatnonzero(gains >= gains.max() - 1e-12)[-1]])


def _advantage_at(threshold: float, arrays: Fitted) -> float:
    return float((arrays["member_scores"] >= threshold).mean() - (arrays["nonmember_scores"] >= threshold).mean())


def test_one_rehearsal_serves_all_repeats_of_a_place_and_draws_for_itself(make_project: Callable[..., Project]) -> None:
    project = make_project(BOTH)
    plan = make_plan(project, load_specs(project, [])[0].spec)
    rehearsals = {
        (cell.group, name): {need.key for need in piece.needs if need.kind == "evaluate"}
        for cell in plan.cells
        for (name, _), piece in cell.evaluations.items()
        if name in PAIRS
    }
    assert len(rehearsals) == 2 * 6
    assert all(len(keys) == 1 for keys in rehearsals.values())
    for cell in plan.cells:
        for rehearsed, by_rule in PAIRS.items():
            one, other = cell.evaluations[rehearsed, ()], cell.evaluations[by_rule, ()]
            assert one.seed == other.seed
            assert one.work != other.work
            assert [need for need in one.needs if need.kind == "fit"] == [n for n in other.needs if n.kind == "fit"]


def test_a_plan_computes_a_rehearsal_before_what_needs_it(make_project: Callable[..., Project]) -> None:
    project = make_project(BOTH)
    order = {piece.key: i for i, piece in enumerate(make_plan(project, load_specs(project, [])[0].spec).pieces())}
    pieces = make_plan(project, load_specs(project, [])[0].spec).pieces()
    assert all(order[need.key] < order[piece.key] for piece in pieces for need in piece.needs)


@pytest.mark.parametrize("kind", [name for name, cls in ATTACKS if issubclass(cls, ScoringAttack)])
def test_every_score_attack_has_the_field_and_keeps_its_name_without_it(kind: str) -> None:
    cls = ATTACKS[kind]
    needed = {"by": "flip", "scale": 0.1} if kind in ("sampling", "lira-queries") else {}
    fields = {k: v for k, v in needed.items() if k in cls.model_fields}
    by_rule, rehearsed = cls(**fields), cls(**fields, threshold_from="rehearsal")
    assert isinstance(rehearsed, ScoringAttack)
    assert "threshold_from" not in by_rule.content()
    assert rehearsed.content() == {**by_rule.content(), "threshold_from": "rehearsal"}
    assert rehearsed.by_rule().content() == by_rule.content()


def test_what_does_not_depend_on_decisions_stays() -> None:
    class Scores(ScoringAttack):
        kind: str = "scores"

        def measure(self, target: Target, fitted: Fitted) -> AttackResult:
            raise NotImplementedError

    rng = np.random.default_rng(3)
    inside, outside = (rng.normal(shift, 1, 300).astype(np.float32) for shift in (1.0, 0.0))
    attack = Scores()
    first = attack.pack_answers(Answers(inside, outside, inside > 9, outside > 9))
    more = AttackResult({**first.arrays, "other": inside}, {**first.metrics, "queries": first.metrics["auc"]})
    decided = attack.decide_from(0.5, more)
    assert decided.metrics == {
        **measure_answers(Answers(inside, outside, inside >= 0.5, outside >= 0.5)),
        "queries": first.metrics["auc"],
    }
    assert decided.metrics["advantage"].value > 0.3 > more.metrics["advantage"].value == 0
    assert decided.metrics["auc"] == more.metrics["auc"]
    assert decided.arrays["other"] is inside


def test_what_a_threshold_may_come_from_is_said(make_project: Callable[..., Project]) -> None:
    project = make_project(BOTH.replace("threshold_from: rehearsal", "threshold_from: luck", 1))
    done = run_cli(project.root, "plan", "-p", "full")
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "threshold_from" in line
    assert "rehearsal" in line
