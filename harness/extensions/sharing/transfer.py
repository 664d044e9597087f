"""Sharing copies results to and from a directory or any address that fsspec knows (`s3://...`, `gs://...`).

A result is one object, named as in the store. Objects appear whole or not at all, are never replaced by another, and
those that are there are left alone, so several may push and pull at once. What is pulled is compared with its name and
the hash of its arrays before the store takes it, and with its tag where there is a key. An address that cannot be
reached is an error, never an empty store.
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

from harness.addresses import hide_secrets
from harness.bounds import UNPACKED_BYTES
from harness.errors import HarnessError
from harness.execution.names import check_name, is_name
from harness.execution.store import NOTICE, NOTICE_TEXT, Fault, Store, fault_of, parse_result
from harness.extensions.sharing.store_key import NO_TAG, WRONG_TAG, StoreKey
from harness.files import atomic_path
from harness.progress import Progress

AT_ONCE = 8
"""The number of transfers under way together."""
BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"})
"""The protocols whose addresses begin with a bucket, which exists or not; folders in it are but parts of names."""
WEB = frozenset({"http", "https"})  # protocols of web servers, which answer with a page whatever they are asked for
FLEETING = frozenset({"memory", "data"})
"""The protocols of what is in this process, or in the address itself."""
TAG = ".npz.hmac"
"""The end of the name of a tag, which lies beside its result."""
RIGHT = "right is s3://bucket/folder, or a path"  # the end of messages about addresses
ResultName = tuple[str, str]
"""The kind and the key of a result."""


@dataclass
class Transfer:
    """The outcome of a push or a pull, in numbers of results."""

    moved: int = 0
    there: int = 0
    """The results that were left alone, since the other side had them."""
    bytes: int = 0
    was_empty: bool = False
    """Whether the address held no result before."""
    faults: list[Fault] = field(default_factory=list)
    """The faults of what was not taken."""


@dataclass(frozen=True)
class Listing:
    """The results in a shared store."""

    sizes: dict[ResultName, int | None]
    """The bytes of each result, where the file system says."""
    tagged: set[ResultName]
    """The results that have a tag."""


class Shared:
    """A store at an address that fsspec knows."""

    def __init__(self, address: str) -> None:
        """Open an address. Raises HarnessError for one that nothing here can reach."""
        if not address.strip():
            raise HarnessError(f"{address!r}: no address; {RIGHT}")
        printable = hide_secrets(address)
        *wrappers, last = address.split("::")  # such as simplecache::s3://bucket/folder
        protocol, path = fsspec.core.split_protocol(last)
        before, colon, after = last.partition(":")
        self.protocols = {wrapper.split("://")[0] for wrapper in wrappers} | {str(protocol)}
        if not FLEETING.isdisjoint({*self.protocols, before if colon else ""}):
            raise HarnessError(f"{printable}: nothing that is put there outlasts this command; {RIGHT}")
        if not path.strip():
            raise HarnessError(f"{printable!r}: no directory or bucket in it; {RIGHT}")
        if colon and not after.startswith("/") and before in fsspec.available_protocols():
            whole = hide_secrets(f"{before}://{after}")
            mended = whole.replace("://", ":", 1)
            raise HarnessError(f"{mended}: right is {whole}, or ./{mended} for a folder of that name")
        if wrappers and protocol in WEB:  # a cache on disk takes an answer that has no end
            raise HarnessError(f"{printable}: a web address takes no cache before it; right is {hide_secrets(last)}")
        with _explain_unreachable(address):
            options = {protocol: {"client_kwargs": counted_answers()}} if protocol in WEB else {}
            self.files, root = fsspec.core.url_to_fs(address, **options)
        self._address, self.address, self.root = address, printable, str(root).rstrip("/")
        """The address, as it may be printed, and the path of the store in its file system."""
        if not self.root:
            raise HarnessError(f"{printable!r}: no directory or bucket in it; {RIGHT}")
        self.has_buckets = not BUCKETS.isdisjoint(self.protocols)

    def path(self, kind: str, key: str) -> str:
        """The path of a result. Raises HarnessError for a name that no result has."""
        check_name(kind, key)
        return posixpath.join(self.root, kind, key[:2], f"{key}.npz")

    def exists(self) -> bool:
        """Whether the folder exists. Raises HarnessError where that cannot be told, or there is no such bucket."""
        with _explain_unreachable(self._address):
            self.files.invalidate_cache()
            try:
                kind = self.files.info(self.root)["type"]
            except FileNotFoundError as error:
                if error.__cause__ is not None and not isinstance(error.__cause__, FileNotFoundError):
                    raise error.__cause__ from None  # HTTP: whatever went wrong, nothing is there
                if self.has_buckets:
                    self._check_bucket()
                return False
            if kind == "file" and self.protocols.isdisjoint(WEB):  # which calls everything a file
                raise HarnessError(f"{self.address}: is a file, not a folder")
        return True

    def _check_bucket(self) -> None:
        """Raise HarnessError where the bucket does not exist."""
        bucket = self.root.split("/")[0]
        try:
            self.files.info(bucket)
        except FileNotFoundError:
            raise HarnessError(f"{self.address}: there is no bucket {bucket}") from None
        except PermissionError:
            return  # may be allowed in a folder of it alone, of which it was just said that it is not there

    def list_results(self) -> Listing:
        """The results in the store; none of a folder that does not exist, and nothing that no result could be called.

        Raises HarnessError where it cannot be read.
        """
        if not self.exists():
            return Listing({}, set())
        with _explain_unreachable(self._address):
            if self.has_buckets:
                objects = list(self.files.find(self.root, detail=True).items())
            else:  # `find` leaves out what it cannot read
                walk = self.files.walk(self.root, on_error="raise", detail=True)
                objects = [(f"{folder}/{name}", about) for folder, _, names in walk for name, about in names.items()]
        root = self.root.lstrip("/")
        listing = Listing({}, set())
        for path, about in objects:
            parts = path.lstrip("/").removeprefix(root).strip("/").split("/")
            if len(parts) != 3:
                continue
            kind, folder, name = parts
            key = name.removesuffix(TAG).removesuffix(".npz")
            if not is_name(kind, key) or key[:2] != folder:
                continue
            if name == f"{key}.npz":
                listing.sizes[kind, key] = about.get("size")
            elif name == key + TAG:
                listing.tagged.add((kind, key))
        return listing

    def put(self, kind: str, key: str, data: bytes) -> None:
        """Keep a result, whole or not at all. Raises HarnessError where that fails."""
        self._put(self.path(kind, key), data)

    def put_tag(self, kind: str, key: str, tag: bytes) -> None:
        """Keep the tag of a result. Raises HarnessError where that fails."""
        self._put(self._tag_path(kind, key), tag)

    def _put(self, path: str, data: bytes) -> None:
        with _explain_unreachable(self._address):
            if isinstance(self.files, LocalFileSystem):
                with atomic_path(Path(path), durable=False) as temporary:
                    temporary.write_bytes(data)
            else:
                if not self.has_buckets:
                    self.files.makedirs(posixpath.dirname(path), exist_ok=True)
                self.files.pipe_file(path, data)  # object stores show what was written whole

    def put_notice(self) -> None:
        """Put a file into the store's folder that says that it holds personal data. Raises HarnessError."""
        self._put(posixpath.join(self.root, NOTICE), NOTICE_TEXT.encode())

    def get(self, kind: str, key: str) -> bytes:
        """The bytes of a result. Raises HarnessError where they cannot be read."""
        return self._get(self.path(kind, key))

    def tag(self, kind: str, key: str) -> bytes:
        """The tag of a result. Raises HarnessError where it cannot be read."""
        return self._get(self._tag_path(kind, key))

    def _get(self, path: str) -> bytes:
        with _explain_unreachable(self._address):
            return bytes(self.files.cat_file(path))

    def _tag_path(self, kind: str, key: str) -> str:
        return self.path(kind, key).removesuffix(".npz") + TAG


def counted_answers() -> dict[str, object]:
    """The options of a session of aiohttp that counts answers as they arrive, whatever a server says of their length.

    One without an end is an error, and takes no more memory than the bound of a stored result.
    """
    from aiohttp import ClientResponse

    class Counted(ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                blocks, size = list[bytes](), 0
                async for block in self.content.iter_any():
                    size += len(block)
                    if size > UNPACKED_BYTES.limit:
                        self.close()
                        UNPACKED_BYTES.refuse(hide_secrets(str(self.url)))
                    blocks.append(block)
                self._body = b"".join(blocks)
            return self._body

    return {"response_class": Counted}


def push(
    store: Store,
    shared: Shared,
    progress: Progress,
    only: Collection[ResultName] | None = None,
    secret: StoreKey | None = None,
) -> Transfer:
    """Copy to a shared store the results that it lacks, all or those in `only`, but for damaged ones.

    With a `secret` each has a tag, and those that lack one there are copied too.
    Raises HarnessError where the address cannot be reached, or does not have what was copied to it.
    """
    mine = [(kind, key) for kind in store.kinds() for key, _ in store.files(kind)]
    if only is not None:
        mine = [one for one in mine if one in only]
    theirs = shared.list_results()
    present = {*theirs.sizes} if secret is None else theirs.tagged & {*theirs.sizes}

    def check(name: ResultName) -> tuple[bytes, str | None]:
        data = store.bytes(*name)
        return data, fault_of(*name, parse_result(data))

    def put(kind: str, key: str, data: bytes) -> None:
        if secret is not None:  # before the result: who sees that one finds its tag
            shared.put_tag(kind, key, secret.tag(kind, key, data))
        shared.put(kind, key, data)

    transfer = _transfer(mine, present, check, put, progress, f"push to {shared.address}")
    transfer.was_empty = not theirs.sizes
    if transfer.moved:
        if transfer.was_empty:
            shared.put_notice()
        refused = {(kind, key) for kind, key, _ in transfer.faults}
        lost = set(mine) - refused - shared.list_results().sizes.keys()
        if lost:
            raise HarnessError(f"{shared.address}: {len(lost)} of {transfer.moved} pieces are not there once copied")
    return transfer


def pull(
    store: Store,
    shared: Shared,
    progress: Progress,
    only: Collection[ResultName] | None = None,
    secret: StoreKey | None = None,
) -> Transfer:
    """Copy from a shared store the results that this store lacks, all or those in `only`, but for damaged ones.

    Results here whose record is damaged are replaced. With a `secret`, no result is copied without its tag.
    Raises HarnessError where the address cannot be reached, or is a folder that does not exist.
    """
    if not shared.exists():
        raise HarnessError(f"{shared.address}: no such folder; `harness store push` makes one")
    every = shared.list_results()
    if not every.sizes and not shared.protocols.isdisjoint(WEB):  # whatever a web server answers is a page
        raise HarnessError(f"{shared.address}: lists no result; right is the address of a store's folder")
    theirs = sorted(one for one in every.sizes if only is None or one in only)
    mine = {one for one in theirs if store.has(*one)}
    for kind in sorted({kind for kind, _ in mine}):
        for _, key, fault in store.faults_of_records(kind, sorted(key for k, key in mine if k == kind)):
            progress.warn(f"{kind}/{key} is damaged ({fault}); it is pulled anew")
            mine.discard((kind, key))

    def check(name: ResultName) -> tuple[bytes, str | None]:
        if (every.sizes[name] or 0) > UNPACKED_BYTES.limit:
            return b"", f"it has {every.sizes[name]:,} bytes; {UNPACKED_BYTES.remedy}"
        if secret is not None and name not in every.tagged:
            return b"", NO_TAG
        data = shared.get(*name)
        if secret is not None and not secret.fits(shared.tag(*name), *name, data):
            return data, WRONG_TAG
        return data, fault_of(*name, parse_result(data))

    transfer = _transfer(theirs, mine, check, store.put_bytes, progress, f"pull from {shared.address}")
    transfer.was_empty = not every.sizes
    return transfer


def _transfer(
    names: list[ResultName],
    present_names: set[ResultName],
    check: Callable[[ResultName], tuple[bytes, str | None]],
    write: Callable[[str, str, bytes], object],
    progress: Progress,
    label: str,
) -> Transfer:
    """Copy the results that are not present. `check` reads a result and says what is wrong with it."""
    transfer = Transfer()
    todo = [one for one in names if one not in present_names]
    transfer.there = len(names) - len(todo)

    def transfer_one(name: ResultName) -> tuple[ResultName, int, str | None]:
        data, fault = check(name)
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
    """The context manager that turns errors of a file system into a HarnessError of one line, without passwords."""
    printable = hide_secrets(address)
    try:
        yield
    except HarnessError:
        raise
    except ImportError as error:
        why = hide_secrets((str(error).splitlines() or [type(error).__name__])[0], address)
        name = "pip install 'mi-dp-harness[s3]'" if address.startswith("s3") else why
        raise HarnessError(f"{printable}: this needs one more package: {name}") from None
    except Exception as error:  # each file system has errors of its own
        why = ": ".join([type(error).__name__, *str(error).splitlines()[:1]])
        right = f"; {RIGHT}" if "Protocol not known" in why else ""
        raise HarnessError(f"{printable}: cannot be used: {hide_secrets(why, address)}{right}") from None
