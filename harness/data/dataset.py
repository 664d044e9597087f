"""The base of datasets: plug-ins that yield one canonical table, or that generate records."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.config import Plugin, Registry
from harness.data.sources import Source
from harness.data.steps import Step
from harness.hashing import code_fingerprint
from harness.paths import portable_path


@dataclass(frozen=True)
class Schema:
    """The label of a table and the features that are categories; all other columns are numbers."""

    label: str
    categorical: tuple[str, ...]


def table_digest(table: pd.DataFrame) -> str:
    """The SHA-256 of a table's canonical CSV form (column order and row order count)."""
    return hashlib.sha256(table.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


class Dataset(Plugin, ABC):
    """Base of all datasets."""

    display: ClassVar[str] = ""

    @classmethod
    def modules(cls) -> tuple[str, ...]:
        """The modules whose code decides what the dataset's records are."""
        classes = (c.__module__ for c in cls.__mro__ if issubclass(c, Dataset))
        return tuple(sorted({*classes, *cls.also_decided_by} - {__name__}))

    @property
    def name(self) -> str:
        """The name of the dataset's file under `data/` and of its fetch stage."""
        return self.plugin_name()


class TableDataset(Dataset):
    """A dataset that is one table. Missing values are NaN, categories are strings."""

    sources: ClassVar[tuple[Source, ...]] = ()
    canonical_sha256: ClassVar[str | None] = None
    prepared: ClassVar[tuple[Step, ...]] = ()
    """What `parse` does to the source on the way to the canonical table."""
    stands_in_for: ClassVar[str | None] = None
    """The dataset that this one is a substitute for; verdicts on a substitute say *substituted*."""

    @classmethod
    def is_public(cls) -> bool:
        """Whether anybody can have the table, since it states a source.

        Any other table is somebody's own, with rules for what of it is named (`harness.data.disclosure`).
        """
        return bool(cls.sources)

    def content(self) -> dict[str, object]:
        """The fields that are hashed into a cell's name.

        A file outside of the project is called by its name alone: its content is named beside it, and where it lies
        says who lives there.
        """
        content = super().content()
        path = content.get("path")
        return {**content, "path": portable_path(path)} if isinstance(path, str) else content

    @abstractmethod
    def schema_of_table(self) -> Schema:
        """The label and the categorical columns of the canonical table."""

    @classmethod
    @abstractmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table, made from the raw files of one source, keyed by file name."""

    @classmethod
    def digest(cls, frame: pd.DataFrame) -> str:
        """The SHA-256 that names a canonical table."""
        return table_digest(frame)

    def derivation(self) -> dict[str, object] | None:
        """The facts that name the table which `derive` makes; None where the canonical table is used as it is."""
        return None

    def derive(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table in use, made of the canonical one; it is kept on disk, since making it may take minutes."""
        return table

    def select(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows and columns of the table that this configuration uses."""
        return table


class GeneratorDataset(Dataset):
    """A dataset that is a distribution: records are drawn, not looked up."""

    draws: ClassVar[str | None] = None
    """Names what is drawn from a seed, so that the code may be renamed: it has to be another one as soon as the same
    seed gives other records. It is not inherited. None: the code is the name, and each change of it another one."""

    @classmethod
    def data_name(cls) -> str:
        """The text that names the dataset's records: what `draws` declares, else a hash of the code."""
        declared: str | None = vars(cls).get("draws")
        return "generator:" + code_fingerprint(*cls.modules()) if declared is None else declared

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @property
    @abstractmethod
    def n_components(self) -> int:
        """The number of sub-populations that a joint draw chooses from."""

    @abstractmethod
    def sample(self, component: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw one record per entry of `component` (n,), the sub-population of each record.

        Returns features (n, n_features) float32 and labels (n,) int64.
        """


# The registered datasets by the `kind` that a spec writes.
DATASETS: Registry[Dataset] = Registry("dataset")
