"""Pictures that are no panel of a spec's figure: lines over a parameter, bounds, cards, counter-examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.report.curves import draw_curves
from harness.report.figures import LETTER, STYLES, paint_panel
from harness.report.findings import Picture
from harness.report.theme import (
    BOUND,
    COLOURS,
    Hover,
    Label,
    Titles,
    label_ends,
    make_standalone,
    register_hover,
    svg_of,
)
from harness.report.vocabulary import figure
from harness.spec.model import Spec
from harness.spec.page import Panel
from harness.theory.domain import Interval, number
from harness.theory.kinds.inequality import Inequality
from harness.theory.term import Term

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lines = dict[str, list[tuple[float, float]]]


def draw_lines(panels: dict[str, Lines], x: str) -> str:
    """A file of panels side by side, doubly logarithmic: by the name of its vertical axis, named lines of (x, y)."""

    def paint(axes: list[Axes]) -> Titles:
        titles: dict[str, list[Hover]] = {}
        for axis, (y, lines) in zip(axes, panels.items(), strict=True):
            for index, (name, points) in enumerate(lines.items()):
                colour, style = COLOURS[index % len(COLOURS)], STYLES[index // len(COLOURS)]
                across, up = zip(*points, strict=True)
                texts = [Hover(f"{name}, {x} = {figure(a)}: {figure(u)}") for a, u in points]
                marked = axis.plot(across, up, style, color=colour, marker="o", markersize=3, linewidth=1.5, label=name)
                marked[0].set_gid(register_hover(titles, texts))
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel(x)
            axis.set_ylabel(y)
            axis.grid(linewidth=0.6)
            axis.legend(fontsize=8, framealpha=0.6)
        return titles

    label = " and ".join(panels) + f" over {x}"
    return make_standalone(svg_of(len(panels), paint, label, " ".join(panels), (5.4, 3.8)))


def draw_bounds(spec: Spec) -> list[str]:
    """The bounds that a spec without an experiment names in its figure, over epsilon; one `<svg>` a panel."""
    svgs = []
    for index, panel in enumerate(panel for panel in spec.figure if panel.formulas):

        def paint(axes: list[Axes], panel: Panel = panel) -> Titles:
            (axis,), labels = axes, list[Label]()
            epsilon = np.geomspace(0.01, 100, 400)
            for colour, name in zip(COLOURS, panel.formulas, strict=False):
                formula = FORMULAS[name]
                curve = formula.curve(epsilon, delta=0.0 if formula.pure_only else 1e-5)
                axis.plot(epsilon, curve, color=colour, label=name)
                labels.append((name, colour, float(curve[-1])))
            axis.set_xscale("log")
            axis.set_xlabel("ε")
            axis.set_ylabel(panel.y)
            axis.set_title(panel.title, fontsize=10.5, loc="left", pad=10)
            axis.grid(linewidth=0.6)
            label_ends(axis, labels)
            return {}

        svgs.append(svg_of(1, paint, f"{spec.where}: {panel.title}", f"{spec.id} {index}"))
    return svgs


SMALL = (3.3, 2.0)
"""Inches of a picture on the front."""


def draw_picture(spec: Spec, table: pd.DataFrame, panel: Panel, picture: Picture) -> str:
    """A panel small enough for a card, with the picture's horizontal lines; one `<svg>`, empty where there is none."""
    if panel.curve is not None:
        return "".join(draw_curves(spec, table, panel, f"{spec.id} {panel.title} small", SMALL))

    def paint(axes: list[Axes]) -> Titles:
        titles: dict[str, list[Hover]] = {}
        lines = [(name, BOUND, height) for name, height in picture.lines.items()]
        labels = paint_panel(axes[0], panel, spec, table, titles, label=False)
        for _, _, height in lines:
            axes[0].axhline(height, color=BOUND, linewidth=1.1, linestyle="--")
        if picture.bottom is not None or picture.top is not None:
            axes[0].set_ylim(picture.bottom, picture.top)
        label_ends(axes[0], [*(labels if len(labels) > 1 else ()), *lines], 8)
        return titles

    lines = [f"a line at {height:g} ({name})" for name, height in picture.lines.items()]
    label = ", ".join([panel.title, *lines])
    return svg_of(1, paint, label, f"{spec.id} {panel.title}", SMALL)


def draw_counterexample(part: Inequality, at: Mapping[str, float], name: str, small: bool = False) -> str:
    """Both sides of a refuted inequality along one of its variables, through the point that refutes it.

    The variable is the first whose domain is an interval, or has most values; empty where there is none.
    """
    spans: dict[str, Array] = {}
    for variable, domain in part.over.items():
        if isinstance(domain, Interval):
            wide = domain.low > 0 and domain.high / domain.low > WIDE
            space = np.geomspace if wide else np.linspace
            spans[variable] = space(domain.low, domain.high, 60)
        elif len(domain.values) > 1:
            spans[variable] = np.array(sorted(domain.values))
        if not (part.left.is_exact() and part.right.is_exact()) and variable in spans:
            few = np.linspace(0, len(spans[variable]) - 1, COMPUTED).round().astype(int)
            spans[variable] = spans[variable][np.unique(few)]
    if not spans:
        return ""
    variable = max(spans, key=lambda v: len(spans[v]))
    x = np.union1d(spans[variable], [at[variable]])
    sides = [_values_along(side, at, variable, x) for side in (part.left, part.right)]
    drawn = [y[np.isfinite(y)] for y in sides]
    if any(len(y) < 2 for y in drawn):
        return ""

    def paint(axes: list[Axes]) -> Titles:
        (axis,), labels, titles = axes, list[Label](), dict[str, list[Hover]]()
        names = ["claimed to be smaller", "and this larger"] if part.relation in ("<", "<=") else ["left", "right"]
        names = ["claimed to be larger", "and this smaller"] if part.relation in (">", ">=") else names
        for colour, text, y in zip((COLOURS[1], BOUND), names, sides, strict=True):
            axis.plot(x, y, color=colour, linewidth=1.6)
            end = y[np.isfinite(y)][-1]
            labels.append((text, colour, float(end)))
        texts = [
            Hover(f"{LETTER.get(variable, variable)} = {figure(at[variable])}: {figure(at[s])}")
            for s in ("left", "right")
        ]
        both = [at["left"], at["right"]]
        axis.plot(
            [at[variable]] * 2, both, "o", color=COLOURS[4], markersize=5, zorder=5, gid=register_hover(titles, texts)
        )
        finite = np.concatenate(drawn)
        if finite.min() > 0 and finite.max() / finite.min() > WIDE:
            axis.set_yscale("log")
        if isinstance(part.over[variable], Interval) and x[0] > 0 and x[-1] / x[0] > WIDE:
            axis.set_xscale("log")
        axis.set_xlabel(LETTER.get(variable, variable))
        axis.grid(linewidth=0.6)
        label_ends(axis, labels, 8 if small else 8.5)
        return titles

    fixed = ", ".join(f"{k} = {v:g}" for k, v in at.items() if k not in ("left", "right", variable))
    label = f"Both sides of {part.text()} over {variable}" + (f", at {fixed}" if fixed else "")
    return svg_of(1, paint, label, f"{name} counterexample {small}", SMALL if small else (4.2, 2.6))


COMPUTED = 7
"""Points that a formula is drawn at which takes a search or an enumeration."""
WIDE = 50.0
"""Ratio of the ends of an axis past which it is logarithmic."""


def _values_along(side: Term, at: Mapping[str, float], variable: str, x: Array) -> Array:
    """Values of one side over a variable, the others as at the point; not-a-number where it has none."""
    values = []
    for value in x:
        try:
            values.append(
                number(side, {**{k: at[k] for k in side.variables()}, **_coordinate_of(side, variable, float(value))})
            )
        except (HarnessError, ArithmeticError, ValueError):
            values.append(math.nan)
    return np.array(values)


def _coordinate_of(side: Term, variable: str, value: float) -> dict[str, float]:
    return {variable: value} if variable in side.variables() else {}
