"""What a profile may take away or put in place, and that verdicts say so."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.data.datasets.purchase_substitute import PurchaseSubstitute
from harness.errors import HarnessError
from harness.execution.planner import make_plan
from harness.paths import Project
from harness.spec.load import load_spec, load_specs
from harness.spec.profile import Profile, choose, load_params, scale
from harness.verdicts.check import judge_spec
from harness.verdicts.publish import data_of
from tests.conftest import PARAMS, REPO, SMALL_SPEC, run_cli

Make = Callable[..., Project]


def profile(text: str, tmp_path: Path) -> Profile:
    (tmp_path / "params.yaml").write_text(f"profile: own\nprofiles:\n  own: {text}\n")
    return choose(load_params(Project(tmp_path)), None)[1]


def test_a_substitute_takes_the_place_of_a_dataset_and_verdicts_say_so(tmp_path: Path) -> None:
    spec = load_spec(Project(REPO), REPO / "specs/jayaraman2019/lr-purchase100.yaml").spec
    real = scale(spec, "own", profile("{}", tmp_path))
    assert real.spec.experiment is not None
    assert {arm.dataset.kind for arm in real.spec.experiment.arms.values()} == {"purchase100"}
    assert real.substitution is None
    other = scale(spec, "own", profile("{substitute: [purchase100]}", tmp_path))
    assert other.spec.experiment is not None
    assert {arm.dataset for arm in other.spec.experiment.arms.values()} == {PurchaseSubstitute()}
    assert other.substitution is not None
    assert "Purchase-100 is substituted" in other.deviations[0]
    assert {data_of(claim, other)[0] for claim in spec.claims} == {"stand-in"}
    assert {data_of(claim, real) for claim in spec.claims} == {("paper", ())}
    fewer = scale(spec, "own", profile("{substitute: [purchase100], repeats: 2}", tmp_path))
    assert {data_of(claim, fewer)[0] for claim in spec.claims} == {"stand-in"}
    less = scale(spec, "own", profile("{epochs: 2}", tmp_path))
    assert {data_of(claim, less) for claim in spec.claims} == {("smaller", ("epochs 2 of 100",))}


def test_what_has_no_substitute_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        HarnessError,
        match=r"params.yaml:3: .*no substitute for dataset 'adult'; there is one for: ch-mnist, purchase100",
    ):
        profile("{substitute: [adult]}", tmp_path)


def test_the_settings_of_a_paper_replace_the_others(make_project: Make, tmp_path: Path) -> None:
    project = make_project()
    spec = load_specs(project, [])[0].spec
    of_paper = profile("{repeats: 1, epochs: 1, papers: {own: {epsilons: [1, .inf]}}}", tmp_path)
    scaled = scale(spec, "own", of_paper)
    assert scaled.spec.experiment is not None
    assert scaled.spec.experiment.repeats == 2
    assert scaled.spec.experiment.arms["iid"].privacy.epsilons == (1, math.inf)
    assert scaled.reductions == ("epsilons 2 of 3",)
    assert scale(spec, "own", profile("{repeats: 1, papers: {another: {}}}", tmp_path)).reductions == (
        "repeats 1 of 2",
    )


def test_the_settings_of_one_spec_replace_those_of_its_paper(make_project: Make, tmp_path: Path) -> None:
    spec = load_specs(make_project(), [])[0].spec
    both = profile("{papers: {own: {repeats: 1}, own/cancer: {max_repeats: 9}, own/other: {repeats: 1}}}", tmp_path)
    result = scale(spec, "own", both)
    assert (result.spec.experiment and result.spec.experiment.repeats, result.max_repeats) == (2, 9)


def test_a_spec_that_is_not_decided_may_have_none_of_the_profile_s_epsilons(make_project: Make) -> None:
    """Its readings too: nothing of it is looked at."""
    open_choice = "ambiguities:\n  l2: {choice: penalty, field: experiment.model.l2, chosen: 0.0, alternatives: [0.1], why: unsaid}\n"
    project = make_project(SMALL_SPEC + open_choice)
    other = project.specs / "own" / "other.yaml"
    other.write_text(SMALL_SPEC.replace("[1, 10, .inf]", "[0.125]"))
    only_other = PARAMS.replace("full: {}", "full: {decide: [own/other#counts], epsilons: [0.125]}")
    (project.root / "params.yaml").write_text(only_other)
    ran = run_cli(project.root, "judge")
    assert ran.returncode == 0, ran.stderr
    verdicts = json.loads((project.reports / "full" / "own" / "other" / "verdicts.json").read_text())["verdicts"]
    assert [(v["id"], v["verdict"]) for v in verdicts] == [("own/other#counts", "not run")]
    assert not (project.reports / "full" / "own" / "cancer").exists()
    (project.root / "params.yaml").write_text(only_other.replace("decide: [own/other#counts], ", ""))
    ran = run_cli(project.root, "run")
    assert ran.returncode == 2
    assert "own/cancer: profile 'full' keeps no epsilon of the spec's grid" in ran.stderr


ARMS = (
    SMALL_SPEC.replace(
        "    iid: {split: {kind: random}}\n",
        "    iid: {split: {kind: random}}\n    batch: {split: {kind: random}, training: {clipping: batch}}\n"
        "    penalised: {split: {kind: random}, model: {l2: 0.01}}\n",
    )
    .replace("  repeats: 2\n", "  pools: {shadows: {count: 2}}\n  repeats: 2\n  resample: training\n")
    .replace("  logloss: {kind: logloss}\n", "  logloss: {kind: logloss}\n  shokri: {kind: shokri, epochs: 2}\n")
)


def test_arms_train_with_their_own_clipping_and_penalty_and_share_what_they_can(make_project: Make) -> None:
    project = make_project(ARMS)
    spec = load_specs(project, [])[0].spec
    cells = {(c.arm, c.epsilon, c.repeat): c for c in make_plan(project, spec).cells}
    described = {key: cell.target.description for key, cell in cells.items()}
    assert described["batch", 1, 0]["training"]["clipping"] == "batch"
    assert "clipping" not in described["iid", 1, 0]["training"]
    assert described["penalised", 1, 0]["model"]["l2"] == 0.01
    assert described["iid", 1, 0]["model"]["l2"] == 0
    # Without noise nothing is clipped: one model serves both ways to clip, and so do the shadow models.
    assert cells["batch", math.inf, 0].target == cells["iid", math.inf, 0].target
    assert cells["penalised", math.inf, 0].target != cells["iid", math.inf, 0].target

    def fitted(arm: str, epsilon: float, repeat: int) -> str:
        return cells[arm, epsilon, repeat].evaluations["shokri", ()].needs[1].key

    # Shadow and attack models that do not depend on the target's epsilon or accountant are trained once a repeat.
    assert {fitted("iid", e, 0) for e in (1, 10, math.inf)} == {fitted("batch", 1, 0)}
    assert fitted("iid", 1, 0) != fitted("iid", 1, 1)
    # All repeats share the members.
    assert cells["iid", 1, 0].split == cells["iid", 1, 1].split
    assert cells["iid", 1, 0].target != cells["iid", 1, 1].target


def test_batch_clipping_is_flagged_where_a_claim_speaks_of_it(make_project: Make) -> None:
    claim = "left: {metric: advantage, arm: size, attack: logloss}"
    project = make_project(ARMS.replace(claim, claim.replace("size", "batch"), 1))
    loaded = load_specs(project, [])[0]
    verdicts = judge_spec(scale(loaded.spec, "full", Profile()), loaded.sha256, None, "no data")
    flagged = [any("up to twice the clipping norm" in flag for flag in v.rests_on.flags) for v in verdicts]
    assert flagged == [True, False, False]


@pytest.mark.integration
def test_relative_and_joint_metrics_are_measured(make_project: Make) -> None:
    import pandas as pd

    project = make_project(ARMS)
    ran = run_cli(project.root, "run")
    assert ran.returncode == 0, ran.stderr
    table = pd.read_parquet(project.reports / "full" / "own" / "cancer" / "measurements.parquet")
    key = ["arm", "epsilon", "repeat", "metric"]
    values = table[table["attack"] == ""].set_index(key)["value"]
    for arm in ("size", "iid", "batch"):
        for repeat in (0, 1):
            assert values[arm, math.inf, repeat, "accuracy_loss_test"] == 0
            own = values[arm, 1.0, repeat, "accuracy_test"] / values[arm, math.inf, repeat, "accuracy_test"]
            assert values[arm, 1.0, repeat, "accuracy_loss_test"] == pytest.approx(1 - own)
    joint = table[table["metric"] == "exposed_in_every_run_at_5pct_fpr"]
    assert set(joint["attack"]) == {"logloss", "shokri"}
    assert set(joint["repeat"]) == {1}  # of both runs, in the row of the last
    rates = table[table["metric"] == "tpr_at_5pct_fpr"].groupby(["arm", "epsilon", "attack"])["value"].min() * 120
    for row in joint.itertuples():
        assert row.value <= rates[row.arm, row.epsilon, row.attack] + 1e-9


def test_claims_that_need_what_is_not_there_are_named(make_project: Make) -> None:
    loss = SMALL_SPEC.replace(
        "metric: advantage, arm: size, attack: logloss", "metric: accuracy_loss_test, arm: size", 1
    )
    project = make_project(loss.replace("[1, 10, .inf]", "[1, 10]"))
    with pytest.raises(HarnessError, match=r"relative to the model without noise; add .inf to the epsilons"):
        load_specs(project, [])
    exposed = SMALL_SPEC.replace("metric: advantage", "metric: exposed_in_every_run_at_1pct_fpr", 1)
    project = make_project(exposed, where="other")
    with pytest.raises(HarnessError, match=r"over several runs; set experiment.resample to training"):
        load_specs(project, [])
    batch = SMALL_SPEC.replace("iid: {", "iid: {training: {clipping: batch}, ").replace(
        "epochs: 3}", "epochs: 3, sampling: poisson}"
    )
    project = make_project(batch, where="third")
    with pytest.raises(HarnessError, match=r"clipping: batch needs batches of one size"):
        load_specs(project, [])
