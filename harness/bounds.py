"""Bounds of what is read: how large files, what they unpack to, and what a spec asks for may be; what raises each.

A bound is looked at before the memory is taken: of a file by its size, of what is compressed while it is unpacked, of
a Parquet file by its footer, of a grid by its product. What is too large is one line, which names the environment
variable that raises the bound.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, NoReturn

from harness.errors import HarnessError

BLOCK_BYTES = 1 << 20


class TooLarge(HarnessError):
    """Something is larger than its bound."""


class NotAFile(HarnessError):
    """A path leads to a device, a pipe or a socket, which may have no end."""


@dataclass(frozen=True)
class Bound:
    """The most that there may be of something."""

    default: int
    variable: str
    """Environment variable that raises it, or lowers it."""
    unit: str
    of: str
    """What is bounded, for the table of the docs."""

    @property
    def limit(self) -> int:
        """The bound in force. Raises HarnessError where the variable holds no whole number above 0."""
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0):
            raise HarnessError(f"{self.variable}: a whole number above 0 is needed, such as {self.default}")
        return int(text)

    def check(self, amount: int, where: str, what: str = "") -> None:
        """Raises TooLarge for an amount above the bound; `where` and `what` say of what."""
        if amount > self.limit:
            raise TooLarge(f"{where}: {amount:,} {self.unit}{what}, more than {self.limit:,}; {self.remedy}")

    def refuse(self, where: str, clause: str = "has") -> NoReturn:
        """Raises TooLarge for what is larger by an amount that nobody counted."""
        raise TooLarge(f"{where}: {clause} more than {self.limit:,} {self.unit}; {self.remedy}")

    @property
    def remedy(self) -> str:
        """How to raise the bound."""
        return f"set {self.variable} to raise the bound"


SPEC_BYTES = Bound(2_000_000, "HARNESS_MAX_SPEC_BYTES", "bytes", "a file of YAML: a spec, `params.yaml`")
SPEC_VALUES = Bound(200_000, "HARNESS_MAX_SPEC_VALUES", "values", "a file of YAML, aliases followed")
TEXT_BYTES = Bound(100_000_000, "HARNESS_MAX_TEXT_BYTES", "bytes", "a text, a JSON file or a page of docs")
TABLE_BYTES = Bound(1_000_000_000, "HARNESS_MAX_TABLE_BYTES", "bytes", "a CSV or Parquet file once it is unpacked")
TABLE_CELLS = Bound(50_000_000, "HARNESS_MAX_TABLE_CELLS", "cells", "rows x columns of a Parquet file")
UNPACKED_BYTES = Bound(
    2_147_483_648, "HARNESS_MAX_UNPACKED_BYTES", "bytes", "an archive of a data set, arrays in `.npz`, a stored result"
)
DATA_CELLS = Bound(
    1_000_000_000, "HARNESS_MAX_DATA_CELLS", "cells", "rows x columns of the table that a data set's archive becomes"
)
DOWNLOAD_BYTES = Bound(5_000_000_000, "HARNESS_MAX_DOWNLOAD_BYTES", "bytes", "a file that `harness data fetch` brings")
PLACES = Bound(
    100_000,
    "HARNESS_MAX_PLACES",
    "places",
    "arms x values of axes x epsilons; points of a formula's domain",
)
PIECES = Bound(1_000_000, "HARNESS_MAX_PIECES", "pieces", "the plan of a spec: models to train, attacks on them")
COUNTS = Bound(1, "HARNESS_MAX_COUNTS", "times", "the bounds of single fields of a spec, such as `repeats`")
BOUNDS = (
    *(SPEC_BYTES, SPEC_VALUES, TEXT_BYTES, TABLE_BYTES, TABLE_CELLS, UNPACKED_BYTES, DATA_CELLS, DOWNLOAD_BYTES),
    *(PLACES, PIECES, COUNTS),
)


def check_file(path: Path, bound: Bound, name: str | None = None) -> int:
    """The size of a regular file, which messages call `name`.

    Raises NotAFile for a device, a pipe or a socket, TooLarge for a file above the bound, and OSError where there is
    none or it is a folder.
    """
    size = _check_regular(path.stat(), path, name).st_size
    bound.check(size, name or str(path))
    return size


def _check_regular(status: os.stat_result, path: Path, name: str | None) -> os.stat_result:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        sorts = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        sort = sorts.get(stat.S_IFMT(status.st_mode), "a device")
        raise NotAFile(f"{name or path}: is {sort}, not a file; name a regular file")
    return status


def open_file(path: Path, name: str | None = None) -> BinaryIO:
    """A regular file, open for reading: it is never waited for. Raises as `check_file` for what is none."""
    _check_regular(path.stat(), path, name)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check_regular(os.fstat(descriptor), path, name)  # another may lie there by now
        return os.fdopen(descriptor, "rb")
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise


def read_bytes(path: Path, bound: Bound, name: str | None = None) -> bytes:
    """The content of a regular file. Raises as `check_file`, also where it holds more than its size says."""
    with open_file(path, name) as stream:
        bound.check(os.fstat(stream.fileno()).st_size, name or str(path))
        return read_stream(stream, bound, name or str(path))


def read_text(path: Path, bound: Bound = TEXT_BYTES, name: str | None = None) -> str:
    """A regular file's text in UTF-8, line ends as `\\n`. Raises as `read_bytes`, and UnicodeDecodeError."""
    return read_bytes(path, bound, name).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def read_stream(stream: IO[bytes], bound: Bound, where: str) -> bytes:
    """What a stream holds, such as a member of an archive. Raises TooLarge once it gives more than the bound."""
    limit, blocks, size = bound.limit, list[bytes](), 0
    while size <= limit and (block := stream.read(BLOCK_BYTES)):  # no buffer of the bound's size for a small stream
        blocks.append(block)
        size += len(block)
    content = b"".join(blocks)
    if len(content) > limit:
        bound.refuse(where)
    return content


UNPACKED_BY: dict[bytes, Callable[[Path], io.BufferedIOBase]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""By how a compressed file begins."""
DAMAGED = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
"""What unpacking a damaged file raises."""


def check_unpacked(path: Path, bound: Bound, name: str | None = None) -> None:
    """Look at how large a file is, and a compressed one (gzip, bzip2, xz) at what it unpacks to, of which nothing is
    kept. What is damaged is left to whoever reads it.

    Raises as `check_file`.
    """
    where = name or str(path)
    check_file(path, bound, name)
    with open_file(path, name) as stream:
        begin = stream.read(max(map(len, UNPACKED_BY)))
    for mark, unpack in UNPACKED_BY.items():
        if begin.startswith(mark):
            with contextlib.suppress(*DAMAGED), unpack(path) as unpacked:
                size, limit = 0, bound.limit
                while block := unpacked.read(BLOCK_BYTES):
                    size += len(block)
                    if size > limit:
                        bound.refuse(where, "unpacks to")
