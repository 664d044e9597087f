"""Judging or drawing much at once: each piece in a helper process, as far as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import forkserver
from typing import Any, Generic, TypeVar

from harness.paths import Project
from harness.pipeline.context import Context
from harness.processes import SAFE_ENVIRONMENT, collect_rarely, environment
from harness.progress import silence_accountant_warnings
from harness.spec.load import spec_paths

T = TypeVar("T")
FEW_TASKS = 3
"""So many pieces are done in this process: helpers would be there after they are done."""
HELPER_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **SAFE_ENVIRONMENT}
"""One thread each; and no `selectors.py` of the folder that the user is in comes before the standard library's."""


class Shared(Generic[T]):
    """A large argument of several tasks: pickled once for all helpers, and unpickled once in each."""

    def __init__(self, value: T) -> None:
        self.value = value
        self._written: bytes | None = None

    def __getstate__(self) -> bytes:
        if self._written is None:
            self._written = pickle.dumps(self.value)
        return self._written

    def __setstate__(self, written: bytes) -> None:
        self._written = written
        self.value = _unpickle(written)


@lru_cache(maxsize=1)
def _unpickle(written: bytes) -> Any:
    return pickle.loads(written)


@dataclass(frozen=True)
class Task(Generic[T]):
    """A call that can be made in a helper process: an importable function and arguments that can be pickled."""

    function: Callable[..., T]
    arguments: tuple[object, ...]
    name: str
    size: float
    """The larger, the longer it is expected to take."""

    def compute(self) -> T:
        """Call the function. Returns its result."""
        return self.function(*(one.value if isinstance(one, Shared) else one for one in self.arguments))


def compute_side_by_side(tasks: Sequence[Task[T]], context: Context, label: str) -> list[T]:
    """The results of tasks, in their order, computed in helper processes, the largest first. Raises what a task raises.

    Few tasks, and those for one worker, are computed in this process.
    """
    workers = min(context.workers, len(tasks))
    results: dict[int, T] = {}
    with context.progress.tasks(label, len(tasks)) as bar:
        if workers < 2 or len(tasks) <= FEW_TASKS:
            for number, task in enumerate(tasks):
                results[number] = task.compute()
                bar.advance(1, task.name)
            return list(results.values())
        pool = _start_helpers(workers, tasks[0].function.__module__)
        try:
            order = sorted(range(len(tasks)), key=lambda number: -tasks[number].size)
            numbers = {pool.submit(tasks[number].compute): number for number in order}
            for done in as_completed(numbers):
                results[numbers[done]] = done.result()
                bar.advance(1, tasks[numbers[done]].name)
        finally:
            pool.shutdown(cancel_futures=True)
    return [results[number] for number in range(len(tasks))]


def preload_helpers(workers: int | None, project: Project, *modules: str) -> None:
    """Start importing modules in helper processes, while this process goes on (default: the judge's modules).

    It saves 0.8 s of a command, whatever it judges or draws.

    `workers`: the number of workers that was asked for; with 1, or on one core, nothing is started. Nor is anything for
    a project of so few specs that this process does them all, and helpers would cost as much processor time as it.
    """
    collect_rarely()
    if len(spec_paths(project)) > FEW_TASKS and workers != 1 and (os.cpu_count() or 1) > 1:
        _start_server(*modules or ("harness.pipeline.judging",))


def _set_up_helper() -> None:
    silence_accountant_warnings()
    collect_rarely()


def _start_helpers(helpers: int, module: str) -> ProcessPoolExecutor:
    """A pool of helper processes that have imported `module`."""
    _start_server(module)
    return ProcessPoolExecutor(helpers, multiprocessing.get_context("forkserver"), initializer=_set_up_helper)


def _start_server(*modules: str) -> None:
    """Start the server that helpers are forked from, with one thread per helper, unless it runs.

    The server has imported modules and nothing else. This process may have read a table and then has threads; a fork of
    it could wait for one of them for ever.
    """
    where = multiprocessing.get_context("forkserver")
    where.set_forkserver_preload(["__main__", *modules])
    with environment(HELPER_ENVIRONMENT):
        forkserver.ensure_running()
