"""A CSV file as text: its header and its cells, or one line that says where it is malformed and what to write."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from harness.arrays import Array
from harness.data.quoting import quote_value
from harness.errors import DatasetError
from harness.reading_bounds import check_place

SEPARATORS = {";": "';'", "\t": r'"\t"', ",": "','", "|": "'|'", ":": "':'"}
"""Tried where a file seems to need another one, and how YAML writes them."""
# How compressed files begin, and what unpacks them; below, how files begin that are no text, and what to do with them.
COMPRESSED = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ\x00": lzma.decompress}
NOT_TEXT = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; export the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet; export the sheet as CSV",
    b"PAR1": "a Parquet file; write it as CSV",
}


@dataclass(frozen=True)
class Cells:
    """The cells of a file as they stand there, before anything is made of them."""

    names: tuple[str, ...]
    """Of columns, without spaces around them, in Unicode's composed form (NFC)."""
    written: tuple[str, ...]
    """Names as they stand in the header."""
    columns: list[list[str]]
    lines: Array
    """The line of the file that each row begins on, (n,)."""
    blank: int
    """Lines without anything."""
    doubtful: bool
    """The text would be UTF-8 too, which says something else."""
    spaced: bool
    """Spaces follow separators, before quotes."""


def normalize_text(text: str) -> str:
    """The text without spaces around it, in Unicode's composed form (NFC), so that words that look alike are alike."""
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def read_cells(path: Path, name: str, separator: str, encoding: str) -> Cells:
    """The cells of a file, which messages call `name`.

    Raises DatasetError, naming the line, for a file that is not there, no text, malformed, or without rows.
    """
    text, doubtful = _decode(_content(path, name), name, encoding)
    spaced = separator != " " and f'{separator} "' in text
    _, header = next((one for one in _records(text, name, separator, spaced) if one[1]), (1, []))
    if len(header) == 1:
        _hint_separator(header[0], name, separator)
    every = list(_records(text, name, separator, spaced))
    records = [one for one in every if one[1]]
    rows = records[1:]
    if any(len(row) != len(header) for _, row in rows):
        _refuse_widths(records, name)
    if not rows:
        raise DatasetError(f"{name}: a header and no row below it; records are needed")
    columns = [list(column) for column in zip(*(row for _, row in rows), strict=True)]
    lines = np.array([line for line, _ in rows])
    names = tuple(normalize_text(one) for one in header)
    return Cells(names, tuple(header), columns, lines, len(every) - len(records), doubtful, spaced)


def guess_separator(path: Path) -> str:
    """The separator that the header has most of; a comma where it has none. Raises OSError for an unreadable file."""
    with path.open("rb") as stream:
        header = stream.readline(1 << 20).decode("latin-1")
    return max(SEPARATORS, key=lambda one: (header.count(one), one == ","))


def separator_hint(header: str, separator: str, wanted: str) -> str:
    """The hint of what to write where a header, read by another separator, has the wanted column; else an empty text.

    >>> separator_hint("age;income", ",", "income")
    "; it looks separated by ';': write `separator: ';'`"
    """
    for other, written in SEPARATORS.items():
        if other != separator and wanted in (part.strip().strip('"') for part in header.split(other)):
            return f"; it looks separated by {written}: write `separator: {written}`"
    return ""


def _content(path: Path, name: str) -> bytes:
    """The bytes of a file, unpacked where it is compressed. Raises DatasetError for one that is no text of a table."""
    check_place(path, name)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DatasetError(f"{name}: no such file (dataset csv, field path)") from None
    except IsADirectoryError:
        raise DatasetError(f"{name or '.'}: a folder, not a file (dataset csv, field path)") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DatasetError(f"{name!r} cannot be read: {reason} (dataset csv, field path)") from None
    for mark, what in NOT_TEXT.items():
        if content.startswith(mark):
            raise DatasetError(f"{name}: {what}")
    for mark, unpack in COMPRESSED.items():
        if content.startswith(mark):
            try:
                return unpack(content)
            except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
                raise DatasetError(f"{name}: not readable, its compression is damaged: {error}") from None
    return content


def _decode(content: bytes, name: str, encoding: str) -> tuple[str, bool]:
    """The text, and whether it would be UTF-8 too where another encoding is asked for. Raises DatasetError."""
    usual = codecs.lookup(encoding).name == "utf-8"
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    if not wide:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise DatasetError(f"{name}: the text is UTF-16; write `encoding: utf-16`")
        if (at := content.find(b"\0")) >= 0:
            if content[:4000].count(b"\0") * 4 > len(content[:4000]):
                order = "le" if content[1:2] == b"\0" else "be"
                raise DatasetError(f"{name}: the text looks like UTF-16; write `encoding: utf-16-{order}`")
            raise DatasetError(f"{_line_of(content, at, name)}: a NUL byte, which no CSV has; take it out")
    if content.startswith(codecs.BOM_UTF8):
        if not usual:
            raise DatasetError(f"{name}: the file begins with the mark of UTF-8; leave `encoding: {encoding}` out")
        content = content[len(codecs.BOM_UTF8) :]
    try:
        text = content.decode(encoding)
        text.encode("utf-8")  # lone surrogates, which some codecs let through, would fail later
    except UnicodeDecodeError as error:
        raise DatasetError(_not_decoded(error, content, name, encoding)) from None
    except (UnicodeError, ValueError) as error:
        raise DatasetError(f"{name}: not readable as {encoding}: {error}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DatasetError(f"{name}:{line}: a NUL character, which no CSV has; take it out")
    if not text.strip():
        raise DatasetError(f"{name}: not readable as CSV: the file is empty; a header and records are needed")
    return text, not usual and not wide and not content.isascii() and _decodes(content, "utf-8")


def _line_of(content: bytes, at: int, name: str) -> str:
    """The file and the line of the byte at a place."""
    line = content.count(b"\n", 0, at) + 1
    return f"{name}:{line}"


def _decodes(content: bytes, encoding: str) -> bool:
    """Whether bytes are text in an encoding."""
    try:
        content.decode(encoding)
    except UnicodeError:
        return False
    return True


def _not_decoded(error: UnicodeDecodeError, content: bytes, name: str, encoding: str) -> str:
    """The message for a byte that is none of the encoding, with one that would read it and how it would read."""
    place = _line_of(content, error.start, name)
    what = f"{place}: the byte 0x{content[error.start]:02X} is not {encoding}"
    for other in ("utf-8", "windows-1252", "latin-1"):
        if codecs.lookup(other) != codecs.lookup(encoding) and _decodes(content, other):
            around = content[max(0, error.start - 12) : error.start + 12].decode(other, "ignore")
            word = next((w for w in around.split() if not w.isascii()), around)
            return f"{what}; write `encoding: {other}` if {quote_value(word)} is how it should read"
    return f"{what}; write the `encoding` that the file was saved in"


def _records(text: str, name: str, separator: str, spaced: bool) -> Iterator[tuple[int, list[str]]]:
    """The records, header first, each with the line that it begins on; a blank line has none. Raises DatasetError."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=spaced, strict=True)
    before = 0
    try:
        for row in reader:
            yield before + 1, row if len(row) > 1 or (row and row[0].strip()) else []
            before = reader.line_num
    except csv.Error as error:
        raise DatasetError(f"{name}:{before + 1}: not readable as CSV: {_fault(str(error))}") from None


def _fault(error: str) -> str:
    """The fault that Python's reader of CSV tells of, with what would be right."""
    if "unexpected end of data" in error:
        return "a quote is opened in this row and never closed; close it, or take it away"
    if "field limit" in error:
        return f"a cell has more than {csv.field_size_limit():,} characters; is a quote never closed?"
    if "expected after" in error:
        return 'after the closing quote of a cell comes more text; write a quote inside a quoted cell as ""'
    return error


def _hint_separator(header: str, name: str, separator: str) -> None:
    """Raise DatasetError for a header of one column that has another separator in it."""
    counts = {other: header.count(other) for other in SEPARATORS if other != separator}
    best = max(counts, key=lambda other: counts[other])
    if counts[best]:
        written = SEPARATORS[best]
        raise DatasetError(f"{name}: one column alone; it looks separated by {written}: write `separator: {written}`")


def _refuse_widths(records: list[tuple[int, list[str]]], name: str) -> NoReturn:
    """Raise DatasetError for rows that have not a cell for each name of the header."""
    (first, header), *rows = records
    width = len(header)
    named = f"the header names {width} column{'s' * (width != 1)}"
    if all(len(row) == width + 1 for _, row in rows):
        if not any(row[-1].strip() for _, row in rows):
            raise DatasetError(f"{name}: every row ends with a separator and {named}; take the last separator away")
        if not header[0].lstrip().startswith("#"):
            raise DatasetError(f"{name}: every row has {width + 1} cells and {named}; name the first column too")
    if header[0].lstrip().startswith("#"):
        raise DatasetError(f"{name}:{first}: begins with '#'; CSV has no comments, the first line names the columns")
    line, row = next((line, row) for line, row in rows if len(row) != width)
    hint = "quote a cell that holds the separator" if len(row) > width else "each row needs a cell for each of them"
    if row[0].lstrip().startswith("#"):
        hint = "CSV has no comments; take the line out"
    raise DatasetError(f"{name}:{line}: {len(row)} cell{'s' * (len(row) != 1)} where {named}; {hint}")
