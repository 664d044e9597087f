"""The base of splits: rules by which an arm draws members, test records, non-members and shadow data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from harness.arrays import Array
from harness.config import Config, Plugin, Registry
from harness.data.dataset import GeneratorDataset
from harness.data.encoding import Encoded
from harness.errors import SplitError


class Sizes(Config):
    """Numbers of records (humphries2020 Table 2): the owner set is `members` + `test`."""

    members: int = Field(gt=0)
    """Training records of the target model, n; where membership is by coin (`sub-sample`), the candidate records."""
    test: int = Field(gt=0)
    """Records of the owner set held out to measure accuracy."""
    nonmembers: int = Field(default=0, ge=0)
    """Records of the non-owner set that the attack must tell from members. Where membership is by coin there is no such
    set: the records that the coin leaves out are the non-members."""


@dataclass(frozen=True)
class Records:
    """Records: their features (n, d) float32 and labels (n,) int64."""

    features: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, which: Array) -> Records:
        """The records at these places, or where the mask is true."""
        return Records(self.features[which], self.labels[which])


@dataclass(frozen=True)
class Draw:
    """The records of one repeat by role. `indices` are rows of the encoded table (tables only)."""

    members: Records
    test: Records
    nonmembers: Records
    n_classes: int
    indices: dict[str, Array] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)
    """Counts that a claim may ask for, such as the sizes of the two sets before sampling."""

    def candidates(self) -> Records:
        """The records whose membership is asked for: members, then non-members."""
        return Records(
            np.concatenate([self.members.features, self.nonmembers.features]),
            np.concatenate([self.members.labels, self.nonmembers.labels]),
        )

    def divide(self, places: dict[str, Array]) -> Draw:
        """The draw of this universe with `members` and `nonmembers` at these places of it."""
        chosen = {role: self.members.select(places[role]) for role in ("members", "nonmembers")}
        facts = {**self.facts, "universe": len(self.members), **{role: len(subset) for role, subset in chosen.items()}}
        return Draw(chosen["members"], self.test, chosen["nonmembers"], self.n_classes, places, facts)


@dataclass(frozen=True)
class ShadowDraw:
    """The records that one shadow model is trained on (`inside`) and not (`outside`)."""

    inside: Records
    outside: Records


@dataclass(frozen=True)
class TableSource:
    """A table and a way to encode it without some columns."""

    table: pd.DataFrame
    encode: Callable[[tuple[str, ...]], Encoded]


# What a split draws from.
Source = TableSource | GeneratorDataset


class Split(Plugin, ABC):
    """Base of all splits. `needs` says whether it divides a table or draws from a generator."""

    needs: ClassVar[tuple[Literal["table", "generator"], ...]] = ("table",)

    def seconds(self) -> float:
        """The estimated core-seconds of one draw."""
        return 0.5

    def refuses(self, sizes: Sizes) -> str | None:
        """The reason why the split cannot have these sizes; None where it can."""
        return None if sizes.nonmembers > 0 else f"split {self.plugin_name()!r} needs sizes.nonmembers of at least 1"

    def train_size(self, sizes: Sizes) -> int:
        """The number of records that a target is trained on."""
        return sizes.members

    @property
    def size_varies(self) -> bool:
        """Whether it varies by chance how many records a target is trained on."""
        return False

    def prior(self, sizes: Sizes) -> float:
        """The share of members among the records attacked."""
        return sizes.members / (sizes.members + sizes.nonmembers)

    @property
    def universe(self) -> Split | None:
        """The split that draws the records which this one divides, once for all repeats; None: it draws its own."""
        return None

    def divide(self, universe: Draw, rng: np.random.Generator) -> dict[str, Array]:
        """The sorted places of the universe's members that are `members` and `nonmembers` of one repeat."""
        raise NotImplementedError

    @abstractmethod
    def draw(self, source: Source, sizes: Sizes, rng: np.random.Generator) -> Draw:
        """Draw the members, test records and non-members of one repeat. Raises SplitError where there are too few."""

    @abstractmethod
    def shadow(self, source: Source, draw: Draw, sizes: Sizes, rng: np.random.Generator) -> ShadowDraw:
        """Draw the records of one shadow model from what the adversary may know. Raises SplitError for too few."""


@dataclass(frozen=True)
class Owners:
    """The owner set, and which of how many equally likely outcomes it is, where the split draws one of a few."""

    mask: Array
    """(n,) bool, over the encoded rows."""
    outcome: int = 0
    outcomes: int = 1


class TableSplit(Split):
    """A split that divides a table into an owner set and a non-owner set, then samples from each."""

    needs: ClassVar[tuple[Literal["table", "generator"], ...]] = ("table",)

    def drops(self) -> tuple[str, ...]:
        """The columns removed before encoding."""
        return ()

    @abstractmethod
    def owners(self, source: TableSource, encoded: Encoded, sizes: Sizes, rng: np.random.Generator) -> Owners:
        """The owner set of one repeat. Raises SplitError where the table cannot be divided so."""

    def draw(self, source: Source, sizes: Sizes, rng: np.random.Generator) -> Draw:
        """Sample members and test records from the owner set, non-members from the other set.

        Raises SplitError where a set has too few records.
        """
        assert isinstance(source, TableSource)
        encoded = source.encode(self.drops())
        owners = self.owners(source, encoded, sizes, rng)
        mask = owners.mask
        owner, other = np.flatnonzero(mask), np.flatnonzero(~mask)
        need = sizes.members + sizes.test
        if len(owner) < need or len(other) < sizes.nonmembers:
            raise SplitError(
                f"split {self.plugin_name()}: the owner set has {len(owner)} records and the other "
                f"{len(other)}; the sizes ask for {need} (members + test) and {sizes.nonmembers} (nonmembers)"
            )
        owner = rng.permutation(owner)
        other = rng.permutation(other)
        indices = {
            "members": np.sort(owner[: sizes.members]),
            "test": np.sort(owner[sizes.members : need]),
            "nonmembers": np.sort(other[: sizes.nonmembers]),
            "leftover": np.sort(np.concatenate([owner[need:], other[sizes.nonmembers :]])),
        }
        facts: dict[str, float] = {
            "rows": len(source.table),
            "features": encoded.features.shape[1],
            "owner_set": int(mask.sum()),
            "nonowner_set": int((~mask).sum()),
            "members": sizes.members,
            "test": sizes.test,
            "nonmembers": sizes.nonmembers,
            "shadow_pool": len(indices["leftover"]),
        }
        if owners.outcomes > 1:
            facts |= {"outcome": owners.outcome, "outcomes": owners.outcomes}
        return self.from_indices(source, indices, facts)

    def from_indices(self, source: Source, indices: dict[str, Array], facts: dict[str, float]) -> Draw:
        """The draw that stored indices stand for."""
        assert isinstance(source, TableSource)
        encoded = source.encode(self.drops())

        def records(role: str) -> Records:
            return Records(encoded.features[indices[role]], encoded.labels[indices[role]])

        return Draw(records("members"), records("test"), records("nonmembers"), len(encoded.classes), indices, facts)

    def shadow(self, source: Source, draw: Draw, sizes: Sizes, rng: np.random.Generator) -> ShadowDraw:
        """Draw disjoint random halves of the leftover rows, each as large as the target's training set if it can be.

        Raises SplitError for fewer than four leftover rows.
        """
        assert isinstance(source, TableSource)
        encoded = source.encode(self.drops())
        pool = rng.permutation(draw.indices["leftover"])
        size = min(sizes.members, len(pool) // 2)
        if size < 2:
            raise SplitError(
                f"split {self.plugin_name()}: {len(pool)} records are left over for shadow models; "
                "make the sizes smaller or drop the attacks that need shadow models"
            )
        inside, outside = np.sort(pool[:size]), np.sort(pool[size : 2 * size])
        return ShadowDraw(
            Records(encoded.features[inside], encoded.labels[inside]),
            Records(encoded.features[outside], encoded.labels[outside]),
        )


# The registered splits by the `kind` that a spec writes.
SPLITS: Registry[Split] = Registry("split")
