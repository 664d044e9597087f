"""From what the plotting library writes to an SVG of the page: its colours, its font, values to hover over."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from harness.hashing import fingerprint
from harness.report.drawing import INK, RULE, VARIABLES, Key, standalone_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COORDINATES = re.compile(r' (?:d|x|y|transform)="[^"]*"')
_LONG = re.compile(r"(\d\.\d{2})\d+")
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"


@dataclass(frozen=True)
class Hover:
    """What a point says, and the name of what was measured there."""

    text: str
    of: str = ""


Titles = Mapping[str, Sequence[Hover]]
"""By the name of a line: each of its points."""


def open_canvas(size: tuple[float, float]) -> Figure:
    """An empty figure of a size in inches, to be drawn within `style`."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=size)
    figure.patch.set_alpha(0.0)
    return figure


def style() -> dict[str, float | str]:
    """The plotting library's settings, beside its defaults: the same data give the same bytes, whatever a user's own
    settings are."""
    return {
        "svg.hashsalt": "harness",
        "svg.fonttype": "none",
        "font.size": 9.5,
        "path.simplify": True,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": RULE,
        "grid.linewidth": 0.6,
    }


def render(size: tuple[float, float], paint: Callable[[Figure], None]) -> str:
    """Run `paint` on an empty figure and return what the plotting library writes of it."""
    from matplotlib.style import context

    settings: Any = ["default", style()]
    with context(settings):
        figure = open_canvas(size)
        paint(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def apply_theme(
    svg: str,
    titles: Titles,
    label: str,
    name: str,
    title: str = "",
    keys: Sequence[Key] = (),
    notes: Sequence[str] = (),
) -> str:
    """The same with the page's colours and font, a text for screen readers, and values on hover.

    Args:
        label: what the figure shows, in words, for those who cannot see it.
        name: names inside the SVG start with a hash of it, so that several fit on one page.
        title: this, the entries of the legend and the notes are in it, too, but shown only where it stands by itself.
    """
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(svg[svg.index("<svg") :])
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    for group in root.iter(f"{{{SVG}}}g"):
        points = titles.get(group.get("id", ""))
        if points is not None:
            _name_points(group, points)
    text = ElementTree.tostring(root, encoding="unicode")
    own = "f" + fingerprint(name)[:5]
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{own}-", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r"font: ([\d.]+)px[^;\"]*", r"font-size: \1px", text)
    text = re.sub(r" font-family: [^;\"]*;", "", text)
    text = re.sub(r'<g id="[^"]*-(?:line2d|patch|text)_\d+"', "<g", text)  # to which nothing refers
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups())  # type: ignore[union-attr]
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    text = _COORDINATES.sub(lambda m: _LONG.sub(r"\1", m.group()), text)
    box, whole = standalone_frame(width, height, title, keys, notes)
    described = escape(label, quote=True)
    text = re.sub(r"\n\s*", "\n", text)
    text = text.replace("</svg>", f'<g class="whole" display="none">{whole}</g></svg>')
    return text.replace("<svg", f'<svg role="img" aria-label="{described}" data-whole="{box}"', 1)


def _name_points(group: ElementTree.Element, points: Sequence[Hover]) -> None:
    """What each mark of a line says, and what it is of."""
    shared = {hover.of for hover in points}
    common = shared.pop() if len(shared) == 1 else ""
    if common:
        group.set("data-of", common)
    for mark, hover in zip(list(group.iter(f"{{{SVG}}}use")), points, strict=False):
        ElementTree.SubElement(mark, f"{{{SVG}}}title").text = hover.text
        if hover.of and not common:
            mark.set("data-of", hover.of)
    group.set("class", "points")
