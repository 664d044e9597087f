"""Quoting of a user's names and values in a message that is one line."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 60
"""Characters of a value that a message shows."""


def quote_value(value: str) -> str:
    """A value as a message shows it: quoted, on one line, not too long.

    >>> quote_value("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"
    """
    return repr(value if len(value) <= LONGEST else value[: LONGEST - 3] + "...")


def word(text: str) -> str:
    """A name as a message shows it: as it is, or quoted where it is too long or would not stay on its line."""
    return text if text.isprintable() and len(text) <= LONGEST else quote_value(text)


def quote_names(names: Sequence[str], limit: int = 20) -> str:
    """The names as a message lists them, not all of many."""
    return join_items([word(name) for name in names], limit)


def join_items(items: Sequence[str], limit: int) -> str:
    """The items in a row, not all of many.

    >>> join_items(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    listing = ", ".join(items[:limit])
    return listing if len(items) <= limit else f"{listing} and {len(items) - limit:,} more"
