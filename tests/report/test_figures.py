"""What the figures draw: every point inside its panel, arms side by side where there is nothing else to vary."""

from __future__ import annotations

import io
import itertools
import math
import re
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harness.arrays import Array
from harness.claims.series import means_by_outcome
from harness.paths import Project
from harness.report.canvas import draw_sketches
from harness.report.drawing import csv_text, standalone_svg
from harness.report.figures import draw, paint_group
from harness.report.grouping import groups_of
from harness.report.lines import has_comparable_mean
from harness.report.panels import MOST_SERIES, averages_of, split_series
from harness.report.scales import Range, shown_ticks
from harness.report.sketch import SIZE, Sketch
from harness.spec.load import load_specs
from harness.spec.model import Spec
from harness.spec.page import Panel
from tests.conftest import REPO

SVG = "{http://www.w3.org/2000/svg}"


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


def paint(spec: Spec, table: pd.DataFrame, panel: Panel) -> list[Sketch]:
    """Each figure of a panel, drawn on fresh axes."""
    sketches = []
    for group in groups_of(spec, panel, averages_of(spec, table, panel.metrics)):
        sketches.append(Sketch(Figure(figsize=(4, 3)).add_subplot()))
        paint_group(sketches[-1], spec, table, panel, group)
    return sketches


def texts_of(sketch: Sketch) -> list[str]:
    return [hover.text for hovers in sketch.titles.values() for hover in hovers]


def test_arms_side_by_side_in_the_order_of_the_spec(spec: Spec) -> None:
    assert spec.experiment is not None
    table = measured(spec, 0.3)
    table.loc[table["arm"] == "l2-1e-5", "value"] += 0.1
    (sketch,) = paint(spec, table, Panel(title="", metrics=("accuracy_train",), x="arm"))
    heights, labels = shown_ticks(sketch.axis.yaxis)
    assert labels == [arm.label for arm in spec.experiment.arms.values()]
    assert heights == sorted(heights, reverse=True)
    (line,) = (line for line in sketch.axis.lines if line.get_marker() == "o")
    points = np.asarray(line.get_xydata())
    assert points[:, 1] == pytest.approx(heights)
    assert points[:, 0] == pytest.approx([0.402 if label == "1e-05" else 0.302 for label in labels])


def test_a_printed_value_outside_of_its_interval_is_said_to_be() -> None:
    spec = load_specs(Project(REPO), ["rahimian2021/texas100"])[0].spec
    rows = [
        {"arm": "victim", "attack": "sampling", "metric": "auc", "repeat": r, "epsilon": math.inf, "queries": queries}
        | {"value": value + 0.001 * r, "stderr": 0.001}
        for queries, value in ((10, 0.54), (100, 0.8))
        for r in range(-2, 3)
    ]
    panel = Panel(title="", metrics=("auc",), attacks=("sampling",), arms=("victim",), x="queries")
    (sketch,) = paint(spec, pd.DataFrame(rows), panel)
    assert any(note.startswith("1 of 2 printed values lie outside of the measured interval.") for note in sketch.notes)


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
    (sketch,) = paint(spec, pd.DataFrame(rows), panel)
    values = {float(v) for line in sketch.axis.lines for v in np.asarray(line.get_xdata())}
    assert values >= {0.6, 0.8, 0.63}
    assert 0.7 not in values
    assert "the paper prints 0.63 for no defence, sampling attack" in texts_of(sketch)
    over = panel.model_copy(update={"x": "queries", "attacks": ("sampling",), "at": {"epsilon": math.inf}})
    (sketch,) = paint(spec, pd.DataFrame(rows), over)
    crosses = [np.asarray(line.get_xydata()).tolist() for line in sketch.axis.lines if line.get_marker() == "x"]
    assert crosses == [[[10.0, 0.54], [100.0, 0.63]]]
    assert any(re.fullmatch(r"no defence, 10 queries: 0.7.*; the paper prints 0.54", t) for t in texts_of(sketch))


def over_epsilon(spec: Spec, value: float, slope: float = 0.0) -> pd.DataFrame:
    """Advantages at epsilon 1, 10 and without noise."""
    table = measured(spec, value)
    table = table[table["metric"] == "advantage"]
    levels = ((1.0, 0.0), (10.0, slope), (math.inf, 2 * slope))
    return pd.concat([table.assign(epsilon=e, value=table["value"] + up) for e, up in levels], ignore_index=True)


def test_no_point_is_cut_off_and_the_axis_is_no_wider_than_what_is_drawn(spec: Spec) -> None:
    panel = Panel(title="", metrics=("advantage",), attacks=("logloss",), arms=("l2-1e-5",))
    for value, slope in ((0.6, 0.05), (-0.3, 0.1), (0.93, 0.0)):
        (sketch,) = paint(spec, over_epsilon(spec, value, slope), panel)
        low, high = sketch.axis.get_ylim()
        drawn = [v for line in sketch.axis.lines for v in np.asarray(line.get_ydata(), float)]
        assert low < min(drawn) <= max(drawn) < high
        assert high - low < 0.7, "a flat curve has an axis of its own, not one from 0 to 1"
    asked = Panel.model_validate({**panel.model_dump(exclude_unset=True), "top": 0.25})
    (sketch,) = paint(spec, over_epsilon(spec, 0.1, 0.05), asked)
    assert sketch.axis.get_ylim()[1] == 0.25
    (sketch,) = paint(spec, over_epsilon(spec, 0.6), asked)
    assert sketch.axis.get_ylim()[1] > 0.604


def test_an_interval_ends_where_the_range_of_its_metric_does(spec: Spec) -> None:
    """One that has all of the range says nothing, and no number of it is told."""
    table = over_epsilon(spec, 0.97, slope=0.01)
    wide = table["repeat"].map({0: 0.7, 1: 0.99, 2: 0.99, 3: 0.99, 4: 0.99})
    table.loc[table["metric"] == "advantage", "value"] = wide
    averages = averages_of(spec, table, ("advantage",))
    for (_, _, metric), by_place in averages.places.items():
        for mean, low, high in by_place.values():
            assert metric == "advantage"
            assert mean - low > 0
            assert high == 1.0
    table.loc[table["metric"] == "advantage", "value"] = table["repeat"].map({0: -1.0, 1: 1.0, 2: -1.0, 3: 1.0, 4: 0.0})
    ends = {
        (low, high)
        for by_place in averages_of(spec, table, ("advantage",)).places.values()
        for _, low, high in by_place.values()
    }
    assert ends == {(-math.inf, math.inf)}
    (sketch, *_) = paint(spec, table, Panel(title="", metrics=("advantage",)))
    assert not any(" to " in text for text in texts_of(sketch))


def test_a_bound_that_leaves_the_panel_does_not_widen_it_and_is_said_to(spec: Spec) -> None:
    panel = Panel(
        title="", metrics=("advantage",), attacks=("logloss",), arms=("l2-1e-5",), formulas=("yeom",), y="leakage"
    )
    (sketch,) = paint(spec, over_epsilon(spec, 0.1, 0.05), panel)
    assert sketch.axis.get_ylim()[1] < 0.5
    assert "↑ bound of Yeom et al. goes on, to 1" in sketch.notes


def test_a_figure_of_many_series_is_split_and_each_names_what_it_is_of(spec: Spec) -> None:
    """By the name that makes the fewest panels; nine arms by three attacks make nine by arm: those of an attack are cut."""
    words = [{"arm": f"a{i}", "attack": f"b{j}", "metric": "m", "at": ""} for i in range(9) for j in range(3)]
    for count, panels, largest in ((5, 1, 5), (12, 3, 4), (27, 6, 6)):
        groups = split_series(words[:count])
        assert len(groups) == panels
        assert max(map(len, groups)) == largest <= MOST_SERIES
        assert sorted(i for group in groups for i in group) == list(range(count))
    by_attack = split_series(words[:12])
    assert all(len({words[i]["attack"] for i in group}) == 1 for group in by_attack)
    every = over_epsilon(spec, 0.2, 0.1)
    drawings = draw(spec.model_copy(update={"figure": (Panel(title="All", metrics=("advantage",)),)}), every)
    assert all(len(drawing.keys) <= MOST_SERIES for drawing in drawings)
    assert len({drawing.title for drawing in drawings}) == len(drawings)


def test_the_same_data_give_the_same_bytes(spec: Spec) -> None:
    one, two = draw(spec, measured(spec, 0.3)), draw(spec, measured(spec, 0.3))
    assert one == two
    assert len(one) >= len(spec.figure)
    assert all(re.search(r'role="img" aria-label="Section 4.1', drawing.svg) for drawing in one)


def tick_labels(svg: str, along: str) -> list[str]:
    """The labels of the ticks of an axis as a page shows them."""
    groups = [g for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if re.search(f"-{along}tick", g.get("id", ""))]
    return ["".join(text.itertext()) for group in groups for text in group.iter(f"{SVG}text")]


@pytest.mark.parametrize("size", [SIZE, (2.2, 2.0)])
@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, 10.0), (2.0, 900.0), (0.06, 5.0), (0.7, 1.9), (3.1, 3.4), (1e-9, 1.0), (1e-80, 1e-3), (0.02, 17_000.0)],
)
def test_a_logarithmic_axis_has_three_ticks_at_least(low: float, high: float, size: tuple[float, float]) -> None:
    def paint(sketches: list[Sketch]) -> None:
        sketches[0].set_log_values(Range(low, high), "value")
        sketches[0].set_places([low, high], "ε", True)

    svg = draw_sketches(1, paint, "", "", "three ticks", size).svg
    for along in ("x", "y"):
        labels = tick_labels(svg, along)
        assert len(set(labels)) == len(labels) >= 3, along


@pytest.mark.parametrize(
    ("places", "labels"),
    [
        ([0.0, 60_000.0], [f"{n},000" if n else "0" for n in range(0, 61, 10)]),
        ([-0.21, 0.2], ["−0.2", "−0.1", "0.0", "0.1", "0.2"]),
        ([0.0, 4e-6], [f"0.00000{n}" for n in range(5)]),
        ([2000.0, 2000.4], ["2,000", *(f"2,000.{n}" for n in range(1, 5))]),
        ([1e-5, 1.0, 1e4], ["10⁻⁴", "0.01", "1", "100", "10,000"]),
    ],
)
def test_ticks_of_numbers_are_written_as_pages_write_them(places: list[float], labels: list[str]) -> None:
    svg = draw_sketches(1, lambda sketches: sketches[0].set_places(places, "rows"), "", "", "numbers", SIZE).svg
    assert tick_labels(svg, "x") == labels


def test_an_epsilon_axis_has_the_grid_as_ticks_and_infinity_a_decade_beyond(spec: Spec) -> None:
    table = measured(spec, 0.1)
    every = pd.concat([table.assign(epsilon=e) for e in (0.1, 1.0, 30.0, 1000.0, math.inf)], ignore_index=True)
    panel = Panel(title="", metrics=("advantage",), attacks=("logloss",), arms=("l2-1e-5",))
    (sketch,) = paint(spec, every, panel)
    places, labels = shown_ticks(sketch.axis.xaxis)
    assert dict(zip(labels, places, strict=True)) == {"0.1": 0.1, "1": 1, "30": 30, "1,000": 1000, "∞": 10_000}


def test_a_figure_is_the_same_whatever_a_users_own_settings_of_plots_are(spec: Spec) -> None:
    table = measured(spec, 0.3)
    before = draw(spec, table)[0].svg
    own: Any = {"xtick.labelsize": 20, "ytick.major.size": 30, "axes.unicode_minus": False, "figure.dpi": 300}
    with mpl.rc_context({**own, "lines.linewidth": 9, "lines.solid_capstyle": "round"}):
        assert draw(spec, table)[0].svg == before


def test_a_point_says_its_value_and_colours_are_the_pages(spec: Spec) -> None:
    svg = draw(spec, measured(spec, 0.3))[0].svg
    titles = re.findall(r"<use [^>]*><title>([^<]*)</title>", svg)
    assert len(titles) == 2 * len(spec.experiment.arms if spec.experiment else ())
    assert "1e-05, train: 0.302 (0.3 to 0.304)" in titles
    assert not re.search(r"#(?!f)[0-9a-f]{6}", svg), "a colour that a dark page would not change"
    assert "var(--c0)" in svg
    ElementTree.fromstring(svg)


def test_the_files_of_a_figure_say_what_it_draws(spec: Spec) -> None:
    """The picture stands by itself, with title, legend and colours; the numbers are all that is drawn."""
    drawing = draw(spec, measured(spec, 0.3))[0]
    alone = standalone_svg(drawing)
    root = ElementTree.fromstring(alone)
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert {drawing.title, *(key.name for key in drawing.keys)} <= set(words)
    assert "display" not in alone
    assert all(f"--c{i}:" in alone for i in range(6))
    data = pd.read_csv(io.StringIO(csv_text(drawing)))
    assert list(data.columns) == ["series", "kind", "x_name", "x", "y_name", "y", "low", "high"]
    rows = data[(data["series"] == "train") & (data["kind"] == "measured")]
    assert len(rows) == len(spec.experiment.arms if spec.experiment else ())
    assert rows["y"].tolist() == pytest.approx([0.302] * len(rows))
    assert (rows["low"] < rows["y"]).all()
    assert (rows["high"] > rows["y"]).all()


def test_each_outcome_that_a_split_draws_has_its_own_line(spec: Spec) -> None:
    """Two outcomes, 0.2 and 0.8; the curve between them is their mean, though one was drawn three times of five."""
    table = measured(spec, 0.0)
    table = table[table["metric"] == "advantage"].assign(value=lambda t: np.where(t["repeat"] < 3, 0.2, 0.8))
    drawn = [
        table.assign(attack="", metric=m, value=v)
        for m, v in (("count_outcome", (table["repeat"] >= 3).astype(float)), ("count_outcomes", 2.0))
    ]
    panel = Panel(title="", metrics=("advantage",), attacks=("logloss",), arms=("l2-1e-5",), top=0.3)
    every = pd.concat([table, *drawn], ignore_index=True)
    (sketch,) = paint(spec, pd.concat([every.assign(epsilon=e) for e in (1.0, math.inf)], ignore_index=True), panel)
    heights = {round(float(y), 2) for line in sketch.axis.lines for y in np.asarray(line.get_ydata())}
    assert heights == {0.2, 0.5, 0.8}
    assert sketch.axis.get_ylim()[1] > 0.8
    assert [key for key in sketch.keys if "thin" in key] == ["thin: single outcomes of the split"]
    (sketch,) = paint(spec, pd.concat([table.assign(epsilon=e) for e in (1.0, math.inf)], ignore_index=True), panel)
    assert len({tuple(np.asarray(line.get_ydata())) for line in sketch.axis.lines if not line.get_marker()}) <= 1
    assert "thin: single outcomes of the split" not in sketch.keys


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

    def kept(table: pd.DataFrame, levels: Array) -> list[bool]:
        return has_comparable_mean(means_by_outcome(table, [curve[2]]).get(curve, {}), levels).tolist()

    assert kept(together, levels) == [True, False]
    assert kept(together[together["epsilon"] == math.inf], levels[1:]) == [True]
    without = pd.concat([table, few], ignore_index=True)
    assert kept(without, levels) == [True, True]
