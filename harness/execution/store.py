"""The cell store: one file a result, named by the hash of everything that determines it.

Writers never meet: a file appears by renaming a finished temporary one. A file that cannot be read
back whole counts as missing and is replaced. An index of the small JSON records beside the results
makes many of them readable at once; it is a cache, rebuilt from the files wherever it lags behind.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.arrays import Array
from harness.files import atomic_path, write_bytes
from harness.hashing import digest_arrays

META = "__meta__"
BULKY = "description"
"""Part of a record that the index leaves out; it is read from the file where it is needed."""
UNREADABLE = (zipfile.BadZipFile, ValueError, EOFError, OSError)


@dataclass(frozen=True)
class Result:
    """The result of one piece: named arrays and a small JSON record."""

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
        """The path of a result's file."""
        return self.root / kind / key[:2] / f"{key}.npz"

    def has(self, kind: str, key: str) -> bool:
        """Whether a result is stored and its file's table of contents is readable."""
        path = self.path(kind, key)
        return path.is_file() and zipfile.is_zipfile(path)

    def put(self, kind: str, key: str, result: Result) -> None:
        """Keep a result atomically. OSError (disk full, no permission) leaves nothing behind."""
        meta = np.frombuffer(json.dumps(result.meta, sort_keys=True).encode(), dtype=np.uint8)
        with atomic_path(self.path(kind, key)) as temporary, temporary.open("wb") as stream:
            # Not compressed: weights and log-probabilities would shrink by an eighth, in twenty times the time.
            np.savez(stream, **{META: meta}, **result.arrays)

    def put_bytes(self, kind: str, key: str, data: bytes) -> None:
        """Keep a result that another store wrote. Raises ValueError where the bytes are not a whole result."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                damaged = archive.testzip()
        except zipfile.BadZipFile as error:
            raise ValueError(f"{kind}/{key}: {error}") from None
        if damaged is not None:
            raise ValueError(f"{kind}/{key}: {damaged} is damaged")
        write_bytes(self.path(kind, key), data)

    def bytes(self, kind: str, key: str) -> bytes:
        """The content of a result's file. Raises KeyError where it is missing."""
        try:
            return self.path(kind, key).read_bytes()
        except FileNotFoundError:
            raise KeyError(f"{kind}/{key}") from None

    def remove(self, kind: str, key: str) -> None:
        """Forget a result."""
        self.path(kind, key).unlink(missing_ok=True)

    def kinds(self) -> list[str]:
        """The kinds of results in the store."""
        if not self.root.is_dir():
            return []
        return sorted(p.name for p in self.root.iterdir() if p.is_dir() and p.name != "index")

    def files(self, kind: str) -> Iterator[tuple[str, os.stat_result]]:
        """Key and file status of every result of a kind."""
        for folder in sorted((self.root / kind).glob("??")):
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".npz") and not entry.name.startswith("."):
                        yield entry.name.removesuffix(".npz"), entry.stat()

    def records(self, kind: str, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The JSON records (without descriptions) of many results. Raises KeyError for one that is not there."""
        index = self._index(kind)
        records: dict[str, dict[str, Any]] = {}
        new: dict[str, tuple[int, int, str]] = {}
        for key in dict.fromkeys(keys):
            try:
                status = self.path(kind, key).stat()
            except FileNotFoundError:
                raise KeyError(f"{kind}/{key}") from None
            entry = index.get(key)
            if entry is None or entry[:2] != (status.st_size, status.st_mtime_ns):
                record = self.meta(kind, key)
                if record is None:
                    raise KeyError(f"{kind}/{key}")
                record.pop(BULKY, None)
                entry = new[key] = (status.st_size, status.st_mtime_ns, json.dumps(record))
            records[key] = json.loads(entry[2])
        if new:
            self._write_index(kind, {**index, **new})
        return records

    def _index_path(self, kind: str) -> Path:
        return self.root / "index" / f"{kind}.parquet"

    def _index(self, kind: str) -> dict[str, tuple[int, int, str]]:
        try:
            columns = pq.read_table(self._index_path(kind)).to_pydict()
            entries = zip(columns["size"], columns["mtime"], columns["record"], strict=True)
            return dict(zip(columns["key"], entries, strict=True))
        except (OSError, KeyError, ValueError, pa.ArrowException):
            return {}

    def _write_index(self, kind: str, entries: dict[str, tuple[int, int, str]]) -> None:
        rows = list(zip(*entries.values(), strict=True))
        table = pa.table({"key": list(entries), "size": rows[0], "mtime": rows[1], "record": rows[2]})
        try:
            with atomic_path(self._index_path(kind)) as temporary:
                pq.write_table(table, temporary, compression="zstd")
        except OSError:
            return  # a cache: a full disk or a read-only store must not cost a result

    def meta(self, kind: str, key: str) -> dict[str, object] | None:
        """The JSON record of a result alone; None where there is none that can be read."""
        try:
            with np.load(self.path(kind, key), allow_pickle=False) as stored:
                record: dict[str, object] = json.loads(stored[META].tobytes().decode())
                return record
        except (KeyError, *UNREADABLE):
            return None

    def get(self, kind: str, key: str) -> Result:
        """Read a result. Raises KeyError where it is missing or damaged (then it is removed)."""
        result = self.peek(kind, key)
        if result is None:
            self.path(kind, key).unlink(missing_ok=True)
            raise KeyError(f"{kind}/{key}")
        return result

    def peek(self, kind: str, key: str) -> Result | None:
        """Read a result and change nothing. None where it is missing or damaged."""
        return parse_result(self.path(kind, key))


def parse_result(source: Path | bytes) -> Result | None:
    """A result from its file, or from the bytes of it. None where it is missing or damaged."""
    try:
        with np.load(io.BytesIO(source) if isinstance(source, bytes) else source, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        return Result(arrays, json.loads(arrays.pop(META).tobytes().decode()))
    except (KeyError, *UNREADABLE):
        return None
