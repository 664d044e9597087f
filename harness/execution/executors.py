"""Executors compute pieces: in this process, in local processes, or (`cluster.py`) on a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from harness.errors import HarnessError
from harness.execution.schedule import Batch
from harness.execution.work import run_pieces_here
from harness.paths import Project
from harness.processes import SAFE_ENVIRONMENT, collect_as_usual, end_without_collecting, set_variable
from harness.streams import import_quietly

# The variables that libraries take their number of threads from.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
WORKER_ENVIRONMENT = {**dict.fromkeys(THREAD_VARIABLES, "1"), **SAFE_ENVIRONMENT}
"""The variables of local processes: one thread each; and no `json.py` of the folder that the user is in comes before
the standard library's."""
PIECES_PER_WORKER_PROCESS = 80
"""The number of pieces after which the memory of a local process is looked at."""
RENEWAL_BYTES = 2 << 30
"""The memory in bytes from which on a local process is replaced when it is looked at, or where it is not known:
TensorFlow keeps some memory of every graph it traced. (`max_tasks_per_child` would do it too, but can lose its last
workers and wait for ever on Python 3.11.)"""
SHORT_TASK_S = 1.0
"""The estimated seconds of a batch below which the next one may queue behind it."""
ORPHAN_POLL_S = 1.0
"""The seconds between two looks of a worker at whether its parent is still there."""

FinishedPieces = list[tuple[str, float]]
"""The key and the seconds of each finished piece."""
TaskOutcome = FinishedPieces | HarnessError
"""The outcome of a task: its pieces, or why one of them cannot be computed."""


class WorkerDied(Exception):
    """The exception for a worker process that has ended; what it was computing is to be submitted again."""


class Executor(ABC):
    """Base of the executors, which compute batches of pieces and hand back their results."""

    workers: int
    """The number of tasks computed at the same time."""
    is_concurrent: bool = True
    """Whether tasks are computed while the caller does something else."""

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether another task may be submitted now."""

    @abstractmethod
    def submit(self, task: Batch) -> None:
        """Start computing a batch. Raises HarnessError where it cannot be sent to a worker."""

    @property
    @abstractmethod
    def running_batches(self) -> list[Batch]:
        """The batches that were submitted and have not been handed back."""

    @abstractmethod
    def wait_for_finished(self) -> list[tuple[Batch, TaskOutcome]]:
        """Wait until a batch is finished. Returns finished batches with their outcomes.

        Raises WorkerDied where a worker has ended, and HarnessError where no worker is left.
        """

    def warm_up(self) -> None:  # noqa: B027  (most have nothing to get ready)
        """Make workers start and import what they need before there is work for them."""

    @abstractmethod
    def renew(self) -> None:
        """Replace all workers by fresh ones; running batches are dropped."""

    @abstractmethod
    def close(self) -> None:
        """Stop all workers at once; unfinished pieces leave nothing behind."""


class InProcess(Executor):
    """The executor that computes one batch after another in this process."""

    workers = 1
    is_concurrent = False

    def __init__(self, project: Project) -> None:
        self.project = project
        self._queue: deque[Batch] = deque()
        collect_as_usual()

    @property
    def has_room(self) -> bool:
        return not self._queue

    def submit(self, task: Batch) -> None:
        self._queue.append(task)

    @property
    def running_batches(self) -> list[Batch]:
        return list(self._queue)

    def wait_for_finished(self) -> list[tuple[Batch, TaskOutcome]]:
        task = self._queue.popleft()
        try:
            return [(task, run_pieces_here(self.project, task))]
        except HarnessError as error:
            return [(task, error)]

    def renew(self) -> None:
        self._queue.clear()

    def close(self) -> None:
        self._queue.clear()


def _start_worker(parent: int) -> None:
    """Initialise a worker: it ignores Ctrl-C, and ends itself when its parent is gone (killed, out of memory)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_without_collecting()  # for which a run would wait
    import_quietly("tensorflow", CHATTER)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_POLL_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _hold_interrupts() -> Iterator[None]:
    """The context manager until whose end Ctrl-C waits.

    A process that is started in it never gets one, not even while it imports what it needs to ignore them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


CHATTER = r"I0000 |WARNING: All log messages before absl|To enable the following instructions"
"""Beginnings of lines that TensorFlow from 2.18 on writes as it is imported, whatever TF_CPP_MIN_LOG_LEVEL says."""


def _read_tensorflow() -> None:
    """Import TensorFlow in a worker, which takes seconds, before its first model."""
    from harness.training.runtime import import_tensorflow

    import_tensorflow()


def resident_bytes(pid: int) -> int | None:
    """The bytes of memory that a process holds; None where the system does not say so in /proc."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


class _Process:
    """One spawned worker process, replaced after it has computed its share of pieces."""

    def __init__(self) -> None:
        self.futures: dict[Future[FinishedPieces], Batch] = {}
        self._start()

    def _start(self) -> None:
        """Start a fresh process, which has its whole share of pieces before it."""
        self._pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(os.getpid(),)
        )
        self._allowance = PIECES_PER_WORKER_PROCESS
        self._reading: Future[None] | None = None

    def warm_up(self) -> None:
        """Start the process and import TensorFlow in it."""
        with _hold_interrupts():
            self._reading = self._pool.submit(_read_tensorflow)

    @property
    def has_room(self) -> bool:
        """Whether the process is idle, or computing a batch so short that another may queue behind it."""
        if not self.futures:
            return True
        cost = sum(piece.cost for task in self.futures.values() for piece in task)
        return len(self.futures) == 1 and cost < SHORT_TASK_S and self._allowance > 0

    def submit(self, project: Project, task: Batch) -> None:
        """Start computing a batch, in a fresh process where this one has done its share and holds much memory."""
        if self._allowance <= 0 and not self.futures:
            if self._holds_much_memory():
                self._pool.shutdown()
                self._start()
            else:
                self._allowance = PIECES_PER_WORKER_PROCESS
        self._allowance -= len(task)
        try:
            with _hold_interrupts():
                self.futures[self._pool.submit(run_pieces_here, project, task)] = task
        except BrokenProcessPool:  # `wait_for_finished` tells of it, as of one that dies later
            failed: Future[FinishedPieces] = Future()
            failed.set_exception(BrokenProcessPool())
            self.futures[failed] = task

    def _holds_much_memory(self) -> bool:
        """Whether the process holds more than `RENEWAL_BYTES`, or that is not known: a fresh one should take over."""
        return any((resident_bytes(pid) or RENEWAL_BYTES) >= RENEWAL_BYTES for pid in self._pool._processes or {})

    def dismiss(self) -> None:
        """Make the process end, at once if it is computing; `join` waits until it has."""
        self._ending = list((self._pool._processes or {}).values())
        self._manager: threading.Thread | None = getattr(self._pool, "_executor_manager_thread", None)
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self.futures or (self._reading is not None and not self._reading.done()):
            for process in self._ending:
                process.terminate()

    def join(self) -> None:
        """Wait for a process that was dismissed."""
        for process in self._ending:
            process.join(timeout=5)
        if self._manager is not None:  # one that is still closing pipes when Python ends makes it print a traceback
            self._manager.join(timeout=5)


class LocalProcesses(Executor):
    """The executor of spawned processes, on one thread each: N workers use N cores, and results do not depend on N."""

    def __init__(self, project: Project, workers: int) -> None:
        self.project, self.workers = project, workers
        self._environment = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
        os.environ.update(WORKER_ENVIRONMENT)
        self._processes = [_Process() for _ in range(workers)]

    def warm_up(self) -> None:
        for process in self._processes:
            process.warm_up()

    @property
    def has_room(self) -> bool:
        return any(process.has_room for process in self._processes)

    def submit(self, task: Batch) -> None:
        idlest = min((p for p in self._processes if p.has_room), key=lambda p: len(p.futures))
        idlest.submit(self.project, task)

    @property
    def running_batches(self) -> list[Batch]:
        return [task for process in self._processes for task in process.futures.values()]

    def wait_for_finished(self) -> list[tuple[Batch, TaskOutcome]]:
        process_of = {future: process for process in self._processes for future in process.futures}
        finished, _ = wait(process_of, return_when=FIRST_COMPLETED)
        # Those of a process that died stay with it, so that they are given back; others that finished count first.
        done: list[tuple[Batch, TaskOutcome]] = []
        for future in finished:
            task = process_of[future].futures[future]
            try:
                done.append((task, future.result()))
            except BrokenProcessPool:
                continue
            except HarnessError as error:
                done.append((task, error))
            del process_of[future].futures[future]
        if not done:
            raise WorkerDied
        return done

    def _dismiss(self) -> None:
        """End all processes, which takes as long as for one: all are told first, and then waited for."""
        for process in self._processes:
            process.dismiss()
        for process in self._processes:
            process.join()

    def renew(self) -> None:
        self._dismiss()
        self._processes = [_Process() for _ in range(self.workers)]

    def close(self) -> None:
        self._dismiss()
        for name, value in self._environment.items():
            set_variable(name, value)
