"""Location-30, Purchase-100 and Texas-100, as the Privacy and Trust Lab publishes them: binary features, label first.

Each is one CSV file without a header in a tar archive. Location-30 is known by its hash; the archives of the two
larger ones could not be fetched where this was written, so theirs are known by their form: the number of rows and
columns, binary features, and every class present.
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

from harness.data.dataset import DATASETS, Schema, TableDataset
from harness.data.sources import RawFile, Source, read_members
from harness.errors import DatasetError

LABEL = "class"
ADDRESS = "https://raw.githubusercontent.com/privacytrustlab/datasets/master/"


def archive_sources(file: str, sha256: str | None = None) -> tuple[Source, ...]:
    """The one place that an archive is published at."""
    return (Source("Privacy and Trust Lab", (RawFile(file, ADDRESS + file, sha256),)),)


class LabelledBits(TableDataset):
    """Records of binary features, of one class each."""

    most_frequent: int | None = Field(default=None, ge=1)
    """Keep only so many features, those that most records have (ties: the earlier one); default: all."""
    rows: ClassVar[int]
    features: ClassVar[int]
    classes: ClassVar[int]

    def schema_of_table(self) -> Schema:
        return Schema(LABEL, ())

    @classmethod
    def digest(cls, frame: pd.DataFrame) -> str:
        """SHA-256 of the cells, row by row, one byte each: the CSV form would take a minute for the larger ones."""
        names = ",".join(frame.columns).encode()
        return hashlib.sha256(names + frame.to_numpy(np.uint8).tobytes()).hexdigest()

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """Read the archive's only file. Raises HarnessError for one that is damaged or not of the published form."""
        ((name, path),) = files.items()
        contents = [*read_members(path).values()]
        if len(contents) != 1:
            raise DatasetError(f"{name}: holds {len(contents)} files, the published archive holds one")
        raw = pd.read_csv(io.BytesIO(contents[0]), header=None)
        return cls._check_shape(raw, name)

    @classmethod
    def _check_shape(cls, raw: pd.DataFrame, name: str) -> pd.DataFrame:
        if raw.shape[1] != cls.features + 1:
            raise DatasetError(f"{name}: {raw.shape[1]} columns, {cls.features + 1} are right (label and features)")
        if len(raw) != cls.rows:
            raise DatasetError(f"{name}: {len(raw):,} rows, {cls.rows:,} are right; a part is missing or added")
        values = raw.apply(pd.to_numeric, errors="coerce").to_numpy(float)
        labels, bits = values[:, 0], values[:, 1:]
        wrong = ~np.isin(bits, (0, 1))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DatasetError(
                f"{name}: row {row + 1}, column {column + 2}: {raw.iat[row, column + 1]!r} is no binary feature; "
                "the label comes first, then features of 0 and 1"
            )
        expected = np.arange(1, cls.classes + 1)
        if not np.array_equal(np.unique(labels), expected):
            raise DatasetError(f"{name}: the first column is not a label: it has to take the values 1 to {cls.classes}")
        columns = [LABEL, *(f"f{i:04d}" for i in range(cls.features))]
        return pd.DataFrame(values.astype(np.uint8), columns=columns)

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
        "dataset_location.tgz", "927203f85a868f8ee17a0ded1dc61699efe602167beabe34fbf45b4b1de94b33"
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
    sources: ClassVar[tuple[Source, ...]] = archive_sources("dataset_purchase.tgz")


@DATASETS.register
class Texas(LabelledBits):
    """Hospital stays in Texas (Shokri et al. 2017): 67,330 of 6,169 features; the class is the procedure."""

    kind: Literal["texas100"] = "texas100"
    display: ClassVar[str] = "Texas-100"
    rows: ClassVar[int] = 67330
    features: ClassVar[int] = 6169
    classes: ClassVar[int] = 100
    sources: ClassVar[tuple[Source, ...]] = archive_sources("dataset_texas.tgz")
