"""Encoding makes features of a table: missing values are filled, categories encoded, numbers scaled.

humphries2020 Section 4.1 states mean or mode for missing values and one-hot for categories, and says
nothing of scaling: `scaling` is therefore an unstated choice that a spec has to make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.config import Config
from harness.data.dataset import Schema
from harness.data.quoting import quote_names
from harness.errors import DatasetError, PreprocessingError, SplitError

# The ways to scale numbers.
Scaling = Literal["none", "min-max", "standard", "unit-norm"]
Place = Callable[[int], str]
"""Where a row stands, in words."""
# The largest number that features, which are float32, can be.
LARGEST = float(np.finfo(np.float32).max)
SMALLEST_SPREAD = 1e-150
"""Below it, and above its inverse, squares leave the range of float64."""
CLOSEST = 1e-12
"""Spreads below this share of the largest value are lost in a mean's rounding."""
MISSING = "missing"
"""The category of missing ones, where `impute` says so."""


def row_number(row: int) -> str:
    """The place of a row in words, counted from 1, where no file with lines is known.

    >>> row_number(0)
    'row 1'
    """
    return f"row {row + 1}"


class Preprocessing(Config):
    """The way by which a table becomes a feature matrix. It is fitted on the whole table, before any split."""

    impute: Literal["mean-mode", "drop-rows", "category"] = "mean-mode"
    """Missing numbers become the mean and categories the mode; or the row goes; or 'missing' is a category."""
    scaling: Scaling = "min-max"
    """Applied to numeric columns (unit-norm: to whole encoded rows)."""


@dataclass(frozen=True)
class Encoded:
    """An encoded table: features (n, d) float32, labels (n,) int64, and the names of columns and classes."""

    features: Array
    labels: Array
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    rows: Array
    """Position in the canonical table of each encoded row, (n,)."""


def categorical_columns(table: pd.DataFrame, schema: Schema) -> list[str]:
    """The declared categories and every text column but the label, in table order."""

    def is_text(column: str) -> bool:
        return not pd.api.types.is_numeric_dtype(table[column])

    return [c for c in table.columns if c != schema.label and (c in schema.categorical or is_text(c))]


def frame_in_use(
    table: pd.DataFrame, schema: Schema, preprocessing: Preprocessing, drop: tuple[str, ...] = ()
) -> tuple[pd.DataFrame, Array]:
    """The part of a table that is encoded, and the positions of its rows.

    It lacks the columns in `drop`, and the rows that `impute` drops.

    Raises HarnessError for a column that is not there, for a table without features or labels, and where `impute`
    leaves no row or a single class.
    """
    for column in drop:
        if column not in table.columns or column == schema.label:
            has = quote_names([str(c) for c in table.columns if c != schema.label])
            raise SplitError(f"column {column!r} cannot be removed: the dataset's columns are {has}")
    frame = table.drop(columns=list(drop))
    _check_frame(frame, schema)
    rows = np.arange(len(frame))
    if preprocessing.impute == "drop-rows":
        complete = frame.notna().all(axis=1).to_numpy()
        if not complete.all():
            _check_left(frame, schema, complete)
            frame, rows = frame[complete], rows[complete]
    return frame, rows


def _check_frame(frame: pd.DataFrame, schema: Schema) -> None:
    """Raise DatasetError for a table that cannot be encoded whatever its cells are."""
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DatasetError(f"two columns are called {twice!r}; name them apart")
    if schema.label not in frame.columns:
        has = quote_names([*map(str, frame.columns)])
        raise DatasetError(f"no column {schema.label!r}, the label; the table has: {has}")
    if len(frame.columns) < 2:
        raise DatasetError(f"no column is left beside the label {schema.label!r}; a model needs features")
    if not len(frame):
        raise DatasetError("the table has no row")
    if frame[schema.label].isna().any():
        row = int(frame[schema.label].isna().to_numpy().argmax())
        raise DatasetError(f"row {row + 1}: the label {schema.label!r} is missing; every row needs one")


def _check_left(frame: pd.DataFrame, schema: Schema, complete: Array) -> None:
    """Raise PreprocessingError, naming columns, where complete rows are none or of one class."""
    labels = frame[schema.label]
    if not complete.any():
        raise PreprocessingError(
            f"impute: drop-rows leaves no row: {_gaps_text(frame)}; leave such a column out, or fill it (mean-mode)"
        )
    left = labels[complete].unique()
    if len(left) < 2 < 1 + labels.nunique():
        gone = labels[~labels.isin(left)]
        raise PreprocessingError(
            f"impute: drop-rows leaves one class of the label {schema.label!r}, {left[0]!s}: of the rows of other "
            f"classes {_gaps_text(frame.loc[gone.index])}; leave such a column out, or fill it (mean-mode)"
        )


def _gaps_text(frame: pd.DataFrame) -> str:
    """The columns that lack most values, in words."""
    counts = frame.isna().sum()
    counts = counts[counts > 0].sort_values(ascending=False, kind="stable")
    columns = [f"{str(name)!r} lacks {count:,}" for name, count in counts.items()]
    return f"{quote_names(columns, 3)} of {len(frame):,}"


def numbers_of(frame: pd.DataFrame, column: str, scaling: Scaling, place: Place = row_number) -> Array:
    """The values of a column of numbers, (n,) float64, NaN where missing.

    Raises DatasetError for a column without a value, or with one that is infinite or, unscaled, past float32's range.
    """
    series = frame[column]
    if pd.api.types.is_extension_array_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = series.to_numpy(dtype=np.float64)
    there = values[~np.isnan(values)]
    if not len(there):
        raise DatasetError(f"column {column!r} holds no value; leave it out")
    largest = max(-float(there.min()), float(there.max()))
    if largest > LARGEST and (scaling == "none" or not np.isfinite(largest)):
        row = int(np.argmax(np.abs(np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)) > LARGEST))
        fault = f"{place(int(series.index[row]))}: column {column!r} is {series.iloc[row]}"
        if not np.isfinite(largest):
            row = int(np.argmax(np.isinf(values)))
            fault = f"{place(int(series.index[row]))}: column {column!r} is {series.iloc[row]}"
            raise DatasetError(f"{fault}, which is not finite; correct it, or mark it as missing")
        raise DatasetError(f"{fault}, past the range of features (3.4e38); correct it, or scale (scaling: min-max)")
    return values


def fill_of(values: Array) -> float:
    """The number that fills missing ones: the mean, also where the sum of all has no finite value.

    >>> fill_of(np.array([1.0, np.nan, 3.0])), fill_of(np.array([1e308, 1e308]))
    (2.0, 1e+308)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(np.nanmean(values))
    if np.isfinite(mean):
        return mean
    largest = float(np.nanmax(np.abs(values)))
    return float(np.nanmean(values / largest) * largest)


def mode_of(text: pd.Series) -> str:
    """The category that fills missing ones: the most frequent one, of several the first in order."""
    return str(text.mode(dropna=True).iloc[0])


def text_of(frame: pd.DataFrame, column: str, impute: str) -> pd.Series:
    """A column of categories as text, missing ones filled. Raises DatasetError for a column without a value."""
    text = frame[column]
    if text.isna().all():
        raise DatasetError(f"column {column!r} holds no value; leave it out")
    if text.dtype == object and pd.api.types.infer_dtype(text, skipna=True) != "string":
        text = text.map(lambda value: None if pd.isna(value) else str(value)).astype(object)
    missing = MISSING if impute == "category" else mode_of(text)
    filled: pd.Series = text.astype(object).where(text.notna(), missing).astype(str)
    return filled


def encode(table: pd.DataFrame, schema: Schema, preprocessing: Preprocessing, drop: tuple[str, ...] = ()) -> Encoded:
    """The encoded table without the columns in `drop`. All features are finite.

    Raises HarnessError for a table, or a column of it, that cannot be encoded: see `frame_in_use` and `numbers_of`.
    """
    frame, rows = frame_in_use(table, schema, preprocessing, drop)
    categories = categorical_columns(frame, schema)
    numbers = [c for c in frame.columns if c != schema.label and c not in categories]
    classes = sorted_classes(frame[schema.label])
    labels = pd.Categorical(frame[schema.label], categories=classes).codes.astype(np.int64)
    plain = plain_features(frame, numbers, categories, preprocessing)
    if plain is not None:
        return Encoded(plain, labels, tuple(numbers), tuple(map(str, classes)), rows)
    texts = {column: text_of(frame, column, preprocessing.impute) for column in categories}
    levels = {column: sorted(text.unique()) for column, text in texts.items()}
    width = len(numbers) + sum(map(len, levels.values()))
    unit = preprocessing.scaling == "unit-norm"
    features = np.zeros((len(frame), width), dtype=np.float64 if unit else np.float32)
    for place, column in enumerate(numbers):
        values = numbers_of(frame, column, preprocessing.scaling)
        lacking = np.isnan(values)
        filled = np.where(lacking, fill_of(values), values) if lacking.any() else values
        features[:, place] = _scale(filled, preprocessing.scaling)
    names, at = list(numbers), np.arange(len(frame))
    for column, text in texts.items():
        codes = pd.Categorical(text, categories=levels[column]).codes
        features[at, len(names) + codes.astype(np.int64)] = 1.0
        names += [f"{column}={level}" for level in levels[column]]
    if unit:
        features = _unit_rows(features)
    return Encoded(
        np.ascontiguousarray(features, dtype=np.float32), labels, tuple(names), tuple(map(str, classes)), rows
    )


def sorted_classes(labels: pd.Series) -> list[object]:
    """The distinct labels in order. Raises DatasetError for labels of several types."""
    try:
        return sorted(labels.unique())
    except TypeError:
        kinds = sorted({type(value).__name__ for value in labels.unique()})
        raise DatasetError(f"the label {labels.name!r} has values of several types: {', '.join(kinds)}") from None


def plain_features(
    frame: pd.DataFrame, numbers: list[str], categories: list[str], preprocessing: Preprocessing
) -> Array | None:
    """The features of a table that are used as they are: float32, finite and unscaled; None where there is more to do.

    They may lie on disk and are not copied, since there may be many.
    """
    if categories or preprocessing.scaling != "none" or any(dtype != np.float32 for dtype in frame[numbers].dtypes):
        return None
    plain = frame[numbers].to_numpy()
    return plain if np.isfinite(plain.sum(dtype=np.float64)) else None


def _scale(values: Array, scaling: Scaling) -> Array:
    """A column's values (n,) from 0 to 1 (min-max), or of mean 0 and spread 1 (standard); zeros where all are alike."""
    if scaling not in ("min-max", "standard"):
        return values
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return np.zeros_like(values)
    if scaling == "standard":
        with np.errstate(over="ignore", invalid="ignore"):
            mean, spread = float(values.mean()), float(values.std())
        if np.isfinite(spread) and spread > max(SMALLEST_SPREAD, CLOSEST * max(-low, high)):
            return np.asarray((values - mean) / spread)
        values = _rescale(values, low, high)  # squares leave the range of numbers, or means round the spread away
        return np.asarray((values - values.mean()) / values.std())
    return _rescale(values, low, high)


def _rescale(values: Array, low: float, high: float) -> Array:
    """The values from 0 at `low` to 1 at `high`."""
    if np.isfinite(high - low):
        return np.asarray((values - low) / (high - low))
    # By halves where the difference of both ends is too large for a number.
    return np.asarray((values / 2 - low / 2) / (high / 2 - low / 2))


def _unit_rows(features: Array) -> Array:
    """The rows scaled to norm 1; rows of zeros stay."""
    largest = np.abs(features).max(axis=1, keepdims=True)
    far = ((largest > 1 / SMALLEST_SPREAD) | (largest < SMALLEST_SPREAD)) & (largest > 0)
    if far.any():  # their squares would leave the range of numbers
        features = np.where(far, features / np.where(far, largest, 1.0), features)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.where(norms == 0, 1.0, norms))
