"""Where pieces are computed: in this process, in local processes, or (`cluster.py`) on a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from harness.execution.schedule import Task
from harness.execution.work import run_pieces_here
from harness.paths import Project

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
PIECES_PER_WORKER_PROCESS = 80
"""Local processes are renewed after so many pieces each: TensorFlow keeps some memory of every graph it traced.
(`max_tasks_per_child` would do it one by one, but can lose its last workers and wait for ever on Python 3.11.)"""
ORPHAN_POLL_S = 1.0

Done = list[tuple[str, float]]
"""Key and seconds of each finished piece."""


class WorkerDied(Exception):
    """A worker process is gone; what it was at has to be given to another."""


class Executor(ABC):
    """Takes tasks and hands back what is finished."""

    workers: int
    """Tasks computed at the same time."""

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether another task may be submitted now."""

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Have a task computed."""

    @property
    @abstractmethod
    def running(self) -> list[Task]:
        """What was submitted and has not come back."""

    @abstractmethod
    def next_done(self) -> list[tuple[Task, Done]]:
        """Wait until at least one task is finished. Raises WorkerDied, or what the task raised."""

    @abstractmethod
    def renew(self) -> None:
        """Start with fresh workers; nothing may be running that is still wanted."""

    @abstractmethod
    def close(self) -> None:
        """Stop at once: unfinished pieces leave nothing behind, so nothing has to be waited for."""


class InProcess(Executor):
    """One task after another, here."""

    workers = 1

    def __init__(self, project: Project) -> None:
        self.project = project
        self._queue: deque[Task] = deque()

    @property
    def has_room(self) -> bool:
        return not self._queue

    def submit(self, task: Task) -> None:
        self._queue.append(task)

    @property
    def running(self) -> list[Task]:
        return list(self._queue)

    def next_done(self) -> list[tuple[Task, Done]]:
        done = run_pieces_here(self.project, self._queue[0])
        return [(self._queue.popleft(), done)]

    def renew(self) -> None:
        self._queue.clear()

    def close(self) -> None:
        self._queue.clear()


def _start_worker(parent: int) -> None:
    """A worker leaves Ctrl-C to its parent, and ends itself when the parent is gone (killed, out of memory)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_POLL_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class LocalProcesses(Executor):
    """Spawned processes that compute on one thread each: N workers use N cores, and results do not depend on N."""

    def __init__(self, project: Project, workers: int) -> None:
        self.project, self.workers = project, workers
        self._environment = {name: os.environ.get(name) for name in THREAD_VARIABLES}
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        self._start()

    def _start(self) -> None:
        self._pool = ProcessPoolExecutor(
            self.workers, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(os.getpid(),)
        )
        self._futures: dict[Future[Done], Task] = {}
        self._allowance = self.workers * PIECES_PER_WORKER_PROCESS

    @property
    def has_room(self) -> bool:
        if self._allowance <= 0 and not self._futures:
            self.renew()
        return self._allowance > 0 and len(self._futures) < 2 * self.workers

    def submit(self, task: Task) -> None:
        self._allowance -= len(task)
        try:
            self._futures[self._pool.submit(run_pieces_here, self.project, task)] = task
        except BrokenProcessPool:
            failed: Future[Done] = Future()
            failed.set_exception(BrokenProcessPool())
            self._futures[failed] = task

    @property
    def running(self) -> list[Task]:
        return list(self._futures.values())

    def next_done(self) -> list[tuple[Task, Done]]:
        finished, _ = wait(self._futures, return_when=FIRST_COMPLETED)
        done = []
        for future in finished:
            try:
                done.append((self._futures[future], future.result()))
            except BrokenProcessPool:
                continue
            del self._futures[future]
        if not done:
            raise WorkerDied
        return done

    def renew(self) -> None:
        if self._futures:
            self._stop()
        else:
            self._pool.shutdown()
        self._start()

    def _stop(self) -> None:
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(timeout=5)

    def close(self) -> None:
        if self._futures:
            self._stop()
        else:
            self._pool.shutdown()
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
