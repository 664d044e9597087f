"""Any CSV file of the user's own: a label column, categorical columns, markers of missing values."""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field, field_validator, model_validator

from harness.arrays import Array
from harness.data.cells import Cells, normalize_text, read_cells, separator_hint
from harness.data.columns import Column, number
from harness.data.dataset import DATASETS, Schema, TableDataset
from harness.data.quoting import quote_names, quote_value
from harness.data.steps import Step
from harness.errors import DatasetError

# The different values that a column may have unless a spec says otherwise.
MOST_LEVELS = 100


@dataclass(frozen=True)
class OwnTable:
    """A user's file as a table, with what was done to it and where its rows stand."""

    frame: pd.DataFrame
    steps: tuple[Step, ...]
    """What was done to it."""
    lines: Array
    """The line of the file that each row begins on, (n,)."""


@DATASETS.register
class CsvTable(TableDataset):
    """Read from `path` (relative to the project's root); nothing is downloaded."""

    kind: Literal["csv"] = "csv"
    path: str
    """The file, relative to the project's root."""
    label: str
    """Name of the column to predict; its distinct values are the classes."""
    categorical: tuple[str, ...] = ()
    """Columns that are categories although they may look like numbers; text columns always are."""
    dates: tuple[str, ...] = Field(default=(), exclude_if=lambda dates: dates == ())
    """Columns of dates (2024-01-31, or with a time), read as days since 1970-01-01."""
    ignore: tuple[str, ...] = ()
    """Columns to leave out, such as identifiers; "" for those without a name."""
    missing: tuple[str, ...] = ("", "?", "NA", "N/A")
    """Markers of a missing value."""
    separator: str = Field(default=",", min_length=1, max_length=1)
    """The character between fields."""
    encoding: str = Field(default="utf-8", exclude_if=lambda encoding: encoding == "utf-8")
    """How characters are stored, such as windows-1252 or utf-16."""
    max_levels: int = Field(default=MOST_LEVELS, ge=2, exclude_if=lambda levels: levels == MOST_LEVELS)
    """Different values that the label or a column of categories may have: each is a class, or a feature."""
    repeated: Literal["keep", "drop"] = Field(default="keep", exclude_if=lambda repeated: repeated == "keep")
    """What becomes of rows that repeat an earlier one in every column in use: `keep` where they are different people
    who are alike, `drop` where they are one record that is listed several times."""

    display: ClassVar[str] = "own table"
    also_decided_by: ClassVar[tuple[str, ...]] = ("harness.data.cells", "harness.data.columns")

    @field_validator("separator")
    @classmethod
    def _check_separator(cls, value: str) -> str:
        if value in '"\r\n\0':
            raise ValueError(f"{value!r} cannot separate fields; write the character between them, such as ';'")
        return value

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, value: str) -> str:
        try:
            "a".encode(codecs.lookup(value).name)
        except (LookupError, ValueError):
            raise ValueError(f"{value!r} is no encoding of text; such as utf-8, windows-1252, utf-16") from None
        return value

    @model_validator(mode="after")
    def _check_disjoint(self) -> CsvTable:
        if self.label in self.ignore:
            raise ValueError(f"ignore: {self.label!r} is the label; take it out of one of them")
        for name, other in (("categorical", self.ignore), ("dates", self.ignore), ("categorical", self.dates)):
            field = "ignore" if other is self.ignore else "dates"
            if both := [column for column in getattr(self, name) if column in other]:
                raise ValueError(f"{field}: {both[0]!r} is in {name} too; take it out of one of them")
        if self.label in self.dates:
            raise ValueError(f"dates: {self.label!r} is the label; take it out of one of them")
        return self

    @property
    def name(self) -> str:
        return "csv-" + re.sub(r"[^A-Za-z0-9]+", "-", Path(self.path).stem).strip("-").lower()

    def schema_of_table(self) -> Schema:
        return Schema(normalize_text(self.label), tuple(normalize_text(name) for name in self.categorical))

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        raise DatasetError("dataset csv is read from its path and needs no parsing of sources")

    def read(self, root: Path) -> OwnTable:
        """The table as the spec describes it. Raises DatasetError, naming the file, and the row and column."""
        cells = read_cells(root / self.path, self.path, self.separator, self.encoding)
        ignored = {normalize_text(name) for name in self.ignore}
        self._check_names(cells, ignored)
        schema = self.schema_of_table()
        steps = [Step("blank lines", count=cells.blank)] if cells.blank else []
        steps += [Step("doubtful encoding", detail=self.encoding)] if cells.doubtful else []
        steps += [Step("spaced")] if cells.spaced else []
        named = zip(cells.names, cells.written, strict=True)
        steps += [Step("renamed", name, 1, repr(written)) for name, written in named if name != written]
        steps += [Step("ignored", name or '""', 1) for name in cells.names if name in ignored]
        place = partial(self._place, cells.lines)
        columns: dict[str, Array] = {}
        for name, texts in zip(cells.names, cells.columns, strict=True):
            if name not in ignored:
                column = Column.of(name, texts, self.missing, place)
                read = self._label if name == schema.label else self._feature
                columns[name], done = read(column, schema)
                steps += done
        frame, lines = pd.DataFrame(columns), cells.lines
        if self.repeated == "drop" and (again := frame.duplicated().to_numpy()).any():
            steps.append(Step("dropped rows", count=int(again.sum()), detail="they repeat an earlier one"))
            frame, lines = frame[~again].reset_index(drop=True), lines[~again]
        return OwnTable(frame, tuple(steps), lines)

    def date_columns(self, root: Path) -> tuple[str, ...]:
        """The columns of text all of whose cells are dates, in the order of the file: those that `dates` could name.

        Raises DatasetError for a file that cannot be read.
        """
        cells = read_cells(root / self.path, self.path, self.separator, self.encoding)
        known = {normalize_text(name) for name in (self.label, *self.categorical, *self.ignore)}
        columns = zip(cells.names, cells.columns, strict=True)
        return tuple(
            name
            for name, texts in columns
            if name not in known and Column.of(name, texts, self.missing, partial(self._place, cells.lines)).are_dates()
        )

    def _place(self, lines: Array, row: int) -> str:
        """The file and the line of a row."""
        return f"{self.path}:{lines[row]}"

    def _check_names(self, cells: Cells, ignored: set[str]) -> None:
        """Raise DatasetError for a named column that is not there, one without a name, or several of one name."""
        wanted = {"label": (self.label,), "categorical": self.categorical, "dates": self.dates}
        wanted |= {"ignore": self.ignore}
        for field, columns in wanted.items():
            for column in columns:
                if normalize_text(column) not in cells.names:
                    has = quote_names(cells.names)
                    header = self.separator.join(cells.written)
                    hint = separator_hint(header, self.separator, normalize_text(column))
                    if not hint and not any(math.isnan(number(name)) for name in cells.names):
                        hint = "; the first line has to name the columns"
                    raise DatasetError(f"{self.path}: no column {column!r} (field {field}); it has: {has}{hint}")
        unnamed = [i for i, name in enumerate(cells.names) if not name]
        if unnamed and "" not in ignored:
            begin = [text.strip() for text in cells.columns[unnamed[0]][:3]]
            like = f"its cells begin {quote_names(begin)}" if any(begin) else "its cells begin empty"
            raise DatasetError(
                f'{self.path}: column {unnamed[0] + 1} has no name, {like}; name it, or write `ignore: [""]` to '
                "leave it out"
            )
        for name, count in Counter(cells.names).items():
            if count > 1 and name not in ignored:
                *some, last = [i + 1 for i, one in enumerate(cells.names) if one == name]
                where = f"{', '.join(map(str, some))} and {last}"
                raise DatasetError(f"{self.path}: columns {where} are all called {quote_value(name)}; name them apart")

    def _label(self, column: Column, schema: Schema) -> tuple[Array, list[Step]]:
        """The label's values and the steps to them. Raises DatasetError where one is missing, or all are the same."""
        column.check_levels(self.max_levels, self.path, label=True)
        values, steps = self._type_column(column, schema)
        if (lacking := pd.isna(values)).any():
            row = int(np.argmax(lacking))
            marker = column.texts[column.codes[row]]
            what = f" ({quote_value(marker)} is one of the markers in `missing`)" if marker else ""
            name = f"{column.place(row)}: the label {self.label!r}"
            raise DatasetError(f"{name} is missing{what}; every row needs one")
        places, classes = pd.factorize(values)
        counts = np.bincount(places)
        if len(classes) < 2:
            raise DatasetError(
                f"{self.path}: the label {self.label!r} has one value only, {quote_value(column.example())}; two or "
                "more are needed"
            )
        if values.dtype != object and values.dtype != bool and len(classes) < column.levels:
            merged = Counter(value for value, text in zip(column.values, column.texts, strict=True) if text)
            several = [text for text, value in zip(column.texts, column.values, strict=True) if merged[value] > 1]
            steps.append(Step("merged", column.name, column.levels - len(classes), quote_names(several, 4)))
        return values, steps + [Step("rare class", column.name, 1, str(c)) for c in classes[counts == 1]]

    def _type_column(self, column: Column, schema: Schema) -> tuple[Array, list[Step]]:
        """The values of a column as numbers, truth values or text, and the steps to them."""
        if column.name not in schema.categorical:
            if column.are_numbers():
                return column.numbers()
            if column.are_booleans():
                return column.booleans()
        return column.text()

    def _feature(self, column: Column, schema: Schema) -> tuple[Array, list[Step]]:
        """A feature's values and the steps to them. Raises DatasetError for cells of which nobody can tell the sort."""
        if column.name in {normalize_text(name) for name in self.dates}:
            return column.dates()
        if column.name not in schema.categorical and not column.are_booleans():
            column.check_mixture(self.missing)
        values, steps = self._type_column(column, schema)
        if values.dtype == object:
            column.check_levels(self.max_levels, self.path, label=False)
            if column.nearly_unique:
                steps.append(Step("nearly unique", column.name, column.levels, column.example()))
        return values, steps
