"""From what the plotting library writes to an SVG of the page: its colours, its font, values to hover over."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from harness.hashing import fingerprint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0b6e99", "#b45309", "#6940a5", "#0f7b6c", "#ad1a72", "#64473a")
INK, RULE, BOUND = "#010203", "#040506", "#070809"
"""Stand-ins for colours that the page decides, as it is light or dark."""
VARIABLES = {
    **{colour: f"var(--c{i})" for i, colour in enumerate(COLOURS)},
    INK: "var(--ink)",
    RULE: "var(--rule)",
    BOUND: "var(--bound)",
}
_COORDINATES = re.compile(r' (?:d|x|y|transform)="[^"]*"')
_LONG = re.compile(r"(\d\.\d{2})\d+")
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
MOST_LABELS, LONGEST_LABEL = 7, 28
"""Curves, and characters of their names, that are labelled at their ends; else there is a legend below the panel."""


@dataclass(frozen=True)
class Hover:
    """What a point says, and the name of what was measured there."""

    text: str
    of: str = ""


Titles = Mapping[str, Sequence[Hover]]
"""By the name of a line: each of its points."""
Label = tuple[str, str, float]
"""Text, colour, and height at the right end."""


def svg_of(
    panels: int, paint: Callable[[list[Axes]], Titles], label: str, name: str, size: tuple[float, float] = (3.8, 2.8)
) -> str:
    """Run `paint` on fresh axes and return one `<svg>`; the same data always give the same bytes.

    Two panels lie side by side, more in rows of two, so that a phone's width still holds what is written on them.

    Args:
        paint: draws, and returns what points say on hover.
        label: what the figure shows, in words, for those who cannot see it.
        name: names inside the SVG start with a hash of it, so that several fit on one page.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    settings: Any = {
        "svg.hashsalt": "harness",
        "svg.fonttype": "none",
        "font.size": 9.5,
        "path.simplify": True,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
        "grid.color": RULE,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with mpl.rc_context(settings):
        across = min(panels, ACROSS)
        down = math.ceil(panels / ACROSS)
        figure = Canvas(figsize=(size[0] * across, size[1] * down))
        figure.patch.set_alpha(0.0)
        axes = [figure.add_subplot(down, across, i + 1) for i in range(panels)]
        for axis in axes:
            axis.patch.set_alpha(0.0)
        titles = paint(axes)
        out, nothing = io.StringIO(), {"Date": None, "Creator": None}
        if panels == 1:
            _fit(figure, axes[0])
            figure.savefig(out, format="svg", metadata=nothing)
        else:
            figure.subplots_adjust(wspace=0.32, hspace=0.75)
            figure.savefig(out, format="svg", bbox_inches="tight", pad_inches=0.04, metadata=nothing)
    return apply_theme(out.getvalue(), titles, label, name)


ACROSS = 2
"""Panels in a row of a picture."""
CHARACTER = 0.0086
"""Inches of a character's width for each point of its size, on average and rather too much."""


def _fit(figure: Figure, axis: Axes) -> None:
    """Margins that hold ticks, labels and legend, from their number of characters: a layout by drawing takes twice as
    long as the drawing."""
    wide, high = (share * side for share, side in zip((0.775, 0.77), figure.get_size_inches(), strict=True))
    beside = [t for t in axis.texts if t.get_transform() is axis.transAxes]
    right = max((len(t.get_text()) * float(t.get_fontsize()) * CHARACTER for t in beside), default=0.0) + 0.12
    lines = max((tick.get_text().count("\n") for tick in axis.get_xticklabels()), default=0)
    legend = axis.get_legend()
    bottom = 0.48 + 0.14 * lines
    if legend is not None:
        texts = [text.get_text() for text in legend.get_texts()]
        bottom += 0.12 + 0.165 * math.ceil(len(texts) / 2)
        across = (
            2 * (max(map(len, texts)) * float(legend.get_texts()[0].get_fontsize()) * CHARACTER + 0.45) - 0.12 * wide
        )
        right = max(right, across - wide)
    left, top = 0.62, 0.34
    tall, broad = bottom + high + top, left + wide + right
    figure.set_size_inches(broad, tall)
    axis.set_position((left / broad, bottom / tall, wide / broad, high / tall))


def apply_theme(svg: str, titles: Titles, label: str, name: str) -> str:
    """The same with the page's colours and font, a text for screen readers, and values on hover."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(svg[svg.index("<svg") :])
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    for group in root.iter(f"{{{SVG}}}g"):
        points = titles.get(group.get("id", ""))
        if points is None:
            continue
        marks = list(group.iter(f"{{{SVG}}}use"))
        shared = {hover.of for hover in points}
        common = shared.pop() if len(shared) == 1 else ""
        if common:
            group.set("data-of", common)
        for mark, hover in zip(marks, points, strict=False):
            ElementTree.SubElement(mark, f"{{{SVG}}}title").text = hover.text
            if hover.of and not common:
                mark.set("data-of", hover.of)
        group.set("class", "points")
    text = ElementTree.tostring(root, encoding="unicode")
    own = "f" + fingerprint(name)[:5]
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{own}-", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r"font: ([\d.]+)px[^;\"]*", r"font-size: \1px", text)
    wide = re.search(r'viewBox="0 0 ([\d.]+)', text)
    width = f"{float(wide.group(1)) * 4 / 3:.0f}px" if wide else "100%"
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    text = _COORDINATES.sub(lambda m: _LONG.sub(r"\1", m.group()), text)
    described = escape(label, quote=True)
    return re.sub(r"\n\s*", "\n", text).replace(
        "<svg", f'<svg style="width: {width}" role="img" aria-label="{described}"', 1
    )


def register_hover(titles: dict[str, list[Hover]], points: Sequence[Hover]) -> str:
    """The name of a line with these points."""
    name = f"points-{len(titles)}"
    titles[name] = list(points)
    return name


def make_standalone(svg: str) -> str:
    """The same as a file of its own, which has no page to take colours from."""
    colours = {**{f"--c{i}": colour for i, colour in enumerate(COLOURS)}, "--ink": "#222222", "--rule": "#dddddd"}
    colours["--bound"] = "#000000"
    variables = ";".join(f"{name}:{value}" for name, value in colours.items())
    end = svg.index(">") + 1
    return f"{svg[:end]}<style>svg{{{variables};font-family:sans-serif;background:#ffffff}}</style>{svg[end:]}"


def label_ends(axis: Axes, labels: Sequence[Label], size: float = 8.5) -> None:
    """Names at the right ends of curves, pushed apart where they would touch; many go below the panel instead."""
    if len(labels) > MOST_LABELS or max((len(text) for text, _, _ in labels), default=0) > LONGEST_LABEL:
        _draw_legend(axis, labels, size)
        return
    low, high = axis.get_ylim()
    logarithmic = axis.get_yscale() == "log"

    def height_of(y: float) -> float:
        y = min(max(y, low), high)
        return (math.log(y / low) / math.log(high / low)) if logarithmic else (y - low) / (high - low)

    tall = axis.get_window_extent().height / axis.get_figure(root=True).dpi  # type: ignore[union-attr]
    gap = 1.2 * size / 72 / tall
    placed = sorted(
        ((height_of(y), text, colour) for text, colour, y in labels if math.isfinite(y)), key=lambda p: p[0]
    )
    heights = spread_labels([p[0] for p in placed], gap)
    for height, (_, text, colour) in zip(heights, placed, strict=True):
        axis.text(1.015, height, text, color=colour, fontsize=size, va="center", transform=axis.transAxes)


def spread_labels(heights: Sequence[float], gap: float) -> list[float]:
    """Ascending heights moved as little as possible so that neighbours are at least `gap` apart (pooled neighbours)."""
    groups: list[tuple[float, int]] = []  # (sum of heights less their offset, count)
    for index, height in enumerate(heights):
        groups.append((height - gap * index, 1))
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            before, many = groups.pop()
            groups.append((before + total, many + count))
    flat = [total / count for total, count in groups for _ in range(count)]
    return [base + gap * index for index, base in enumerate(flat)]


def _draw_legend(axis: Axes, labels: Sequence[Label], size: float) -> None:
    """The names as a legend under the panel, in columns."""
    from matplotlib.lines import Line2D

    known = {line.get_label(): line for line in axis.lines}
    handles = [known.get(text) or Line2D([], [], color=colour) for text, colour, _ in labels]
    names = [text for text, _, _ in labels]
    lines = max((tick.get_text().count("\n") for tick in axis.get_xticklabels()), default=0)
    below = -0.16 - 0.05 * lines
    axis.legend(
        handles, names, fontsize=size - 0.5, frameon=False, loc="upper left", bbox_to_anchor=(-0.12, below), ncols=2
    )
