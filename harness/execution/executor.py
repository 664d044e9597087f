"""A run computes a plan's pieces on an executor; a piece that is done stays done.

A worker that dies loses only what it was at, which is given to another.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from harness.errors import HarnessError
from harness.execution.damage import discard_damaged
from harness.execution.executors import Executor, InProcess, LocalProcesses, WorkerDied
from harness.execution.plan import Piece, iterate_with_needs
from harness.execution.schedule import Schedule
from harness.execution.store import Fault, MissingResults, Store
from harness.offered import load_offered
from harness.paths import Project
from harness.progress import Bar, Progress

MAX_DEATHS_IN_A_ROW = 3
"""The number of workers that may die, without a piece finished between, before a run ends."""
EXECUTORS = "harness.executors"
"""The group of entry points of executors on other machines."""
Read = TypeVar("Read")


@dataclass
class RunReport:
    """The pieces that a run computed and reused, and the time that it took."""

    computed: int = 0
    reused: int = 0
    wall_seconds: float = 0.0
    core_seconds: float = 0.0
    by_kind: dict[str, float] = field(default_factory=dict)

    def count(self, piece: Piece, seconds: float) -> None:
        """Count a piece that was computed in so many seconds."""
        self.computed += 1
        self.core_seconds += seconds
        self.by_kind[piece.kind] = self.by_kind.get(piece.kind, 0.0) + seconds

    def join(self, later: RunReport) -> RunReport:
        """The report of this run and a later one. What this run computed is not counted as reused by the later one."""
        kinds = {*self.by_kind, *later.by_kind}
        return RunReport(
            self.computed + later.computed,
            max(0, later.reused - self.computed),
            self.wall_seconds + later.wall_seconds,
            self.core_seconds + later.core_seconds,
            {kind: self.by_kind.get(kind, 0.0) + later.by_kind.get(kind, 0.0) for kind in kinds},
        )


def default_workers() -> int:
    """The number of cores that this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


class OutOfTime(Exception):
    """The exception for a run whose deadline has passed; finished pieces are kept."""


class WorkerPool:
    """The workers of one or several runs; they start with the first piece to compute."""

    def __init__(
        self,
        project: Project,
        workers: int,
        progress: Progress,
        scheduler: str | None = None,
        deadline: float | None = None,
    ) -> None:
        """Take the address of a Dask scheduler, or without it a number of local processes (one: this process).

        After `deadline`, in the seconds of `time.monotonic`, no piece is begun.
        """
        self.project, self.workers, self.progress, self.scheduler = project, workers, progress, scheduler
        self.deadline = deadline
        self.early_seconds: dict[str, float] = {}
        """The seconds of pieces that were computed before they were asked for, by key."""
        self.report = RunReport()
        """The report of the last run, or of the one that goes on."""
        self.has_said_reused = False
        """Whether it was said that pieces are there already: once, where a run goes on, not in each of its rounds."""
        self.whole: set[tuple[str, str]] = set()
        """The kinds and keys of stored results whose records were read: once a run, not in each of its rounds."""
        self.is_interrupted = False
        """Whether the user has asked for the end, so that what is finished is written and nothing begun."""
        self._executor: Executor | None = None

    @property
    def is_past_deadline(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def start(self) -> Executor:
        """The executor, started by the first call and shared by all until the pool is closed.

        Raises HarnessError where the scheduler cannot be used.
        """
        if self._executor is None:
            if self.scheduler is not None:
                cluster: Callable[[Project, str, Progress], Executor] = load_offered(EXECUTORS, "dask")
                self._executor = cluster(self.project, self.scheduler, self.progress)
            else:
                self._executor = (
                    InProcess(self.project) if self.workers <= 1 else LocalProcesses(self.project, self.workers)
                )
        return self._executor

    def warm_up(self) -> None:
        """Make local workers start and import TensorFlow before there is work for them."""
        if self.scheduler is None:
            self.start().warm_up()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.close()
            self._executor = None


def run_pieces(worker_pool: WorkerPool, pieces: Sequence[Piece], label: str, ahead: Sequence[Piece] = ()) -> RunReport:
    """Compute the pieces that the store lacks, in an order that respects what each needs.

    `ahead` lists pieces that a later call may ask for; workers that would otherwise wait begin with them. A result that
    turns out to be damaged, or that of another name, is computed anew, with a line that says so.

    Raises HarnessError for a piece that cannot be computed, and OutOfTime past the pool's deadline, once running pieces
    are finished. Finished pieces stay in the store, so the same call resumes. KeyboardInterrupt passes through; leaving
    the pool's context stops the workers.
    """
    store, progress = Store(worker_pool.project.store), worker_pool.progress
    started, report, discarded = time.perf_counter(), RunReport(), _Discarded()
    worker_pool.report = report
    while todo := _list_missing(store, pieces, worker_pool):
        report.reused = len(pieces) - len(todo) - report.computed
        if report.reused and not worker_pool.has_said_reused:
            progress.say(f"{label}: {report.reused} of {len(pieces)} pieces are there already")
        worker_pool.has_said_reused = True
        executor = worker_pool.start()
        likely = [p for p in ahead if not store.has(p.kind, p.key)] if executor.is_concurrent else []
        busy = {p.key for task in executor.running_batches for p in task}
        try:
            with progress.cells(label, len(todo)) as bar:
                tracker = _Tracker(report, bar, sum(p.cost for p in todo), executor.workers)
                _run_schedule(executor, Schedule(todo, likely, busy), tracker, worker_pool)
            worker_pool.whole |= {(p.kind, p.key) for p in todo}
            break
        except MissingResults as missing:
            discarded.add(_discard_needed(store, missing, [*todo, *likely], progress))
    report.reused = len(pieces) - report.computed
    report.wall_seconds = time.perf_counter() - started if report.computed else 0.0
    return _count_early(report, pieces, worker_pool)


def _list_missing(store: Store, pieces: Sequence[Piece], worker_pool: WorkerPool) -> list[Piece]:
    """The pieces that the store lacks. A file whose record is damaged or of another name is removed, and this is said.

    `harness plan` counts by the same records.
    """
    names = {(p.kind, p.key) for p in pieces}
    faults = store.faults(sorted(names - worker_pool.whole))
    faults += [(*name, "") for name in sorted(names & worker_pool.whole) if not store.has(*name)]
    discard_damaged(store, faults, worker_pool.progress)
    lacking = {(kind, key) for kind, key, _ in faults}
    worker_pool.whole = (worker_pool.whole | names) - lacking
    return [p for p in pieces if (p.kind, p.key) in lacking]


def _discard_needed(store: Store, missing: MissingResults, pieces: Sequence[Piece], progress: Progress) -> list[Fault]:
    """Discard what is damaged among the results that pieces need, once one of them is. Returns what was removed.

    Raises the error itself where the pieces need none of the results that are missing, so that computing them cannot
    help.
    """
    needed = {(need.kind, need.key) for piece in pieces for need in iterate_with_needs(piece)}
    if not any((kind, key) in needed for kind, key, _ in missing.faults):
        raise missing
    return discard_damaged(store, [(kind, key, "") for kind, key in sorted(needed)], progress)


class _Discarded:
    """The results that were discarded since a run began."""

    def __init__(self) -> None:
        self.names: set[tuple[str, str]] = set()

    def add(self, faults: Sequence[Fault]) -> None:
        """Raise HarnessError where one of them was discarded before: computing it once more would not help either."""
        for kind, key, fault in faults:
            if (kind, key) in self.names:
                raise HarnessError(f"{kind}/{key}: it was computed anew and {fault} again; is the disk in order?")
            self.names.add((kind, key))


def read_with_repair(
    worker_pool: WorkerPool, list_pieces: Callable[[], Sequence[Piece]], label: str, read: Callable[[], Read]
) -> tuple[Read, RunReport]:
    """The value that `read` makes of the store, and the report of what had to be computed anew for it.

    `list_pieces` lists what may be computed again; it is called only where a result is missing or damaged. Raises
    MissingResults where a result that is missing is none of these.
    """
    report, discarded, store = RunReport(), _Discarded(), Store(worker_pool.project.store)
    while True:
        try:
            return read(), report
        except MissingResults as missing:
            removed = discard_damaged(store, missing.faults, worker_pool.progress)
            discarded.add(removed)
            if worker_pool.is_interrupted:  # the user waits for the end
                raise KeyboardInterrupt from None
            repair = run_pieces(worker_pool, list_pieces(), label)
            if not removed and not repair.computed:
                raise
            report = report.join(repair)


def _count_early(report: RunReport, pieces: Sequence[Piece], worker_pool: WorkerPool) -> RunReport:
    """The report with pieces that an earlier call computed ahead counted as computed, not as reused."""
    for piece in pieces:
        if (seconds := worker_pool.early_seconds.pop(piece.key, None)) is not None:
            report.reused -= 1
            report.count(piece, seconds)
    return report


class _Tracker:
    """A count of finished pieces and an estimate of the time left, by actual against estimated time so far."""

    def __init__(self, report: RunReport, bar: Bar, total_cost: float, workers: int) -> None:
        self.report, self.bar, self.workers = report, bar, workers
        self.left, self.spent, self.estimated = total_cost, 0.0, 0.0

    def finish_piece(self, piece: Piece, seconds: float) -> None:
        """Count a piece that was computed in so many seconds, and show the time left."""
        self.report.count(piece, seconds)
        self.left -= piece.cost
        self.spent += seconds
        self.estimated += piece.cost
        ratio = self.spent / self.estimated if self.estimated else 1.0
        left = max(0.0, self.left) * ratio / self.workers
        note = f"about {left / 60:.1f} min left" if left > 90 else f"about {left:.0f} s left"
        self.bar.advance(1, note, left)


def _run_schedule(executor: Executor, schedule: Schedule, tracker: _Tracker, worker_pool: WorkerPool) -> None:
    """Compute all pieces that a schedule wants; batches of workers that died are given to others."""
    deaths = 0
    while schedule.wanted:
        if worker_pool.is_past_deadline and not any(
            p.key in schedule.wanted for task in executor.running_batches for p in task
        ):
            raise OutOfTime
        while (
            not worker_pool.is_past_deadline
            and executor.has_room
            and (task := schedule.take(executor.workers)) is not None
        ):
            executor.submit(task)
        _begin_ahead(executor, schedule, worker_pool)
        try:
            for task, outcome in executor.wait_for_finished():
                deaths = 0
                if isinstance(outcome, HarnessError):
                    if any(piece.key in schedule.wanted for piece in task):
                        raise outcome
                    continue  # nobody asked for it
                for key, seconds in outcome:
                    if (piece := schedule.finish(key)) is not None:
                        tracker.finish_piece(piece, seconds)
                    else:
                        worker_pool.early_seconds[key] = seconds
        except WorkerDied:
            deaths += 1
            if deaths == MAX_DEATHS_IN_A_ROW:
                raise HarnessError(
                    f"worker processes died {deaths} times in a row (out of memory?); {len(schedule.wanted)} pieces "
                    "are left; run again with fewer --workers"
                ) from None
            worker_pool.progress.say(
                f"a worker process died; {len(schedule.wanted)} pieces left, starting again ({deaths})"
            )
            schedule.give_back(executor.running_batches)
            executor.renew()
    # The caller thinks about what comes next, and workers need not wait for it.
    _begin_ahead(executor, schedule, worker_pool)


def _begin_ahead(executor: Executor, schedule: Schedule, worker_pool: WorkerPool) -> None:
    """Give idle workers pieces that may be wanted later."""
    while not worker_pool.is_past_deadline and len(executor.running_batches) < executor.workers:
        if (task := schedule.take(executor.workers, ahead=True)) is None:
            return
        executor.submit(task)
