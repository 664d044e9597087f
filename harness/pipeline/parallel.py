"""Judging or drawing much at once: each piece in this process or in a helper, as far as there are cores."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import forkserver
from typing import Any, Generic, TypeVar

from harness.pipeline.context import Context
from harness.processes import SAFE_ENVIRONMENT, environment
from harness.progress import silence_accountant_warnings

T = TypeVar("T")
FEW_TASKS = 3
"""So many pieces are done in this process: helpers would be there after they are done."""
PRELOADED = ("numpy", "scipy.stats", "scipy.optimize", "pandas", "dp_accounting")
"""What nearly every piece needs of packages that load slowly: read once, for all helpers."""
ALLOCATIONS = 500_000
"""Objects, over those that are gone, after which the interpreter looks for cycles of dead ones. By itself it does so
after 700, and reads specs and verdicts each time, which live as long as the process: a tenth of what a site costs."""
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
    """The results of tasks, in their order, computed here and in helper processes. Raises what a task raises.

    Helpers begin with the largest task, this process with the smallest, so that the last to finish are short.
    """
    helpers = min(context.workers, len(tasks)) - 1
    with context.progress.tasks(label, len(tasks)) as bar:
        by_number: dict[int, T] = {}

        def keep(number: int, result: T) -> None:
            by_number[number] = result
            bar.advance(1, tasks[number].name)

        if helpers < 1 or len(tasks) <= FEW_TASKS:
            for number, task in enumerate(tasks):
                keep(number, task.compute())
        else:
            _compute_with_helpers(tasks, helpers, keep)
    return [by_number[number] for number in range(len(tasks))]


def _compute_with_helpers(tasks: Sequence[Task[T]], helpers: int, keep: Callable[[int, T], None]) -> None:
    """Compute tasks in helpers and in this process; call `keep` with the number and result of each.

    All tasks are submitted to the helpers at once. This process computes the smallest ones until the helpers are ready,
    and then cancels and computes those that no helper has begun.
    """
    order = sorted(range(len(tasks)), key=lambda number: -tasks[number].size)
    pool = _start_helpers(helpers, tasks[0].function.__module__)
    smallest, computed = reversed(order), set[int]()

    def compute(number: int) -> None:
        computed.add(number)
        keep(number, tasks[number].compute())

    try:
        with ThreadPoolExecutor(1) as thread:  # the first waits until the helpers' modules are read
            sent = thread.submit(lambda: {number: pool.submit(tasks[number].compute) for number in order})
            while not sent.done() and (number := next(smallest, None)) is not None:
                compute(number)
        running = {future: number for number, future in sent.result().items()}
        for future, number in reversed(list(running.items())):
            if number in computed:
                future.cancel()
                del running[future]
            elif future.cancel():
                del running[future]
                compute(number)
            for done in [f for f in running if f.done()]:
                keep(running.pop(done), done.result())
        for done in as_completed(running):
            keep(running[done], done.result())
    finally:
        pool.shutdown(cancel_futures=True)


def preload_helpers(workers: int | None, *modules: str) -> None:
    """Start importing modules in helper processes, while this process goes on (default: the judge's modules).

    `workers`: the number of workers that was asked for; with 1, or on one core, nothing is started.
    """
    collect_rarely()
    if workers != 1 and (os.cpu_count() or 1) > 1:
        _start_server(*modules or ("harness.pipeline.judging",))


def collect_rarely() -> None:
    """Make this process' garbage collector run more seldom."""
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])


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
    where.set_forkserver_preload(["__main__", *modules, *PRELOADED])
    with environment(HELPER_ENVIRONMENT):
        forkserver.ensure_running()
