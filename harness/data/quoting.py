"""Names and values of a user's in a message that is one line."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 60
"""Characters of a value that a message shows."""


def quote_value(value: str) -> str:
    """A value in a message: quoted, on one line, not too long."""
    return repr(value if len(value) <= LONGEST else value[: LONGEST - 3] + "...")


def word(text: str) -> str:
    """A name in a message: as it is, but for one that is too long or would not stay on its line."""
    return text if text.isprintable() and len(text) <= LONGEST else quote_value(text)


def quote_names(names: Sequence[str], limit: int = 20) -> str:
    """Names in a message, not all of many."""
    return join_items([word(name) for name in names], limit)


def join_items(items: Sequence[str], limit: int) -> str:
    """Items in a row, not all of many."""
    listing = ", ".join(items[:limit])
    return listing if len(items) <= limit else f"{listing} and {len(items) - limit:,} more"
