"""The executor past one machine, on a Dask cluster.

Workers need this package and nothing else: no shared file system, no data of their own. A task carries
what its pieces stand on; a table is asked for once by a worker that lacks it, by its hash. A finished
piece comes back as the file that the store keeps, so the checkout that started the run has everything,
and a run that is stopped goes on from there, on a cluster or without one.
"""

from __future__ import annotations

import atexit
import contextlib
import ipaddress
import os
import queue
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import harness
from harness.addresses import hide_secrets
from harness.attacks import Attack
from harness.data.dataset import TableDataset
from harness.data.datasets.csv_table import CsvTable
from harness.data.fetch import table_path
from harness.errors import HarnessError
from harness.execution.executors import Executor, FinishedPieces, TaskOutcome, WorkerDied
from harness.execution.plan import Piece, iterate_with_needs
from harness.execution.schedule import Batch
from harness.execution.store import MissingResults, Store, fault_of, fault_of_record, parse_result
from harness.execution.work import run_pieces_here
from harness.files import sha256_file, write_bytes
from harness.hashing import fingerprint
from harness.paths import Project
from harness.progress import Progress
from harness.training.models.function import FunctionModel

if TYPE_CHECKING:
    from distributed import Future

ENCRYPTED = frozenset({"tls", "wss"})
"""The protocols that let in who has a certificate alone."""
OPEN = "HARNESS_OPEN_SCHEDULER"
"""The variable by which a user says that whoever can reach the scheduler is trusted."""
CONNECT_TIMEOUT_S = 15
"""The seconds that a scheduler may take to answer."""
POLL_S = 2.0
WAIT_FOR_WORKERS_S = 60.0
"""The seconds after which a cluster without workers is given up, which is looked at each `POLL_S` seconds."""
TASKS_A_THREAD = 2
"""The number of tasks submitted for each thread of the cluster, so that no worker waits for the next one."""


@cache
def package_digest() -> str:
    """The hash of this package's source files: a worker must run the code of the checkout that asks."""
    root = Path(harness.__file__).parent
    return fingerprint([[str(p.relative_to(root)), sha256_file(p)] for p in sorted(root.rglob("*.py"))])


@dataclass(frozen=True)
class Payload:
    """The message to a worker: pieces, the results that they need, and files of tables."""

    pieces: Batch
    results: dict[tuple[str, str], bytes]
    tables: dict[str, bytes]
    """The table files that the worker has asked for, by path below the project's root."""
    table_digests: dict[str, str]
    """The SHA-256 of every table file that the pieces read, by path."""
    code: str


@dataclass(frozen=True)
class Answer:
    """The message of a worker: results of finished pieces as files of the store, or the paths of tables it lacks."""

    done: FinishedPieces
    files: dict[tuple[str, str], bytes]
    missing_tables: tuple[str, ...] = ()


_lock = threading.Lock()
_scratch: Path | None = None


def _scratch_project() -> Project:
    """The project of this worker process, in a folder that is kept between tasks and removed with the process."""
    global _scratch
    if _scratch is None:
        _scratch = Path(tempfile.mkdtemp(prefix="harness-worker-"))
        atexit.register(shutil.rmtree, _scratch, ignore_errors=True)
    return Project(_scratch)


def compute(payload: Payload) -> Answer:
    """The answer to a payload, computed on a worker, one payload at a time: TensorFlow's programs are not shared
    between threads. Raises HarnessError where the worker's code is another version."""
    with _lock:
        if payload.code != package_digest():
            raise HarnessError(
                "a worker of the cluster runs another version of this package; install the checkout's version there"
            )
        project = _scratch_project()
        for path, data in payload.tables.items():
            write_bytes(project.root / path, data)
        missing_tables = tuple(
            path for path, digest in payload.table_digests.items() if not _has_file(project.root / path, digest)
        )
        if missing_tables:
            return Answer([], {}, missing_tables)
        store = Store(project.root / "cells")
        worker = _WorkerProject(project.root)
        try:
            for (kind, key), data in payload.results.items():
                store.put_bytes(kind, key, data)
            done = run_pieces_here(worker, payload.pieces)
            return Answer(done, {(p.kind, p.key): store.bytes(p.kind, p.key) for p in payload.pieces})
        finally:
            shutil.rmtree(store.root, ignore_errors=True)


def _has_file(path: Path, digest: str) -> bool:
    """Whether a file is there and has this SHA-256."""
    return path.is_file() and sha256_file(path) == digest


@dataclass(frozen=True)
class _WorkerProject(Project):
    """A project whose store is its own, whatever the worker's environment says."""

    @property
    def store(self) -> Path:
        return self.root / "cells"


def _tables_of(project: Project, piece: Piece) -> set[str]:
    """The table files that a piece reads, by path below the root. Raises HarnessError for one outside of it."""
    attack = piece.settings.get("attack")
    reads_features = isinstance(attack, Attack) and attack.reads_features
    if piece.kind not in ("split", "train") and not reads_features:
        return set()
    if isinstance(piece.settings.get("model"), FunctionModel):
        raise HarnessError(
            "model.path: a training function runs on this machine alone; run this spec without a cluster"
        )
    dataset = piece.root.settings["dataset"]
    if not isinstance(dataset, TableDataset):
        return set()
    if isinstance(dataset, CsvTable) and Path(dataset.path).is_absolute():
        raise HarnessError(f"{dataset.path}: a cluster needs the table's path relative to the project (dataset.path)")
    path = project.root / dataset.path if isinstance(dataset, CsvTable) else table_path(project, dataset)
    path = Path(os.path.normpath(path))  # links in the project are the user's own way to a table
    if not path.is_relative_to(project.root):  # a worker would write it beside its own folder
        raise HarnessError(f"{path}: a cluster needs a table below the project (dataset.path); copy it there")
    return {str(path.relative_to(project.root))}


def _whole_bytes(store: Store, kind: str, key: str) -> bytes:
    """The content of a result's file. Raises MissingResults where it is missing, damaged, or that of another name."""
    data = store.bytes(kind, key)
    result = parse_result(data)
    if (fault := fault_of_record(kind, key, None if result is None else result.meta)) is not None:
        raise MissingResults([(kind, key, fault)])
    return data


def fault_of_answer(task: Batch, answer: object) -> str | None:
    """The fault of what a worker sends for a task: other results than were asked for, or such as are damaged or of
    another name. None where there is none."""
    asked = {(piece.kind, piece.key) for piece in task}
    if not isinstance(answer, Answer) or not isinstance(answer.files, dict) or answer.files.keys() != asked:
        return "not with the results that it was asked for"
    if sorted(key for key, _ in answer.done) != sorted(key for _, key in asked):
        return "not with the pieces that it was asked for"
    for (kind, key), data in answer.files.items():
        if (fault := fault_of(kind, key, parse_result(data) if isinstance(data, bytes) else None)) is not None:
            return f"{kind}/{key}: {fault}"
    return None


def check_scheduler(address: str) -> None:
    """Raise HarnessError for the address of a scheduler that others can reach and that is not encrypted.

    Dask's messages are pickles, which run code on both sides. HARNESS_OPEN_SCHEDULER allows it. Raises ValueError for
    what is no address.
    """
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, place = parse_address(address)
    if scheme in ENCRYPTED or os.environ.get(OPEN):
        return
    host = parse_host_port(place, 0)[0]
    with contextlib.suppress(ValueError):
        if host in ("", "localhost") or ipaddress.ip_address(host).is_loopback:
            return
    printable = hide_secrets(address)
    raise HarnessError(
        f"--scheduler {printable}: whoever reaches this port can run code here and on each worker; right is tls://, or "
        f"tcp://127.0.0.1:PORT with ssh (docs/cluster.md); {OPEN}=1 says that you trust all who can reach it"
    )


class DaskCluster(Executor):
    """The executor that submits payloads to a scheduler, and stores what comes back."""

    def __init__(self, project: Project, address: str, progress: Progress) -> None:
        """Connect. Raises HarnessError for an address that `check_scheduler` refuses, and where nothing answers."""
        from distributed import Client

        self.project, self.progress, self.store = project, progress, Store(project.store)
        try:
            check_scheduler(address)
            self.client = Client(address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = hide_secrets(str(error), address).splitlines()[0] if str(error) else type(error).__name__
            printable = hide_secrets(address)
            raise HarnessError(
                f"--scheduler {printable}: no Dask scheduler answers there ({reason}); start one with `dask scheduler`"
            ) from None
        self._futures: dict[str, tuple[Future, Batch]] = {}
        self._finished: queue.Queue[str] = queue.Queue()
        self._digests: dict[str, str] = {}
        self._alone_since: float | None = None
        self._await_workers()

    def _threads(self) -> int:
        return sum(w["nthreads"] for w in self.client.scheduler_info(n_workers=-1)["workers"].values())

    def _await_workers(self) -> None:
        deadline = time.monotonic() + WAIT_FOR_WORKERS_S
        while self._threads() == 0:
            if time.monotonic() > deadline:
                self.client.close()
                raise HarnessError(
                    f"the Dask scheduler has no worker after {WAIT_FOR_WORKERS_S:.0f} s; start some with `dask worker`"
                )
            time.sleep(0.2)

    @property
    def workers(self) -> int:  # type: ignore[override]
        """The number of threads of the cluster at present; workers may come and go."""
        return max(1, self._threads())

    @property
    def has_room(self) -> bool:
        return len(self._futures) < TASKS_A_THREAD * self.workers

    def submit(self, task: Batch, missing_tables: tuple[str, ...] = ()) -> None:
        paths = set().union(*(_tables_of(self.project, piece) for piece in task))
        table_digests = {path: self._digest(path) for path in sorted(paths)}
        needs = {(n.kind, n.key) for piece in task for n in piece.needs}
        needs |= {
            (n.kind, n.key) for piece in task for n in iterate_with_needs(piece) if n.kind == "split" and n != piece
        }
        payload = Payload(
            pieces=task,
            results={need: _whole_bytes(self.store, *need) for need in sorted(needs)},
            tables={path: (self.project.root / path).read_bytes() for path in missing_tables},
            table_digests=table_digests,
            code=package_digest(),
        )
        future = self.client.submit(compute, payload, pure=False)
        self._futures[future.key] = (future, task)
        future.add_done_callback(lambda f: self._finished.put(f.key))

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            self._digests[path] = sha256_file(self.project.root / path)
        return self._digests[path]

    @property
    def running_batches(self) -> list[Batch]:
        return [task for _, task in self._futures.values()]

    def wait_for_finished(self) -> list[tuple[Batch, TaskOutcome]]:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        while True:
            try:
                key = self._finished.get(timeout=POLL_S)
            except queue.Empty:
                self._watch()
                continue
            if key not in self._futures:
                continue  # given back after a death, finished all the same
            future, task = self._futures[key]
            try:
                answer: object = future.result()
            except (KilledWorker, FutureCancelledError):
                raise WorkerDied from None
            except HarnessError as error:
                del self._futures[key]
                return [(task, error)]
            del self._futures[key]
            if isinstance(answer, Answer) and answer.missing_tables:
                if (
                    not set()
                    .union(*(_tables_of(self.project, piece) for piece in task))
                    .issuperset(answer.missing_tables)
                ):
                    return [(task, HarnessError("a worker of the cluster asks for files that its task does not read"))]
                self.submit(task, answer.missing_tables)
                continue
            return [(task, self._keep(task, answer))]

    def _keep(self, task: Batch, answer: object) -> TaskOutcome:
        """Store a worker's answer, each result checked as a pulled one is; nothing of an answer where one fails."""
        if (fault := fault_of_answer(task, answer)) is not None or not isinstance(answer, Answer):
            return HarnessError(f"a worker of the cluster answers wrongly: {fault}; nothing of its answer was stored")
        for (kind, key), data in answer.files.items():
            self.store.put_bytes(kind, key, data)
        return answer.done

    def _watch(self) -> None:
        """Say that the cluster has lost its workers. Raises HarnessError after a minute: Dask would wait for ever."""
        if self._threads() > 0:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = time.monotonic()
            self.progress.say("the Dask cluster has lost all its workers; waiting for new ones")
        elif time.monotonic() - self._alone_since > WAIT_FOR_WORKERS_S:
            raise HarnessError(
                f"the Dask cluster has had no worker for {WAIT_FOR_WORKERS_S:.0f} s; what is finished is kept, "
                "the same command goes on from there"
            )

    def renew(self) -> None:
        for future, _ in self._futures.values():
            future.cancel()
        self._futures.clear()
        self._await_workers()

    def close(self) -> None:
        for future, _ in self._futures.values():
            future.cancel()
        self._futures.clear()
        self.client.close()
