"""Atomic files: a reader sees the old content or the new, never half of either.

And JSON as every reader understands it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

TEXT_PROBE_BYTES = 8000


@contextlib.contextmanager
def atomic_path(target: Path, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `target`; rename it over `target` when the block succeeds.

    On any exception the temporary file is removed and `target` is left as it was. A `durable` one is on the disk when
    the block ends; one that is not may be lost with the machine's power, as may be what can be made again. Who may read
    it is what the process' umask says.

    An OSError that names no file, as of a disk that is full, or the temporary one, names `target`.
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    with _name_target(target):
        temporary = _create_beside(target)
    try:
        with _name_target(target):
            yield temporary
        if durable:
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _create_beside(target: Path) -> Path:
    """An empty file beside `target` with a name that no other has.

    `tempfile.mkstemp` would make one for its owner alone, and the umask cannot be asked for without setting it, for all
    threads.
    """
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        with contextlib.suppress(FileExistsError):
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return temporary


@contextlib.contextmanager
def _name_target(target: Path) -> Iterator[None]:
    """Context manager for writing `target`: see `atomic_path`."""
    try:
        yield
    except OSError as error:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        if error.filename is None or Path(name).name.startswith(f".{target.name}."):
            error.filename = str(target)
        raise


def write_text(target: Path, text: str) -> None:
    """Replace `target` by `text` (UTF-8), atomically."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(target: Path, data: bytes) -> None:
    """Replace `target` by `data`, atomically."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(data)


def update_file(target: Path, data: bytes) -> None:
    """Replace `target` by `data`, atomically, where it holds something else. Not durable: what can be made again."""
    is_same = target.is_file() and target.stat().st_size == len(data) and target.read_bytes() == data
    if not is_same:
        with atomic_path(target, durable=False) as temporary:
            temporary.write_bytes(data)


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_content(path: Path) -> str:
    """SHA-256 of a file; of text whatever its line ends, which git may change as it checks a file out.

    As to git, a file is text unless there is a NUL byte near its beginning.
    """
    content = path.read_bytes()
    is_text = b"\0" not in content[:TEXT_PROBE_BYTES]
    return hashlib.sha256(content.replace(b"\r\n", b"\n") if is_text else content).hexdigest()


def json_text(value: object) -> str:
    """One document of strict JSON, in which infinities and what is no number are text."""
    text = json.dumps(_without_infinities(value), indent=1, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # of a file's name that is no UTF-8
        return json.dumps(_without_infinities(value), indent=1, allow_nan=False)
    return text


def _without_infinities(value: object) -> object:
    """What JSON has no number for is `Infinity`, `-Infinity` or `NaN` in quotes; what it does not know, text."""
    if isinstance(value, dict):
        return {str(key): _without_infinities(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(one) for one in value]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # of NumPy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
