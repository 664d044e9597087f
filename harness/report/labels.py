"""Names at the right ends of curves, in their colours, each apart from the others, so that no legend is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from sklearn.isotonic import isotonic_regression

from harness.arrays import Array
from harness.report.drawing import Look
from harness.report.scales import CHARACTER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE, LINE, BETWEEN = 9.5, 0.185, 0.03
"""Points of a name; inches of one of its lines, and between two names."""
WIDEST, LEAD = 0.38, 0.14
"""Share of a figure that names may take; inches of the line that leads from a curve to its name."""
SHORTEST = 12
"""Characters that a line of a name may have at least: a figure too small for them keeps its legend."""


@dataclass(frozen=True)
class CurveEnd:
    """A curve that may bear its name, and where it ends on the right, in coordinates of the data."""

    name: str
    look: Look
    x: float
    y: float


def spread(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float] | None:
    """Middles of boxes that do not overlap, in the order that is wanted, as near to it as squares can say.

    Args:
        wanted: middles (k,) where the boxes would be if each were alone.
        heights: of the boxes, (k,).
        low: the lower end of the room for all of them.
        high: its upper end.

    Returns:
        middles (k,), or None where the boxes are higher than the room. Least squares under an order is isotonic
        regression, of what each box is above the pile of those below it.
    """
    if not wanted or sum(heights) > high - low:
        return None
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    sizes = np.array([heights[i] for i in order], float)
    piled = np.concatenate([[0.0], np.cumsum(sizes)[:-1]]) + sizes / 2
    above = isotonic_regression(np.array([wanted[i] for i in order], float) - piled)
    above = np.clip(above, low, high - float(sizes.sum()))
    middles = [0.0] * len(order)
    for i, middle in zip(order, (above + piled).tolist(), strict=True):
        middles[i] = middle
    return middles


def name_curves(axis: Axes, ends: Sequence[CurveEnd]) -> float:
    """Write names beside the right ends of curves, and make the axes narrower for them.

    Args:
        axis: one pair of axes with its scales set, all of its figure's width its own.
        ends: of the curves, in any order.

    Returns:
        inches that the axes lost, which is 0 where the names have no room and nothing was written.
    """
    figure = axis.get_figure(root=True)
    assert figure is not None
    wide, high = map(float, figure.get_size_inches())
    characters = int((WIDEST * wide - LEAD) / (SIZE * CHARACTER))
    texts = [wrap(end.name, characters, break_long_words=False) for end in ends]
    longest = max((len(line) for text in texts for line in text), default=0)
    if not ends or characters < max(SHORTEST, longest):
        return 0.0
    box = axis.get_position()
    scale, (low, top) = axis.yaxis.get_transform(), axis.get_ylim()
    bottom_of, top_of = scale.transform([low, top])
    values = scale.transform([min(max(end.y, low), top) for end in ends])
    wanted = [high * (box.y0 + box.height * float((v - bottom_of) / (top_of - bottom_of))) for v in values]
    heights = [LINE * len(text) + BETWEEN for text in texts]
    # Names stand beside the axes, and only where these are too low beside what is written below and above them, too,
    # into whose room the last label of a tick reaches.
    middles = spread(wanted, heights, high * box.y0 - 0.05, high * box.y1 + 0.1)
    if middles is None:
        middles = spread(wanted, heights, 0.02, high - 0.02)
    if middles is None:
        return 0.0
    lost = longest * SIZE * CHARACTER + LEAD - 0.1
    right = box.x1 - lost / wide
    axis.set_position((box.x0, box.y0, right - box.x0, box.height))
    for end, text, middle in zip(ends, texts, middles, strict=True):
        _write(axis, end, "\n".join(text), (right + LEAD / wide, middle / high))
    return lost


def _write(axis: Axes, end: CurveEnd, text: str, at: tuple[float, float]) -> None:
    """One name at a place of the figure, and a thin line to it from the end of its curve."""
    figure = axis.get_figure(root=True)
    assert figure is not None
    low, top = axis.get_ylim()
    axis.annotate(
        text,
        (end.x, min(max(end.y, low), top)),
        xycoords="data",
        xytext=at,
        textcoords=figure.transFigure,
        color=end.look.colour,
        fontsize=SIZE,
        va="center",
        ha="left",
        linespacing=1.4,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            "color": end.look.colour,
            "linewidth": 0.6,
            "alpha": 0.6,
            "shrinkA": 1.5,
            "shrinkB": 3.0,
            "relpos": (0.0, 0.5),
        },
    )


def last_point(x: Array | Sequence[float], y: Array | Sequence[float]) -> tuple[float, float] | None:
    """The point of a curve that is farthest to the right, None where none is finite."""
    points = [(float(a), float(b)) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b)]
    return max(points, default=None)
