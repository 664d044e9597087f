"""Share a store: results to and from a directory or any address that fsspec knows (`s3://...`, `gs://...`).

A result is one object, named as in the store. Objects appear whole or not at all, are never replaced by another, and
those that are there are left alone, so several may push and pull at once. What is pulled is compared with its name and
the hash of its arrays before the store takes it. An address that cannot be reached is an error, never an empty store.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from harness.errors import HarnessError
from harness.execution.store import Fault, Store, fault_of, parse_result
from harness.files import atomic_path
from harness.ids import is_result_name
from harness.progress import Progress

AT_ONCE = 8
"""Transfers under way together."""
BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"})
"""Protocols whose addresses begin with a bucket, which exists or not; folders in it are but parts of names."""
FLEETING = frozenset({"memory", "data"})
"""Protocols of what is in this process, or in the address itself."""
RIGHT = "right is s3://bucket/folder, or a path"
ResultName = tuple[str, str]
"""Kind and key."""


@dataclass
class Transfer:
    """How a push or a pull went."""

    moved: int = 0
    there: int = 0
    """Left alone, since the other side had them."""
    bytes: int = 0
    was_empty: bool = False
    """Whether the address held no result before."""
    faults: list[Fault] = field(default_factory=list)
    """Of what was not taken."""


class Shared:
    """A store at an address that fsspec knows."""

    def __init__(self, address: str) -> None:
        """Raises HarnessError for an address that nothing here can reach."""
        if not address.strip():
            raise HarnessError(f"{address!r}: no address; {RIGHT}")
        *wrappers, last = address.split("::")  # such as simplecache::s3://bucket/folder
        protocol, path = fsspec.core.split_protocol(last)
        before, colon, after = last.partition(":")
        self.protocols = {wrapper.split("://")[0] for wrapper in wrappers} | {str(protocol)}
        if not FLEETING.isdisjoint({*self.protocols, before if colon else ""}):
            raise HarnessError(f"{address}: nothing that is put there outlasts this command; {RIGHT}")
        if not path.strip():
            raise HarnessError(f"{address!r}: no directory or bucket in it; {RIGHT}")
        if colon and not after.startswith("/") and before in fsspec.available_protocols():
            raise HarnessError(f"{address}: right is {before}://{after}, or ./{address} for a folder of that name")
        with _explain_unreachable(address):
            self.files, root = fsspec.core.url_to_fs(address)
        self.address, self.root = address, str(root).rstrip("/")
        if not self.root:
            raise HarnessError(f"{address!r}: no directory or bucket in it; {RIGHT}")
        self.has_buckets = not BUCKETS.isdisjoint(self.protocols)

    def path(self, kind: str, key: str) -> str:
        """The path of a result."""
        return posixpath.join(self.root, kind, key[:2], f"{key}.npz")

    def exists(self) -> bool:
        """Whether there is such a folder. Raises HarnessError where that cannot be told, or there is no such bucket."""
        with _explain_unreachable(self.address):
            self.files.invalidate_cache()
            try:
                kind = self.files.info(self.root)["type"]
            except FileNotFoundError as error:
                if error.__cause__ is not None and not isinstance(error.__cause__, FileNotFoundError):
                    raise error.__cause__ from None  # HTTP: whatever went wrong, nothing is there
                if self.has_buckets:
                    self._check_bucket()
                return False
            if kind == "file" and self.protocols.isdisjoint({"http", "https"}):  # which calls everything a file
                raise HarnessError(f"{self.address}: is a file, not a folder")
        return True

    def _check_bucket(self) -> None:
        """Raise HarnessError where there is no such bucket."""
        bucket = self.root.split("/")[0]
        try:
            self.files.info(bucket)
        except FileNotFoundError:
            raise HarnessError(f"{self.address}: there is no bucket {bucket}") from None
        except PermissionError:
            return  # may be allowed in a folder of it alone, of which it was just said that it is not there

    def list_results(self) -> set[ResultName]:
        """Kind and key of every result in it; none of a folder that does not exist. Raises HarnessError where it cannot
        be read."""
        if not self.exists():
            return set()
        with _explain_unreachable(self.address):
            if self.has_buckets:
                paths = list(self.files.find(self.root))
            else:  # `find` leaves out what it cannot read
                walk = self.files.walk(self.root, on_error="raise")
                paths = [f"{folder}/{name}" for folder, _, names in walk for name in names]
        root = self.root.lstrip("/")
        parts = [path.lstrip("/").removeprefix(root).strip("/").split("/") for path in paths]
        return {(p[0], p[2].removesuffix(".npz")) for p in parts if len(p) == 3 and _is_result(p[1], p[2])}

    def put(self, kind: str, key: str, data: bytes) -> None:
        """Keep an object, whole or not at all."""
        path = self.path(kind, key)
        with _explain_unreachable(self.address):
            if isinstance(self.files, LocalFileSystem):
                with atomic_path(Path(path), durable=False) as temporary:
                    temporary.write_bytes(data)
            else:
                if not self.has_buckets:
                    self.files.makedirs(posixpath.dirname(path), exist_ok=True)
                self.files.pipe_file(path, data)  # object stores show what was written whole

    def get(self, kind: str, key: str) -> bytes:
        """Read an object."""
        with _explain_unreachable(self.address):
            return bytes(self.files.cat_file(self.path(kind, key)))


def push(store: Store, shared: Shared, progress: Progress, only: Collection[ResultName] | None = None) -> Transfer:
    """Copy to a shared store the results that it lacks, all or those in `only`. Damaged results are not copied.

    Raises HarnessError where the address cannot be reached, or does not have what was copied to it.
    """
    mine = [(kind, key) for kind in store.kinds() for key, _ in store.files(kind)]
    if only is not None:
        mine = [one for one in mine if one in only]
    theirs = shared.list_results()
    transfer = _transfer(mine, theirs, store.bytes, shared.put, progress, f"push to {shared.address}")
    transfer.was_empty = not theirs
    if transfer.moved:
        refused = {(kind, key) for kind, key, _ in transfer.faults}
        lost = set(mine) - refused - shared.list_results()
        if lost:
            raise HarnessError(f"{shared.address}: {len(lost)} of {transfer.moved} pieces are not there once copied")
    return transfer


def pull(store: Store, shared: Shared, progress: Progress, only: Collection[ResultName] | None = None) -> Transfer:
    """Copy from a shared store the results that this store lacks, all or those in `only`. Damaged results are not
    copied, and those here whose record is damaged are replaced.

    Raises HarnessError where the address cannot be reached, or is a folder that does not exist.
    """
    if not shared.exists():
        raise HarnessError(f"{shared.address}: no such folder; `harness store push` makes one")
    every = shared.list_results()
    theirs = sorted(one for one in every if only is None or one in only)
    mine = {one for one in theirs if store.has(*one)}
    for kind in sorted({kind for kind, _ in mine}):
        for _, key, fault in store.faults_of_records(kind, sorted(key for k, key in mine if k == kind)):
            progress.warn(f"{kind}/{key} is damaged ({fault}); it is pulled anew")
            mine.discard((kind, key))
    transfer = _transfer(theirs, mine, shared.get, store.put_bytes, progress, f"pull from {shared.address}")
    transfer.was_empty = not every
    return transfer


def _transfer(
    names: list[ResultName],
    present_names: set[ResultName],
    read: Callable[[str, str], bytes],
    write: Callable[[str, str, bytes], object],
    progress: Progress,
    label: str,
) -> Transfer:
    transfer = Transfer()
    todo = [one for one in names if one not in present_names]
    transfer.there = len(names) - len(todo)

    def transfer_one(name: ResultName) -> tuple[ResultName, int, str | None]:
        kind, key = name
        if not is_result_name(kind, key[:2], f"{key}.npz"):
            return name, 0, "no name of a result; those have a kind and 64 digits of a hash"
        data = read(*name)
        fault = fault_of(*name, parse_result(data))
        if fault is None:
            write(*name, data)
        return name, len(data), fault

    with progress.cells(label, len(todo)) as bar, ThreadPoolExecutor(AT_ONCE) as pool:
        for (kind, key), size, fault in pool.map(transfer_one, todo):
            if fault is None:
                transfer.moved += 1
                transfer.bytes += size
            else:
                transfer.faults.append((kind, key, fault))
            bar.advance()
    return transfer


@contextmanager
def _explain_unreachable(address: str) -> Iterator[None]:
    """Context manager: turn errors of a file system into a HarnessError of one line."""
    try:
        yield
    except HarnessError:
        raise
    except ImportError as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        name = "pip install 'mi-dp-harness[s3]'" if address.startswith("s3") else why
        raise HarnessError(f"{address}: this needs one more package: {name}") from None
    except Exception as error:  # each file system has errors of its own
        why = ": ".join([type(error).__name__, *str(error).splitlines()[:1]])
        right = f"; {RIGHT}" if "Protocol not known" in why else ""
        raise HarnessError(f"{address}: cannot be used: {why}{right}") from None


def _is_result(folder: str, name: str) -> bool:
    return name.endswith(".npz") and name[:2] == folder
