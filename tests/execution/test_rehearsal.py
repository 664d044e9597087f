"""Thresholds that are learnt in a rehearsal: one more repeat, whose members the adversary knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
import pytest

from harness.arrays import Array
from harness.attacks import ATTACKS, Pool, Target
from harness.attacks.attack import Fitted, ScoringAttack, by_rule, table_metrics
from harness.attacks.lira import Lira
from harness.attacks.target import AttackResult
from harness.attacks.threshold import decide_from
from harness.errors import HarnessError
from harness.execution.plan import complete_repeats, faults_of_models, sort_pieces, trained_repeats
from harness.execution.planner import make_plan
from harness.execution.store import Store
from harness.execution.table import read_table
from harness.metrics import Answers
from harness.metrics.metric import depends_on_decisions, measure_answers, metrics_of
from harness.paths import Project
from harness.spec.load import load_specs
from tests.attacks.test_pooled import pool_and_target
from tests.conftest import SMALL_SPEC, run_cli

BOTH = SMALL_SPEC.replace(
    "  logloss: {kind: logloss}\n",
    "  logloss: {kind: logloss}\n"
    "  rehearsed: {kind: logloss, threshold_from: rehearsal}\n"
    "  undecided: {kind: logloss, threshold_from: none}\n"
    "  shokri: {kind: shokri, epochs: 2}\n"
    "  shokri-rehearsed: {kind: shokri, epochs: 2, threshold_from: rehearsal}\n",
).replace("  repeats: 2\n", "  repeats: 2\n  pools: {shadows: {count: 1}}\n")
PAIRS = {"rehearsed": "logloss", "shokri-rehearsed": "shokri"}
OF_DECISIONS = {"advantage", "tpr", "fpr", "attack_accuracy"}
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
        for rehearsed, ruled in PAIRS.items():
            at = cell.arm, cell.epsilon, cell.repeat
            for metric in OF_SCORES:
                assert values[(*at, rehearsed, metric)] == pytest.approx(values[(*at, ruled, metric)], abs=1e-6)
            piece = cell.evaluations[rehearsed, ()]
            (rehearsal,) = [need for need in piece.needs if need.kind == "evaluate"]
            # Another model on a draw of its own, that no row is of.
            assert rehearsal.root not in {c.split for c in plan.cells}
            assert rehearsal.key not in set(table["cell"])
            own, earlier = (store.get("evaluate", p.key).arrays for p in (piece, rehearsal))
            expected = _advantage_at(_best_of(earlier), own)
            assert values[(*at, rehearsed, "advantage")] == pytest.approx(expected, abs=1e-12)
            assert values[(*at, rehearsed, "attack_accuracy")] == pytest.approx((1 + expected) / 2, abs=1e-12)
            differs += values[(*at, rehearsed, "advantage")] != values[(*at, ruled, "advantage")]
    assert differs > len(plan.cells)
    # Without a threshold the same evaluation has fewer rows, and these are of scores.
    assert all(cell.evaluations["undecided", ()] == cell.evaluations["logloss", ()] for cell in plan.cells)
    both = table[table["attack"].isin(["logloss", "undecided"])]
    of_rule, undecided = (both[both["attack"] == name].reset_index(drop=True) for name in ("logloss", "undecided"))
    assert not set(undecided["metric"]) & OF_DECISIONS
    left = of_rule[~of_rule["metric"].isin(OF_DECISIONS)].reset_index(drop=True)
    pd.testing.assert_frame_equal(undecided.drop(columns="attack"), left.drop(columns="attack"))
    assert len(left) < len(of_rule)


def test_a_claim_cannot_ask_for_decisions_of_an_attack_that_makes_none(make_project: Callable[..., Project]) -> None:
    asked = SMALL_SPEC.replace("{kind: logloss}", "{kind: logloss, threshold_from: none}")
    project = make_project(asked)
    done = run_cli(project.root, "validate")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "specs/own/cancer.yaml:" in line
    assert "advantage depends on decisions, and the attack 'logloss' makes no decisions (threshold_from: none)" in line


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ("{kind: logloss, threshold_from: {axis: t, values: [rule, none]}}", "declare a second attack for it"),
        ("{kind: logloss, threshold_from: {axis: t, values: [none, rule]}}", "the attack 'logloss' makes no decisions"),
    ],
)
def test_an_attack_has_no_threshold_at_all_places_or_at_none(
    changed: str, says: str, make_project: Callable[..., Project]
) -> None:
    done = run_cli(make_project(SMALL_SPEC.replace("{kind: logloss}", changed)).root, "validate")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert says in done.stderr


@pytest.mark.parametrize("attacks", ["attacks: [undecided], ", ""])
def test_a_figure_cannot_draw_decisions_that_no_attack_makes(
    attacks: str, make_project: Callable[..., Project]
) -> None:
    figure = f"figure:\n  - {{title: Leakage, metrics: [advantage], {attacks}arms: [iid]}}\n"
    project = make_project(BOTH + figure)
    done = run_cli(project.root, "validate")
    if attacks:
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "figure 'Leakage': advantage depends on decisions" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_resolved_files_say_which_attacks_make_no_decisions(make_project: Callable[..., Project]) -> None:
    project = make_project(BOTH)
    done = run_cli(project.root, "resolve", "-p", "full")
    assert done.returncode == 0, done.stderr
    (path,) = project.root.glob("models/full/resolved/own/cancer/attacks.json")
    assert json.loads(path.read_text(encoding="utf-8"))["without_threshold"] == ["undecided"]


@pytest.mark.parametrize("name", metrics_of("attack"))
def test_what_a_metric_says_of_decisions_is_so(name: str) -> None:
    """Other decisions on the same scores change it, or not; other scores with the same decisions change the others."""
    rng = np.random.default_rng(4)
    inside, outside = (rng.normal(shift, 1, 400) for shift in (1.0, 0.0))
    one = measure_answers(Answers(inside, outside, inside > 0.5, outside > 0.5))[name]
    other = measure_answers(Answers(inside, outside, inside > 1, outside > 1))[name]
    assert (one != other) == depends_on_decisions(name)
    fresh = measure_answers(Answers(rng.permuted(inside) / 2, outside, inside > 0.5, outside > 0.5))[name]
    if depends_on_decisions(name):
        assert fresh == one


def _best_of(arrays: Fitted) -> float:
    """The threshold with the largest advantage, by trying all; of several, the highest."""
    candidates = np.unique(np.concatenate([arrays["member_scores"], arrays["nonmember_scores"]]))
    gains = np.array([_advantage_at(threshold, arrays) for threshold in candidates])
    return float(candidates[np.flatnonzero(gains >= gains.max() - 1e-12)[-1]])


def _advantage_at(threshold: float, arrays: Fitted) -> float:
    return float((arrays["member_scores"] >= threshold).mean() - (arrays["nonmember_scores"] >= threshold).mean())


def test_one_more_target_serves_all_repeats_of_a_place_and_draws_for_itself(
    make_project: Callable[..., Project],
) -> None:
    project = make_project(BOTH)
    plan = make_plan(project, load_specs(project, [])[0].spec)
    targets: dict[object, set[str]] = {}
    repeats = {cell.target.seed for cell in plan.cells} | {cell.split.seed for cell in plan.cells}
    for cell in plan.cells:
        for rehearsed, ruled in PAIRS.items():
            one, other = cell.evaluations[rehearsed, ()], cell.evaluations[ruled, ()]
            assert one.seed == other.seed
            assert one.work != other.work
            (rehearsal,) = [need for need in one.needs if need.kind == "evaluate"]
            target = rehearsal.needs[0]
            targets.setdefault((cell.group, rehearsed), set()).add(target.key)
            assert not {target.seed, rehearsal.root.seed} & repeats
            assert {k: v for k, v in target.description.items() if k != "repeat"} == {
                k: v for k, v in cell.target.description.items() if k != "repeat"
            }
            # The attack is rehearsed as it was fitted for this repeat.
            fits = [[need for need in piece.needs if need.kind == "fit"] for piece in (one, other, rehearsal)]
            assert fits[0] == fits[1] == fits[2]
            assert len(fits[0]) == (ruled == "shokri")
    assert len(targets) == 2 * 6
    assert all(len(keys) == 1 for keys in targets.values())


def test_a_plan_computes_a_rehearsal_before_what_needs_it(make_project: Callable[..., Project]) -> None:
    project = make_project(BOTH)
    pieces = make_plan(project, load_specs(project, [])[0].spec).pieces()
    assert sum(need.kind == "evaluate" for piece in pieces for need in piece.needs) == 2 * 12
    order = {piece.key: i for i, piece in enumerate(sort_pieces(reversed(pieces)))}
    assert all(order[need.key] < order[piece.key] for piece in pieces for need in piece.needs)


def test_a_run_in_part_leaves_out_what_is_not_rehearsed_and_nothing_else(make_project: Callable[..., Project]) -> None:
    project = make_project(BOTH)
    done = run_cli(project.root, "run", "--quiet", "-p", "full")
    assert done.returncode == 0, done.stderr
    plan, store = make_plan(project, load_specs(project, [])[0].spec), Store(project.store)
    assert trained_repeats(plan, set()) == complete_repeats(plan, set()) == plan
    assert faults_of_models(plan, store) == []
    rehearsal = next(n for n in plan.cells[0].evaluations["rehearsed", ()].needs if n.kind == "evaluate")
    store.path("train", rehearsal.needs[0].key).unlink()
    assert faults_of_models(plan, store) == [("train", rehearsal.needs[0].key, "is not in the store")]
    for part in (trained_repeats(plan, {rehearsal.needs[0].key}), complete_repeats(plan, {rehearsal.needs[0].key})):
        assert [cell.repeat for cell in part.cells] == [cell.repeat for cell in plan.cells]
        lost = [
            (cell.group, name)
            for cell, whole in zip(part.cells, plan.cells, strict=True)
            for name in whole.evaluations.keys() - cell.evaluations.keys()
        ]
        # Both attacks have their threshold from the same target there.
        assert {group for group, _ in lost} == {plan.cells[0].group}
        assert {name for _, (name, _) in lost} == set(PAIRS)


@pytest.mark.parametrize("kind", [name for name, cls in ATTACKS if issubclass(cls, ScoringAttack)])
def test_every_score_attack_has_the_field_and_keeps_its_name_without_it(kind: str) -> None:
    cls = ATTACKS[kind]
    needed = {"by": "flip", "scale": 0.1} if kind in ("sampling", "lira-queries") else {}
    fields = {k: v for k, v in needed.items() if k in cls.model_fields}
    ruled, rehearsed = cls(**fields), cls(**fields, threshold_from="rehearsal")
    undecided = cls(**fields, threshold_from="none")
    assert isinstance(rehearsed, ScoringAttack)
    assert isinstance(undecided, ScoringAttack)
    assert undecided.content() == ruled.content()
    assert {*undecided.measures} - {*table_metrics(undecided)} == OF_DECISIONS
    assert table_metrics(ruled) == ruled.measures
    assert "threshold_from" not in ruled.content()
    assert rehearsed.content() == {**ruled.content(), "threshold_from": "rehearsal"}
    assert by_rule(rehearsed).content() == ruled.content()


class Scores(ScoringAttack):
    """Scores that are given."""

    kind: Literal["scores"] = "scores"

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        raise NotImplementedError


class Nobody(Target):
    """A target of which nothing is asked."""

    members = nonmembers = property(lambda self: pytest.fail("asked"))  # type: ignore[assignment]

    def features(self) -> tuple[Array, Array]:
        raise NotImplementedError


def test_what_does_not_depend_on_decisions_stays() -> None:
    rng = np.random.default_rng(3)
    inside, outside = (rng.normal(shift, 1, 301).astype(np.float32) for shift in (1.0, 0.0))
    attack = Scores()
    first = attack.pack_answers(Answers(inside, outside, inside > 9, outside > 9))
    own = {**first.metrics, "queries": first.metrics["auc"], "auc": first.metrics["tpr_at_1pct_fpr"]}
    decided = decide_from(attack, 0.5, AttackResult({**first.arrays, "other": inside}, own), Nobody())
    at_half = measure_answers(Answers(inside, outside, inside >= 0.5, outside >= 0.5))
    changed = {"advantage", "tpr", "fpr", "attack_accuracy"}
    assert {name for name in own if decided.metrics[name] != own[name]} == changed
    assert {name: decided.metrics[name] for name in changed} == {name: at_half[name] for name in changed}
    assert decided.metrics["advantage"].value > 0.3 > own["advantage"].value == 0
    assert decided.arrays["other"] is inside
    assert np.unpackbits(decided.arrays["member_decisions"])[:301].sum() == (inside >= 0.5).sum()


def test_an_attack_that_keeps_no_scores_cannot_be_decided_again() -> None:
    with pytest.raises(HarnessError, match="attack scores: threshold_from is rehearsal, and its results keep no"):
        decide_from(Scores(), 0.5, AttackResult({}, {}), Nobody())


def test_an_attack_cannot_have_a_field_of_that_name_for_something_else() -> None:
    other = type("Other", (Scores,), {"__annotations__": {"threshold_from": "str"}, "threshold_from": "own"})
    with pytest.raises(TypeError, match="Other: every attack on scores has threshold_from already"):
        ATTACKS.register(other)
    assert "scores" not in ATTACKS.names()


def test_blocks_are_decided_block_by_block() -> None:
    """A mean over blocks of what each block's decisions are worth, and scores that stay."""
    pool, _ = pool_and_target(np.random.default_rng(8), 10, m=70, n=50)
    target, attack = pool[0], Lira(variance="record", points=30, blocks="all")
    fitted = attack.fit(Pool(pool[2:]), 0)
    measured = attack.measure(target, fitted)
    decided = decide_from(attack, 0.1, measured, target)
    stay = {name for name in measured.metrics if decided.metrics[name] == measured.metrics[name]}
    assert {"auc", "tpr_at_5pct_fpr", "held_out_advantage"} <= stay
    answers = attack.answers(target, fitted)
    places = [at // 30 for at in target.places]
    of_blocks = [
        np.mean(answers.member_scores[places[0] == block].astype(np.float32) >= 0.1)
        - np.mean(answers.nonmember_scores[places[1] == block].astype(np.float32) >= 0.1)
        for block in range(4)
    ]
    assert decided.metrics["advantage"].value == pytest.approx(np.mean(of_blocks), abs=1e-12)


UNIVERSE = """\
paper: own
title: Breast cancer, members by coin
where: a table of one's own
experiment:
  seed: 7
  dataset: {kind: csv, path: cancer.csv, label: target, categorical: [size]}
  preprocessing: {impute: mean-mode, scaling: standard}
  sizes: {members: 200, test: 60}
  arms: {only: {split: {kind: sub-sample, probability: 0.5}}}
  model: {kind: logistic}
  training: {engine: fast, learning_rate: 0.05, batch_size: 20, epochs: 3}
  privacy: {epsilons: [.inf], delta: 1.0e-3}
  pools: {halves: {count: 4, trained_on: halves, privacy: none}}
  repeats: 2
attacks:
  lira: {kind: lira, pool: halves}
  rehearsed: {kind: lira, pool: halves, threshold_from: rehearsal}
claims:
  - id: any
    where: here
    statement: The attack gains something.
    expect: {kind: compare, left: {metric: advantage, attack: rehearsed}, relation: ">", right: {value: 0}, at: [.inf]}
"""


def test_where_a_split_divides_a_universe_a_rehearsal_has_other_members_of_it_and_the_same_pool(
    make_project: Callable[..., Project],
) -> None:
    project = make_project(UNIVERSE)
    done = run_cli(project.root, "run", "--quiet", "-p", "full")
    assert done.returncode == 0, done.stderr
    plan = make_plan(project, load_specs(project, [])[0].spec)
    for cell in plan.cells:
        piece = cell.evaluations["rehearsed", ()]
        (rehearsal,) = [need for need in piece.needs if need.kind == "evaluate"]
        assert rehearsal.root == piece.root
        assert rehearsal.needs[0].needs[0] != cell.split
        assert {n.key for n in rehearsal.needs if n.kind == "fit"} == {n.key for n in piece.needs if n.kind == "fit"}


def test_what_a_threshold_may_come_from_is_said(make_project: Callable[..., Project]) -> None:
    project = make_project(BOTH.replace("threshold_from: rehearsal", "threshold_from: luck", 1))
    done = run_cli(project.root, "plan", "-p", "full")
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "threshold_from" in line
    assert "rehearsal" in line
