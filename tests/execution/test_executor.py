"""The executor: renewed pools, dying workers, and pieces that wait for what they need."""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
import time
from collections.abc import Callable

import pytest

from harness.execution import executors
from harness.execution.executor import WorkerPool
from harness.execution.plan import Piece
from harness.execution.planner import make_plan
from harness.execution.store import Store
from harness.paths import Project
from harness.processes import ALLOCATIONS, USUAL_ALLOCATIONS, collect_rarely
from harness.progress import Progress
from harness.spec.load import load_specs
from tests.conftest import SMALL_SPEC, run_pieces, worker_processes

Make = Callable[..., Project]


def splits_of(project: Project) -> list[Piece]:
    """Pieces that need no others: drawing them takes a worker no TensorFlow, which it would take seconds to import."""
    return [p for p in make_plan(project, load_specs(project, [])[0].spec).pieces() if p.kind == "split"]


@pytest.mark.parametrize(("enough", "renewed"), [(1, True), (1 << 50, False)])
def test_a_process_that_holds_much_is_renewed_and_nothing_is_lost(
    enough: int, renewed: bool, make_project: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ten pieces a worker process, 28 pieces need another one; each piece is computed once."""
    started: list[int] = []
    start = executors._Process._start

    def counted(process: executors._Process) -> None:
        started.append(1)
        start(process)

    monkeypatch.setattr(executors._Process, "_start", counted)
    monkeypatch.setattr(executors, "PIECES_PER_WORKER_PROCESS", 10)
    monkeypatch.setattr(executors, "RENEWAL_BYTES", enough)
    project = make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 14"))
    pieces = splits_of(project)
    assert len(pieces) == 28
    report = run_pieces(project, pieces, 2, Progress(quiet=True), "test")
    assert (report.computed, report.reused) == (len(pieces), 0)
    store = Store(project.store)
    assert all(store.has(p.kind, p.key) for p in pieces)
    assert (len(started) > 2) == renewed
    assert run_pieces(project, pieces, 2, Progress(quiet=True), "test").reused == len(pieces)


def test_a_run_in_one_process_looks_for_dead_objects_as_often_as_python_does(make_project: Make) -> None:
    """Graphs that TensorFlow is done with are such."""
    usual = gc.get_threshold()
    collect_rarely()
    with WorkerPool(make_project(), 1, Progress(quiet=True)) as worker_pool:
        assert gc.get_threshold()[0] == ALLOCATIONS
        worker_pool.start()
        assert gc.get_threshold()[0] == USUAL_ALLOCATIONS
    gc.set_threshold(*usual)


def test_memory_that_a_process_holds() -> None:
    """Against what the system says it held at most (in KiB); nothing of a process that is not there."""
    here, most = executors.resident_bytes(os.getpid()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    assert here is not None
    assert most / 4 < here <= most * 1.01
    assert executors.resident_bytes(2**22 + 1) is None


def test_a_killed_worker_loses_only_its_piece(make_project: Make) -> None:
    project = make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 150").replace("[1, 10, .inf]", "[1, .inf]"))
    pieces = splits_of(project)
    killed: list[int] = []

    def kill_one() -> None:
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            time.sleep(0.01)
            if not list((project.store / "split").rglob("*.npz")):
                continue
            for worker in worker_processes(os.getpid())[:1]:
                killed.append(worker)
                os.kill(worker, signal.SIGKILL)

    thread = threading.Thread(target=kill_one)
    thread.start()
    report = run_pieces(project, pieces, 2, Progress(quiet=True), "test")
    thread.join()
    assert killed
    assert report.computed == len(pieces)
    store = Store(project.store)
    assert all(store.get(p.kind, p.key) for p in pieces)
