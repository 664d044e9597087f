"""The pictures of docs/site.md: `harness site -p sequential`, then `python docs/screenshots.py` (needs Chromium)."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "reports/sequential/site"
CLAIM = "claims/humphries2020-fig6--logloss-cap.html"
PICTURES = {
    "front": ("index.html", 1280, 1000, "light", ""),
    "front-dark": ("index.html", 1280, 1000, "dark", ""),
    "front-phone": ("index.html", 390, 900, "light", ""),
    "claims": ("claims.html", 1280, 1000, "light", ""),
    "claims-phone": ("claims.html", 390, 900, "light", ""),
    "paper": ("papers/humphries2020.html", 1280, 1000, "light", "#humphries2020-fig3"),
    "paper-dark": ("papers/jayaraman2019.html", 1280, 1000, "dark", "#jayaraman2019-nn-purchase100"),
    "paper-phone": ("papers/humphries2020.html", 390, 900, "light", "#humphries2020-fig2"),
    "claim": (CLAIM, 1280, 1000, "light", ""),
    "claim-dark": (CLAIM, 1280, 1000, "dark", ""),
    "claim-phone": (CLAIM, 390, 900, "light", ""),
    "theory": ("theory.html", 1280, 800, "light", ""),
    "theory-dark": ("theory.html", 1280, 800, "dark", ""),
    "theory-phone": ("theory.html", 390, 900, "light", ""),
}
COMMITTED = ("front", "claims", "paper", "claim", "claim-dark", "claim-phone", "theory")


def main(out: Path = ROOT / "docs/images", names: tuple[str, ...] = COMMITTED) -> None:
    """Write the pictures of these names as PNG."""
    with sync_playwright() as driver:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in names:
            page, width, height, scheme, anchor = PICTURES[name]
            size = {"width": width, "height": height}
            tab = browser.new_context(color_scheme=scheme, viewport=size).new_page()
            tab.goto(f"file://{SITE / page}{anchor}")
            tab.screenshot(path=out / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
