"""The split whose members share a value of one attribute (humphries2020, Section 4.2: high-school graduates)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.data.encoding import Encoded
from harness.data.quoting import quote_names
from harness.data.split import SPLITS, Owners, Sizes, TableSource, TableSplit
from harness.errors import SplitError


@SPLITS.register
class Attribute(TableSplit):
    """The owner set holds the rows whose `attribute` is one of `values`.

    The attribute is removed from the features together with its `proxy_columns`, columns that carry the
    same information (for Adult's `education` that is `education-num`).
    """

    kind: Literal["attribute"] = "attribute"
    hashed_as: ClassVar[dict[str, str]] = {"proxy_columns": "twins", "keep_proxies": "keep_twins"}
    attribute: str
    """The column that divides the table."""
    values: tuple[str, ...]
    """Values of the owner set."""
    proxy_columns: tuple[str, ...] = ()
    """Columns removed with the attribute because they repeat it."""
    keep_proxies: bool = False
    """True: remove the attribute alone, the literal reading of the paper."""

    def drops(self) -> tuple[str, ...]:
        return (self.attribute,) if self.keep_proxies else (self.attribute, *self.proxy_columns)

    def owners(self, source: TableSource, encoded: Encoded, sizes: Sizes, rng: np.random.Generator) -> Owners:
        if self.attribute not in source.table.columns:
            has = quote_names([*map(str, source.table.columns)])
            raise SplitError(f"split attribute: no column {self.attribute!r}; the table has: {has}")
        column = source.table[self.attribute].iloc[encoded.rows].astype(str)
        unknown = [v for v in self.values if not (column == v).any()]
        if unknown:
            seen = quote_names(sorted(column.unique()))
            raise SplitError(f"split attribute: {self.attribute!r} is never {', '.join(unknown)}; it is: {seen}")
        return Owners(column.isin(self.values).to_numpy())
