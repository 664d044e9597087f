"""What a spec says of its section in the report: the figure's panels, and printed tables of formulas."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from harness.config import Config
from harness.ids import NAME_PATTERN
from harness.metrics.curves import CURVES

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""A name in a spec: of a claim, an arm, an attack."""


class Panel(Config):
    """One panel of the figure in the report."""

    title: str
    metrics: tuple[str, ...] = ()
    """Metrics drawn; an attack's for every attack that measures it."""
    curve: Literal[tuple(CURVES)] | None = None  # type: ignore[valid-type]
    """In place of metrics, a curve of each attack on one model, the first repeat's: `roc`; `losses`; and of an attack
    that measures rates of each record `point-tpr` and `point-losses`."""
    attacks: tuple[str, ...] = ()
    """Attacks drawn; default: all."""
    arms: tuple[str, ...] = ()
    """Arms drawn; default: all."""
    formulas: tuple[str, ...] = ()
    """Formulas, such as bounds, drawn as curves."""
    at: dict[str, float | str | bool] = {}
    """Axes that are fixed; of others than the horizontal one, each value is a curve."""
    y: str = ""
    """Label of the vertical axis."""
    x: str = "epsilon"
    """An axis; or `epsilon-as-trained`: of each point's noise on shuffled batches, without amplification, for
    add/remove-one neighbours; or `arm`: arms side by side, at the largest epsilon."""
    top: float = Field(default=1.05, gt=0)
    """Upper end of the vertical axis, unless a point is above it."""


class TableEntry(Config):
    """An entry of a printed table that is a formula or a word, and the claim that settles it."""

    text: str
    """The entry, in plain text."""
    claim: Name | None = None
    """A claim of this spec."""
    parts: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """The parts of the claim that are about this entry, counted from 1; default: all."""


class Layout(Config):
    """A printed table of formulas, in the paper's layout; tables of numbers are drawn from claims of kind `table`."""

    title: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[TableEntry, ...]]
    """By the name of the row: one entry a column."""

    @model_validator(mode="after")
    def _check_rows(self) -> Layout:
        for name, entries in self.rows.items():
            if len(entries) != len(self.columns):
                raise ValueError(f"row {name!r} has {len(entries)} entries, there are {len(self.columns)} columns")
        return self
