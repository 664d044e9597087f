"""Ticks of an axis of a figure as few artists: the plotting library's own are five for each tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from harness.report.drawing import INK, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")
FONT = 9.5
"""Points of a label."""
LENGTH, WIDTH, RULE_WIDTH, PAD = 3.5, 0.8, 0.6, 3.5
"""Points: a mark's length and width, a grid line's width, the room between a mark and its label."""
NAME_PAD = 4.0
"""Points between the labels of the horizontal axis and its name."""
LINE_HEIGHT = 1.16
"""Height of a line of text over its size."""


@dataclass(frozen=True)
class Ticks:
    """Where an axis has labels, and what these say."""

    places: Sequence[float] = ()
    labels: Sequence[str] = ()
    size: float = FONT
    """Points of a label."""
    bare: bool = False
    """Whether labels stand alone, without a mark and a grid line."""


def draw_ticks(axis: Axes, ticks: Ticks, along: Literal["x", "y"], index: int = 0) -> None:
    """Draw grid lines, marks and labels at these ticks, once the axis has its ends and scale, in place of its own.

    `index`: of the axes in their figure, for the names of labels.
    """
    from matplotlib.lines import Line2D
    from matplotlib.markers import TICKDOWN, TICKLEFT, MarkerStyle
    from matplotlib.ticker import NullLocator
    from matplotlib.transforms import ScaledTranslation

    across = along == "x"
    own = axis.xaxis if across else axis.yaxis
    own.set_major_locator(NullLocator())
    own.set_minor_locator(NullLocator())
    transform = axis.get_xaxis_transform() if across else axis.get_yaxis_transform()
    low, high = sorted(axis.get_xlim() if across else axis.get_ylim())
    kept = [(p, label) for p, label in zip(ticks.places, ticks.labels, strict=True) if low <= p <= high]
    places = np.array([p for p, _ in kept], float)
    if not ticks.bare:
        ends = np.tile([0.0, 1.0, np.nan], len(places))
        lines = Line2D(
            *_order_coordinates(across, places.repeat(3), ends), color=RULE, linewidth=RULE_WIDTH, transform=transform
        )
        marks = Line2D(
            *_order_coordinates(across, places, np.zeros(len(places))),
            color=INK,
            linestyle="",
            marker=MarkerStyle(TICKDOWN if across else TICKLEFT),
            markersize=LENGTH,
            markeredgewidth=WIDTH,
            transform=transform,
            clip_on=False,
        )
        lines.set_zorder(0.5)
        axis.add_artist(lines)
        marks.set_clip_on(False)
        axis.add_artist(marks)
    room = -(PAD + (0.0 if ticks.bare else LENGTH)) / 72
    canvas = axis.get_figure(root=True)
    assert canvas is not None
    beside = transform + ScaledTranslation(*_order_coordinates(across, 0.0, room), canvas.dpi_scale_trans)
    for nth, (place, label) in enumerate(kept):
        axis.text(
            *_order_coordinates(across, place, 0.0),
            label,
            transform=beside,
            size=ticks.size,
            ha="center" if across else "right",
            va="top" if across else "center_baseline",
            gid=f"{along}tick-{index}-{nth}",
        )
    if across:
        axis.xaxis.labelpad = NAME_PAD + PAD + LENGTH + LINE_HEIGHT * ticks.size


def _order_coordinates(across: bool, along: T, away: T) -> tuple[T, T]:
    """What is along an axis and what is across it, as x and y."""
    return (along, away) if across else (away, along)
