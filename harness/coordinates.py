"""Where on its axes something was measured."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

Level = float | str | bool
"""A value of an axis."""
Place = tuple[tuple[str, Level], ...]
"""Values of axes, by name, sorted: hashable, and the same for the same place."""
Cell = tuple[str, Place]
"""An arm, and where on the axes of the experiment: all repeats of one model."""
Attacked = tuple[Cell, str]
"""A cell and the attack on it; no attack: its models themselves."""
Where = Mapping[str, Level]
"""Values of axes, by name."""


def place(values: Where | Iterable[tuple[str, Level]]) -> Place:
    """The place at these values."""
    return tuple(sorted(dict(values).items()))


def order_levels(values: Collection[Level]) -> list[Level]:
    """Values of an axis in order: numbers by size, words as they come."""
    levels = list(values)
    return sorted(levels) if all(isinstance(v, int | float) for v in levels) else levels


def format_level(value: object) -> str:
    """A value of an axis as people write it."""
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:g}"
    return str(value)


def text(where: Where | Place) -> str:
    """`epsilon 0.1, p 0.5`."""
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in _items(where)
    )


def _items(where: Where | Place) -> Iterable[tuple[str, object]]:
    return where.items() if isinstance(where, Mapping) else where
