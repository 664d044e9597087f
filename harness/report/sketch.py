"""The grammar of every figure: series with intervals, printed values as crosses, formulas, lines, rows of set-ups.

A sketch is one pair of axes. What is drawn on it by these functions is remembered: for the legend, for hover, and for
the file of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.arrays import Array
from harness.report.drawing import BOUND, INK, Datum, Key, Look, Sort
from harness.report.labels import CurveEnd, last_point, name_curves
from harness.report.scales import CHARACTER, Range, choose_ticks, is_wide, locate_ticks, shown_ticks
from harness.report.theme import Hover
from harness.report.vocabulary import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE, SMALL = (4.4, 2.9), (3.6, 2.2)
"""Inches of a figure, and of one on a card."""
LEFT, RIGHT, BOTTOM, TOP, BARE = 0.55, 0.22, 0.5, 0.34, 0.12
"""Inches around the axes of a figure; at its top less where nothing is written there."""
FONT = 9.5
"""Points of a label."""
CUT = "Intervals cut off at the edge continue beyond it."


class Sketch:
    """One pair of axes, and what was drawn on them."""

    def __init__(self, axis: Axes, index: int = 0) -> None:
        self.axis = axis
        self.index = index
        self.titles: dict[str, list[Hover]] = {}
        self.keys: dict[str, Key] = {}
        self.data: list[Datum] = []
        self.notes: dict[str, None] = {}
        self.x, self.y, self.above = "", "", ""
        self.ends: list[CurveEnd] = []
        self._choose_ticks: Callable[[], None] = lambda: None

    def _register(self, hovers: Sequence[Hover]) -> str:
        name = f"points-{self.index}-{len(self.titles)}"
        self.titles[name] = list(hovers)
        return name

    def _enter(self, name: str, look: Look) -> None:
        if name:
            self.keys.setdefault(name, Key(name, look))

    def _end_at(self, name: str, look: Look, x: Array | Sequence[float], y: Array | Sequence[float]) -> None:
        """Remember where a curve ends that may bear its name there."""
        point = last_point(x, y)
        if name and point is not None:
            self.ends.append(CurveEnd(name, look, *point))

    def name_curves(self) -> None:
        """Write the names of curves at their right ends where they have room; these need no entry in the legend."""
        if name_curves(self.axis, self.ends):
            for end in self.ends:
                del self.keys[end.name]
            self._choose_ticks()

    def add_series(
        self,
        name: str,
        look: Look,
        x: Array,
        line: tuple[Array, Array, Array],
        levels: Sequence[float | str],
        hovers: Sequence[Hover],
        within: Range,
    ) -> None:
        """Means (k,) at places x (k,) of a value axis that goes from left to right, with their intervals as a band.

        Args:
            line: mean, low and high, (k,) each.
            levels: what the places are of, for the file of numbers.
            within: the ends of the value axis, where bands are cut.
        """
        mean, low, high = line
        ends = _cut(low, within, within.low), _cut(high, within, within.high)
        known = np.isfinite(low) | np.isfinite(high)
        # What was trained without noise stands apart: no ε leads to it, so no line or band does either.
        joined = np.array([not (isinstance(level, float) and math.isinf(level)) for level in levels])
        self.axis.fill_between(x, *ends, where=known & joined, color=look.colour, alpha=0.13, linewidth=0)
        for place, bottom, top in zip(x[known & ~joined], *(end[known & ~joined] for end in ends), strict=True):
            self.axis.plot([place, place], [bottom, top], "-", color=look.colour, linewidth=5, alpha=0.13)
        self.axis.plot(x[joined], mean[joined], look.dash, color=look.colour, linewidth=1.6)
        gid = self._register(hovers)
        self.axis.plot(x, mean, linestyle="", color=look.colour, marker=look.marker, markersize=4, gid=gid)
        self._enter(name, look)
        self._end_at(name, look, *((x[joined], mean[joined]) if joined.any() else (x, mean)))
        rows = zip(levels, mean, low, high, strict=True)
        self.data += [Datum(name or self.y, "measured", a, float(m), float(b), float(c)) for a, m, b, c in rows]

    def add_outcome(self, name: str, look: Look, x: Sequence[float], y: Sequence[float]) -> None:
        """Draw a thin line for one of the outcomes that a series averages over."""
        self.axis.plot(x, y, look.dash, color=look.colour, linewidth=0.8, alpha=0.55)
        self._enter("thin: single outcomes of the split", Look(INK, "-"))
        self.data += [Datum(name or self.y, "one outcome", a, b) for a, b in zip(x, y, strict=True)]

    def add_printed(
        self, name: str, colour: str, points: Sequence[tuple[float, float]], hovers: Sequence[Hover]
    ) -> None:
        """Draw crosses where the paper prints a number; `points` are places and values."""
        if points:
            x, y = zip(*points, strict=True)
            self._cross(x, y, colour, hovers)
            self._enter("printed in the paper", Look(INK, "", "x"))
            self.data += [Datum(name or self.y, "printed", a, b) for a, b in points]

    def _cross(self, x: Sequence[float], y: Sequence[float], colour: str, hovers: Sequence[Hover]) -> None:
        """Mark printed values."""
        gid = self._register(hovers)
        self.axis.plot(x, y, "x", color=colour, gid=gid, markersize=7, markeredgewidth=1.6, zorder=4, linestyle="")

    def add_curve(
        self, name: str, look: Look, x: Array, y: Array, within: Range | None = None, sort: Sort = "formula"
    ) -> None:
        """Draw a curve without marks, as far as it lies `within` the value axis; a note says how far it goes on."""
        shown = np.isfinite(y) if within is None else np.isfinite(y) & (y <= within.high) & (y >= within.low)
        if within is not None and not shown.all():
            self._note_rest(name, y, within)
        self.axis.plot(x, np.where(np.isfinite(y), y, np.nan), look.dash, color=look.colour, linewidth=1.4)
        self._enter(name, look)
        self._end_at(name, look, x[shown], y[shown])
        self.data += [Datum(name, sort, float(a), float(b)) for a, b in zip(x, y, strict=True) if math.isfinite(b)]

    def add_shape(self, name: str, look: Look, x: Array, y: Array) -> None:
        """A curve of many points (k,), or a histogram of shares at the centres of its bins."""
        if look.filled:
            self.axis.fill_between(x, 0, y, step="mid", color=look.colour, alpha=0.35, linewidth=0)
            self.axis.plot(x, y, drawstyle="steps-mid", color=look.colour, linewidth=1.0)
        else:
            self.axis.plot(x, y, look.dash, color=look.colour, linewidth=1.5)
            self._end_at(name, look, x, y)
        self._enter(name, look)
        self.data += [Datum(name, "curve", float(a), float(b)) for a, b in zip(x, y, strict=True)]

    def add_marks(self, look: Look, x: Array, y: Array, hovers: Sequence[Hover]) -> None:
        """Draw points that show their values on hover; those of a histogram are invisible."""
        alpha, gid = 0.01 if look.filled else 1.0, self._register(hovers)
        self.axis.plot(x, y, look.marker or "o", color=look.colour, markersize=3.2, alpha=alpha, gid=gid)

    def add_point(
        self, name: str, colour: str, x: Sequence[float], y: Sequence[float], hovers: Sequence[Hover]
    ) -> None:
        """Single points that matter, over everything else."""
        self.axis.plot(x, y, "o", color=colour, markersize=5.5, zorder=5, gid=self._register(hovers))
        self._enter(name, Look(colour, "", "o"))
        self.data += [Datum(name, "curve", a, b) for a, b in zip(x, y, strict=True)]

    def _note_rest(self, name: str, y: Array, within: Range) -> None:
        finite = y[np.isfinite(y)]
        if len(finite) and finite.max() > within.high:
            self.notes[f"↑ {name} goes on, to {figure(float(finite.max()))}"] = None
        if len(finite) and finite.min() < within.low:
            self.notes[f"↓ {name} goes on, to {figure(float(finite.min()))}"] = None

    def add_level(self, name: str, value: float, nth: int = 0) -> None:
        """Draw a horizontal line."""
        look = Look(BOUND, ("--", ":", "-.")[nth % 3])
        self.axis.axhline(value, color=look.colour, linewidth=1.2, linestyle=look.dash)
        name_with_value = f"{name}: {figure(value)}"
        self._enter(name_with_value, look)
        self._end_at(name_with_value, look, [self.axis.get_xlim()[1]], [value])
        self.data.append(Datum(name, "line", "", value))

    def add_row_points(
        self,
        name: str,
        look: Look,
        rows: Mapping[float, str],
        line: tuple[Array, Array, Array],
        hovers: Sequence[Hover],
        within: Range,
    ) -> None:
        """Means with their intervals, one in each of the rows: `rows` has the height and the name of each."""
        mean, low, high = line
        y = list(rows)
        known = np.isfinite(low) | np.isfinite(high)
        cut = zip(y, _cut(low, within, within.low), _cut(high, within, within.high), known, strict=True)
        for height, a, b, is_known in cut:
            if is_known:
                self.axis.plot([a, b], [height, height], "-", color=look.colour, linewidth=1.4)
        gid = self._register(hovers)
        self.axis.plot(mean, y, color=look.colour, marker=look.marker, markersize=4.5, linestyle="", gid=gid)
        self._enter(name, look)
        values = zip(rows.values(), mean, low, high, strict=True)
        self.data += [Datum(name or self.y, "measured", row, float(m), float(b), float(c)) for row, m, b, c in values]

    def add_row_printed(
        self, name: str, colour: str, rows: Mapping[float, str], values: Sequence[float], hovers: Sequence[Hover]
    ) -> None:
        """A cross in each of the rows that the paper prints a number of."""
        if values:
            self._cross(values, list(rows), colour, hovers)
            self._enter("printed in the paper", Look(INK, "", "x"))
            pairs = zip(rows.values(), values, strict=True)
            self.data += [Datum(name or self.y, "printed", row, value) for row, value in pairs]

    def add_lane(
        self,
        name: str,
        look: Look,
        values: Sequence[float],
        heights: Sequence[float],
        rows: Sequence[str],
        hovers: Sequence[Hover],
    ) -> None:
        """Marks (k,) of values at heights of their own, many in a row; `rows` are the names of their rows."""
        self.axis.plot(
            values,
            heights,
            color=look.colour,
            gid=self._register(hovers),
            marker=look.marker,
            markersize=4,
            linestyle="",
            markerfacecolor="none",
        )
        self._enter(name, look)
        self.data += [Datum(name, "measured", row, value) for row, value in zip(rows, values, strict=True)]

    def set_values(self, within: Range, name: str) -> None:
        """Set the ends, ticks and name of the vertical axis; the name stands above it."""
        self.y = self.above = name
        self.axis.set_ylim(within.low, within.high)
        locate_ticks(self.axis.yaxis)
        self.make_room(shown_ticks(self.axis.yaxis)[1])
        if within.cut:
            self.notes[CUT] = None

    def set_log_values(self, within: Range, name: str) -> None:
        """Set the ends, ticks and name of a logarithmic vertical axis."""
        self.axis.set_yscale("log")
        self.set_values(replace(within, cut=False), name)

    def make_room(self, labels: Sequence[str]) -> None:
        """Begin the horizontal axis further to the right where labels of the vertical one need room."""
        box = self.axis.get_position()
        wide = float(self.axis.get_figure(root=True).get_figwidth())  # type: ignore[union-attr]
        further = max(map(text_width, labels), default=0.0) + 0.15 - LEFT
        if further > 0:
            self.axis.set_position((box.x0 + further / wide, box.y0, box.width - further / wide, box.height))

    def name_rows(self, heights: Sequence[float], names: Sequence[str], size: float = FONT) -> None:
        """Set the vertical axis of rows: their names alone, without marks and lines."""
        self.axis.tick_params("y", length=0, labelsize=size)
        self.axis.grid(visible=False, axis="y")
        self.axis.set_yticks(heights, names)

    def set_places_of_values(self, within: Range, name: str) -> None:
        """Set the horizontal axis of values, on which rows have their marks."""
        self.x, self.y, self.above = "set-up", name, name
        self.axis.set_xlim(within.low, within.high)
        self._set_round_ticks()
        if within.cut:
            self.notes[CUT] = None

    def set_places(self, places: Sequence[float], name: str, logarithmic: bool | None = None) -> None:
        """The horizontal axis over these places; logarithmic where they are far apart, if it is not said."""
        self.x = name
        low, high = min(places), max(places)
        if high > low and (logarithmic or (logarithmic is None and is_wide(places))):
            self.axis.set_xscale("log")
        scale = self.axis.xaxis.get_transform()
        ends = scale.transform([low, high])
        margin = 0.04 * (ends[1] - ends[0]) or 0.5
        self.axis.set_xlim(*scale.inverted().transform([ends[0] - margin, ends[1] + margin]))
        self._set_round_ticks()
        self._choose_ticks = self._set_round_ticks
        self.axis.set_xlabel(name)

    def _set_round_ticks(self) -> None:
        from matplotlib.ticker import FixedLocator

        locate_ticks(self.axis.xaxis)
        places, labels = shown_ticks(self.axis.xaxis)
        chosen = choose_ticks(self.axis.xaxis, places, labels, range(len(places)), FONT)
        self.axis.xaxis.set_major_locator(FixedLocator([places[i] for i in chosen]))

    def set_ticks(self, places: Sequence[float], labels: Sequence[str], first: Sequence[int]) -> None:
        """Set ticks at places, as many as have room for their labels, in the order in which they are wanted."""
        from matplotlib.ticker import FixedFormatter, FixedLocator

        def choose() -> None:
            chosen = choose_ticks(self.axis.xaxis, places, labels, first, FONT)
            self.axis.xaxis.set_major_locator(FixedLocator([places[i] for i in chosen]))
            self.axis.xaxis.set_major_formatter(FixedFormatter([labels[i] for i in chosen]))

        choose()
        self._choose_ticks = choose


def _cut(ends: Array, within: Range, unknown: float) -> Array:
    """Ends of intervals, (k,), clipped to the axis; unknown ends become the axis' end."""
    return np.clip(np.nan_to_num(ends, nan=unknown), within.low, within.high)


def text_width(text: str, size: float = FONT) -> float:
    """Inches of the longest line of a text, rather too many."""
    return max(len(line) for line in text.split("\n")) * size * CHARACTER
