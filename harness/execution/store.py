"""The cell store: one file a result, named by the hash of everything that determines it.

Writers never meet: a file appears by renaming a finished temporary one. A file that cannot be read
back whole, or holds the result of another name, counts as missing and is replaced. An index of the
small JSON records beside the results makes many of them readable at once; it is a cache, rebuilt from
the files wherever it lags behind.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.arrays import Array
from harness.bounds import UNPACKED_BYTES, open_file, read_bytes
from harness.errors import HarnessError
from harness.execution.names import SMALL_KINDS, STORED_KINDS, check_name, is_name
from harness.files import atomic_path, write_bytes, write_text
from harness.hashing import digest_arrays, fingerprint
from harness.npz import check_members, read_array

NOTICE = "PERSONAL-DATA.txt"  # the file that says what a store holds
NOTICE_TEXT = """\
split/ has the numbers of the rows that models were trained on, and of those that they were not; train/ has each such
record's log-probabilities and label; evaluate/ has attacks' scores of it. With the table this says who was a member.
Where rows are of people it is personal data: keep this folder, and share it, as you would the table.
"""
META = "__meta__"
"""The name of the member of a result's file that holds its JSON record."""
BULKY = "description"
"""The part of a record that the index leaves out; it is read from the file where it is needed."""
UNREADABLE = "cannot be read whole"
ABSENT = "is not in the store"
"""What is wrong with a result that is not there, beside one that is damaged."""
COUNT_FROM_END = -12
"""The place, from the end of a zip file without a comment, at which its number of members stands."""
DIGEST_BYTES = hashlib.sha256().digest_size  # before the content of an index

Fault = tuple[str, str, str]
"""The kind and key of a result, and what is wrong with it."""


class MissingResults(HarnessError):
    """The error for results that are asked for and are not in the store, are damaged, or are of another name."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(faults)
        self.faults = faults

    def __str__(self) -> str:
        (kind, key, fault), more = self.faults[0], len(self.faults) - 1
        others = f" (and {more} more like it)" if more else ""
        return f"{kind}/{key}: {fault}{others}; see `harness store verify`; the next `harness run` computes it anew"


@dataclass(frozen=True)
class Result:
    """The result of one piece: named arrays and a small JSON record."""

    arrays: dict[str, Array]
    meta: dict[str, Any]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 over the arrays, which does not depend on how they are stored."""
        return digest_arrays(self.arrays)


class Store:
    """The results under one directory, by kind and key."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, kind: str, key: str) -> Path:
        """The path of a result's file. Raises HarnessError for a name that no result has."""
        check_name(kind, key)
        return self.root / kind / key[:2] / f"{key}.npz"

    def has(self, kind: str, key: str) -> bool:
        """Whether a result is stored and its file's table of contents is readable."""
        path = self.path(kind, key)
        return path.is_file() and zipfile.is_zipfile(path)

    def put(self, kind: str, key: str, result: Result) -> None:
        """Keep a result atomically. OSError (disk full, no permission) leaves nothing behind.

        Raises TooLarge for a result that would not be read back.
        """
        UNPACKED_BYTES.check(sum(array.nbytes for array in result.arrays.values()), f"{kind}/{key}")
        meta = np.frombuffer(json.dumps(result.meta, sort_keys=True).encode(), dtype=np.uint8)
        with atomic_path(self.path(kind, key)) as temporary, temporary.open("wb") as stream:
            # Not compressed: weights and log-probabilities would shrink by an eighth, in twenty times the time.
            np.savez(stream, **{META: meta}, **result.arrays)
        self._add_notice(kind)

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
        self._add_notice(kind)

    def _add_notice(self, kind: str) -> None:
        """Say in the store's folder that it holds personal data, once it holds some."""
        if kind not in SMALL_KINDS and not (self.root / NOTICE).exists():
            write_text(self.root / NOTICE, NOTICE_TEXT)

    def bytes(self, kind: str, key: str) -> bytes:
        """The content of a result's file. Raises MissingResults where there is none."""
        try:
            return read_bytes(self.path(kind, key), UNPACKED_BYTES, f"{kind}/{key}")
        except FileNotFoundError:
            raise MissingResults([(kind, key, ABSENT)]) from None

    def remove(self, kind: str, key: str) -> None:
        """Remove the file of a result, where there is one."""
        self.path(kind, key).unlink(missing_ok=True)

    def kinds(self) -> list[str]:
        """The kinds of results in the store."""
        if not self.root.is_dir():
            return []
        return sorted(kind for kind in STORED_KINDS if (self.root / kind).is_dir())

    def files(self, kind: str) -> Iterator[tuple[str, os.stat_result]]:
        """The key and file status of every result of a kind."""
        for folder in sorted((self.root / kind).glob("??")):
            with os.scandir(folder) as entries:
                for entry in entries:
                    key = entry.name.removesuffix(".npz")
                    if key != entry.name and is_name(kind, key):
                        yield key, entry.stat()

    def records(self, kind: str, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The JSON records (without descriptions) of many results.

        Raises MissingResults for all whose record is missing, damaged or of another name.
        """
        records, faults = self._read_records(kind, keys)
        if faults:
            raise MissingResults(faults)
        return {key: json.loads(record) for key, record in records.items()}

    def faults_of_records(self, kind: str, keys: Sequence[str]) -> list[Fault]:
        """The faults of those of many results whose record is missing, damaged or of another name."""
        return self._read_records(kind, keys)[1]

    def faults(self, names: Iterable[tuple[str, str]]) -> list[Fault]:
        """The faults of the results of these kinds and keys whose record is missing, damaged or of another name.

        Those are the ones that a run computes. No array is read.
        """
        by_kind: dict[str, list[str]] = {}
        for kind, key in names:
            by_kind.setdefault(kind, []).append(key)
        return [fault for kind, keys in by_kind.items() for fault in self.faults_of_records(kind, keys)]

    def _read_records(self, kind: str, keys: Sequence[str]) -> tuple[dict[str, str], list[Fault]]:
        """The JSON texts of records by key, from the index where that is up to date, and the faults of others."""
        index = self._index(kind)
        records: dict[str, str] = {}
        new: dict[str, tuple[int, int, str]] = {}
        faults: list[Fault] = []
        for key in dict.fromkeys(keys):
            try:
                status = self.path(kind, key).stat()
            except FileNotFoundError:
                faults.append((kind, key, ABSENT))
                continue
            entry = index.get(key)
            if entry is None or entry[:2] != (status.st_size, status.st_mtime_ns):
                record = read_record(self.path(kind, key))
                if (fault := fault_of_record(kind, key, record)) is not None or record is None:
                    faults.append((kind, key, fault or UNREADABLE))
                    continue
                record.pop(BULKY, None)
                try:
                    entry = new[key] = (status.st_size, status.st_mtime_ns, json.dumps(record))
                except RecursionError:
                    faults.append((kind, key, UNREADABLE))
                    continue
            records[key] = entry[2]
        if new:
            self._write_index(kind, {**index, **new})
        return records, faults

    def _index_path(self, kind: str) -> Path:
        return self.root / "index" / f"{kind}.index"

    def _index(self, kind: str) -> dict[str, tuple[int, int, str]]:
        """The size, time of change and record of files when they were read, by key; none where the index is damaged."""
        try:
            data = read_bytes(self._index_path(kind), UNPACKED_BYTES)
            digest, content = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
            if hashlib.sha256(content).digest() != digest:  # Parquet itself would hand out some changed bytes
                return {}
            columns = pq.read_table(pa.BufferReader(content)).to_pydict()
            entries = zip(columns["size"], columns["mtime"], columns["record"], strict=True)
            return dict(zip(columns["key"], entries, strict=True))
        except (OSError, KeyError, ValueError, pa.ArrowException, HarnessError):
            return {}

    def _write_index(self, kind: str, entries: dict[str, tuple[int, int, str]]) -> None:
        """Write the index of a kind, where that is possible."""
        rows = list(zip(*entries.values(), strict=True))
        table = pa.table({"key": list(entries), "size": rows[0], "mtime": rows[1], "record": rows[2]})
        stream = pa.BufferOutputStream()
        pq.write_table(table, stream, compression="zstd")
        content = stream.getvalue().to_pybytes()
        try:
            write_bytes(self._index_path(kind), hashlib.sha256(content).digest() + content)
        except OSError:
            return  # a cache: a full disk or a read-only store must not cost a result

    def get(self, kind: str, key: str) -> Result:
        """The stored result. Raises MissingResults where it is missing, damaged, or of another name."""
        result = self.peek(kind, key)
        fault = fault_of_record(kind, key, None if result is None else result.meta)
        if result is None or fault is not None:
            there = self.path(kind, key).is_file()
            raise MissingResults([(kind, key, fault or UNREADABLE if there else ABSENT)])
        return result

    def peek(self, kind: str, key: str) -> Result | None:
        """The stored result, of whatever name; None where it is missing or damaged."""
        return parse_result(self.path(kind, key))


def parse_result(source: Path | bytes) -> Result | None:
    """The result in a file, or in the bytes of one; None where it is missing or damaged."""
    return _read_members(source)


def read_record(source: Path) -> dict[str, Any] | None:
    """The JSON record of a result alone, from its file; None where it is missing or damaged."""
    result = _read_members(source, record_alone=True)
    return None if result is None else result.meta


def _read_members(source: Path | bytes, record_alone: bool = False) -> Result | None:
    """The result in a file, or its record without arrays. None where what is read is damaged.

    Each member is read whole before it is parsed, so that its checksum is compared: NumPy's own reader reads as far as
    the array's header says, and a changed header may say less. A changed length in the directory of members may hide
    some of them, which is why they are counted.
    """
    try:
        with (
            io.BytesIO(source) if isinstance(source, bytes) else open_file(source) as stream,
            zipfile.ZipFile(stream) as archive,
        ):
            size = stream.seek(COUNT_FROM_END, os.SEEK_END) - COUNT_FROM_END
            if int.from_bytes(stream.read(2), "little") != len(archive.namelist()):
                return None
            check_members(archive, size, "a result")
            arrays: dict[str, Array] = {}
            for member in [archive.getinfo(f"{META}.npy")] if record_alone else archive.infolist():
                arrays[member.filename.removesuffix(".npy")] = read_array(archive.read(member))
        meta = json.loads(arrays.pop(META).tobytes())
        return Result(arrays, meta) if isinstance(meta, dict) else None
    except MemoryError:
        raise
    except Exception:  # a changed byte of a zip's directory has the errors of encryption, of bzip2, and others
        return None


def fault_of_record(kind: str, key: str, record: dict[str, Any] | None) -> str | None:
    """The fault of a result, by its record alone; None where it is the record of this kind and key."""
    if record is None:
        return UNREADABLE
    description, needs = record.get("description"), record.get("needs")
    try:
        expected = fingerprint(description) if kind in SMALL_KINDS else fingerprint([kind, description, needs])
    except (RecursionError, ValueError):  # nested deeper than it can be written, or of half a character
        return UNREADABLE
    if expected != key:
        return "its description belongs to another name"
    lacks_noise = kind in SMALL_KINDS and not isinstance(record.get("noise_multiplier"), int | float)
    return "it has no noise multiplier" if lacks_noise else None


def fault_of(kind: str, key: str, result: Result | None) -> str | None:
    """The fault of the stored result of a kind and key, its arrays compared with their hash; None where it has none."""
    fault = fault_of_record(kind, key, None if result is None else result.meta)
    if fault is not None or result is None:
        return fault
    if kind in SMALL_KINDS:
        return "it holds arrays, of which it has none" if result.arrays else None
    digest = result.meta.get("arrays_sha256")
    if digest is None:
        return "it has no hash of its arrays (arrays_sha256)"
    return None if digest == result.digest else "its arrays are not those that were written"
