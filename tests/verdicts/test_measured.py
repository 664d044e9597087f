"""What is found of a claim on measurements, by what the judge of its kind finds in them."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from harness.claims.operands import MetricSeries
from harness.claims.verdict import Verdict
from harness.execution.table import read_table
from harness.experiment.experiment import Experiment
from harness.formulas.gaussian import least_shuffled_epsilon
from harness.paths import Project
from harness.spec.load import Loaded, load_spec, load_specs
from harness.spec.profile import Profile, scale
from harness.verdicts.check import judge_spec
from harness.verdicts.evidence import evidence_of
from harness.verdicts.measured import _Parts
from tests.conftest import REPO, SMALL_SPEC

SIDE = "metric: advantage, arm: iid, attack: logloss, chosen: {metric: accuracy_test, at_least: 0.6"
CHOSEN = f"""\
  - id: chosen-anew
    where: here
    statement: At the least epsilon that keeps accuracy.
    expect: {{kind: close, left: {{{SIDE}}}}}, right: {{value: 0.2}}, tolerance: 0.15}}
  - id: chosen-once
    where: here
    statement: At the least epsilon that keeps accuracy on the other split.
    expect: {{kind: close, left: {{{SIDE}, arm: size, repeats: 2}}}}, right: {{value: 0.3}}, tolerance: 0.05}}
  - id: chosen-or-not
    where: here
    statement: At the least epsilon that keeps accuracy, or at epsilon 1.
    expect:
      kind: any-of
      of:
        - {{kind: compare, left: {{{SIDE}}}}}, relation: ">", right: {{value: 0.9}}, at: [1]}}
        - {{kind: compare, left: {{metric: advantage, arm: iid, attack: logloss}}, relation: ">", right: {{value: 0.0}}, at: [1]}}
"""


@pytest.fixture
def loaded(make_project: Any) -> Loaded:
    project: Project = make_project(SMALL_SPEC + CHOSEN)
    return load_spec(project, project.root / "specs" / "own" / "cancer.yaml")


def rows() -> pd.DataFrame:
    """Twelve repeats: advantages of 0.1 and 0.3; of `iid` every third keeps accuracy at epsilon 1, of `size` none."""
    measured = []
    for arm in ("iid", "size"):
        for repeat in range(12):
            for epsilon, advantage in ((1.0, 0.1), (10.0, 0.3)):
                kept = epsilon == 10.0 or (arm == "iid" and repeat % 3 == 0)
                noise = 0.01 * (-1.0) ** repeat
                measured.append((arm, "logloss", "advantage", epsilon, repeat, advantage + noise))
                measured.append((arm, "", "accuracy_test", epsilon, repeat, 0.7 if kept else 0.3))
    measured += [("iid", "", f"count_{name}", 1.0, 0, value) for name, value in (("rows", 569), ("members", 120))]
    columns = ["arm", "attack", "metric", "epsilon", "repeat", "value"]
    return pd.DataFrame(measured, columns=columns).assign(stderr=0.001, noise_multiplier=1.0)


def judged(loaded: Loaded, table: pd.DataFrame) -> dict[str, Verdict]:
    verdicts = judge_spec(scale(loaded.spec, "full", Profile()), "0" * 64, table)
    return {verdict.id.split("#")[1]: verdict for verdict in verdicts}


def test_a_claim_of_a_chosen_place_says_which_it_was_and_how_often(loaded: Loaded) -> None:
    verdicts = judged(loaded, rows())
    anew, once = verdicts["chosen-anew"], verdicts["chosen-once"]
    assert anew.reasons[0].chosen == ("epsilon chosen: 1 in 4, 10 in 8 of 12 repeats",)
    assert [point.chosen for point in anew.numbers.points] == [{"epsilon": (1.0, 10.0)}]
    assert once.reasons[0].chosen == ("epsilon chosen by size: 10",)
    assert [point.chosen for point in once.numbers.points] == [{"epsilon": (10.0,)}]
    assert verdicts["chosen-or-not"].reasons[0].chosen == anew.reasons[0].chosen
    assert verdicts["counts"].reasons[0].chosen == ()


def test_a_claim_whose_place_cannot_be_chosen_is_open_and_says_so(loaded: Loaded) -> None:
    table = rows()
    table.loc[table["metric"] == "accuracy_test", "value"] = 0.3
    verdict = judged(loaded, table)["chosen-anew"]
    assert (verdict.verdict, verdict.numbers.points) == ("inconclusive", ())
    assert verdict.reason.startswith("no epsilon can be chosen: accuracy_test(iid) is at least 0.6 at none of 1, 10")
    assert verdict.reasons[0].chosen == ()


@pytest.mark.parametrize("without", [(), ("size",), ("size", "iid")])
def test_accuracy_loss_needs_the_model_without_noise_in_each_of_its_arms(make_project: Any, without: Any) -> None:
    text = SMALL_SPEC + (
        "  - {id: loss, where: here, statement: Both lose, expect: {kind: compare, left: {metric: accuracy_loss_test, "
        'arm: size}, relation: ">=", right: {arm: iid}, margin: -1, at: [1]}}\n'
    )
    project: Project = make_project(text)
    loaded = load_spec(project, project.root / "specs" / "own" / "cancer.yaml")
    spec = loaded.spec
    assert spec.own_experiment is not None
    arms = {
        name: setup.model_copy(update={"privacy": setup.privacy.model_copy(update={"epsilons": (1.0, 10.0)})})
        if name in without
        else setup
        for name, setup in spec.own_experiment.arms.items()
    }
    experiment = spec.own_experiment.model_copy(update={"arms": arms})
    spec = spec.model_copy(update={"experiment": experiment})
    assert [math.inf in spec.own_experiment.levels(arm)["epsilon"] for arm in arms] == [a not in without for a in arms]
    losses = rows().query("metric == 'accuracy_test'").assign(metric="accuracy_loss_test", value=0.1)
    table = pd.concat([rows(), losses], ignore_index=True)
    (verdict,) = [v for v in judge_spec(scale(spec, "full", Profile()), "", table) if v.id.endswith("#loss")]
    assert verdict.verdict == ("not run" if without else "reproduced")
    if without:
        assert "the profile leaves out the model without noise" in verdict.reason


@pytest.mark.parametrize(("level", "verdict"), [("", "reproduced"), ("level: 1.0e-30\n", "inconclusive")])
def test_a_spec_of_many_claims_may_ask_for_a_level_of_its_own(make_project: Any, level: str, verdict: str) -> None:
    """Twelve repeats at 0.1 with a spread of 0.01, against a bound of 0.46: beyond doubt, but not beyond 1e-30."""
    project: Project = make_project(level + SMALL_SPEC)
    loaded = load_spec(project, project.root / "specs" / "own" / "cancer.yaml")
    table = rows().query("epsilon == 1.0")
    one = next(v for v in judge_spec(scale(loaded.spec, "full", Profile()), "", table) if v.id.endswith("iid-held"))
    assert one.numbers.alpha == (1e-30 if level else 0.05)
    assert one.verdict == verdict


def test_batches_are_counted_at_each_place_where_an_axis_varies_how_many_records_are_trained_on() -> None:
    """thudi2022's p is the share of 3,000 candidate records that are members, and batches have 200."""
    project = Project(REPO)
    (fig4,) = load_specs(project, ["thudi2022/fig4-mnist"])
    experiment = fig4.spec.own_experiment
    assert experiment is not None
    arm = experiment.arms["linear"]
    size, candidates = arm.training.batch_size, arm.sizes.members
    table = read_table(project.reports / "sequential" / fig4.spec.id / "measurements.parquet")
    curve = MetricSeries("best_precision", "linear", "lira")
    seen = set()
    for p in (0.1, 0.5, 0.9):
        evidence, where = evidence_of(fig4.spec, table), {"epsilon": 1.0, "p": p}
        sigma = table[(table["p"] == p) & (table["epsilon"] == 1.0)]["noise_multiplier"].iloc[0]
        batches, share = round(p * candidates) // size, round(p * candidates) // size * size / round(p * candidates)
        result = evidence.epsilon_as_trained(curve, where, replace=False)
        assert result is not None
        least = least_shuffled_epsilon(sigma, batches, arm.training.epochs, arm.privacy.delta, False, share)
        assert result[0] == pytest.approx(least)
        assert 0 < result[0] < result[1]
        seen.add(batches)
    assert len(seen) == 3


def test_nothing_is_known_from_below_where_coins_say_how_many_records_are_trained_on() -> None:
    project = Project(REPO)
    (fig4,) = load_specs(project, ["thudi2022/fig4-mnist"])
    table = read_table(project.reports / "sequential" / fig4.spec.id / "measurements.parquet")
    curve, where = MetricSeries("best_precision", "linear", "lira"), {"epsilon": 1.0, "p": 0.5}
    by_coins = fig4.spec.model_copy(update={"experiment": with_coins(fig4.spec.own_experiment)})
    result = evidence_of(by_coins, table).epsilon_as_trained(curve, where, replace=False)
    assert result is not None
    assert result[0] == 0 < result[1]


def with_coins(experiment: Experiment | None) -> Experiment:
    """The same experiment whose records are members by a coin each."""
    assert experiment is not None
    arms = {
        name: arm.model_copy(update={"split": arm.split.model_copy(update={"drawn": "coins"})})
        for name, arm in experiment.arms.items()
    }
    return experiment.model_copy(update={"arms": arms})


def test_a_fault_in_one_part_is_no_end_of_the_parts() -> None:
    def part(index: int) -> Any:
        return [][index]

    with pytest.raises(IndexError):
        list(_Parts(part, 2))
