"""Boxes of the labels of figures as a browser draws them, and which of them lie on each other or leave the figure."""

from __future__ import annotations

from typing import Any

SLACK = 0.75
"""Pixels by which the boxes of two labels may share room: a box is higher than the letters in it."""
FAULTS = """slack => [...document.querySelectorAll('.canvas svg')].flatMap(svg => {
  const whole = svg.getBoundingClientRect(), name = svg.getAttribute('aria-label'), faults = [];
  const labels = [...svg.querySelectorAll('text')].filter(text => !text.closest('.whole') && text.textContent.trim());
  const boxes = labels.map(text => text.getBoundingClientRect());
  labels.forEach((text, i) => {
    const a = boxes[i];
    if (a.left < whole.left - slack || a.right > whole.right + slack || a.top < whole.top - slack || a.bottom > whole.bottom + slack)
      faults.push([name, 'leaves the figure', text.textContent]);
    labels.slice(i + 1).forEach((other, j) => {
      const b = boxes[i + 1 + j];
      if (a.left + slack < b.right && b.left + slack < a.right && a.top + slack < b.bottom && b.top + slack < a.bottom)
        faults.push([name, text.textContent, other.textContent]);
    });
  });
  return faults;
})"""


def label_faults(page: Any) -> list[list[str]]:
    """Of all figures of a page, folded ones included: the figure, and two labels that overlap, or one that leaves it."""
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    faults: list[list[str]] = page.evaluate(FAULTS, SLACK)
    return faults


def count_labels(page: Any) -> int:
    """How many labels the figures of a page have."""
    return int(page.evaluate("document.querySelectorAll('.canvas svg text').length"))
