"""The pictures of docs/site.md: `harness site -p sequential`, then `python docs/screenshots.py` (needs Chromium).

Colours are reduced to a palette of 256, so that all pictures together stay small.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Literal, NamedTuple

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "reports/sequential/site"
LIT = '.chip[href$="--rdp-near-baseline.html"]'
"""A claim whose points are shown lit."""
CLAIM = "claims/humphries2020-fig6--logloss-cap.html"
COLOURS = 256
A4 = 718
"""Pixels of an A4 sheet's width between Chromium's own margins."""


class View(NamedTuple):
    """A page of the site, and how it is looked at."""

    page: str
    width: int
    height: int
    anchor: str = ""
    scheme: Literal["light", "dark"] = "light"
    medium: Literal["screen", "print"] = "screen"
    hover: str = ""
    """What the pointer is on."""


PICTURES = {
    "front": View("index.html", 1400, 1000),
    "claims": View("claims.html", 1400, 900),
    "compare": View("compare.html", 1400, 700),
    "theory": View("theory.html", 1400, 800),
    "paper": View("papers/rahimian2021.html", 1400, 1000, "#rahimian2021-location30"),
    "paper-hover": View(
        "papers/jayaraman2019.html",
        1400,
        700,
        "#jayaraman2019-clipping",
        hover='.chip[href$="--rdp-near-baseline.html"]',
    ),
    "claim": View(CLAIM, 1400, 1000),
    "claim-dark": View("claims/thudi2022-theory--unlearning-capacity-as-printed.html", 1400, 900, scheme="dark"),
    "front-tablet": View("index.html", 1024, 900),
    "claim-tablet": View(CLAIM, 1024, 900),
    "front-phone": View("index.html", 390, 844),
    "claim-phone": View(CLAIM, 390, 844),
    "paper-print": View("papers/tramer2025.html", A4, 1000, medium="print"),
}


def main(out: Path = ROOT / "docs/images") -> None:
    """Write all pictures as PNG."""
    with sync_playwright() as driver:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, view in PICTURES.items():
            size = {"width": view.width, "height": view.height}
            tab = browser.new_context(color_scheme=view.scheme, viewport=size).new_page()
            tab.goto(f"file://{SITE / view.page}{view.anchor}")
            tab.emulate_media(media=view.medium, color_scheme=view.scheme)
            if view.hover:
                tab.locator(view.hover).first.dispatch_event("mouseenter")
            reduce_colours(tab.screenshot()).save(out / f"{name}.png", optimize=True)
        browser.close()


def reduce_colours(png: bytes) -> Image.Image:
    """The same picture with a palette."""
    return Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
