"""A figure from sketches: where its axes stand, and what it becomes as a drawing of the page."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.report.drawing import BOUND, INK, Drawing
from harness.report.sketch import BARE, BOTTOM, FONT, LEFT, RIGHT, TOP, Sketch
from harness.report.theme import apply_theme, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS = 2
"""Axes in a row of a figure that has several."""


def draw_sketches(
    count: int,
    paint: Callable[[list[Sketch]], None],
    title: str,
    label: str,
    name: str,
    size: tuple[float, float],
    bare: bool = False,
) -> Drawing:
    """Run `paint` on so many fresh pairs of axes of one figure; several stand in rows of two.

    Args:
        title: of the figure, which stands outside of it.
        label: what it shows, in words, for those who cannot see it.
        name: makes names inside it its own.
        size: of the whole, in inches.
        bare: leave the name of the values out, since the title has it.
    """
    sketches: list[Sketch] = []

    def fill(canvas: Figure) -> None:
        for box in _boxes(count, size, BARE if bare else TOP):
            axis = canvas.add_axes(box)
            axis.patch.set_alpha(0.0)
            sketches.append(Sketch(axis, len(sketches)))
        paint(sketches)
        if count == 1:
            sketches[0].name_curves()
        if not bare:
            canvas.text(0.06 / size[0], 1 - 0.06 / size[1], sketches[0].above, size=FONT, va="top", ha="left")

    svg = render(size, fill)
    titles = {key: hovers for sketch in sketches for key, hovers in sketch.titles.items()}
    every = {key.name: key for sketch in sketches for key in sketch.keys.values()}
    keys = {key.name: key for key in sorted(every.values(), key=lambda key: key.look.colour in (INK, BOUND))}
    notes = tuple({note: None for sketch in sketches for note in sketch.notes})
    data = tuple(datum for sketch in sketches for datum in sketch.data)
    themed = apply_theme(svg, titles, label, name, title, tuple(keys.values()), notes)
    return Drawing(title, themed, tuple(keys.values()), data, sketches[0].x, sketches[0].y, notes)


def _boxes(count: int, size: tuple[float, float], top: float) -> list[tuple[float, float, float, float]]:
    """The boxes of axes in a figure: left, bottom, width and height, as shares of it."""
    wide, high = size
    left, right, bottom = LEFT, RIGHT, BOTTOM
    if count == 1:
        return [(left / wide, bottom / high, 1 - (left + right) / wide, 1 - (bottom + top) / high)]
    down = math.ceil(count / ACROSS)
    width, height = wide / ACROSS - left - right, (high - 0.1) / down - bottom - 0.5
    return [
        (
            (left + (i % ACROSS) * wide / ACROSS) / wide,
            1 - (0.6 + i // ACROSS * (high - 0.1) / down + height) / high,
            width / wide,
            height / high,
        )
        for i in range(count)
    ]
