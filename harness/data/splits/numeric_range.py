"""The split whose members lie in a range of one numeric column: an age group, a span of years."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import model_validator

from harness.data.encoding import Encoded
from harness.data.split import SPLITS, Owners, Sizes, TableSource, TableSplit
from harness.errors import SplitError


@SPLITS.register
class NumericRange(TableSplit):
    """The owner set holds the rows whose `attribute` is at least `low` and below `high`.

    The attribute is removed from the features together with its `proxy_columns`. Rows without a value are in neither
    set's range and belong to the non-owner set.
    """

    kind: Literal["range"] = "range"
    attribute: str
    """The numeric column that divides the table."""
    low: float | None = None
    """Least value of the owner set; default: there is none."""
    high: float | None = None
    """The first value above the owner set; default: there is none."""
    proxy_columns: tuple[str, ...] = ()
    """Columns removed with the attribute because they repeat it."""

    @model_validator(mode="after")
    def _check_range(self) -> NumericRange:
        if self.low is None and self.high is None:
            raise ValueError("give low, high or both; with neither every row is a member's")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"low ({self.low:g}) has to be below high ({self.high:g})")
        return self

    def drops(self) -> tuple[str, ...]:
        return (self.attribute, *self.proxy_columns)

    def owners(self, source: TableSource, encoded: Encoded, sizes: Sizes, rng: np.random.Generator) -> Owners:
        column = source.table[self.attribute].iloc[encoded.rows]
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            raise SplitError(f"split range: {self.attribute!r} is no column of numbers; take the split attribute")
        values = column.to_numpy(np.float64)
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        with np.errstate(invalid="ignore"):
            inside = (values >= low) & ((values < high) if self.high is not None else ~np.isnan(values))
        return Owners(inside)
