"""Rules for which values of somebody's table may be named: those that many rows share.

A value that one row has names a person, and so does a name, a date or a postcode in a column of text. Statistical
offices hold to a threshold rule (Hundepool et al. 2012, Statistical Disclosure Control, Chapter 4): what fewer rows
share than a stated number is not published. Here that holds for whatever is written of a table that is not public: the
steps of its preparation, the metadata of tables of measurements, pages, and what a survey leaves out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.columns import number
from harness.data.steps import Step

EXAMPLES = ("trimmed", "normalised", "merged", "leading zeros", "nearly unique")
"""The steps whose detail is cells of the table."""
CLASSES = ("rare class", "lost class")
"""The steps whose detail is a class."""
MORE = re.compile(r" and [\d,]+ more$")
"""The end of a list that does not name all (`harness.data.quoting.join_items`)."""


def rows_of(table: pd.DataFrame, column: str, text: str) -> int:
    """The number of rows that have a value, as text or, in a column of numbers, as the number that the text is."""
    values = table[column]
    if pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values):
        return int((values.astype(str) == text).sum())
    return int((values.to_numpy(np.float64) == number(text)).sum())


def withhold_values(steps: Sequence[Step], table: pd.DataFrame, least: int) -> tuple[Step, ...]:
    """The steps of a table's preparation without values and classes that fewer than `least` rows share.

    Classes that are not named are one step with their number; other steps stay without their detail.
    """
    if least <= 1:
        return tuple(steps)
    kept: list[Step] = []
    for (what, column), same in groupby(steps, lambda step: (step.what, step.column)):
        if what not in CLASSES:
            kept += [_without_rare_detail(step, table, least) for step in same]
            continue
        classes = list(same)
        named = [one for one in classes if one.detail and rows_of(table, column, one.detail) >= least]
        kept += named
        if len(named) < len(classes):
            kept.append(Step(what, column, sum(one.count for one in classes if one not in named)))
    return tuple(kept)


def withhold_of_former(steps: Sequence[Step], least: int) -> tuple[Step, ...]:
    """The steps of a table of measurements without values that one record alone may have.

    An earlier version named such values, and its tables are still read.
    """
    if least <= 1:
        return tuple(steps)
    named = [step for step in steps if step.what == "rare class" and step.detail]
    merged = {step.column: sum(one.count for one in named if one.column == step.column) for step in named}
    rare = tuple(Step("rare class", column, count) for column, count in merged.items())
    others = (replace(step, detail="") if step.what == "nearly unique" else step for step in steps if step not in named)
    return (*others, *rare)


def _without_rare_detail(step: Step, table: pd.DataFrame, least: int) -> Step:
    """The step without a detail that fewer than `least` rows share."""
    if step.what == "nearly constant" and step.count < least:
        return replace(step, count=0, detail=f"fewer than {least:,}")
    if step.what == "filled":
        kind, _, value = step.detail.partition(", ")
        rows = {"the mean": len(table) - step.count, "the mode": rows_of(table, step.column, value)}.get(kind, least)
        return step if rows >= least else replace(step, detail="")
    if step.what in EXAMPLES and not _are_frequent(step, table, least):
        return replace(step, detail="")
    return step


def _are_frequent(step: Step, table: pd.DataFrame, least: int) -> bool:
    """Whether enough rows share each value in a step's detail.

    A list is not told from a value with a comma in it, so that in a column with such a value none is named.
    """
    if step.what == "leading zeros" and step.count < least:
        return False
    values = [step.detail]
    if step.what == "merged":
        values = MORE.sub("", step.detail).split(", ")
        if any(", " in str(value) for value in table[step.column].unique()):
            return False
    return all(rows_of(table, step.column, value) >= least for value in values)


def round_edge(ordered: Array, edge: float, least: int) -> float:
    """The place near `edge` at which to cut rising numbers (n,), so that the cut is nobody's number.

    A number that `least` rows have is the cut as it is. Else it is the roundest number between the numbers that stand
    `least` places below and above it (`roundest`), which tells of each of them no more than of the others.
    """
    first, last = int(np.searchsorted(ordered, edge, "left")), int(np.searchsorted(ordered, edge, "right"))
    if least <= 1 or last - first >= least:
        return edge
    low = float(ordered[max(0, first - least)])
    high = float(ordered[min(len(ordered) - 1, last - 1 + least)])
    return roundest(low, high)


def roundest(low: float, high: float) -> float:
    """The number with the fewest digits above `low` and not above `high`, nearest to their middle.

    >>> roundest(12.31, 17.9), roundest(0.0213, 0.0222)
    (15.0, 0.022)
    """
    middle = (low + high) / 2
    power = math.floor(math.log10(max(abs(low), abs(high), 1e-300)))
    for exponent in range(power, power - 18, -1):
        unit = 10.0**exponent
        candidate = round(middle / unit) * unit
        if low < candidate <= high:
            return float(f"{candidate:.{max(0, power - exponent)}e}") if candidate else 0.0
    return high
