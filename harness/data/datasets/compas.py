"""COMPAS (ProPublica's two-year file): 7,214 defendants, 6,172 after ProPublica's published filter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pandas as pd

from harness.data.dataset import DATASETS, Schema, TableDataset
from harness.data.sources import PackageMember, RawFile, Source
from harness.data.steps import Step
from harness.errors import DatasetError

# The columns that are kept, by what they are, and the file with its SHA-256.
CATEGORIES = ("c_charge_degree", "race", "age_cat", "sex", "c_charge_desc")
NUMBERS = (
    "age",
    "priors_count",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "days_b_screening_arrest",
)
LABEL = "two_year_recid"
RAW = "compas-scores-two-years.csv"
RAW_SHA256 = "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"


@DATASETS.register
class Compas(TableDataset):
    """ProPublica's filter, no risk score; `features` chooses among the remaining columns.

    The default six columns give 15 features once encoded one-hot (age 1, age_cat 3, race 6, sex 2,
    priors_count 1, c_charge_degree 2), the number that humphries2020 prints.
    """

    kind: Literal["compas"] = "compas"
    features: tuple[str, ...] = ("age", "age_cat", "race", "sex", "priors_count", "c_charge_degree")
    display: ClassVar[str] = "COMPAS"
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            "ProPublica",
            (
                RawFile(
                    RAW,
                    "https://raw.githubusercontent.com/propublica/compas-analysis/master/" + RAW,
                    RAW_SHA256,
                ),
            ),
        ),
        Source(
            "package fairness",
            (RawFile(RAW, sha256=RAW_SHA256),),
            PackageMember(
                "fairness==0.1.8",
                "7f21cf0943f2a6fef7f7597eb99461bd4b2f7a26fe9810964675496cde6992e1",
                "fairness/data/raw/propublica-recidivism.csv",
            ),
        ),
    )
    prepared: ClassVar[tuple[Step, ...]] = (
        Step("dropped rows", count=1042, detail="ProPublica's filter of 7,214"),
        Step("dropped columns", count=41, detail="of the file's 53"),
    )
    canonical_sha256: ClassVar[str | None] = "9916dcab40b79fa4e29e2460536690e87a5cfc283676f212b8f8bb4fad561281"

    def schema_of_table(self) -> Schema:
        return Schema(LABEL, tuple(c for c in self.features if c in CATEGORIES))

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table of the rows that ProPublica's notebook keeps, in the file's order."""
        raw = pd.read_csv(files[RAW])
        days = raw["days_b_screening_arrest"]
        # Their notebook: arrested within 30 days of screening, a known recidivism flag, no ordinary
        # traffic offence, a score. pandas reads the score text 'N/A' as missing.
        kept = raw[
            days.between(-30, 30)
            & (raw["is_recid"] != -1)
            & (raw["c_charge_degree"] != "O")
            & raw["score_text"].notna()
        ]
        columns = [*NUMBERS, *CATEGORIES, LABEL]
        return kept[columns].reset_index(drop=True)

    def select(self, table: pd.DataFrame) -> pd.DataFrame:
        unknown = [c for c in self.features if c not in (*NUMBERS, *CATEGORIES)]
        if unknown:
            known = ", ".join((*NUMBERS, *CATEGORIES))
            raise DatasetError(f"dataset compas: unknown features {', '.join(unknown)}; known: {known}")
        return table[[*self.features, LABEL]]
