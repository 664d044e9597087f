"""Arms as differences, axes where their fields stand: what is run, how it is called, and what an error says."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from harness.errors import HarnessError
from harness.execution.planner import make_plan
from harness.formulas import FORMULAS
from harness.paths import Project
from harness.spec.load import load_spec, load_specs
from tests.conftest import SMALL_SPEC, run_cli

Make = Callable[..., Project]
IID = "    iid: {split: {kind: random}}\n"


def with_arms(arms: str, text: str = SMALL_SPEC) -> str:
    return text.replace(IID, IID + arms)


def arms_of(make: Make, text: str) -> dict[str, object]:
    experiment = load_specs(make(text), [])[0].spec.experiment
    assert experiment is not None
    return dict(experiment.arms)


def test_an_arm_differs_in_any_field(make_project: Make) -> None:
    result = arms_of(
        make_project,
        with_arms(
            "    network: {extends: iid, model: {kind: mlp, hidden: [8]}, sizes: {members: 100}}\n"
            "    longer: {extends: network, label: longer, training: {epochs: 9}, preprocessing: {scaling: min-max}}\n"
            "    fewer: {extends: iid, privacy: {epsilons: [1]}}\n"
        ),
    )
    iid, network, longer, fewer = (result[name] for name in ("iid", "network", "longer", "fewer"))
    assert network.model.plugin_name() == "mlp"  # type: ignore[attr-defined]
    assert (network.sizes.members, network.sizes.test) == (100, 40)  # type: ignore[attr-defined]
    assert longer.training.epochs == 9 != iid.training.epochs  # type: ignore[attr-defined]
    assert longer.model == network.model  # type: ignore[attr-defined]
    assert (longer.label, network.label) == ("longer", None)  # type: ignore[attr-defined]
    assert longer.split == iid.split  # type: ignore[attr-defined]
    assert fewer.privacy.epsilons == (1.0,)  # type: ignore[attr-defined]


def test_a_null_of_the_experiment_is_a_value_and_of_an_arm_takes_away(make_project: Make) -> None:
    text = (
        SMALL_SPEC.replace("epochs: 3}", "epochs: 9, early_stopping: null}")
        .replace(
            "    iid: {split: {kind: random}}\n",
            "    iid: {split: {kind: random}}\n    stops: {extends: iid, training: {early_stopping: {patience: 2}}}\n"
            "    again: {extends: stops, training: {early_stopping: null, l2_norm_clip: null}}\n",
        )
        .replace("epochs: 9,", "epochs: 9, l2_norm_clip: 3.0,")
    )
    arms = load_specs(make_project(text), [])[0].spec.experiment.arms  # type: ignore[union-attr]
    assert [arms[name].training.early_stopping is None for name in ("iid", "stops", "again")] == [True, False, True]
    assert [arms[name].training.l2_norm_clip for name in ("stops", "again")] == [3.0, 1.0]


@pytest.mark.integration
def test_what_arms_share_is_trained_once(make_project: Make) -> None:
    """An arm that differs in nothing that training sees has the same models; a null takes a pool away."""
    project = make_project(with_arms("    again: {extends: iid, label: the same}\n"))
    plan = make_plan(project, load_specs(project, [])[0].spec)
    cells = {(c.arm, c.epsilon, c.repeat): c.target.key for c in plan.cells}
    assert all(cells["iid", e, r] == cells["again", e, r] for e in (1.0, 10.0, math.inf) for r in (0, 1))


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (
            "    x: {split: {kind: random}, training: {batch_size: 500}}\n",
            r"cancer.yaml:12: experiment.arms.x: training.batch_size \(500\) is larger than sizes.members",
        ),
        (
            "    x: {split: {kind: random}, training: {epohcs: 3}}\n",
            r"cancer.yaml:12: experiment.arms.x.training.epohcs: unknown field; did you mean 'epochs'",
        ),
        (
            "    x: {extends: idd}\n",
            r"cancer.yaml:12: experiment.arms.x.extends: no arm 'idd'; there are: size, iid, x",
        ),
        (
            "    x: {extends: y}\n    y: {extends: x}\n",
            r"cancer.yaml:13: experiment.arms.y.extends: a cycle: x -> y -> x",
        ),
        ("    x: {model: {l2: {axis: l2, values: [0, 1]}}}\n", r"cancer.yaml:12: .*an axis is the experiment's"),
        ("    x: {}\n", r"cancer.yaml:12: experiment.arms.x.split: is missing"),
    ],
)
def test_faults_of_an_arm_name_its_line(make_project: Make, arms: str, message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        load_specs(make_project(with_arms(arms)), [])


def test_a_fault_of_all_arms_is_told_once_where_it_stands(make_project: Make) -> None:
    text = SMALL_SPEC.replace("epochs: 3", "epohcs: 3")
    with pytest.raises(HarnessError) as caught:
        load_specs(make_project(text), [])
    assert str(caught.value).count("\n") == 0
    assert "cancer.yaml:13: experiment.training.epohcs: unknown field" in str(caught.value)


AXIS = SMALL_SPEC.replace("learning_rate: 0.05", "learning_rate: {axis: rate, values: [0.05, 0.5]}")


def test_an_axis_varies_a_field_in_every_arm(make_project: Make) -> None:
    project = make_project(AXIS)
    spec = load_specs(project, [])[0].spec
    assert spec.axes == ("rate", "epsilon")
    plan = make_plan(project, spec)
    assert len(plan.cells) == 2 * 2 * 3 * 2
    rates = {dict(c.place)["rate"]: c.target.description["training"]["learning_rate"] for c in plan.cells}
    assert rates == {0.05: 0.05, 0.5: 0.5}
    # A cell is named by what is run, so the axis' first value has the cells of the spec without it.
    single = make_plan(project, load_specs(make_project(where="single"), [])[0].spec)
    keys = {c.target.key for c in plan.cells if dict(c.place)["rate"] == 0.05}
    assert keys == {c.target.key for c in single.cells}


@pytest.mark.integration
def test_axes_are_columns_of_the_measurements_and_claims_speak_of_them(make_project: Make) -> None:
    claim = """\
  - id: faster-learns-more
    where: here
    statement: A larger step learns more.
    expect: {kind: compare, left: {metric: accuracy_train, arm: iid, at: {rate: 0.5}}, relation: ">", right: {at: {rate: 0.05}}, at: [.inf]}
"""
    attack = AXIS.replace("{kind: logloss}", "{kind: attribute-inference, attributes: {axis: count, values: [1, 3]}}")
    attack = attack.split("  - id: biased")[0].replace("  logloss:", "  attribute:") + claim
    project = make_project(attack)
    ran = run_cli(project.root, "run", MLFLOW_TRACKING_URI="")
    assert ran.returncode == 0, ran.stderr
    assert "not logged" not in ran.stderr
    with contextlib.closing(sqlite3.connect(project.root / "mlflow.db")) as store:
        logged = {row[0] for row in store.execute("select name from runs")}
    assert {f"iid eps=∞ rate={rate} repeat=1" for rate in (0.05, 0.5)} <= logged
    table = pd.read_parquet(project.reports / "full/own/cancer/measurements.parquet")
    of_attack = table["attack"] == "attribute"
    assert table.loc[~of_attack, "count"].isna().all()
    assert sorted(table.loc[of_attack, "count"].unique()) == [1, 3]
    assert sorted(table["rate"].unique()) == [0.05, 0.5]
    assert len(table[of_attack & (table["metric"] == "advantage")]) == 2 * 2 * 3 * 2 * 2
    page = (project.reports / "full/site/claims/own-cancer--faster-learns-more.html").read_text()
    assert '<mi mathvariant="normal">accuracy_train</mi><mrow><mo stretchy="false" form="prefix">(</mo>' in page
    assert '<mi mathvariant="normal">rate</mi><mo>=</mo><mn>0.05</mn>' in page


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.05, 0.5]", "[0.05, -1]", r"cancer.yaml:13: experiment.training.learning_rate.values.1: arm 'size': "),
        ("[0.05, 0.5]", "[]", r"cancer.yaml:13: experiment.training.learning_rate: an axis is"),
        ("axis: rate", "axis: repeat", r"an axis cannot be named 'repeat'"),
        ("values: [0.05, 0.5]", "values: [0.05], of: 1", r"unknown field; an axis has axis and values"),
    ],
)
def test_faults_of_an_axis_name_its_line(make_project: Make, old: str, new: str, message: str) -> None:
    assert old in AXIS
    with pytest.raises(HarnessError, match=message):
        load_specs(make_project(AXIS.replace(old, new)), [])


@pytest.mark.integration
def test_an_epsilon_may_follow_from_the_value_of_a_formula(make_project: Make) -> None:
    """The epsilons at which Humphries' bound is 0.2 and 0.5: 2 artanh, but for delta."""
    derived = "epsilons: {axis: bound, solve: humphries, equals: [0.2, 0.5]}"
    project = make_project(SMALL_SPEC.replace("epsilons: [1, 10, .inf]", derived))
    spec = load_specs(project, [])[0].spec
    assert spec.axes == ("bound",)
    cells = make_plan(project, spec).cells
    result = {dict(c.place)["bound"]: c.epsilon for c in cells}
    assert result[0.2] == pytest.approx(2 * math.atanh(0.2), abs=5e-3)
    for level, epsilon in result.items():
        assert FORMULAS["humphries"].value({"epsilon": epsilon, "delta": 1e-3}) == pytest.approx(level, abs=1e-9)
    assert run_cli(project.root, "run").returncode == 0
    table = pd.read_parquet(project.reports / "full/own/cancer/measurements.parquet")
    assert sorted(table["bound"].unique()) == [0.2, 0.5]
    with pytest.raises(HarnessError, match="humphries is 2 at no epsilon"):
        list(
            load_specs(
                make_project(SMALL_SPEC.replace("epsilons: [1, 10, .inf]", derived.replace("0.5", "2")), where="b"), []
            )[0].spec.experiment.variants()
        )  # type: ignore[union-attr]


HOSTILE = {
    "aliases": "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 10)}]\n" for i in range(8)),
    "nested more than": "a: " + "[" * 5000 + "]" * 5000 + "\n",
}


@pytest.mark.parametrize("what", sorted(HOSTILE))
def test_a_hostile_file_is_one_clear_line_at_once(make_project: Make, what: str) -> None:
    import time

    project = make_project(HOSTILE[what])
    started = time.perf_counter()
    with pytest.raises(HarnessError, match=what) as caught:
        load_spec(project, project.specs / "own" / "cancer.yaml")
    assert time.perf_counter() - started < 5  # they hung, or ended in a traceback
    assert "cancer.yaml:" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        ("arms: [iidd]", "figure 't': unknown arm 'iidd'; did you mean 'iid'"),
        ("attacks: [shokri]", "unknown attack 'shokri'; known: logloss"),
        ("formulas: [humphrys]", "unknown formula 'humphrys'; did you mean 'humphries'"),
        ("x: queries", "unknown horizontal axis 'queries'; known: arm, epsilon"),
    ],
)
def test_a_figure_names_only_what_is_declared(make_project: Make, panel: str, message: str) -> None:
    text = SMALL_SPEC + f"figure:\n  - {{title: t, metrics: [advantage], {panel}}}\n"
    with pytest.raises(HarnessError, match=message):
        load_specs(make_project(text), [])


def test_lists_may_be_given_by_name_and_changed_where_they_are_extended(make_project: Make) -> None:
    project = make_project()
    base: Path = project.specs / "own" / "_base.yaml"
    named = SMALL_SPEC
    for name in ("biased-beats-iid", "iid-held", "counts"):
        named = named.replace(f"  - id: {name}\n", f"  {name}:\n")
    base.write_text(named)
    child = project.specs / "own" / "child.yaml"
    child.write_text(
        "extends: _base.yaml\nclaims:\n  counts: null\n  iid-held: {where: elsewhere}\n"
        "  more:\n    where: here\n    statement: x\n    expect: {kind: count, arm: nope, equals: {rows: 569}}\n"
    )
    with pytest.raises(HarnessError, match=r"child.yaml:8: claims.more.expect: claim 'more': unknown arm 'nope'"):
        load_spec(project, child)
    child.write_text(child.read_text().replace("nope", "iid"))
    spec = load_spec(project, child).spec
    assert [(c.id, c.where) for c in spec.claims] == [
        ("biased-beats-iid", "here"),
        ("iid-held", "elsewhere"),
        ("more", "here"),
    ]
