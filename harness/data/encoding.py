"""From a table to features: fill missing values, encode categories, scale.

humphries2020 Section 4.1 states mean or mode for missing values and one-hot for categories, and says
nothing of scaling: `scaling` is therefore an unstated choice that a spec has to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.config import Config
from harness.data.dataset import Schema
from harness.errors import AboutDataset, AboutSplit

Scaling = Literal["none", "min-max", "standard", "unit-norm"]


class Preprocessing(Config):
    """How a table becomes a feature matrix; fitted on the whole table, before any split."""

    impute: Literal["mean-mode", "drop-rows", "category"] = "mean-mode"
    """Missing numbers become the mean and categories the mode; or the row goes; or 'missing' is a category."""
    scaling: Scaling = "min-max"
    """Applied to numeric columns (unit-norm: to whole encoded rows)."""


@dataclass(frozen=True)
class Encoded:
    """Features (n, d) float32, labels (n,) int64, and the names of columns and classes."""

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


def encode(table: pd.DataFrame, schema: Schema, preprocessing: Preprocessing, drop: tuple[str, ...] = ()) -> Encoded:
    """Encode `table` without the columns in `drop`.

    Raises HarnessError for a column that is not there or that holds no value at all.
    """
    for column in drop:
        if column not in table.columns or column == schema.label:
            has = ", ".join(c for c in table.columns if c != schema.label)
            raise AboutSplit(f"column {column!r} cannot be removed: the dataset's columns are {has}")
    frame = table.drop(columns=list(drop))
    rows = np.arange(len(frame))
    if preprocessing.impute == "drop-rows":
        complete = frame.notna().all(axis=1).to_numpy()
        frame, rows = frame[complete], rows[complete]
    categories = categorical_columns(frame, schema)
    numbers = [c for c in frame.columns if c != schema.label and c not in categories]
    classes = sorted(frame[schema.label].unique())
    labels = np.searchsorted(np.asarray(classes), frame[schema.label].to_numpy()).astype(np.int64)
    if not categories and preprocessing.scaling == "none":
        plain = frame[numbers].to_numpy()
        if plain.dtype == np.float32 and not np.isnan(plain.sum()):  # many of them, and on disk: not copied
            return Encoded(plain, labels, tuple(numbers), tuple(map(str, classes)), rows)
    blocks: list[Array] = []
    names: list[str] = []
    for column in numbers:
        values = frame[column].to_numpy(dtype=np.float64)
        if np.isnan(values).all():
            raise AboutDataset(f"column {column!r} holds no value")
        values = np.where(np.isnan(values), np.nanmean(values), values)
        blocks.append(_scale(values, preprocessing.scaling)[:, None])
        names.append(column)
    for column in categories:
        text = frame[column]
        if text.isna().all():
            raise AboutDataset(f"column {column!r} holds no value")
        missing = "missing" if preprocessing.impute == "category" else text.mode(dropna=True).iloc[0]
        text = text.where(text.notna(), missing).astype(str)
        levels = sorted(text.unique())
        codes = pd.Categorical(text, categories=levels).codes
        blocks.append(np.eye(len(levels))[codes])
        names += [f"{column}={level}" for level in levels]
    features = np.concatenate(blocks, axis=1)
    if preprocessing.scaling == "unit-norm":
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        features = features / np.where(norms == 0, 1.0, norms)
    return Encoded(
        np.ascontiguousarray(features, dtype=np.float32),
        labels,
        tuple(names),
        tuple(map(str, classes)),
        rows,
    )


def _scale(values: Array, scaling: Scaling) -> Array:
    if scaling == "min-max":
        low, high = values.min(), values.max()
        return (values - low) / (high - low) if high > low else np.zeros_like(values)
    if scaling == "standard":
        spread = values.std()
        return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
    return values
