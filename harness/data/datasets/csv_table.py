"""Any CSV file of the user's own: a label column, categorical columns, markers of missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pandas as pd
from pydantic import Field

from harness.data.dataset import DATASETS, Schema, TableDataset
from harness.errors import AboutDataset


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
    ignore: tuple[str, ...] = ()
    """Columns to leave out, such as identifiers."""
    missing: tuple[str, ...] = ("", "?", "NA", "N/A")
    """Markers of a missing value."""
    separator: str = Field(default=",", min_length=1, max_length=1)
    """The character between fields."""

    display: ClassVar[str] = "own table"

    @property
    def name(self) -> str:
        return "csv-" + re.sub(r"[^A-Za-z0-9]+", "-", Path(self.path).stem).strip("-").lower()

    def schema_of_table(self) -> Schema:
        return Schema(self.label, self.categorical)

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        raise AboutDataset("dataset csv is read from its path and needs no parsing of sources")

    def read(self, root: Path) -> pd.DataFrame:
        """The table as the spec describes it. Raises HarnessError naming the file and the column."""
        path = root / self.path
        try:
            table = pd.read_csv(
                path,
                sep=self.separator,
                na_values=list(self.missing),
                keep_default_na=False,
                skipinitialspace=True,
            )
        except FileNotFoundError:
            raise AboutDataset(f"{self.path}: no such file (dataset csv, field path)") from None
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            raise AboutDataset(f"{self.path}: not readable as CSV: {error}") from None
        wanted = {"label": (self.label,), "categorical": self.categorical, "ignore": self.ignore}
        for field, columns in wanted.items():
            for column in columns:
                if column not in table.columns:
                    has = ", ".join(map(str, table.columns))
                    raise AboutDataset(f"{self.path}: no column {column!r} (field {field}); it has: {has}")
        if table[self.label].isna().any():
            row = int(table[self.label].isna().to_numpy().argmax()) + 2
            raise AboutDataset(f"{self.path}:{row}: the label {self.label!r} is missing; every row needs one")
        if table[self.label].nunique() < 2:
            raise AboutDataset(f"{self.path}: the label {self.label!r} has one value only; two or more are needed")
        for column in self.categorical:
            table[column] = table[column].map(lambda v: None if pd.isna(v) else str(v)).astype(object)
        return table.drop(columns=list(self.ignore))
