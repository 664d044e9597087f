"""Judging or drawing much at once: each piece in this process or in a helper, as far as there are cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import forkserver
from typing import Generic, TypeVar

from harness.pipeline.context import Context
from harness.progress import hush
from harness.spec.load import Loaded

T = TypeVar("T")
FEW = 3
"""So many pieces are done in this process: helpers would be there after they are done."""
USED = ("numpy", "scipy.stats", "scipy.optimize", "pandas", "dp_accounting")
"""What nearly every piece needs of packages that load slowly: read once, for all helpers."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Task(Generic[T]):
    """A call that needs no other: of a function that helpers can import, on what can be sent to them."""

    function: Callable[..., T]
    arguments: tuple[object, ...]
    name: str
    size: float
    """The larger, the longer it is expected to take."""

    def compute(self) -> T:
        """What the function gives."""
        return self.function(*self.arguments)


def for_each(
    stage: Callable[[Context, Loaded], T], context: Context, loaded: Sequence[Loaded], doing: str = "judging"
) -> list[T]:
    """What a stage such as `gather` finds for each spec, in the order of `loaded`, whichever process it ran in."""
    pieces = [Task(stage, (context, one), one.spec.id, len(one.spec.claims)) for one in loaded]
    return side_by_side(pieces, context, doing)


def side_by_side(pieces: Sequence[Task[T]], context: Context, doing: str) -> list[T]:
    """What each piece gives, in their order. Raises what a piece raises.

    Helpers begin with the largest, this process with the smallest, so that the last ones to finish are short.
    """
    helpers = min(context.workers, len(pieces)) - 1
    with context.progress.cells(doing, len(pieces)) as bar:
        by_number: dict[int, T] = {}

        def keep(number: int, result: T) -> None:
            by_number[number] = result
            bar.advance(1, pieces[number].name)

        if helpers < 1 or len(pieces) <= FEW:
            for number, piece in enumerate(pieces):
                keep(number, piece.compute())
        else:
            _with_helpers(pieces, helpers, keep)
    return [by_number[number] for number in range(len(pieces))]


def _with_helpers(pieces: Sequence[Task[T]], helpers: int, keep: Callable[[int, T], None]) -> None:
    """Helpers have all pieces from the start, so that none of them waits while this process is busy; this process takes
    back what no helper has begun."""
    order = sorted(range(len(pieces)), key=lambda number: -pieces[number].size)
    pool = _start(helpers, pieces[0].function.__module__)
    try:
        running = {pool.submit(pieces[number].compute): number for number in order}
        for future, number in reversed(list(running.items())):
            if future.cancel():
                del running[future]
                keep(number, pieces[number].compute())
            for done in [f for f in running if f.done()]:
                keep(running.pop(done), done.result())
        for done in as_completed(running):
            keep(running[done], done.result())
    finally:
        pool.shutdown(cancel_futures=True)


def begin_helping(workers: int | None, *modules: str) -> None:
    """Let helpers read modules, those whose functions they will call (default: the judge's) and what these read late,
    while this process reads specs."""
    if workers != 1 and (os.cpu_count() or 1) > 1:
        _start_server(*modules or ("harness.pipeline.judging",))


def _start(helpers: int, module: str) -> ProcessPoolExecutor:
    """Helpers that have read `module`."""
    _start_server(module)
    return ProcessPoolExecutor(helpers, multiprocessing.get_context("forkserver"), initializer=hush)


def _start_server(*modules: str) -> None:
    """Start the server that helpers are forked from, with one thread for each of them, where there is none yet.

    It has read modules and nothing else. This process may have read a table, and then has threads: a copy of it may
    wait for one of them for ever.
    """
    where = multiprocessing.get_context("forkserver")
    where.set_forkserver_preload(["__main__", *modules, *USED])
    before = dict(os.environ)
    os.environ.update(ONE_THREAD)
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
