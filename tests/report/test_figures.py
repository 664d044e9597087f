"""What the figures draw: every point inside its panel, arms side by side where there is nothing else to vary."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.isotonic import IsotonicRegression

from harness.paths import Project
from harness.report.figures import draw, paint_panel
from harness.report.lines import over_all_outcomes
from harness.report.theme import Hover, spread_labels
from harness.spec.load import load_specs
from harness.spec.model import Spec
from harness.spec.page import Panel
from tests.conftest import REPO


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_specs(Project(REPO), ["jayaraman2019/l2-lr-cifar100"])[0].spec


def measured(spec: Spec, value: float) -> pd.DataFrame:
    assert spec.experiment is not None
    cells = itertools.product(
        spec.experiment.arms, [("", "accuracy_train"), ("", "accuracy_nonmembers"), ("logloss", "advantage")], range(5)
    )
    rows = [
        {
            "arm": arm,
            "attack": attack,
            "metric": metric,
            "repeat": r,
            "epsilon": math.inf,
            "value": value + 0.001 * r,
            "stderr": 0.001,
        }
        for arm, (attack, metric), r in cells
    ]
    return pd.DataFrame(rows)


def test_arms_side_by_side_in_the_order_of_the_spec(spec: Spec) -> None:
    assert spec.experiment is not None
    table = measured(spec, 0.3)
    table.loc[table["arm"] == "l2-1e-5", "value"] += 0.1
    axis = Figure().add_subplot()
    paint_panel(axis, Panel(title="", metrics=("accuracy_train",), x="arm"), spec, table)
    labels = [tick.get_text() for tick in axis.get_xticklabels()]
    assert labels == [arm.label for arm in spec.experiment.arms.values()]
    points = np.asarray(axis.lines[0].get_xydata())
    assert points[:, 0].tolist() == list(range(len(labels)))
    assert points[:, 1] == pytest.approx([0.402 if label == "1e-05" else 0.302 for label in labels])


def test_arms_at_one_place_of_an_attacks_own_axis_with_what_is_printed_of_it() -> None:
    """Of the numbers of queries one is drawn, not the mean over them; an attack without that axis as it is."""
    spec = load_specs(Project(REPO), ["rahimian2021/texas100"])[0].spec
    queried = itertools.product(
        ("victim", "coins"), (("gap", None, 0.6), ("sampling", 10, 0.7), ("sampling", 100, 0.8))
    )
    rows = [
        {"arm": arm, "attack": attack, "metric": "auc", "repeat": r, "epsilon": math.inf, "queries": queries}
        | {"value": value, "stderr": 0.001}
        for arm, (attack, queries, value) in queried
        for r in range(4)
    ]
    at = {"epsilon": math.inf, "queries": 100}
    panel = Panel(title="", metrics=("auc",), attacks=("gap", "sampling"), x="arm", at=at)
    said: dict[str, list[Hover]] = {}
    axis = Figure().add_subplot()
    paint_panel(axis, panel, spec, pd.DataFrame(rows), said)
    heights = {float(v) for line in axis.lines for v in np.asarray(line.get_ydata())}
    assert heights >= {0.6, 0.8, 0.63}
    assert 0.7 not in heights
    texts = [hover.text for hovers in said.values() for hover in hovers]
    assert "the paper prints 0.63 for no defence, sampling attack" in texts
    over = panel.model_copy(update={"x": "queries", "attacks": ("sampling",), "at": {"epsilon": math.inf}})
    paint_panel(axis := Figure().add_subplot(), over, spec, pd.DataFrame(rows), said)
    crosses = [np.asarray(line.get_xydata()).tolist() for line in axis.lines if line.get_marker() == "x"]
    assert crosses == [[[10.0, 0.54], [100.0, 0.63]]]


@pytest.mark.parametrize("x", ["arm", "epsilon"])
def test_no_point_is_cut_off(spec: Spec, x: str) -> None:
    axis = Figure().add_subplot()
    panel = Panel.model_validate({"title": "", "metrics": ["advantage"], "attacks": ["logloss"], "x": x, "top": 0.25})
    paint_panel(axis, panel, spec, measured(spec, 0.6))
    assert axis.get_ylim()[1] > 0.604
    paint_panel(axis, panel, spec, measured(spec, 0.1))
    assert axis.get_ylim()[1] == 0.25
    paint_panel(axis := Figure().add_subplot(), panel, spec, measured(spec, -0.3))
    assert axis.get_ylim()[0] < -0.298


def test_the_same_data_give_the_same_bytes(spec: Spec) -> None:
    one, two = draw(spec, measured(spec, 0.3)), draw(spec, measured(spec, 0.3))
    assert one == two
    assert len(one) == len(spec.figure)
    assert all(re.search(r'role="img" aria-label="Section 4.1', svg) for svg in one)


def test_a_point_says_its_value_and_colours_are_the_pages(spec: Spec) -> None:
    svg = draw(spec, measured(spec, 0.3))[0]
    titles = re.findall(r"<use [^>]*><title>([^<]*)</title>", svg)
    assert len(titles) == 2 * len(spec.experiment.arms if spec.experiment else ())
    assert "1e-05, train: 0.302 (0.3 to 0.304)" in titles
    assert not re.search(r"#(?!f)[0-9a-f]{6}", svg), "a colour that a dark page would not change"
    assert "var(--c0)" in svg
    ElementTree.fromstring(svg)


@given(st.lists(st.floats(0, 1), max_size=9), st.floats(0.001, 0.2))
def test_labels_are_apart_in_order_and_moved_no_further_than_needed(heights: list[float], gap: float) -> None:
    """The least sum of squared moves with such gaps, against a solver."""
    given_ = sorted(heights)
    found = spread_labels(given_, gap)
    assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(found))
    if given_:
        offsets = gap * np.arange(len(given_))
        best = IsotonicRegression().fit_transform(np.arange(len(given_)), np.array(given_) - offsets) + offsets
        assert found == pytest.approx(best.tolist(), abs=1e-9)


def test_each_outcome_that_a_split_draws_has_its_own_line(spec: Spec) -> None:
    """Two outcomes, 0.2 and 0.8; the curve between them is their mean, though one was drawn three times of five."""
    table = measured(spec, 0.0)
    table = table[table["metric"] == "advantage"].assign(value=lambda t: np.where(t["repeat"] < 3, 0.2, 0.8))
    drawn = [
        table.assign(attack="", metric=m, value=v)
        for m, v in (("count_outcome", (table["repeat"] >= 3).astype(float)), ("count_outcomes", 2.0))
    ]
    axis = Figure().add_subplot()
    panel = Panel(title="", metrics=("advantage",), attacks=("logloss",), arms=("l2-1e-5",), top=0.3)
    paint_panel(axis, panel, spec, pd.concat([table, *drawn], ignore_index=True))
    heights = [float(np.asarray(line.get_ydata())[-1]) for line in axis.lines]
    assert heights == pytest.approx([0.5, 0.2, 0.8])
    assert axis.get_ylim()[1] > 0.8
    assert [line.get_label() for line in axis.lines].count("by what its split drew") == 1
    paint_panel(axis := Figure().add_subplot(), panel, spec, table)
    assert len(axis.lines) == 1


def test_no_mean_where_an_outcome_was_not_drawn_that_others_have(spec: Spec) -> None:
    """At epsilon 1 both outcomes were drawn, without noise one of them: its two repeats are no mean over the split."""
    table = measured(spec, 0.0)
    table = table[(table["metric"] == "advantage") & (table["arm"] == "l2-1e-5")].assign(epsilon=1.0)
    drawn = [
        table.assign(attack="", metric=m, value=v)
        for m, v in (("count_outcome", (table["repeat"] >= 3).astype(float)), ("count_outcomes", 2.0))
    ]
    few = table[table["repeat"] < 2].assign(epsilon=math.inf)
    together = pd.concat([table, few, *drawn], ignore_index=True)
    curve, levels = ("l2-1e-5", "logloss", "advantage"), np.array([1.0, math.inf])
    assert over_all_outcomes(together, curve, levels).tolist() == [True, False]
    assert over_all_outcomes(together[together["epsilon"] == math.inf], curve, levels[1:]).tolist() == [True]
    without = pd.concat([table, few], ignore_index=True)
    assert over_all_outcomes(without, curve, levels).tolist() == [True, True]
