"""A figure of the site as a value: its picture, its legend, its numbers, and the files that readers download."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import pandas as pd

from harness.escaping import table_csv, visible_text

COLOURS = ("#0b6e99", "#b45309", "#6940a5", "#0f7b6c", "#ad1a72", "#64473a")
INK, RULE, BOUND = "#010203", "#040506", "#070809"
"""Stand-ins for colours that the page decides, as it is light or dark."""
VARIABLES = {
    **{colour: f"var(--c{i})" for i, colour in enumerate(COLOURS)},
    INK: "var(--ink)",
    RULE: "var(--rule)",
    BOUND: "var(--bound)",
}
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Of the series of a panel, in order: they differ where colours cannot be told apart, and so do dashes."""
Sort = Literal["measured", "one outcome", "printed", "formula", "line", "curve"]
"""What a number of a figure is."""
_SHAPES = {
    "o": "M13 2a3 3 0 1 0 .01 0z",
    "s": "M10 2h6v6h-6z",
    "^": "M13 1.5l3.5 6.5h-7z",
    "D": "M13 1l4 4-4 4-4-4z",
    "v": "M13 8.5l3.5-6.5h-7z",
    "P": "M12 1.5h2v2.5h2.5v2h-2.5v2.5h-2v-2.5h-2.5v-2h2.5z",
}
_DASHES = {"--": ' stroke-dasharray="5 3"', ":": ' stroke-dasharray="1.5 2"', "-.": ' stroke-dasharray="6 2 1.5 2"'}
TITLE, ROW = 24.0, 14.0
"""Points of a title above, and of a line of the legend below, a picture that stands by itself."""


@dataclass(frozen=True)
class Look:
    """How something is drawn."""

    colour: str
    dash: str = "-"
    """As the plotting library writes it; empty for no line."""
    marker: str = ""
    """The same; `x` is a printed value."""
    filled: bool = False
    """Whether it is an area."""


@dataclass(frozen=True)
class Key:
    """An entry of a legend."""

    name: str
    look: Look


@dataclass(frozen=True)
class Datum:
    """A number that is drawn, with its interval where it has one."""

    series: str
    sort: Sort
    x: float | str
    y: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Drawing:
    """A figure, or one panel of a figure that is split."""

    title: str
    svg: str
    keys: tuple[Key, ...]
    data: tuple[Datum, ...]
    x: str
    y: str
    notes: tuple[str, ...] = ()
    """What is not seen of it, such as how far a curve goes on."""
    further: bool = False
    """Whether it stands beside the figures of the paper, for claims that these do not show; it is not printed."""

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Each entry's name, and its sample as one `<svg>`."""
        return [(key.name, sample(key.look)) for key in self.keys]


def sample(look: Look) -> str:
    """An `<svg>` of a look for a legend: a piece of its line with its mark."""
    return f'<svg class="sample" viewBox="0 0 26 10" width="26" height="10" aria-hidden="true">{_sample(look)}</svg>'


def _sample(look: Look) -> str:
    colour = VARIABLES[look.colour]
    if look.filled:
        return f'<path d="M2 1h22v8h-22z" style="fill:{colour};fill-opacity:.35;stroke:{colour}"/>'
    line = f'<path d="M1 5h24"{_DASHES.get(look.dash, "")} style="stroke:{colour};stroke-width:1.6;fill:none"/>'
    if look.marker == "x":
        return f'<path d="M10 2l6 6m0-6l-6 6" style="stroke:{colour};stroke-width:1.6;fill:none"/>'
    mark = f'<path d="{_SHAPES[look.marker]}" style="fill:{colour}"/>' if look.marker else ""
    return (line if look.dash else "") + mark


def standalone_frame(
    width: float, height: float, title: str, keys: Sequence[Key], notes: Sequence[str]
) -> tuple[str, str]:
    """The view box that leaves room for a picture's title and legend, and these as SVG."""
    lines = [key.name for key in keys] + list(notes)
    longest = max([len(title) * 6.4, *(26 + 12 + len(line) * 5.2 for line in lines)], default=0.0)
    box = f"0 {-TITLE:g} {max(width, longest):.0f} {height + TITLE + ROW * len(lines) + 8:.0f}"
    rows = [f'<text x="6" y="-8" style="font-size:11px;font-weight:bold;fill:var(--ink)">{escape(title)}</text>']
    for i, line in enumerate(lines):
        y = height + ROW * (i + 0.6)
        picture = f'<g transform="translate(6 {y - 8:.1f})">{_sample(keys[i].look)}</g>' if i < len(keys) else ""
        text = f'<text x="38" y="{y:.1f}" style="font-size:9px;fill:var(--ink)">{escape(line)}</text>'
        rows.append(picture + text)
    return box, "".join(rows)


def standalone_svg(drawing: Drawing) -> str:
    """The picture as a file of its own: with title, legend and colours, which otherwise come from the page."""
    colours = {**{f"--c{i}": colour for i, colour in enumerate(COLOURS)}, "--ink": "#222222", "--rule": "#dddddd"}
    colours["--bound"] = "#000000"
    variables = ";".join(f"{name}:{value}" for name, value in colours.items())
    start, box = drawing.svg.index('data-whole="') + len('data-whole="'), ""
    box = drawing.svg[start : drawing.svg.index('"', start)]
    end = drawing.svg.index(">") + 1
    head = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{box}">'
    style = f"<style>svg{{{variables};font-family:sans-serif;background:#ffffff}}</style>"
    return head + style + drawing.svg[end:].replace('<g class="whole" display="none">', "<g>") + "\n"


def csv_text(drawing: Drawing) -> str:
    """The numbers of a figure as CSV: series, sort of number, both axes by name, and the ends of the interval."""
    rows = []
    for datum in drawing.data:
        ends = (f"{end:.6g}" if math.isfinite(end) else "" for end in (datum.low, datum.high))
        x = datum.x if isinstance(datum.x, str) else f"{datum.x:.6g}"
        rows.append([datum.series, datum.sort, drawing.x, x, drawing.y, f"{datum.y:.6g}", *ends])
    names = ["series", "kind", "x_name", "x", "y_name", "y", "low", "high"]
    return table_csv(pd.DataFrame(rows, columns=names))


def figure_files(figures: Mapping[str, Drawing]) -> dict[str, str]:
    """The files that readers download with figures, by path; `figures` are given by the stem of the path."""
    files = {}
    for stem, drawing in figures.items():
        files[f"figures/{stem}.svg"] = visible_text(standalone_svg(drawing))
        files[f"figures/{stem}.csv"] = csv_text(drawing)
    return files
