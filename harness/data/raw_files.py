"""Bounds of the raw files of a data set: what an archive of a hash that nobody knows may unpack to."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from harness.bounds import TABLE_BYTES, UNPACKED_BYTES, check_unpacked
from harness.data.sources import Source
from harness.errors import DatasetError, HarnessError

MOST_PIXELS = 1_000_000
"""The largest number of pixels of an image in an archive. Those of the known data sets have at most 22,500."""


def check_raw_files(source: Source, files: dict[str, Path]) -> None:
    """Check what the files of a source unpack to, before they are read; one of a known SHA-256 is what it is.

    Raises TooLarge for one above the bound, and NotAFile for what is no regular file.
    """
    for raw in source.files:
        if raw.sha256 is None:
            path = files[raw.name]
            check_unpacked(path, UNPACKED_BYTES)
            if zipfile.is_zipfile(path):
                with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
                    UNPACKED_BYTES.check(sum(member.file_size for member in archive.infolist()), str(path), " unpacked")


def check_own_table(path: Path, name: str) -> None:
    """Check what a user's table unpacks to; a file that is missing is left to its reader.

    Raises DatasetError for a table above the bound, and for what is no regular file.
    """
    try:
        with contextlib.suppress(OSError, ValueError):
            check_unpacked(path, TABLE_BYTES, name)
    except HarnessError as error:
        raise DatasetError(f"{error} (dataset csv, field path)") from None


@contextlib.contextmanager
def limit_images() -> Iterator[None]:
    """The context manager in which an image of more than MOST_PIXELS is refused by its size, before it is decoded."""
    from PIL import Image

    before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, MOST_PIXELS // 2  # Pillow refuses twice that
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = before
