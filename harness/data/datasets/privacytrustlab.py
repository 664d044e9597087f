"""Location-30, Purchase-100 and Texas-100, as the Privacy and Trust Lab publishes them: binary features and labels.

Each is a tar archive of CSV files without a header: Location-30 and Purchase-100 of one, label first; Texas-100 of one
of features and one of labels, which lie beside those of tables of more classes. Location-30's table is known by its
hash. The archives of the two larger ones could not be fetched where this was written: they are recognised by their ids
in git, and their tables known by their form: the number of rows and columns, binary features, and every class present.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from harness.arrays import Array
from harness.data.dataset import DATASETS, Schema, TableDataset
from harness.data.sources import PublishedHash, RawFile, Source, read_members
from harness.errors import DatasetError

# The name of the label's column, and where the archives are published.
LABEL = "class"
ADDRESS = "https://raw.githubusercontent.com/privacytrustlab/datasets/master/"


BLOCK = 5000
"""Rows that are parsed at a time: all of Texas-100's as the numbers that a parser makes would take gigabytes."""
NO_NUMBER = 255
"""Stands for a cell that is no whole number of one byte."""


def archive_sources(file: str, git_blob: str) -> tuple[Source, ...]:
    """The one source of an archive: where it is published, and the id of its bytes in git, which holds it."""
    published = PublishedHash("git blob id", git_blob)
    return (Source("Privacy and Trust Lab", (RawFile(file, ADDRESS + file, published=published),)),)


def read_cells(data: bytes, where: str) -> Array:
    """The cells (rows, columns) uint8 of a CSV without a header; NO_NUMBER for what is no whole number below it.

    Raises DatasetError for text that is no table.
    """
    blocks = []
    try:
        for block in pd.read_csv(io.BytesIO(data), header=None, chunksize=BLOCK):
            numbers = block.apply(pd.to_numeric, errors="coerce").to_numpy(float)
            whole = (numbers >= 0) & (numbers < NO_NUMBER) & (numbers % 1 == 0)
            blocks.append(np.where(whole, numbers, NO_NUMBER).astype(np.uint8))
    except ValueError as error:  # pandas' own errors and those of decoding are such
        raise DatasetError(f"{where}: no table of comma-separated values: {str(error).strip()}") from None
    return np.concatenate(blocks)


def cell_text(data: bytes, row: int, column: int) -> str:
    """One cell of a CSV without a header, as it is written."""
    above = pd.read_csv(
        io.BytesIO(data), header=None, usecols=[column], nrows=row + 1, dtype=str, keep_default_na=False
    )
    return str(above.iat[row, 0])


class LabelledBits(TableDataset):
    """Base of the tables of binary features whose records are of one class each."""

    most_frequent: int | None = Field(default=None, ge=1)
    """Keep only so many features, those that most records have (ties: the earlier one); default: all."""
    rows: ClassVar[int]
    features: ClassVar[int]
    classes: ClassVar[int]
    separate: ClassVar[tuple[str, str] | None] = None
    """Where features and labels are in files of their own: the paths of the two inside of the archive."""

    def schema_of_table(self) -> Schema:
        return Schema(LABEL, ())

    @classmethod
    def digest(cls, frame: pd.DataFrame) -> str:
        """The SHA-256 of the cells, row by row, one byte each: the CSV form would take a minute for the larger ones."""
        names = ",".join(frame.columns).encode()
        return hashlib.sha256(names + frame.to_numpy(np.uint8).tobytes()).hexdigest()

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table of the archive. Raises HarnessError for one that is damaged or of another form."""
        ((name, path),) = files.items()
        if cls.separate is not None:
            contents = read_members(path, cls.separate)
            of_bits, of_labels = (f"{name}: {member}" for member in cls.separate)
            bits = cls._read_bits(contents[cls.separate[0]], of_bits, labels=0)
            labels = read_cells(contents[cls.separate[1]], of_labels)
            cls._check_shape(labels, of_labels, 1, "a label a row")
        else:
            ((member, data),) = cls._only_member(path).items()
            cells = cls._read_bits(data, f"{name}: {member}", labels=1)
            of_labels, labels, bits = f"{name}: {member}", cells[:, :1], cells[:, 1:]
        if not np.array_equal(np.unique(labels), np.arange(1, cls.classes + 1)):
            raise DatasetError(
                f"{of_labels}: the first column is not a label: it has to take the values 1 to {cls.classes}"
            )
        frame = pd.DataFrame(bits, columns=[f"f{i:04d}" for i in range(cls.features)])
        frame.insert(0, LABEL, labels[:, 0])
        return frame

    @classmethod
    def _only_member(cls, path: Path) -> dict[str, bytes]:
        """The one file of an archive, by its path. Raises DatasetError for an archive of none or several."""
        contents = read_members(path)
        if len(contents) != 1:
            raise DatasetError(f"{path.name}: holds {len(contents)} files, the published archive holds one")
        return contents

    @classmethod
    def _read_bits(cls, data: bytes, where: str, labels: int) -> Array:
        """The cells (rows, labels + features) uint8 of a file that begins with so many columns of labels.

        Raises DatasetError for one of another shape, or with a feature that is not binary.
        """
        cells = read_cells(data, where)
        cls._check_shape(cells, where, labels + cls.features, "label and features" if labels else "features alone")
        wrong = cells[:, labels:] > 1
        if wrong.any():
            row, column = (int(i) for i in np.unravel_index(wrong.argmax(), wrong.shape))
            column += labels
            order = "the label comes first, then features of 0 and 1" if labels else "features are 0 and 1"
            raise DatasetError(
                f"{where}: row {row + 1}, column {column + 1}: {cell_text(data, row, column)!r} is no binary feature; "
                + order
            )
        return cells

    @classmethod
    def _check_shape(cls, cells: Array, where: str, columns: int, which: str) -> None:
        """Raise DatasetError for cells of another shape than the published table's."""
        if cells.shape[1] != columns:
            raise DatasetError(f"{where}: {cells.shape[1]} columns, {columns} are right ({which})")
        if len(cells) != cls.rows:
            raise DatasetError(f"{where}: {len(cells):,} rows, {cls.rows:,} are right; a part is missing or added")

    def select(self, table: pd.DataFrame) -> pd.DataFrame:
        if self.most_frequent is None:
            return table
        if self.most_frequent > self.features:
            raise DatasetError(
                f"dataset {self.name}: most_frequent is {self.most_frequent}, there are {self.features} features"
            )
        counts = table.drop(columns=LABEL).sum()
        kept = counts.sort_values(ascending=False, kind="stable").index[: self.most_frequent]
        return table[[LABEL, *sorted(kept)]]


@DATASETS.register
class Location(LabelledBits):
    """Foursquare check-ins in Bangkok (Shokri et al. 2017): 5,010 users, 446 kinds of places, 30 clusters."""

    kind: Literal["location30"] = "location30"
    display: ClassVar[str] = "Location-30"
    rows: ClassVar[int] = 5010
    features: ClassVar[int] = 446
    classes: ClassVar[int] = 30
    sources: ClassVar[tuple[Source, ...]] = archive_sources(
        "dataset_location.tgz", "0cfc2caa0c8c8569cd68a5d4ab369a98c1f98447"
    )
    canonical_sha256: ClassVar[str | None] = "a98d8a0f1a89c1de717e31d35424021bfe345b86c2501f559dac9b0aff6780a0"


@DATASETS.register
class Purchase(LabelledBits):
    """Shoppers and the 600 items they bought (Shokri et al. 2017): 197,324 of them in 100 clusters."""

    kind: Literal["purchase100"] = "purchase100"
    display: ClassVar[str] = "Purchase-100"
    rows: ClassVar[int] = 197324
    features: ClassVar[int] = 600
    classes: ClassVar[int] = 100
    sources: ClassVar[tuple[Source, ...]] = archive_sources(
        "dataset_purchase.tgz", "3efa7476ad5ed7ac3e558d28585a186b38fc5f19"
    )


@DATASETS.register
class Texas(LabelledBits):
    """Hospital stays in Texas (Shokri et al. 2017): 67,330 of 6,169 features; the class is the procedure."""

    kind: Literal["texas100"] = "texas100"
    display: ClassVar[str] = "Texas-100"
    rows: ClassVar[int] = 67330
    features: ClassVar[int] = 6169
    classes: ClassVar[int] = 100
    separate: ClassVar[tuple[str, str] | None] = ("texas/100/feats", "texas/100/labels")
    sources: ClassVar[tuple[Source, ...]] = archive_sources(
        "dataset_texas.tgz", "966f7ff40b24cf5912ff84759aab9adb8c25f30e"
    )
