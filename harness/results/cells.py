"""The cells of a file of results, CSV or Parquet, as text, and what they are read as."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd
import pyarrow.parquet
from pyarrow.lib import ArrowException

from harness.arrays import Array
from harness.bounds import TABLE_BYTES, NotAFile, TooLarge, check_unpacked, open_file
from harness.data.cells import normalize_text, read_cells
from harness.data.columns import DECIMAL_COMMA, THOUSANDS, number
from harness.data.quoting import quote_names, quote_value
from harness.errors import DatasetError, HarnessError
from harness.experiment import ResultsFile
from harness.parquet import check_parquet
from harness.reading_bounds import check_place

PARQUET = b"PAR1"
INFINITE = {"inf": math.inf, "infinity": math.inf, "∞": math.inf}
"""How an axis may write an infinite value, in lower case, without a plus sign."""
BOTH_INFINITE = INFINITE | {f"-{text}": -value for text, value in INFINITE.items()} | {"−∞": -math.inf}
"""How a score may: a log likelihood ratio has both ends."""
NONE: Mapping[str, float] = {}
TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
"""How a flag may be written, in lower case."""
T = TypeVar("T")


class ResultsFault(HarnessError):
    """The fault is in a file of results; `field` is that of the experiment which names what the file lacks, if any."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class ResultsCells:
    """What a file of results holds, as text."""

    name: str
    """As messages call the file."""
    columns: dict[str, list[str]]
    lines: Array | None
    """(n,) the line that each row begins on; None where rows have no lines."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def place(self, row: int) -> str:
        """Where a row is, for a message."""
        return f"{self.name}: row {row + 1}" if self.lines is None else f"{self.name}:{self.lines[row]}"

    def refuse(self, row: int, column: str, what: str) -> NoReturn:
        """Raises ResultsFault for a cell."""
        raise ResultsFault(f"{self.place(row)}: column {column!r}: {what}")

    def refuse_all(self, what: str, field: str) -> NoReturn:
        """Raises ResultsFault for what the whole file lacks, for the field that asks for it."""
        raise ResultsFault(f"{self.name}: {what}", field)

    def texts(self, column: str, field: str) -> list[str]:
        """A column. Raises ResultsFault where there is none, for the field that asks for it."""
        if column not in self.columns:
            raise ResultsFault(
                f"{self.name} has no column {column!r}; it has: {quote_names(list(self.columns))}", field
            )
        return self.columns[column]

    def refuse_number(self, row: int, column: str, right: str) -> NoReturn:
        """Raises ResultsFault for a cell that is not the number that it should be; `right` says what would be."""
        self.refuse(row, column, f"{_as_written(self.columns[column][row])}; {right}")

    def read_each(
        self, column: str, field: str, read: Callable[[str], T | None], right: str, numeric: bool = False
    ) -> list[T]:
        """Each cell of a column as `read` gives it. Raises ResultsFault for the first cell for which it gives None;
        `right` says what would be right, and `numeric` that it is a number."""
        codes, texts = pd.factorize(np.array(self.texts(column, field), dtype=object))
        values = [read(text) for text in texts]
        for index, value in enumerate(values):
            if value is None:
                row = int(np.flatnonzero(codes == index)[0])
                if numeric:
                    self.refuse_number(row, column, right)
                written = f"found {quote_value(texts[index])}" if texts[index] else "the cell is empty"
                self.refuse(row, column, f"{written}; {right}")
        return [value for code in codes if (value := values[code]) is not None]

    def numbers(self, column: str, field: str, infinite: Mapping[str, float] = NONE) -> Array:
        """(n,) numbers of a column; `infinite` are texts that stand for infinities. Raises ResultsFault for a cell that
        is none."""
        ends = " or inf" + (" or -inf" if -math.inf in infinite.values() else "") if infinite else ""
        right = f"a {'' if infinite else 'finite '}number{ends} is needed, such as 0.91"
        return np.array(
            self.read_each(column, field, lambda text: _read_number(text, infinite), right, numeric=True),
            dtype=np.float64,
        )

    def levels(self, column: str, field: str) -> list[float | str]:
        """Values of an axis: numbers where all cells are, else text. Raises ResultsFault for an empty cell, and for a
        decimal comma where all would be numbers with a point."""
        texts = self.texts(column, field)
        commas = {text for text in texts if DECIMAL_COMMA(text)}
        if commas and all(text in commas or _read_number(text, INFINITE) is not None for text in set(texts)):
            self.numbers(column, field, INFINITE)
        if all(_read_number(text, INFINITE) is not None for text in set(texts)):
            return [float(one) for one in self.numbers(column, field, INFINITE)]
        return self.read_each(column, field, lambda text: text or None, "an axis has a value in every row")

    def flags(self, column: str, field: str) -> Array:
        """(n,) bool of a column. Raises ResultsFault for a cell that is neither 0 nor 1."""
        right = "1 (member) or 0 (non-member) is needed"
        right = right if column != "decision" else "1 (called a member) or 0 (called a non-member) is needed"
        return np.array(self.read_each(column, field, lambda text: TRUTH.get(text.lower()), right), dtype=bool)


def _as_written(text: str) -> str:
    """What stands in a cell that should be a number, for a message."""
    if not text:
        return "the cell is empty"
    comma = ", which has a decimal comma; write a point" if DECIMAL_COMMA(text) and not THOUSANDS(text) else ""
    return f"found {quote_value(text)}{comma}"


def is_nearly_number(text: str) -> bool:
    """Whether a text is a finite number, or one but for a decimal comma."""
    return finite_number(text) is not None or bool(DECIMAL_COMMA(text))


def _read_number(text: str, known: Mapping[str, float]) -> float | None:
    value = known.get(text.lower().lstrip("+"), number(text))
    return None if math.isnan(value) or (math.isinf(value) and not known) else value


def finite_number(text: str) -> float | None:
    """The number that a text is; None for other text, and for infinities."""
    return _read_number(text, NONE)


def read_results(declared: ResultsFile, path: Path) -> ResultsCells:
    """The cells of the file of a spec. Raises ResultsFault where it is missing, empty or damaged."""
    check_place(path, declared.path)
    try:
        stamp = path.stat()
        if path.is_dir():
            raise ResultsFault(f"{declared.path}: a folder; a CSV or Parquet file is needed", "path")
        with open_file(path, declared.path) as stream:
            begin = stream.read(4)
    except NotAFile as error:
        raise ResultsFault(str(error), "path") from None
    except FileNotFoundError:
        raise ResultsFault(f"{declared.path}: no such file; it is looked for at {path}", "path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ResultsFault(f"{declared.path}: cannot be read: {reason}", "path") from None
    asked = (path, declared.path, declared.separator, declared.encoding, begin == PARQUET)
    return _read_cached(*asked, (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(maxsize=8)
def _read_cached(
    path: Path, name: str, separator: str, encoding: str, parquet: bool, stamp: tuple[int, int]
) -> ResultsCells:
    """As read; `stamp` tells a file from what it was before."""
    try:
        cells = _read_parquet(path, name) if parquet else _read_csv(path, name, separator, encoding)
    except TooLarge as error:
        raise ResultsFault(str(error), "path") from None
    if not len(cells):
        raise ResultsFault(f"{name}: no rows; at least one is needed", "path")
    return cells


def _read_csv(path: Path, name: str, separator: str, encoding: str) -> ResultsCells:
    try:
        check_unpacked(path, TABLE_BYTES, name)
        cells = read_cells(path, name, separator, encoding)
    except DatasetError as error:
        raise ResultsFault(str(error).replace(" (dataset csv, field path)", "")) from None
    _check_names(cells.names, name)
    columns = [[normalize_text(cell) for cell in column] for column in cells.columns]
    return ResultsCells(name, dict(zip(cells.names, columns, strict=True)), cells.lines)


def _check_names(names: Sequence[str], name: str) -> None:
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise ResultsFault(f"{name}: two columns are called {quote_value(twice)}; name them apart")


def _read_parquet(path: Path, name: str) -> ResultsCells:
    try:
        check_parquet(path, name)
        table = pyarrow.parquet.read_table(path)
    except (OSError, ValueError, ArrowException) as error:
        why = str(error).splitlines()[0]
        raise ResultsFault(f"{name}: damaged, not a readable Parquet file: {why}", "path") from None
    if not table.num_columns:
        raise ResultsFault(f"{name}: no columns; results are needed", "path")
    _check_names(table.column_names, name)
    columns = {column: [_as_text(one) for one in _values_of(table[column])] for column in table.column_names}
    return ResultsCells(name, columns, None)


def _values_of(column: pyarrow.ChunkedArray) -> list[Any]:
    """The cells of a column; numbers of less than double precision are those that their digits show: 0.1, where Python
    would have 0.10000000149011612, so that they equal what a spec and a CSV file write."""
    values: list[Any] = column.to_pylist()
    short = {"float": np.float32, "halffloat": np.float16}.get(str(column.type))
    return values if short is None else [None if one is None else float(str(short(one))) for one in values]


def _as_text(value: object) -> str:
    """A cell of Parquet as CSV would have it, numbers with all their digits."""
    if value is None:
        return ""
    if isinstance(value, bool | int | str):
        return normalize_text(str(value))
    return repr(value) if isinstance(value, float) else normalize_text(json.dumps(value, default=str))


def list_levels(values: Collection[object]) -> str:
    """Values for a message."""
    return quote_names([f"{one:g}" if isinstance(one, float) else str(one) for one in values])
