"""What a paper leaves open, and how a spec reads it."""

from __future__ import annotations

from typing import Any

from harness.config import Config


class Ambiguity(Config):
    """A choice that the paper leaves open, the reading taken, and the other readings."""

    choice: str
    field: str | None = None
    """Path of the field that makes the choice, such as `experiment.preprocessing.scaling`."""
    chosen: Any
    alternatives: tuple[Any, ...] = ()
    why: str
