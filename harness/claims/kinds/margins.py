"""Margins by which one side has to be above another: a negative one allows so much less, and is a tolerance."""

from __future__ import annotations


def doubled_margin(margin: float) -> float | None:
    """Twice a margin that is a tolerance; None for one that is what is claimed."""
    return 2 * margin if margin < 0 else None


def doubled_margin_text(margin: float) -> str | None:
    """What twice a margin is, in words; None for one that is what is claimed.

    >>> doubled_margin_text(-0.01)
    'a margin of -0.02 in place of -0.01'
    """
    doubled = doubled_margin(margin)
    return None if doubled is None else f"a margin of {doubled:g} in place of {margin:g}"
