"""Pictures that are no panel of a spec's figure: lines over a parameter, bounds, cards, counter-examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.report.canvas import draw_sketches
from harness.report.curves import draw_curves
from harness.report.drawing import BOUND, COLOURS, DASHES, MARKERS, Drawing, Look, standalone_svg
from harness.report.figures import PanelExtras, draw_panel
from harness.report.findings import Picture
from harness.report.panels import averages_of
from harness.report.scales import WIDE, Range, is_wide, log_range, value_range
from harness.report.sketch import SIZE, SMALL, Sketch
from harness.report.theme import Hover
from harness.report.vocabulary import bound_words, figure, letter
from harness.spec.model import Spec
from harness.spec.page import Panel
from harness.theory.domain import Domain, Interval, number
from harness.theory.term import Term

Lines = dict[str, list[tuple[float, float]]]


def draw_lines(panels: dict[str, Lines], x: str) -> str:
    """An SVG with panels side by side on doubly logarithmic axes, each with named lines of (x, y)."""
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))

    def paint(sketches: list[Sketch]) -> None:
        for sketch, (y, lines) in zip(sketches, panels.items(), strict=True):
            points = [point for line in lines.values() for point in line]
            sketch.set_log_values(log_range([v for _, v in points], [v for _, v in points]), y)
            sketch.set_places(sorted({v for v, _ in points}), x, True)
            sketch.axis.set_title(y, fontsize=9.5, loc="left", pad=4)
            sketch.above = ""
            for name, line in lines.items():
                index = names.index(name)
                look = Look(
                    COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % 4], MARKERS[index % len(MARKERS)]
                )
                across, up = (np.array(side) for side in zip(*line, strict=True))
                texts = [Hover(f"{name}, {x} = {figure(a)}: {figure(u)}") for a, u in line]
                sketch.add_shape(name, look, across, up)
                sketch.add_marks(look, across, up, texts)

    label = " and ".join(panels) + f" over {x}"
    high = 3.2 * math.ceil(len(panels) / 2)
    return standalone_svg(draw_sketches(len(panels), paint, label, label, " ".join(panels), (9.0, high)))


def draw_bounds(spec: Spec) -> list[Drawing]:
    """The bounds that a spec without an experiment names in its figure, over epsilon; one figure a panel."""
    drawings = []
    for index, panel in enumerate(panel for panel in spec.figure if panel.formulas):

        def paint(sketches: list[Sketch], panel: Panel = panel) -> None:
            (sketch,) = sketches
            epsilon = np.geomspace(0.01, 100, 400)
            sketch.set_values(Range(0.0, 1.05), panel.y)
            sketch.set_places([0.01, 100.0], "ε", True)
            for colour, name in zip(COLOURS, panel.formulas, strict=False):
                formula = FORMULAS[name]
                curve = np.asarray(formula.curve(epsilon, delta=0.0 if formula.pure_only else 1e-5), float)
                sketch.add_curve(bound_words(name), Look(colour), epsilon, curve)

        label = f"{spec.where}: {panel.title}"
        drawings.append(draw_sketches(1, paint, panel.title, label, f"{spec.id} {index}", SIZE))
    return drawings


def draw_picture(spec: Spec, table: pd.DataFrame, panel: Panel, picture: Picture) -> Drawing | None:
    """A panel small enough for a card, with the picture's horizontal lines; None where nothing of it was measured."""
    name = f"{spec.id} {panel.title} card"
    if panel.curve is not None:
        drawings = draw_curves(spec, table, panel, name, SMALL)
    else:
        averages = averages_of(spec, table, panel.metrics)
        extras = PanelExtras(picture.lines, picture.bottom, picture.top)
        drawings = draw_panel(spec, table, panel, averages, name, SMALL, extras)
    return drawings[0] if drawings else None


@runtime_checkable
class HasSides(Protocol):
    """A claim on theory that compares two sides over a domain, whatever its kind: it can be drawn."""

    left: Term
    relation: str
    right: Term
    over: Domain

    def text(self) -> str:
        """The inequality, in plain text."""
        ...


def draw_counterexample(part: HasSides, at: Mapping[str, float], name: str, small: bool = False) -> Drawing | None:
    """Both sides of a refuted inequality along one of its variables, through the point that refutes it.

    The variable is the first whose domain is an interval, or has most values; None where there is none.
    """
    spans = _spans(part)
    if not spans:
        return None
    variable = max(spans, key=lambda v: len(spans[v]))
    x = np.union1d(spans[variable], [at[variable]])
    sides = [_values_along(side, at, variable, x) for side in (part.left, part.right)]
    drawn = [y[np.isfinite(y)] for y in sides]
    if any(len(y) < 2 for y in drawn):
        return None

    def paint(sketches: list[Sketch]) -> None:
        (sketch,) = sketches
        within = _set_values(sketch, np.concatenate(drawn).tolist(), [at["left"], at["right"]])
        logarithmic = isinstance(part.over[variable], Interval) and is_wide(x.tolist())
        sketch.set_places(x.tolist(), letter(variable), logarithmic)
        for colour, text, y in zip((COLOURS[1], BOUND), _side_names(part), sides, strict=True):
            sketch.add_curve(text, Look(colour), x, y, within)
        values = {side: at[side] for side in ("left", "right")}
        texts = [Hover(f"{letter(variable)} = {figure(at[variable])}: {figure(v)}") for v in values.values()]
        sketch.add_point("where it is refuted", COLOURS[4], [at[variable]] * 2, list(values.values()), texts)

    fixed = ", ".join(f"{k} = {v:g}" for k, v in at.items() if k not in ("left", "right", variable))
    label = f"Both sides of {part.text()} over {variable}" + (f", at {fixed}" if fixed else "")
    title = f"Both sides of the inequality over {letter(variable)}"
    return draw_sketches(1, paint, title, label, f"{name} counterexample {small}", SMALL if small else SIZE)


def _spans(part: HasSides) -> dict[str, Array]:
    """The values over which each variable is drawn."""
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
    return spans


def _side_names(part: HasSides) -> tuple[str, str]:
    if part.relation in ("<", "<="):
        return "left side (claimed to be smaller)", "right side"
    if part.relation in (">", ">="):
        return "left side (claimed to be larger)", "right side"
    return "left side", "right side"


def _set_values(sketch: Sketch, values: Sequence[float], about: Sequence[float]) -> Range:
    """The vertical axis of both sides, about the point that refutes; logarithmic where they are far apart."""
    if is_wide(values):
        within = log_range(values, about)
        sketch.set_log_values(within, "value")
        return within
    farthest = FAR * max(map(abs, about))
    within = value_range([v for v in values if abs(v) <= farthest])
    sketch.set_values(within, "value")
    return within


FAR = 10.0
"""Of the values at the point that refutes: how far beyond them a linear axis goes."""
COMPUTED = 7
"""Points that a formula is drawn at which takes a search or an enumeration."""


def _values_along(side: Term, at: Mapping[str, float], variable: str, x: Array) -> Array:
    """Values of one side over a variable, the others fixed at the point; not-a-number where it has none."""
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
