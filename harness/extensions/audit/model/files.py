"""Records in the files of a user: CSV, or arrays of NumPy; read together, so that their columns have one type."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.bounds import TABLE_BYTES, check_unpacked, open_file
from harness.data.cells import Cells, guess_separator, normalize_text, read_cells
from harness.data.columns import Column
from harness.data.quoting import quote_names, quote_value
from harness.errors import HarnessError
from harness.npz import check_members, read_array

MISSING = ("", "?", "NA", "N/A")
"""Cells that stand for a missing value."""


@dataclass(frozen=True)
class Rows:
    """The records of several files, one after the other."""

    features: pd.DataFrame | Array
    """As a model is asked: the columns of the files (n rows), or (n, ...)."""
    labels: Array
    """As they stand in the files, (n,)."""
    lines: Array
    """The line of its file that each record begins on, or its number from 1, (n,)."""
    counts: tuple[int, ...]
    """Records of each file."""


def read_rows(paths: Sequence[Path], label: str | None, ignore: Sequence[str]) -> Rows:
    """Read files that have the same columns. Raises HarnessError, with file, row and column, for what is amiss."""
    for path in paths:
        if path.is_dir() or not path.is_file():
            what = "is a folder, not a file" if path.is_dir() else "no such file"
            raise HarnessError(f"{path}: {what}; give records as CSV, or as .npz with features and labels")
    arrays = [path.suffix == ".npz" for path in paths]
    if any(arrays) and not all(arrays):
        odd = paths[arrays.index(not arrays[0])]
        raise HarnessError(f"{odd}: is not of the sort of {paths[0]}; give all records as CSV, or all as .npz")
    if all(arrays):
        if label is not None or ignore:
            raise HarnessError(f"{paths[0]}: arrays have no names of columns; leave --label and --ignore out")
        return _read_arrays(paths)
    if label is None:
        raise HarnessError("--label: say which column is to be predicted, such as --label outcome")
    return _read_tables(paths, normalize_text(label), [normalize_text(name) for name in ignore])


# --- CSV


def _read_tables(paths: Sequence[Path], label: str, ignore: Sequence[str]) -> Rows:
    tables = [_read_table(path) for path in paths]
    names = _check_columns(paths, tables, label, ignore)
    lines = np.concatenate([table.lines for table in tables])
    owner = np.repeat(np.arange(len(paths)), [len(table.lines) for table in tables])

    def place(row: int) -> str:
        return f"{paths[owner[row]]}:{lines[row]}"

    columns: dict[str, Array] = {}
    for name in names:
        cells = [cell for table in tables for cell in table.columns[table.names.index(name)]]
        columns[name] = _type_column(Column.of(name, cells, MISSING, place), name == label)
    labels = columns.pop(label)
    lacking = pd.isna(labels)
    if lacking.any():
        row = int(np.argmax(lacking))
        raise HarnessError(f"{place(row)}: column {quote_value(label)}, the label, is missing; every row needs one")
    return Rows(pd.DataFrame(columns), labels, lines, tuple(len(table.lines) for table in tables))


def _read_table(path: Path) -> Cells:
    try:
        check_unpacked(path, TABLE_BYTES)
        return read_cells(path, str(path), guess_separator(path), "utf-8")
    except HarnessError as error:
        raise HarnessError(re.sub(r"; write (the )?`encoding.*", "; save it as UTF-8", str(error))) from None


def _check_columns(paths: Sequence[Path], tables: Sequence[Cells], label: str, ignore: Sequence[str]) -> list[str]:
    """Names of the columns in use, in the order of the first file."""
    for path, table in zip(paths, tables, strict=True):
        has = quote_names(table.names)
        for option, wanted in (("--label", [label]), ("--ignore", ignore)):
            for name in wanted:
                if name not in table.names:
                    raise HarnessError(f"{path}:1: no column {quote_value(name)} ({option}); it has: {has}")
        if label in ignore:
            raise HarnessError(f"--ignore {label}: is the label; take it out of one of them")
        used = [name for name in table.names if name not in ignore]
        twice = next((name for name in used if used.count(name) > 1), None)
        if twice is not None:
            raise HarnessError(f"{path}:1: two columns are called {quote_value(twice)}; name them apart")
        if "" in used:
            number = table.names.index("") + 1
            raise HarnessError(f'{path}:1: column {number} has no name; name it, or leave it out with --ignore ""')
        own, first = set(used), {name for name in tables[0].names if name not in ignore}
        if own != first:
            lacks, more = sorted(first - own), sorted(own - first)
            what = f"no column {quote_value(lacks[0])}" if lacks else f"a column {quote_value(more[0])}"
            right = "which" if lacks else "which is not in"
            raise HarnessError(
                f"{path}:1: {what}, {right} {paths[0]}{' has' if lacks else ''}; all files need the same columns"
            )
    return [name for name in tables[0].names if name not in ignore]


def _type_column(column: Column, is_label: bool) -> Array:
    """Numbers, truth values, or text (None where missing)."""
    if column.are_booleans():
        return column.booleans()[0]
    if column.are_numbers():
        return column.numbers()[0]
    if not is_label:
        try:
            column.check_mixture(MISSING)
        except HarnessError as error:
            fault = str(error).partition("; ")[0]
            raise HarnessError(f"{fault}; correct it, or leave the cell empty if the value is missing") from None
    return column.text()[0]


# --- arrays


def _read_arrays(paths: Sequence[Path]) -> Rows:
    read = [_read_array(path) for path in paths]
    shape = read[0][0].shape[1:]
    for path, (features, _) in zip(paths, read, strict=True):
        if features.shape[1:] != shape:
            raise HarnessError(
                f"{path}: its records have shape {features.shape[1:]}, those of {paths[0]} {shape}; make them alike"
            )
    lines = np.concatenate([np.arange(1, len(labels) + 1) for _, labels in read])
    features, labels = (np.concatenate(parts) for parts in zip(*read, strict=True))
    return Rows(features, labels, lines, tuple(len(one) for _, one in read))


def _read_array(path: Path) -> tuple[Array, Array]:
    """Features (n, ...) and labels (n,)."""
    try:
        with open_file(path) as stream, zipfile.ZipFile(stream) as archive:
            check_members(archive, path.stat().st_size, str(path))
            names = [member.removesuffix(".npy") for member in archive.namelist()]
            arrays = {name: read_array(archive.read(f"{name}.npy")) for name in ("features", "labels") if name in names}
    except (OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise HarnessError(f"{path}: not readable as .npz ({error}); write it by numpy.savez") from None
    for name in ("features", "labels"):
        if name not in arrays:
            raise HarnessError(f"{path}: no array {name!r} in it; it has: {quote_names(names) or 'none'}")
    features, labels = arrays["features"], arrays["labels"]
    if features.ndim < 2 or labels.shape != features.shape[:1]:
        raise HarnessError(
            f"{path}: features of shape {features.shape} and labels of shape {labels.shape}; (n, d) and (n,) are right"
        )
    if not len(labels):
        raise HarnessError(f"{path}: no record in it; records are needed")
    if features.dtype.kind not in "biuf":
        raise HarnessError(f"{path}: features of type {features.dtype}; numbers are needed")
    finite = np.isfinite(features.reshape(len(features), -1))
    if not finite.all():
        row, column = (int(at) for at in np.argwhere(~finite)[0])
        value = features.reshape(len(features), -1)[row, column]
        raise HarnessError(
            f"{path}: record {row + 1}, feature {column + 1} is {value}; numbers that are finite are needed"
        )
    if labels.dtype.kind not in "biuUS":
        raise HarnessError(f"{path}: labels of type {labels.dtype}; whole numbers or text are needed")
    return features, labels
