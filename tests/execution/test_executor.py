"""The executor: renewed pools, dying workers, and pieces that wait for what they need."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from harness.execution import executors
from harness.execution.executor import run_pieces
from harness.execution.planner import make_plan
from harness.execution.store import Store
from harness.paths import Project
from harness.progress import Progress
from harness.spec.load import load_specs
from tests.conftest import worker_processes

Make = Callable[..., Project]


def test_the_pool_is_renewed_and_nothing_is_lost(make_project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ten pieces a worker process, 28 pieces need two pools; each piece is computed once."""
    monkeypatch.setattr(executors, "PIECES_PER_WORKER_PROCESS", 10)
    project = make_project()
    pieces = make_plan(project, load_specs(project, [])[0].spec).pieces()
    report = run_pieces(project, pieces, 2, Progress(quiet=True), "test")
    assert (report.computed, report.reused) == (len(pieces), 0)
    store = Store(project.store)
    assert all(store.has(p.kind, p.key) for p in pieces)
    assert run_pieces(project, pieces, 2, Progress(quiet=True), "test").reused == len(pieces)


def test_a_killed_worker_loses_only_its_piece(make_project: Make) -> None:
    project = make_project()
    pieces = make_plan(project, load_specs(project, [])[0].spec).pieces()
    killed: list[int] = []

    def kill_one() -> None:
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            time.sleep(0.05)
            if not list((project.store / "train").rglob("*.npz")):
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
