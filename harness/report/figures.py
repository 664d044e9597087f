"""The papers' figures redrawn from measurements, as SVG that needs no script and no network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.series import TableFacts
from harness.formulas import FORMULAS
from harness.report.canvas import draw_sketches
from harness.report.curves import draw_curves
from harness.report.drawing import BOUND, DASHES, Drawing, Look
from harness.report.grouping import Group, groups_of
from harness.report.lines import epsilons_as_trained, place_of_infinity
from harness.report.panels import Averages, Intervals, Series, averages_of, drawn_metrics, panels_of
from harness.report.scales import Range, value_range
from harness.report.sketch import BARE, SIZE, TOP, Sketch, text_width
from harness.report.theme import Hover
from harness.report.vocabulary import bound_words, figure, level_words, metric_words
from harness.spec.model import Spec
from harness.spec.page import Panel

ROW_NAME, ROW_FONT = 26, 8.5
"""Characters of a line of a row's name, and points of these."""


@dataclass(frozen=True)
class PanelExtras:
    """What a picture of a finding adds to a panel."""

    lines: Mapping[str, float]
    """Horizontal lines, by name."""
    bottom: float | None = None
    top: float | None = None
    """Ends of the vertical axis."""


def draw(spec: Spec, table: pd.DataFrame, intervals: Intervals | None = None) -> list[Drawing]:
    """The panels of a spec: those that it declares, and those that its claims need besides.

    `intervals`: those of the table, where they are known already.
    """
    panels = panels_of(spec)
    averages = averages_of(spec, table, drawn_metrics(panels), intervals)
    drawings: list[Drawing] = []
    for index, panel in enumerate(panels):
        name = f"{spec.id} {index}"
        if panel.curve is not None:
            drawings += draw_curves(spec, table, panel, name)
        else:
            further = 0 < len(spec.figure) <= index
            drawings += [replace(one, further=further) for one in draw_panel(spec, table, panel, averages, name)]
    return drawings


def draw_panel(
    spec: Spec,
    table: pd.DataFrame,
    panel: Panel,
    averages: Averages,
    name: str,
    size: tuple[float, float] = SIZE,
    extras: PanelExtras | None = None,
) -> list[Drawing]:
    """The drawings of a panel of measurements; several where it has more series than one can hold."""
    drawings = []
    for nth, group in enumerate(groups_of(spec, panel, averages)):

        def paint(sketches: list[Sketch], group: Group = group) -> None:
            paint_group(sketches[0], spec, table, panel, group, extras)

        label = f"{spec.where}: {group.title} ({spec.title}); the numbers are in its file of data"
        values = panel.y or metric_words(panel.metrics[0])
        bare = group.title.lower().startswith(values.lower())
        height = sum(_row_heights(group.series).values()) + 0.3 + TOP if group.by_rows else size[1]
        box = size[0], height - (TOP - BARE if bare else 0.0)
        drawings.append(draw_sketches(1, paint, group.title, label, f"{name} {nth} {size[0]}", box, bare))
    return drawings


def paint_group(
    sketch: Sketch, spec: Spec, table: pd.DataFrame, panel: Panel, group: Group, extras: PanelExtras | None = None
) -> None:
    """Draw the series of one figure of a panel."""
    if group.by_rows:
        _paint_rows(sketch, panel, group)
    else:
        _paint_values(sketch, spec, table, panel, group, extras or PanelExtras({}))


def _point_text(name: str, at: str, point: tuple[float, float, float], printed: float | None) -> str:
    mean, low, high = point
    ends = f" ({figure(low)} to {figure(high)})" if math.isfinite(low) and math.isfinite(high) else ""
    beside = f"; the paper prints {figure(printed)}" if printed is not None else ""
    return f"{', '.join(filter(None, (name, at)))}: {figure(mean)}{ends}{beside}"


def _hovers(one: Series, places: Sequence[str]) -> list[Hover]:
    points = zip(places, zip(one.mean, one.low, one.high, strict=True), one.marks, strict=True)
    return [Hover(_point_text("", at, p, one.printed.get(i)), of) for i, (at, p, of) in enumerate(points)]


def _value_range(group: Sequence[Series], panel: Panel, extras: PanelExtras) -> Range:
    """The value axis of a panel."""
    core = [float(v) for one in group for v in (*one.mean, *one.printed.values())]
    core += [v for one in group for _, means in one.outcomes for v in means]
    core += list(extras.lines.values())
    ends = [float(v) for one in group for v in (*one.low, *one.high)]
    within = value_range(core, ends, panel.top if "top" in panel.model_fields_set else None)
    low = within.low if extras.bottom is None else extras.bottom
    return Range(low, within.high if extras.top is None else extras.top, within.cut)


def _row_heights(group: Sequence[Series]) -> dict[str, float]:
    """Inches of each row, by its name."""
    heights: dict[str, float] = {}
    for name in (str(level) for one in group for level in one.levels):
        lines = len(wrap(name, ROW_NAME))
        heights[name] = max(0.17 * len(group) + 0.1, 0.145 * lines + 0.1)
    return heights


def _paint_rows(sketch: Sketch, panel: Panel, group: Group) -> None:
    """Draw set-ups as rows, with a mark and an interval for each series."""
    heights = _row_heights(group.series)
    within = _value_range(group.series, panel, PanelExtras({}))
    edges = np.concatenate([[0.0], np.cumsum(list(heights.values()))])
    middles = dict(zip(heights, -(edges[1:] + edges[:-1]) / 2, strict=True))
    names = {name: "\n".join(wrap(name, ROW_NAME)) for name in heights}
    wide, high = map(float, sketch.axis.get_figure(root=True).get_size_inches())  # type: ignore[union-attr]
    left = max(0.15 + max(text_width(text, ROW_FONT) for text in names.values()), 0.5)
    sketch.axis.set_position((left / wide, 0.3 / high, 1 - (left + 0.22) / wide, float(edges[-1]) / high))
    sketch.axis.set_ylim(-float(edges[-1]), 0.0)
    sketch.axis.set_xlim(within.low, within.high)
    sketch.name_rows(list(middles.values()), [names[name] for name in heights], ROW_FONT)
    sketch.set_places_of_values(within, panel.y or metric_words(panel.metrics[0]))
    count = len(group.series)
    for nth, (one, name, look) in enumerate(zip(group.series, group.names, group.looks, strict=True)):
        shift = 0.17 * ((count - 1) / 2 - nth)
        rows = {middles[str(level)] + shift: str(level) for level in one.levels}
        places = [", ".join(filter(None, (str(level), name))) for level in one.levels]
        line = one.mean, one.low, one.high
        sketch.add_row_points(name if count > 1 else "", look, rows, line, _hovers(one, places), within)
        known = {list(rows)[i]: str(one.levels[i]) for i in one.printed}
        texts = [Hover(f"the paper prints {figure(v)} for {places[i]}") for i, v in one.printed.items()]
        sketch.add_row_printed(name if count > 1 else "", look.colour, known, list(one.printed.values()), texts)
    _note_printed(sketch, group.series)


def _note_printed(sketch: Sketch, group: Sequence[Series]) -> None:
    """Add a note on how many printed values lie outside of the measured interval at the same place."""
    known = [(v, float(one.low[i]), float(one.high[i])) for one in group for i, v in one.printed.items()]
    outside = sum(not low <= value <= high for value, low, high in known if math.isfinite(low) and math.isfinite(high))
    if outside:
        values = "the printed value lies" if len(known) == 1 else f"{outside} of {len(known)} printed values lie"
        note = f"{values[:1].upper()}{values[1:]} outside of the measured interval."
        sketch.notes[f"{note} A claim counts a printed value as met within its margin."] = None


@dataclass(frozen=True)
class _HorizontalAxis:
    """The horizontal axis of a panel: where each epsilon of an arm is drawn, or the axis' own values."""

    over: str
    """The axis that curves are over."""
    trained: Mapping[str, Mapping[float, float]]
    """By arm and epsilon: what it is worth as trained, where that is what it is drawn at."""
    beyond: float
    """Where infinity is drawn."""

    def place_levels(self, one: Series, levels: Sequence[float | str] | None = None) -> Array:
        """Positions, (k,), of the levels of a series, or of other levels of its arm."""
        values = np.array(one.levels if levels is None else levels, float)
        if self.over != "epsilon":
            return values
        worth = self.trained.get(one.quantity[0])
        places = values if worth is None else np.array([worth[float(value)] for value in values])
        return np.minimum(places, self.beyond)


def _horizontal_axis(panel: Panel, spec: Spec, table: pd.DataFrame, series: Sequence[Series]) -> _HorizontalAxis:
    over = "epsilon" if panel.x == "epsilon-as-trained" else panel.x
    if over != "epsilon":
        return _HorizontalAxis(over, {}, math.inf)
    levels = np.array([level for one in series for level in one.levels], float)
    experiment = spec.own_experiment
    if panel.x == "epsilon" or experiment is None:
        return _HorizontalAxis(over, {}, place_of_infinity(levels))
    trained = {}
    for arm in dict.fromkeys(one.quantity[0] for one in series):
        grid = dict(experiment.levels(arm)).get("epsilon", ())
        trained[arm] = dict(zip(map(float, grid), map(float, epsilons_as_trained(experiment, table, arm)), strict=True))
    worth = np.array([place for places in trained.values() for place in places.values()])
    return _HorizontalAxis(over, trained, place_of_infinity(worth))


def _paint_values(
    sketch: Sketch,
    spec: Spec,
    table: pd.DataFrame,
    panel: Panel,
    group: Group,
    extras: PanelExtras,
) -> None:
    """Means over an axis, their intervals, printed values, formulas and lines."""
    horizontal = _horizontal_axis(panel, spec, table, group.series)
    within = _value_range(group.series, panel, extras)
    sketch.set_values(within, panel.y or metric_words(panel.metrics[0]))
    places, facts = [horizontal.place_levels(one) for one in group.series], TableFacts.of(table)
    _set_axis(sketch, panel, horizontal, group.series, places)
    for one, name, look, x in zip(group.series, group.names, group.looks, places, strict=True):
        at = [f"{name}, {level_words(horizontal.over, level)}" for level in one.levels]
        for levels, means in one.outcomes:
            there = horizontal.place_levels(one, levels).tolist()
            sketch.add_outcome(name, replace(look, marker=""), there, means)
        line, inside = (one.mean, one.low, one.high), _clip_range(within, *facts.range_of(one.quantity[2]))
        sketch.add_series(name, look, x, line, one.levels, _hovers(one, at), inside)
        texts = [Hover(f"the paper prints {figure(v)} for {at[i]}") for i, v in one.printed.items()]
        printed = [(float(x[i]), v) for i, v in one.printed.items()]
        sketch.add_printed(name, look.colour, printed, texts)
    finite = sorted({float(v) for x in places for v in x if v < horizontal.beyond})
    if panel.formulas and horizontal.over == "epsilon" and finite:
        grid = [e for one in group.series for e in one.levels if isinstance(e, float) and math.isfinite(e)]
        _paint_formulas(
            sketch,
            panel,
            _given_to_formulas(spec, group.series[0].quantity[0]),
            finite if panel.x == "epsilon" else grid,
            within,
        )
    for nth, (name, value) in enumerate(extras.lines.items()):
        sketch.add_level(name, value, nth)
    _note_printed(sketch, group.series)


def _clip_range(within: Range, low: float, high: float) -> Range:
    """The part of an axis within the range of a metric."""
    return Range(max(within.low, low), min(within.high, high), within.cut)


def _set_axis(
    sketch: Sketch, panel: Panel, horizontal: _HorizontalAxis, group: Sequence[Series], places: Sequence[Array]
) -> None:
    every = sorted({float(v) for x in places for v in x})
    if panel.x != "epsilon":
        name = "ε as trained (shuffled, not amplified)" if panel.x == "epsilon-as-trained" else panel.x
        sketch.set_places(every, name, True if panel.x == "epsilon-as-trained" else None)
        return
    labels = {
        float(p): float(e) for one, x in zip(group, places, strict=True) for e, p in zip(one.levels, x, strict=True)
    }
    sketch.set_places(every, "ε  (∞: without noise)" if math.inf in labels.values() else "ε", True)
    order = sorted(range(len(every)), key=lambda i: _tick_order(labels[every[i]], i, len(every)))
    texts = ["∞" if math.isinf(labels[v]) else f"{labels[v]:,g}" for v in every]
    sketch.set_ticks(every, texts, order)


def _tick_order(level: float, index: int, count: int) -> tuple[int, int]:
    """Sort key of ticks by importance: infinity, the ends, powers of ten, then others."""
    if math.isinf(level):
        return 0, index
    if index == 0:
        return 1, index
    return (2 if math.log10(level) % 1 == 0 else 3), index


def _given_to_formulas(spec: Spec, arm: str) -> dict[str, float]:
    """Parameters of formulas that are known for an arm."""
    if spec.results is not None:
        known = {"delta": spec.results.delta, "prior": spec.results.prior_of(arm)}
        return {name: value for name, value in known.items() if value is not None}
    assert spec.own_experiment is not None
    return {"delta": spec.own_experiment.arms[arm].privacy.delta, "prior": spec.own_experiment.arms[arm].prior}


def _paint_formulas(
    sketch: Sketch, panel: Panel, given: Mapping[str, float], finite: Sequence[float], within: Range
) -> None:
    """Draw the formulas that a panel names, from the least to the largest finite epsilon."""
    for nth, name in enumerate(panel.formulas):
        fine = np.geomspace(max(1e-6, min(finite)), max(finite), 200)
        curve = np.asarray(FORMULAS[name].curve(fine, **given), float)
        sketch.add_curve(bound_words(name), Look(BOUND, DASHES[nth % 4]), fine, curve, within)
