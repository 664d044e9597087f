"""Inspection tells what encoding does to a table, without doing it: which cells are filled, which rows left out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.columns import FEW, NEARLY_UNIQUE
from harness.data.dataset import Schema
from harness.data.encoding import (
    MISSING,
    Place,
    Preprocessing,
    categorical_columns,
    fill_of,
    frame_in_use,
    mode_of,
    numbers_of,
    plain_features,
    row_number,
    sorted_classes,
    text_of,
)
from harness.data.steps import Step

NEARLY_CONSTANT = 0.99
"""The share of the rows with one value from which on a column is nearly constant."""
MOST_CELLS = 20_000_000
"""The largest table whose rows are compared, in cells; that of a larger one would take longer than all else."""
SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
"""The smallest number above 0 that features, which are float32, can be."""
BLOCK = 64
"""The number of columns that are looked at together."""


def inspect(
    table: pd.DataFrame,
    schema: Schema,
    preprocessing: Preprocessing,
    drop: tuple[str, ...] = (),
    place: Place = row_number,
) -> tuple[int, int, tuple[Step, ...]]:
    """The number of rows, of features, and the steps that `encode` takes from a table to them.

    Raises HarnessError as `encode` does.
    """
    frame, rows = frame_in_use(table, schema, preprocessing, drop)
    steps = [Step("left out", column, 1) for column in drop]
    if len(rows) < len(table):
        steps.append(Step("dropped rows", count=len(table) - len(rows), detail="a value is missing"))
        gone = set(table[schema.label].unique()) - set(frame[schema.label].unique())
        steps += [Step("lost class", schema.label, 1, str(one)) for one in sorted(gone, key=str)]
    if frame.size <= MOST_CELLS and (again := int(frame.duplicated().sum())):
        steps.append(Step("repeated", count=again))
    categories = categorical_columns(frame, schema)
    numbers = [c for c in frame.columns if c != schema.label and c not in categories]
    sorted_classes(frame[schema.label])
    if plain_features(frame, numbers, categories, preprocessing) is not None:
        return len(frame), len(numbers), tuple(steps)
    steps += _of_numbers(frame, numbers, preprocessing, place)
    levels, of_categories = _of_categories(frame, categories, preprocessing)
    steps += of_categories
    if preprocessing.scaling == "unit-norm":
        steps.append(Step("scaled", count=len(frame), detail="rows to norm 1"))
    elif numbers and preprocessing.scaling != "none":
        steps.append(Step("scaled", count=len(numbers), detail=preprocessing.scaling))
    return len(frame), len(numbers) + levels, tuple(steps)


def _of_numbers(frame: pd.DataFrame, numbers: list[str], preprocessing: Preprocessing, place: Place) -> Iterable[Step]:
    """The steps on columns of numbers."""
    whole = [c for c in numbers if frame[c].dtype.kind in "uib"]  # none is missing, all are finite
    for start in range(0, len(whole), BLOCK):
        columns = whole[start : start + BLOCK]
        yield from _sameness(columns, frame[columns].to_numpy())
    for column in numbers:
        if frame[column].dtype.kind in "uib":
            continue
        values = numbers_of(frame, column, preprocessing.scaling, place)
        if lacking := int(np.isnan(values).sum()):
            fill = fill_of(values)
            yield Step("filled", column, lacking, f"the mean, {fill:.4g}")
            values = np.where(np.isnan(values), fill, values)
        yield from _sameness([column], values[:, None])
        if preprocessing.scaling == "none" and (tiny := int(((np.abs(values) < SMALLEST) & (values != 0)).sum())):
            yield Step("vanished", column, tiny)


def _sameness(columns: list[str], values: Array) -> Iterable[Step]:
    """The steps on columns (n, columns) of numbers with one value, or nearly so."""
    # A value that nearly all rows have is the median, also that of a thousand rows, which is found much faster.
    middle = np.sort(values[:: max(1, len(values) // 1001)], axis=0)
    usual = middle[len(middle) // 2]
    others = (values != usual).sum(axis=0)
    for column, count in zip(columns, others, strict=True):
        if count == 0:
            yield Step("constant", column, len(values))
        elif count <= (1 - NEARLY_CONSTANT) * len(values):
            yield Step("nearly constant", column, int(count))


def _of_categories(
    frame: pd.DataFrame, categories: list[str], preprocessing: Preprocessing
) -> tuple[int, Iterable[Step]]:
    """The number of features that columns of categories become, and the steps to them."""
    steps, width = [], 0
    for column in categories:
        text, given = text_of(frame, column, preprocessing.impute), frame[column]
        counts = text.value_counts()
        width += len(counts)
        lacking = int(given.isna().sum())
        if lacking and preprocessing.impute == "category":
            steps.append(Step("filled", column, lacking, f"a category of its own, {MISSING}"))
            if (given.dropna().astype(str) == MISSING).any():
                steps.append(Step("merged", column, 1, f"{MISSING} and what is missing"))
        elif lacking:
            steps.append(Step("filled", column, lacking, f"the mode, {mode_of(given)}"))
        steps.append(Step("one-hot", column, len(counts)))
        if len(counts) == 1:
            steps.append(Step("constant", column, len(text)))
        elif counts.iloc[0] >= NEARLY_CONSTANT * len(text):
            steps.append(Step("nearly constant", column, int(len(text) - counts.iloc[0])))
        elif len(text) >= FEW and len(counts) > NEARLY_UNIQUE * len(text):
            steps.append(Step("nearly unique", column, len(counts), str(text.iloc[0])))
    return width, steps
