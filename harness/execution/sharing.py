"""Share a store: results to and from a directory or any address that fsspec knows (`s3://...`, `gs://...`).

A result is one object, named as in the store. Objects appear whole or not at all, are never replaced by another, and
those that are there are left alone, so several may push and pull at once. What is pulled is compared with its name and
the hash of its arrays before the store takes it.
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
from harness.execution.housekeeping import fault_of
from harness.execution.store import Store, parse_result
from harness.files import atomic_path
from harness.progress import Progress

AT_ONCE = 8
"""Transfers under way together."""
ResultName = tuple[str, str]
"""Kind and key."""


@dataclass
class Transfer:
    """How a push or a pull went."""

    moved: int = 0
    there: int = 0
    """Left alone, since the other side had them."""
    bytes: int = 0
    faults: list[tuple[str, str, str]] = field(default_factory=list)
    """Kind, key and what is wrong, of what was not taken."""


class Shared:
    """A store at an address that fsspec knows."""

    def __init__(self, address: str) -> None:
        """Raises HarnessError for an address that nothing here can reach."""
        if not address.strip():
            raise HarnessError(f"{address!r}: no address; right is s3://bucket/folder, or a path")
        with _explain_unreachable(address):
            self.files, root = fsspec.core.url_to_fs(address)
        self.address, self.root = address, str(root).rstrip("/")
        if not self.root:
            raise HarnessError(f"{address!r}: no directory or bucket in it; right is s3://bucket/folder, or a path")

    def path(self, kind: str, key: str) -> str:
        """The path of a result."""
        return posixpath.join(self.root, kind, key[:2], f"{key}.npz")

    def list_results(self) -> set[ResultName]:
        """Kind and key of every result in it."""
        with _explain_unreachable(self.address):
            self.files.invalidate_cache()
            paths = self.files.find(self.root) if self.files.exists(self.root) else []
        return {(p[-3], p[-1].removesuffix(".npz")) for p in map(_parts, paths) if len(p) > 2 and _is_result(p[-1])}

    def put(self, kind: str, key: str, data: bytes) -> None:
        """Keep an object, whole or not at all."""
        path = self.path(kind, key)
        with _explain_unreachable(self.address):
            if isinstance(self.files, LocalFileSystem):
                with atomic_path(Path(path), durable=False) as temporary:
                    temporary.write_bytes(data)
            else:
                self.files.pipe_file(path, data)  # object stores show what was written whole

    def get(self, kind: str, key: str) -> bytes:
        """Read an object."""
        with _explain_unreachable(self.address):
            return bytes(self.files.cat_file(self.path(kind, key)))


def push(store: Store, shared: Shared, progress: Progress, only: Collection[ResultName] | None = None) -> Transfer:
    """Copy to a shared store the results that it lacks, all or those in `only`. Damaged results are not copied."""
    mine = [(kind, key) for kind in store.kinds() for key, _ in store.files(kind)]
    if only is not None:
        mine = [one for one in mine if one in only]
    return _transfer(mine, shared.list_results(), store.bytes, shared.put, progress, f"push to {shared.address}")


def pull(store: Store, shared: Shared, progress: Progress, only: Collection[ResultName] | None = None) -> Transfer:
    """Copy from a shared store the results that this store lacks, all or those in `only`. Damaged results are not
    copied.

    Raises HarnessError for a folder that does not exist.
    """
    with _explain_unreachable(shared.address):
        if isinstance(shared.files, LocalFileSystem) and not shared.files.isdir(shared.root):
            raise HarnessError(f"{shared.address}: no such folder; `harness store push` makes one")
    theirs = sorted(one for one in shared.list_results() if only is None or one in only)
    mine = {one for one in theirs if store.has(*one)}
    return _transfer(theirs, mine, shared.get, store.put_bytes, progress, f"pull from {shared.address}")


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
        name = "pip install 'mi-dp-harness[s3]'" if address.startswith("s3") else str(error).splitlines()[0]
        raise HarnessError(f"{address}: this needs one more package: {name}") from None
    except Exception as error:  # each file system has errors of its own
        why = (str(error).splitlines() or [""])[0]
        raise HarnessError(f"{address}: cannot be used: {type(error).__name__}: {why}") from None


def _parts(path: str) -> list[str]:
    return path.split("/")


def _is_result(name: str) -> bool:
    return name.endswith(".npz") and not name.startswith(".")
