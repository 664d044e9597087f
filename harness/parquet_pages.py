"""What the pages of a Parquet file unpack to, told by their own headers.

A footer may say less than is there. A reader takes as much memory for a page as the page's header says, so these are
what counts. PyArrow shows no headers of pages; they are structs of Thrift's compact protocol, of which this module
reads four numbers (https://github.com/apache/parquet-format, `PageHeader`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

USUAL_BYTES, MOST_BYTES = 1 << 10, 1 << 24
"""Of a header of a page: usually, and at most, as PyArrow has it."""
MOST_PAGES = 1_000_000
"""Of a column in a row group."""
UNPACKED, PACKED = (2,), (3,)
"""Fields of a header: the bytes of the page once it is unpacked, and as it is."""
VALUES = ((5, 1), (8, 1))
"""The number of values, in a data page of version 1 or 2."""
ENCODINGS = ((5, 2), (8, 4))
"""How the values are encoded, in a data page of version 1 or 2."""
DELTA_BYTE_ARRAY = 7
"""The encoding of texts in which each begins as so many characters of the one before it."""
STRUCT = 12
Path = tuple[int, ...]
"""Of a number: the field, or the field of a struct and the field in it."""


@dataclass
class _Header:
    """Thrift's compact protocol, from some bytes. Methods raise IndexError at their end, ValueError for other types."""

    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number of too many bytes")
        return value | byte << shift

    def number(self) -> int:
        """A whole number with its sign."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, kind: int) -> None:
        """Pass over a value: a truth, a byte, a whole number, a float, or bytes."""
        if kind == 3:
            self.at += 1
        elif kind in (4, 5, 6):
            self.varint()
        elif kind == 7:
            self.at += 8
        elif kind == 8:
            length = self.varint()
            self.at += length
        elif kind not in (1, 2):
            raise ValueError(f"a field of type {kind}")

    def numbers(self) -> dict[Path, int]:
        """The whole numbers of 32 bits in a struct and in those in it."""
        values, name = dict[Path, int](), 0
        while mark := self.byte():
            name = name + (mark >> 4) if mark >> 4 else self.number()
            if mark & 15 == 5:
                values[name,] = self.number()
            elif mark & 15 == STRUCT:
                values |= {(name, *path): number for path, number in self.numbers().items()}
            else:
                self.skip(mark & 15)
        return values


@dataclass
class Pages:
    """What the pages of a column in a row group come to."""

    bytes: int = 0
    """Once they are unpacked."""
    values: int = 0
    largest: int = 0
    """The bytes of the largest page."""
    repeat_beginnings: bool = False
    """Whether a text takes its beginning from the one before it, so that texts may be far longer than their pages."""


def count_pages(stream: BinaryIO, begin: int, end: int) -> Pages:
    """Count the pages of a column in a row group, from one byte of a file to another.

    Raises ValueError for what is no page.
    """
    counted = Pages()
    at = begin
    for _ in range(MOST_PAGES):
        if at >= end:
            return counted
        numbers, at = _read_header(stream, at)
        counted.bytes += numbers[UNPACKED]
        counted.values += max(numbers.get(path, 0) for path in VALUES)
        counted.largest = max(counted.largest, numbers[UNPACKED])
        counted.repeat_beginnings |= DELTA_BYTE_ARRAY in (numbers.get(path) for path in ENCODINGS)
        at += numbers[PACKED]
    raise ValueError(f"more than {MOST_PAGES:,} pages of a column in a row group")


def _read_header(stream: BinaryIO, at: int) -> tuple[dict[Path, int], int]:
    """The numbers in the header of a page, and where it ends."""
    for size in (USUAL_BYTES, MOST_BYTES):
        stream.seek(at)
        header = _Header(stream.read(size))
        try:
            numbers = header.numbers()
        except (IndexError, RecursionError):
            continue
        if min(numbers.get(UNPACKED, -1), numbers.get(PACKED, -1)) >= 0:
            return numbers, at + header.at
        break
    raise ValueError(f"no header of a page at byte {at:,}")
