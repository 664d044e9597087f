"""Spread pieces of work over local processes; a piece that is done stays done.

Each worker computes on one thread, so N workers use N cores and results do not depend on N. A worker
that dies loses only the piece it was at: the pool is built again and the piece is tried once more.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context

from harness.errors import HarnessError
from harness.execution.plan import Piece
from harness.execution.store import Store
from harness.execution.work import run_piece
from harness.paths import Project
from harness.progress import Bar, Progress

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
MAX_POOL_FAILURES = 3
PIECES_PER_WORKER_PROCESS = 80
"""The pool is renewed after so many pieces a worker: TensorFlow keeps some memory of every graph it traced.
(`max_tasks_per_child` would do it one by one, but can lose its last workers and wait for ever on Python 3.11.)"""
ORPHAN_POLL_S = 1.0


@dataclass
class RunReport:
    """How a run went."""

    computed: int = 0
    reused: int = 0
    wall_seconds: float = 0.0
    core_seconds: float = 0.0
    by_kind: dict[str, float] = field(default_factory=dict)


def default_workers() -> int:
    """The cores that this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


def _start_worker(parent: int) -> None:
    """A worker leaves Ctrl-C to its parent, and ends itself when the parent is gone (killed, out of memory)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_POLL_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_pieces(project: Project, pieces: Sequence[Piece], workers: int, progress: Progress, label: str) -> RunReport:
    """Compute every piece that the store lacks, in an order that respects what each needs.

    Raises HarnessError for a piece that cannot be computed; finished pieces stay in the store, so the
    same call goes on where it stopped. KeyboardInterrupt passes through after the pool is shut down.
    """
    store = Store(project.store)
    started = time.perf_counter()
    todo = [p for p in pieces if not store.has(p.kind, p.key)]
    report = RunReport(reused=len(pieces) - len(todo))
    if not todo:
        return report
    if report.reused:
        progress.say(f"{label}: {report.reused} of {len(pieces)} pieces are there already")
    with progress.cells(label, len(todo)) as bar:
        tracker = _Tracker(report, bar, sum(p.cost for p in todo), max(1, workers))
        if workers <= 1:
            for piece in todo:
                _, seconds = run_piece(project, piece)
                tracker.done(piece, seconds)
        else:
            _run_pool(project, todo, workers, tracker, progress)
    report.wall_seconds = time.perf_counter() - started
    return report


class _Tracker:
    """Counts finished work and estimates the time left from what finished work took against its estimate."""

    def __init__(self, report: RunReport, bar: Bar, total_cost: float, workers: int) -> None:
        self.report, self.bar, self.workers = report, bar, workers
        self.left, self.spent, self.estimated = total_cost, 0.0, 0.0

    def done(self, piece: Piece, seconds: float) -> None:
        self.report.computed += 1
        self.report.core_seconds += seconds
        self.report.by_kind[piece.kind] = self.report.by_kind.get(piece.kind, 0.0) + seconds
        self.left -= piece.cost
        self.spent += seconds
        self.estimated += piece.cost
        ratio = self.spent / self.estimated if self.estimated else 1.0
        left = max(0.0, self.left) * ratio / self.workers
        self.bar.advance(1, f"about {left / 60:.1f} min left" if left > 90 else f"about {left:.0f} s left")


def _run_pool(project: Project, todo: Sequence[Piece], workers: int, tracker: _Tracker, progress: Progress) -> None:
    remaining = {p.key: p for p in todo}
    failures = 0
    while remaining:
        try:
            _drain(project, remaining, workers, tracker)
        except BrokenProcessPool:
            failures += 1
            if failures == MAX_POOL_FAILURES:
                raise HarnessError(
                    f"worker processes died {failures} times (out of memory?); {len(remaining)} pieces are left; "
                    "run again with fewer --workers"
                ) from None
            progress.say(f"a worker process died; {len(remaining)} pieces left, starting again ({failures})")


def _environment() -> dict[str, str | None]:
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    return before


def _drain(project: Project, remaining: dict[str, Piece], workers: int, tracker: _Tracker) -> None:
    """Run one pool's worth of pieces, longest first, each when what it needs is finished; `remaining` shrinks."""
    before = _environment()
    waiting = {key: {n.key for n in p.needs if n.key in remaining} for key, p in remaining.items()}
    dependants: dict[str, list[str]] = defaultdict(list)
    for key, needs in waiting.items():
        for need in needs:
            dependants[need].append(key)
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(os.getpid(),)
    )
    allowance = workers * PIECES_PER_WORKER_PROCESS
    running: dict[Future[tuple[str, float]], str] = {}
    ready = sorted((k for k, n in waiting.items() if not n), key=lambda k: -remaining[k].cost)

    try:
        while running or (ready and allowance):
            while ready and allowance and len(running) < 2 * workers:
                key = ready.pop(0)
                running[pool.submit(run_piece, project, remaining[key])] = key
                allowance -= 1
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                key = running.pop(future)
                _, seconds = future.result()
                tracker.done(remaining.pop(key), seconds)
                for dependant in dependants[key]:
                    waiting[dependant].discard(key)
                    if not waiting[dependant]:
                        ready.append(dependant)
        pool.shutdown()
    except BaseException:
        _end(pool)
        raise
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end(pool: ProcessPoolExecutor) -> None:
    """Stop at once: unfinished pieces leave nothing behind, so nothing has to be waited for."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(timeout=5)
