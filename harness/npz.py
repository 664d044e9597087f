"""Arrays in zip archives (`.npz`), read no further than an archive's own directory says they go.

A header of an array, and the directory of an archive, may claim any size: both are compared with what is there before
memory is taken for it.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from harness.arrays import Array
from harness.bounds import UNPACKED_BYTES

MOST_RATIO = 100
"""To which arrays may have been compressed; the harness itself compresses none."""
SMALL_BYTES = 1 << 26
"""Arrays that may be compressed to any ratio."""
HEADERS: dict[tuple[int, int], Callable[[io.BytesIO], tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def check_members(archive: zipfile.ZipFile, size: int, where: str) -> None:
    """Compare what the members of an archive of so many bytes unpack to with its bounds.

    Raises TooLarge for more than UNPACKED_BYTES, and ValueError for a ratio that no arrays are compressed to.
    """
    unpacked = sum(member.file_size for member in archive.infolist())
    UNPACKED_BYTES.check(unpacked, where, " unpacked")
    if unpacked > SMALL_BYTES and unpacked > MOST_RATIO * size:
        raise ValueError(f"{size:,} bytes that unpack to {unpacked:,} are no arrays")


def read_array(content: bytes) -> Array:
    """The array of a `.npy` file. Raises ValueError for one of Python objects, and where its header does not fit."""
    stream = io.BytesIO(content)
    version: tuple[int, int] = np.lib.format.read_magic(stream)  # type: ignore[no-untyped-call]
    if version not in HEADERS:
        raise ValueError(f"an array of format {version}; 1.0 and 2.0 are read")
    shape, is_fortran, dtype = HEADERS[version](stream)
    count, begin = math.prod(shape), stream.tell()
    if dtype.hasobject or not dtype.itemsize or min(shape, default=0) < 0:
        raise ValueError(f"an array of {dtype} and shape {shape}")
    if count * dtype.itemsize != len(content) - begin:
        raise ValueError(f"an array of {count * dtype.itemsize:,} bytes in {len(content) - begin:,}")
    order: Literal["F", "C"] = "F" if is_fortran else "C"
    if not count:
        return np.empty(shape, dtype, order)
    flat: Array = np.frombuffer(content, dtype, count, begin)
    return flat.reshape(shape, order=order).copy(order="K")
