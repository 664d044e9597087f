"""Columns of text become numbers or categories, with a list of what was done on the way.

A column is one of numbers if every cell that is not missing is a finite decimal number; of two truth values if it has
those alone and none is missing; else of text, which stays as it stands in the file. Text in a column of which half the
cells or more are meant as numbers is refused: whether it stands for a missing value or for a category, only the user
knows.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
import pyarrow as pa

from harness.arrays import Array
from harness.data.cells import normalize_text
from harness.data.quoting import LONGEST, quote_names, quote_value
from harness.data.steps import Step
from harness.errors import DatasetError

# How truth values are written, how infinite numbers, and numbers that other conventions write.
TRUE, FALSE = {"True", "TRUE", "true"}, {"False", "FALSE", "false"}
INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE).fullmatch
DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([. ]\d{3})+),\d+", re.ASCII).fullmatch
THOUSANDS = re.compile(r"[+-]?\d{1,3}([, '\u00a0\u202f]\d{3})+(\.\d+)?", re.ASCII).fullmatch
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII).fullmatch
"""A date as ISO 8601 writes it, or with a time."""
# A number with a zero before it, which may be a code and not a number; the characters that a decimal number has.
LEADING_ZERO = re.compile(r"[+-]?0\d", re.ASCII).match
DIGITS = "0123456789+-.eE"
NEARLY_UNIQUE = 0.5
"""A column of text with more levels than this share of its rows is nearly unique."""
FEW = 10
"""Columns of fewer rows are never called nearly unique or an index."""
# The range of whole numbers that a column can hold; beyond it they are floats.
INT64 = np.iinfo(np.int64)


def number(text: str) -> float:
    """The value of a decimal number, infinite where it is too large for one; NaN for other text.

    >>> number("1.5"), number("1e999"), number("inf"), number("1_000")
    (1.5, inf, nan, nan)
    """
    # Python also reads "inf", "nan", underscores and digits of other scripts, which a table hardly means as numbers.
    if text.strip(DIGITS):
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def is_meant_as_number(text: str) -> bool:
    """Whether text that is no number is one by another convention: infinite, a decimal comma, separated thousands.

    >>> [is_meant_as_number(text) for text in ("inf", "1,5", "1 000", "about 5")]
    [True, True, True, False]
    """
    return bool(INFINITE(text) or DECIMAL_COMMA(text) or THOUSANDS(text))


def days_of(text: str) -> float:
    """The days from 1970-01-01 to a date as ISO 8601 writes it, with the time as a part of a day; NaN for other text.

    A time without a zone is taken as UTC.

    >>> days_of("1970-01-02"), days_of("1970-01-02T12:00"), days_of("2.1.1970")
    (1.0, 1.5, nan)
    """
    try:
        moment = datetime.fromisoformat(text) if DATE(text) else None
    except ValueError:
        return math.nan
    if moment is None:
        return math.nan
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / 86400


@dataclass(frozen=True)
class Column:
    """The text of one column: its distinct cells, and which of them each row has."""

    name: str
    codes: Array
    """(n,) places in `texts`."""
    written: Sequence[str]
    """Distinct cells as they stand in the file."""
    markers: frozenset[str]
    """Of a missing value."""
    place: Callable[[int], str]
    """File and line of a row."""

    @classmethod
    def of(cls, name: str, cells: Sequence[str], markers: Iterable[str], place: Callable[[int], str]) -> Column:
        """The column of these cells, one a row; `markers` stand for a missing value, and `place` tells a row's line."""
        # By distinct cells: each is looked at once, however many rows have it.
        encoded = pa.array(cells, type=pa.string()).dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        return cls(name, codes, encoded.dictionary.to_pylist(), frozenset(marker.strip() for marker in markers), place)

    @cached_property
    def texts(self) -> list[str]:
        """The distinct cells without spaces around them, in Unicode's composed form; some may be the same now."""
        return [normalize_text(text) for text in self.written]

    @cached_property
    def is_present(self) -> Array:
        """Whether each distinct cell is no marker of a missing value, (levels,) bool."""
        return np.array([text not in self.markers for text in self.texts], dtype=bool)

    @cached_property
    def values(self) -> Array:
        """The numbers that distinct cells are, (levels,); NaN where they are none."""
        return np.array([number(text) for text in self.texts], dtype=np.float64)

    @cached_property
    def counts(self) -> Array:
        """The number of rows of each distinct cell, (levels,)."""
        return np.bincount(self.codes, minlength=len(self.written))

    def row_of(self, level: int) -> int:
        """The first row that has a distinct cell."""
        return int(np.argmax(self.codes == level))

    def are_numbers(self) -> bool:
        """Whether all cells that are not missing are finite numbers (true of none)."""
        return bool(np.isfinite(self.values[self.is_present]).all())

    def are_booleans(self) -> bool:
        """Whether all cells are truth values."""
        return bool(self.is_present.all()) and set(self.texts) <= TRUE | FALSE

    # --- what it becomes ---

    def booleans(self) -> tuple[Array, list[Step]]:
        """The column as truth values, (n,) bool, and the step that says so."""
        return np.array([text in TRUE for text in self.texts])[self.codes], [Step("booleans", self.name)]

    def numbers(self) -> tuple[Array, list[Step]]:
        """The column as numbers, (n,), whole ones as int64 where none is missing, and the steps to them."""
        lacking = ~self.is_present | np.isin(self.values, [number(marker) for marker in self.markers])
        steps = []
        zeros = [i for i, text in enumerate(self.texts) if text[:1] in "0+-" and LEADING_ZERO(text)]
        if zeros:
            count = int(self.counts[zeros].sum())
            steps.append(Step("leading zeros", self.name, count, self.texts[zeros[0]]))
        if not lacking.any():
            try:
                whole = [int(text) for text in self.texts]
                if all(INT64.min <= value <= INT64.max for value in whole):
                    integers = np.array(whole, dtype=np.int64)[self.codes]
                    return integers, steps + self._index(integers)
            except ValueError:
                pass
        return np.where(lacking, math.nan, self.values)[self.codes], steps

    def _index(self, numbers: Array) -> list[Step]:
        """The step for whole numbers that count the rows; none for others."""
        low = numbers[0]
        counted = len(numbers) >= FEW and low in (0, 1) and np.array_equal(numbers, np.arange(low, low + len(numbers)))
        return [Step("index", self.name, len(numbers))] if counted else []

    def are_dates(self) -> bool:
        """Whether all cells that are not missing are dates, and there is one."""
        present = [text for text, there in zip(self.texts, self.is_present, strict=True) if there]
        return bool(present) and not any(math.isnan(days_of(text)) for text in present)

    def dates(self) -> tuple[Array, list[Step]]:
        """The column as days since 1970-01-01, NaN where missing. Raises DatasetError for a cell that is no date."""
        days = np.array([days_of(text) for text in self.texts])
        wrong = np.flatnonzero(np.isnan(days) & self.is_present)
        if len(wrong):
            row = min(self.row_of(int(level)) for level in wrong)
            written = quote_value(self.texts[self.codes[row]])
            raise DatasetError(
                f"{self.place(row)}: column {quote_value(self.name)}: found {written}; a date is needed, such as "
                "2024-01-31 (field dates)"
            )
        return np.where(self.is_present, days, math.nan)[self.codes], [Step("dates", self.name)]

    def text(self) -> tuple[Array, list[Step]]:
        """The column as text, (n,), None where missing, and the steps to it."""
        texts = [text if there else None for text, there in zip(self.texts, self.is_present, strict=True)]
        cells = np.array([*texts, None], dtype=object)[:-1][self.codes]
        return cells, self._changes()

    def _changes(self) -> list[Step]:
        """The steps for cells that are not as they stand in the file, and for those that became the same."""
        stripped = [one.strip() for one in self.written]
        trimmed = [i for i, one in enumerate(self.written) if self.is_present[i] and stripped[i] != one]
        rewritten = [i for i, one in enumerate(stripped) if self.is_present[i] and self.texts[i] != one]
        steps = []
        if trimmed:
            steps.append(Step("trimmed", self.name, int(self.counts[trimmed].sum()), self.texts[trimmed[0]]))
        if rewritten:
            steps.append(Step("normalised", self.name, int(self.counts[rewritten].sum()), self.texts[rewritten[0]]))
        once = Counter(text for text, there in zip(self.texts, self.is_present, strict=True) if there)
        same = [text for text, times in once.items() if times > 1]
        if same:
            steps.append(Step("merged", self.name, len(same), quote_names(same, 3)))
        return steps

    @property
    def levels(self) -> int:
        """The number of distinct texts that are not missing."""
        return len({text for text, there in zip(self.texts, self.is_present, strict=True) if there})

    @property
    def nearly_unique(self) -> bool:
        """Whether distinct texts are more than `NEARLY_UNIQUE` of the rows, as those of identifiers are."""
        rows = int(self.counts[self.is_present].sum())
        return rows >= FEW and self.levels > NEARLY_UNIQUE * rows

    def example(self) -> str:
        """The first distinct cell that is not missing; empty where there is none."""
        return next((text for text, there in zip(self.texts, self.is_present, strict=True) if there), "")

    # --- what it may not be ---

    def check_mixture(self, missing: Sequence[str]) -> None:
        """Raise DatasetError where half of the cells or more are meant as numbers and others are not finite ones."""
        finite = np.isfinite(self.values)
        wrong = np.flatnonzero(self.is_present & ~finite)
        if not len(wrong):
            return
        meant = ~np.isnan(self.values) | np.array([is_meant_as_number(text) for text in self.texts], dtype=bool)
        cells = int(self.counts[self.is_present].sum())
        if 2 * int(self.counts[self.is_present & meant].sum()) < cells:
            return
        rows = {self.row_of(int(level)): int(level) for level in wrong[:1000]}
        row = min(rows)
        level = rows[row]
        text, where = self.texts[level], f"{self.place(row)}: column {quote_value(self.name)}"
        as_category = f"write `categorical: [{yaml_word(self.name)}]` if these are categories"
        if np.isinf(self.values[level]) or INFINITE(text):
            why = "not finite" if INFINITE(text) else "too large for a number of 64 bits"
            hint = f"correct it, or write `missing: {yaml_list([*missing, text])}`"
            raise DatasetError(f"{where} is {quote_value(text)}, which is {why}; {hint}")
        if DECIMAL_COMMA(text) and not THOUSANDS(text):
            raise DatasetError(f"{where} is {quote_value(text)}, with a decimal comma; write a point, or {as_category}")
        if is_meant_as_number(text):
            hint = f"write its digits alone, or {as_category}"
            raise DatasetError(f"{where} is {quote_value(text)}, a number with a comma or spaces in it; {hint}")
        others = len({self.texts[i] for i in wrong if i != level})
        more = f", nor {'is' if others == 1 else 'are'} {others:,} other value{'s' * (others > 1)}" if others else ""
        examples = [self.texts[i] for i in wrong] if others < 3 else [text]
        hint = f"write `missing: {yaml_list([*missing, *dict.fromkeys(examples)])}` if it stands for a missing value"
        numbers = int(self.counts[self.is_present & finite].sum())
        raise DatasetError(
            f"{where} is {quote_value(text)}, which is no number as {numbers:,} of its {cells:,} cells are{more}; "
            f"{hint}, or {as_category}"
        )

    def check_levels(self, max_levels: int, file: str, label: bool) -> None:
        """Raise DatasetError for more distinct values than the spec allows."""
        count = self.levels
        if count <= max_levels:
            return
        rows = int(self.counts[self.is_present].sum())
        what = f"the label {quote_value(self.name)}" if label else f"column {quote_value(self.name)}"
        example = f"such as {quote_value(self.example())}"
        each = "class" if label else "feature"
        raised = f"`max_levels: {count}` if each is to be a {each}"
        if label:
            hint = f"choose another label, or write {raised}"
        else:
            unique = ", nearly unique as identifiers, dates and addresses are" if self.nearly_unique else ""
            ignored = f"write `ignore: [{yaml_word(self.name)}]`"
            if self.are_dates():
                ignored = f"write `dates: [{yaml_word(self.name)}]` to take them as numbers of days, {ignored[6:]}"
            raise DatasetError(
                f"{file}: {what} has {count:,} different values in {rows:,} rows ({example}){unique}, more than "
                f"max_levels ({max_levels}); {ignored}, or {raised}"
            )
        raise DatasetError(
            f"{file}: {what} has {count:,} different values in {rows:,} rows ({example}), more than max_levels "
            f"({max_levels}); {hint}"
        )


def yaml_word(text: str) -> str:
    """A word as YAML writes it in a list; of a long one its beginning.

    >>> yaml_word("age"), yaml_word("no"), yaml_word("a: b")
    ('age', '"no"', '"a: b"')
    """
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    plain = re.fullmatch(r"[A-Za-z_/][\w/.-]*( [\w/.-]+)*", text, re.ASCII)
    special = text.lower() in ("yes", "no", "true", "false", "on", "off", "null", "y", "n")
    return text if plain and not special else json.dumps(text, ensure_ascii=False)


def yaml_list(words: Iterable[str]) -> str:
    """The words as YAML writes a list."""
    return f"[{', '.join(yaml_word(word) for word in words)}]"
