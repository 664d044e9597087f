"""Steps of a table on its way from a file to features: what was done to it, which others put into words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

LEAST_SHOWN = 10
"""Rows of a table that is not public that share a value that is named, unless a spec says otherwise
(`harness.data.disclosure`)."""
# The sorts of steps.
What = Literal[
    "dropped rows",
    "repeated",
    "dropped columns",
    "ordered",
    "rewritten",
    "derived",
    "ignored",
    "blank lines",
    "doubtful encoding",
    "spaced",
    "renamed",
    "trimmed",
    "normalised",
    "merged",
    "leading zeros",
    "booleans",
    "dates",
    "index",
    "nearly unique",
    "rare class",
    "left out",
    "lost class",
    "filled",
    "one-hot",
    "constant",
    "nearly constant",
    "vanished",
    "scaled",
]


@dataclass(frozen=True)
class Step:
    """One step: a thing done to a table, or one that its reader should know of it."""

    what: What
    column: str = ""
    """Empty: the whole table."""
    count: int = 0
    """Of cells, rows, lines, columns or levels, as `what` has it."""
    detail: str = ""
    """A former name, a value, or a rule in words."""

    def in_json(self) -> dict[str, object]:
        """The step as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Preparation:
    """The way by which the table of some arms becomes the features that their models see."""

    arms: tuple[str, ...]
    dataset: str
    """Its `kind`, or the path of a file."""
    rows: int
    features: int
    steps: tuple[Step, ...]

    def in_json(self) -> dict[str, object]:
        """The preparation as JSON has it, which `preparation_from` reads."""
        return {**asdict(self), "arms": list(self.arms), "steps": [step.in_json() for step in self.steps]}


def preparation_from(record: dict[str, Any]) -> Preparation:
    """The preparation that `Preparation.in_json` wrote down."""
    steps = tuple(Step(**step) for step in record["steps"])
    return Preparation(tuple(record["arms"]), record["dataset"], record["rows"], record["features"], steps)
