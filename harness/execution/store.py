"""The cell store: one file a result, named by the hash of everything that determines it.

Writers never meet: a file appears by renaming a finished temporary one. A file that cannot be read
back whole counts as missing and is replaced.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.files import atomic_path
from harness.hashing import digest_arrays

META = "__meta__"


@dataclass(frozen=True)
class Result:
    """What one piece of work left behind: named arrays and a small JSON record."""

    arrays: dict[str, Array]
    meta: dict[str, Any]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the arrays, the same however they are stored."""
        return digest_arrays(self.arrays)


class Store:
    """Results under one directory, by kind and key."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, kind: str, key: str) -> Path:
        """Where a result lies."""
        return self.root / kind / key[:2] / f"{key}.npz"

    def has(self, kind: str, key: str) -> bool:
        """Whether a result is there and its index of members is readable."""
        path = self.path(kind, key)
        return path.is_file() and zipfile.is_zipfile(path)

    def put(self, kind: str, key: str, result: Result) -> None:
        """Keep a result atomically. OSError (disk full, no permission) leaves nothing behind."""
        meta = np.frombuffer(json.dumps(result.meta, sort_keys=True).encode(), dtype=np.uint8)
        with atomic_path(self.path(kind, key)) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, **{META: meta}, **result.arrays)

    def meta(self, kind: str, key: str) -> dict[str, Any] | None:
        """The JSON record of a result alone; None where there is none that can be read."""
        try:
            with np.load(self.path(kind, key), allow_pickle=False) as stored:
                record: dict[str, Any] = json.loads(stored[META].tobytes().decode())
                return record
        except (OSError, KeyError, ValueError, zipfile.BadZipFile, EOFError):
            return None

    def get(self, kind: str, key: str) -> Result:
        """Read a result. Raises KeyError where it is missing or damaged (then it is removed)."""
        path = self.path(kind, key)
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        except FileNotFoundError:
            raise KeyError(f"{kind}/{key}") from None
        except (zipfile.BadZipFile, ValueError, EOFError, OSError):
            path.unlink(missing_ok=True)
            raise KeyError(f"{kind}/{key}") from None
        meta = json.loads(arrays.pop(META).tobytes().decode())
        return Result(arrays, meta)
