"""Panels of curves that tables keep: ROC, losses, the rate of each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.ticker import NullFormatter

from harness.coordinates import place
from harness.execution.curves import curves_of
from harness.metrics import metrics_of
from harness.metrics.curves import CURVES, Curve, Line
from harness.report.anchors import mark
from harness.report.theme import ACROSS, COLOURS, Hover, Label, Titles, label_ends, register_hover, svg_of
from harness.report.vocabulary import attack_words, figure
from harness.spec.model import Spec
from harness.spec.page import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EVERY = 6
"""Points of a line of which one says its values on hover."""
NARROW, WIDE = (2.3, 2.2), (3.8, 2.8)
"""Inches of a panel that has others beside it, and of one that has not."""


def draw_curves(
    spec: Spec, table: pd.DataFrame, panel: Panel, name: str, size: tuple[float, float] | None = None
) -> list[str]:
    """A panel of curves as one `<svg>`, of a size in inches a panel; none where the table keeps none of it."""
    assert panel.curve is not None
    curves = list(curves_of(table, panel))
    if not curves:
        return []
    curve = CURVES[panel.curve]
    beside = list(dict.fromkeys(line.beside for _, lines in curves for line in lines))

    def paint(axes: list[Axes]) -> Titles:
        titles: dict[str, list[Hover]] = {}
        for axis, which in zip(axes, beside, strict=True):
            drawn = [(of, line) for of, lines in curves for line in lines if line.beside == which]
            labels = _paint(axis, spec, curve, drawn, _names(spec, curves, drawn), titles)
            axis.set_title(which if which else panel.title, fontsize=9.5 if which else 10.5, loc="left", pad=10)
            axis.set_xlabel(curve.x)
            axis.grid(linewidth=0.6)
            axis.set_axisbelow(True)
            if axes.index(axis) % ACROSS == 0:
                axis.set_ylabel(panel.y or curve.y)
            if axis is axes[-1]:
                label_ends(axis, labels)
        if len(axes) > 1:
            whole = axes[0].get_figure(root=True)
            assert whole is not None
            first = axes[0].get_position()
            above = first.y1 + 0.4 / whole.get_figheight()  # inches, over the titles of the panels
            whole.suptitle(panel.title, fontsize=10.5, x=first.x0, y=above, ha="left")
        return titles

    several = f", side by side: {', '.join(beside)}" if len(beside) > 1 else ""
    label = f"{spec.where}: {panel.title} ({curve.text}{several}), of the first run"
    return [svg_of(len(beside), paint, label, name, size or (NARROW if len(beside) > 1 else WIDE))]


def _names(
    spec: Spec, curves: Sequence[tuple[Mapping[str, Any], Any]], drawn: Sequence[tuple[Mapping[str, Any], Line]]
) -> list[str]:
    """What tells a line from the others of its panel: what it is itself, attack, arm, epsilon."""
    assert spec.own_experiment is not None
    several = {key: len({str(of[key]) for of, _ in curves}) > 1 for key in ("attack", "arm", "at")}
    names = []
    for of, line in drawn:
        epsilon = of["at"].get("epsilon")
        at = "without noise" if epsilon == float("inf") else f"ε = {epsilon:g}" if epsilon is not None else ""
        parts = [
            line.name,
            attack_words(of["attack"]) if several["attack"] else "",
            (spec.own_experiment.arms[of["arm"]].label or of["arm"]) if several["arm"] else "",
            at if several["at"] else "",
        ]
        names.append(", ".join(filter(None, parts)))
    return names


def _summary_marks(spec: Spec, curve: Curve, of: Mapping[str, Any]) -> str:
    """The names of all that metrics say of what a curve shows whole, which claims on them bear too."""
    marks = []
    for kind in curve.sums_up:
        attack = "" if kind == "model" else of["attack"]
        axes = spec.name_scope.axes(of["arm"], attack)
        where = place((axis, value) for axis, value in of["at"].items() if value in axes.get(axis, ()))
        marks += [mark(of["arm"], attack, metric, where) for metric in metrics_of(kind)]
    return " ".join(marks)


def _paint(
    axis: Axes,
    spec: Spec,
    curve: Curve,
    drawn: Sequence[tuple[Mapping[str, Any], Line]],
    names: Sequence[str],
    titles: dict[str, list[Hover]],
) -> list[Label]:
    labels: list[Label] = []
    for index, ((of, line), name) in enumerate(zip(drawn, names, strict=True)):
        colour = COLOURS[index % len(COLOURS)]
        if curve.histogram:
            axis.fill_between(line.x, 0, line.y, step="mid", color=colour, alpha=0.35, linewidth=0)
            axis.plot(line.x, line.y, drawstyle="steps-mid", color=colour, linewidth=1.0, label=name)
        else:
            axis.plot(line.x, line.y, color=colour, linewidth=1.5, label=name)
        x, y = (line.x, line.y) if curve.histogram else (line.x[::EVERY], line.y[::EVERY])
        before = f"{name}, " if name else ""
        about = _summary_marks(spec, curve, of)
        texts = [
            Hover(f"{before}{curve.x} {figure(float(a))}: {figure(float(b))}", about) for a, b in zip(x, y, strict=True)
        ]
        look: dict[str, Any] = {"markersize": 2.5, "color": colour, "alpha": 0.01 if curve.histogram else 1.0}
        axis.plot(x, y, "o", gid=register_hover(titles, texts), **look)
        labels.append((name, colour, float(line.y.mean())))  # lines may meet at their ends
    for axis_scale, logarithmic in zip((axis.set_xscale, axis.set_yscale), curve.logarithmic, strict=True):
        if logarithmic:
            axis_scale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())
    if curve.logarithmic == (True, True):
        axis.plot([1e-6, 1], [1e-6, 1], ":", color=COLOURS[-1], linewidth=0.9, label="chance")
        first = min(float(line.x[0]) for _, line in drawn)
        axis.set_xlim(first, 1)
        axis.set_ylim(first, 1.3)
    elif curve.histogram:
        axis.set_ylim(0, 1.08 * max(float(line.y.max()) for _, line in drawn))
        peaks = [float(line.y.max()) for _, line in drawn]
        return [(name, colour, peak) for (name, colour, _), peak in zip(labels, peaks, strict=True)]
    else:
        axis.set_ylim(0, 1.05)
    return labels
