"""Panels of curves that tables keep: ROC, losses, the rate of each record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.coordinates import place
from harness.execution.curves import CurvePlace, lines_of_panel
from harness.metrics import metrics_of
from harness.metrics.curves import CURVES, Curve, Line
from harness.report.anchors import mark
from harness.report.canvas import draw_sketches
from harness.report.drawing import COLOURS, DASHES, INK, MARKERS, Drawing, Look
from harness.report.panels import MOST_SERIES, names_of, split_series
from harness.report.scales import Range
from harness.report.sketch import SIZE, Sketch
from harness.report.theme import Hover
from harness.report.vocabulary import attack_words, figure, level_words
from harness.spec.model import Spec
from harness.spec.page import Panel

HOVER_EVERY = 6
"""Points of a line of which one says its values on hover."""
BESIDE = 2.2
"""Inches of height of a row of axes that has others beside it."""
PlacedLine = tuple[CurvePlace, Line]
"""What a line is of, and its points."""


def draw_curves(
    spec: Spec, table: pd.DataFrame, panel: Panel, name: str, size: tuple[float, float] = SIZE
) -> list[Drawing]:
    """The drawings of a panel of curves, with at most six lines each; none where the table keeps no such curves."""
    assert panel.curve is not None
    curve = CURVES[panel.curve]
    every = [(of, line) for of, lines in lines_of_panel(table, panel) for line in lines]
    words = [_words(spec, of, line) for of, line in every]
    axes = list(dict.fromkeys(line.beside for _, line in every))
    drawings = []
    for nth, group in enumerate(split_series([{**w, "beside": ""} for w in words], MOST_SERIES * len(axes))):
        drawn = [every[i] for i in group]

        def paint(sketches: list[Sketch], drawn: Sequence[PlacedLine] = drawn) -> None:
            for sketch, which in zip(sketches, axes, strict=True):
                lines = [(of, line) for of, line in drawn if line.beside == which]
                _paint(sketch, spec, panel, curve, lines)
                if which:
                    sketch.axis.set_title(which, fontsize=9.5, loc="left", pad=4)
            for sketch in sketches[:-2]:
                sketch.axis.set_xlabel("")

        several = f", side by side: {', '.join(axes)}" if len(axes) > 1 else ""
        label = f"{spec.where}: {panel.title} ({curve.text}{several}), of the first run"
        high = size if len(axes) == 1 else (size[0], BESIDE * (len(axes) + 1) // 2)
        drawings.append(draw_sketches(len(axes), paint, panel.title, label, f"{name} {nth} {size[0]}", high))
    return drawings


def _words(spec: Spec, of: CurvePlace, line: Line) -> dict[str, str]:
    """What a line shows, in the words that series have; its own name takes the place of a metric."""
    assert spec.experiment is not None
    arm = spec.experiment.arms[of["arm"]].label or of["arm"]
    at = ", ".join(level_words(axis, value) for axis, value in of["at"].items())
    return {"metric": line.name, "attack": attack_words(of["attack"], spec.attack_labels), "arm": arm, "at": at}


def _summary_marks(spec: Spec, curve: Curve, of: CurvePlace) -> str:
    """The names of all metrics that sum up a curve, which claims on them share."""
    marks = []
    for kind in curve.sums_up:
        attack = "" if kind == "model" else of["attack"]
        axes = spec.name_scope.axes(of["arm"], attack)
        where = place((axis, value) for axis, value in of["at"].items() if value in axes.get(axis, ()))
        marks += [mark(of["arm"], attack, metric, where) for metric in metrics_of(kind)]
    return " ".join(marks)


def _paint(sketch: Sketch, spec: Spec, panel: Panel, curve: Curve, drawn: Sequence[PlacedLine]) -> None:
    names, _ = names_of([_words(spec, of, line) for of, line in drawn])
    _set_scales(sketch, panel, curve, [line for _, line in drawn])
    for index, ((of, line), name) in enumerate(zip(drawn, names, strict=True)):
        marked = ("-", "") if curve.histogram else (DASHES[index % 4], MARKERS[index % len(MARKERS)])
        look = Look(COLOURS[index % len(COLOURS)], *marked, filled=curve.histogram)
        x, y = (line.x, line.y) if curve.histogram else (line.x[::HOVER_EVERY], line.y[::HOVER_EVERY])
        before = f"{name}, " if name else ""
        about = _summary_marks(spec, curve, of)
        texts = [
            Hover(f"{before}{curve.x} {figure(float(a))}: {figure(float(b))}", about) for a, b in zip(x, y, strict=True)
        ]
        sketch.add_shape(name or attack_words(of["attack"], spec.attack_labels), look, line.x, line.y)
        sketch.add_marks(look, x, y, texts)
    if curve.logarithmic == (True, True):
        ends = np.array([1e-6, 1.0])
        sketch.add_curve("chance", Look(INK, ":"), ends, ends)


def _set_scales(sketch: Sketch, panel: Panel, curve: Curve, lines: Sequence[Line]) -> None:
    xs, ys = (np.concatenate([getattr(line, side) for line in lines]) for side in ("x", "y"))
    name = panel.y or curve.y
    if curve.logarithmic[1]:
        sketch.set_log_values(Range(float(xs.min()), 1.3), name)
    else:
        sketch.set_values(Range(0.0, 1.06 * float(ys.max())), name)
    sketch.set_places([float(xs.min()), float(xs.max())], curve.x, curve.logarithmic[0])
