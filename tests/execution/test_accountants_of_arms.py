"""Arms that differ in how their noise is accounted for."""

from __future__ import annotations

import json
from collections.abc import Callable

import pandas as pd
import pytest

from harness.errors import HarnessError
from harness.execution.planner import make_plan
from harness.paths import Project
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.spec.load import load_specs
from tests.conftest import SMALL_SPEC, run_cli

Make = Callable[..., Project]
ARMS = SMALL_SPEC.replace(
    "    iid: {split: {kind: random}}\n",
    "    iid: {split: {kind: random}}\n    naive: {privacy: {accountant: naive, sampling: shuffle}, split: {kind: random}}\n",
).replace(
    "  - id: counts\n",
    """\
  - id: naive-leaks-less
    where: here
    statement: For one epsilon, naive composition leaks less.
    expect: {kind: compare, left: {metric: advantage, arm: naive, attack: logloss}, relation: "<=", right: {metric: advantage, arm: iid, attack: logloss}, margin: 0.5}
  - id: naive-held
    where: here
    statement: And it keeps the bound.
    expect: {kind: compare, left: {metric: advantage, arm: naive, attack: logloss}, relation: "<=", right: {formula: humphries}}
  - id: counts
""",
)


def test_each_arm_has_the_noise_of_its_accountant(make_project: Make) -> None:
    project = make_project(ARMS)
    plan = make_plan(project, load_specs(project, [])[0].spec)
    noise = {(c.arm, c.epsilon): c.noise_multiplier for c in plan.cells}
    run = Run(n=120, batch_size=20, epochs=3, delta=1e-3)
    for epsilon in (1.0, 10.0):
        assert noise[("naive", epsilon)] == ACCOUNTANTS["naive"].noise_multiplier(epsilon, run)
        assert noise[("iid", epsilon)] == ACCOUNTANTS["rdp"].calibrate(epsilon, run, "add-remove-one", "poisson")
        assert noise[("naive", epsilon)] > noise[("iid", epsilon)]
    # Without noise both are one model, trained once; splits are shared at every epsilon.
    targets = {(c.arm, c.epsilon, c.repeat): c.target.key for c in plan.cells}
    assert targets[("naive", float("inf"), 0)] == targets[("iid", float("inf"), 0)]
    assert targets[("naive", 1.0, 0)] != targets[("iid", 1.0, 0)]
    assert {c.split.key for c in plan.cells if c.arm == "naive"} == {c.split.key for c in plan.cells if c.arm == "iid"}


def test_verdicts_pair_arms_of_one_split_and_flag_each_accountant(make_project: Make) -> None:
    project = make_project(ARMS)
    assert run_cli(project.root, "run").returncode == 0
    table = pd.read_parquet(project.reports / "full" / "own" / "cancer" / "measurements.parquet")
    assert dict(table.groupby("arm")["accountant"].first()) == {"iid": "rdp", "naive": "naive", "size": "rdp"}
    verdicts = {v["id"].split("#")[1]: v for v in json.loads(run_cli(project.root, "judge", "--json").stdout)}
    rows = table[(table["metric"] == "advantage") & (table["epsilon"] == 1.0)].set_index(["arm", "repeat"])["value"]
    gaps = [rows["naive", r] - rows["iid", r] for r in range(2)]
    point = verdicts["naive-leaks-less"]["numbers"]["points"][0]
    half = 12.7062 * abs(gaps[0] - gaps[1]) / 2  # t of one degree of freedom: paired; unpaired there would be two
    assert point["high"] - point["low"] >= 2 * half * 0.999
    assert any(
        "The accountant rdp assumes batches by Poisson sampling" in flag
        for flag in verdicts["iid-held"]["rests_on"]["flags"]
    )
    assert not any("accountant" in flag for flag in verdicts["naive-held"]["rests_on"]["flags"])
    # RDP's noise as trained is worth more epsilon than it states, naive composition's is not asked.
    assert verdicts["iid-held"]["numbers"]["points"][0]["epsilon_as_trained"] > 1.0
    assert "epsilon_as_trained" not in verdicts["naive-held"]["numbers"]["points"][0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "accountant: naive,",
            "accountant: nave,",
            r"cancer.yaml:\d+: .*accountant: unknown accountant 'nave'; known: advanced",
        ),
        (
            "  privacy: {epsilons",
            "  privacy: {accountant: zcdp, epsilons",
            r"cancer.yaml:\d+: .*'zcdp' is stated for shuffle batches; set sampling so",
        ),
    ],
)
def test_bad_accountants_are_one_line(make_project: Make, old: str, new: str, message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        load_specs(make_project(ARMS.replace(old, new)), [])
