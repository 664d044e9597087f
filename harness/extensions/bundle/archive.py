"""A stranger's ZIP archive, unpacked: regular files alone, by names that stay in the folder, up to a bound."""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from harness.errors import HarnessError

MOST_BYTES = 1 << 30
"""Bytes that an archive may unpack to, unless more are asked for."""
MOST_FILES = 20_000
BLOCK = 1 << 20
COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\\:]|\A/|\A\Z|\.\Z| \Z")
"""In a part of a name: what other systems take for more than a name, or a terminal for an order."""


def unpack_archive(path: Path, folder: Path, most_bytes: int = MOST_BYTES) -> list[str]:
    """Unpack a ZIP archive into a folder that is empty. Returns the names of its files.

    Raises HarnessError for what is no archive, is damaged, has more than `MOST_FILES` files or unpacks to more than
    `most_bytes`, or has a file that is not a regular one, or whose name leads elsewhere or is there twice.
    """
    if not path.is_file():
        raise HarnessError(f"{path}: no such file; name an archive that `harness bundle` wrote")
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            _check_members(path, members, most_bytes)
            left = most_bytes
            for member in members:
                left -= _unpack_member(path, archive, member, folder / member.filename, left)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeError) as error:
        raise HarnessError(f"{path}: not a readable ZIP archive: {error}") from None
    return sorted(member.filename for member in members)


def _check_members(path: Path, members: list[zipfile.ZipInfo], most_bytes: int) -> None:
    """Raises HarnessError as `unpack_archive` does, by what the archive says of its files."""
    if len(members) > MOST_FILES:
        raise HarnessError(f"{path}: has {len(members):,} files; a bundle has at most {MOST_FILES:,}")
    if (size := sum(member.file_size for member in members)) > most_bytes:
        raise HarnessError(f"{path}: unpacks to {size:,} bytes, above {most_bytes:,}; --max-bytes allows more")
    names = set[str]()
    for member in members:
        name, kind = member.filename, stat.S_IFMT(member.external_attr >> 16)
        parts = name.split("/")
        if any(UNSAFE.search(part) or part in (".", "..") for part in parts) or name != member.orig_filename:
            raise HarnessError(f"{path}: {member.orig_filename!r}: no safe name of a file; nothing was unpacked")
        if kind not in (0, stat.S_IFREG) or member.flag_bits & 1 or member.compress_type not in COMPRESSIONS:
            raise HarnessError(
                f"{path}: {name!r}: a link, a device, encrypted, or compressed by an unusual method; a bundle has "
                "regular files alone"
            )
        folded = {"/".join(parts[:length]).casefold() for length in range(1, len(parts))}
        if name.casefold() in names or not folded.isdisjoint(names):
            raise HarnessError(f"{path}: {name!r}: a name that another file of the archive takes")
        names.add(name.casefold())


def _unpack_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, left: int) -> int:
    """Write a file of the archive, at most `left` bytes. Returns their number."""
    assert not PurePosixPath(member.filename).is_absolute()
    size = 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("xb") as stream:
        while block := source.read(BLOCK):
            size += len(block)
            if size > left:
                raise HarnessError(f"{path}: {member.filename!r}: is larger than the archive says")
            stream.write(block)
    return size
