"""Pieces of judging and drawing, in this process and in helpers: each once, in order, with what it raises."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.paths import Project
from harness.pipeline import parallel
from harness.pipeline.parallel import FEW_TASKS, Shared, Task, compute_side_by_side, preload_helpers
from harness.processes import ALLOCATIONS
from harness.progress import Progress

CONTEXT: Any = SimpleNamespace(workers=2, progress=Progress(quiet=True))
READ: list[int] = []


@dataclass
class Large:
    """Counts how often it is read in a process."""

    number: int

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__dict__.update(state)
        READ.append(self.number)


def square(number: int) -> tuple[int, int]:
    time.sleep(0.02)
    return number**2, os.getpid()


def finish(number: int) -> tuple[float, int]:
    time.sleep(0.02)
    return time.monotonic(), os.getpid()


def raise_at(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def use(large: Large, number: int) -> tuple[int, int, int]:
    time.sleep(0.02)
    return large.number + number, os.getpid(), len(READ)


@pytest.mark.parametrize("count", [1, 3, 12, 60])
def test_each_piece_is_computed_once_and_kept_in_its_place(count: int) -> None:
    noted: list[str] = []

    class Noting:
        def advance(self, amount: float, name: str) -> None:
            noted.append(name)

    class Bars:
        def tasks(self, doing: str, total: int) -> Any:
            from contextlib import nullcontext

            return nullcontext(Noting())

    context: Any = SimpleNamespace(workers=2, progress=Bars())
    results = compute_side_by_side([Task(square, (n,), str(n), n % 7) for n in range(count)], context, "squaring")
    assert [square for square, _ in results] == [n**2 for n in range(count)]
    assert sorted(noted) == sorted(map(str, range(count)))


def test_helpers_take_the_largest_first_and_few_pieces_are_computed_here() -> None:
    results = compute_side_by_side([Task(finish, (n,), str(n), n) for n in range(40)], CONTEXT, "finishing")
    assert os.getpid() not in {process for _, process in results}
    ends = [end for end, _ in results]
    assert sorted(ends[:10])[5] > sorted(ends[-10:])[5]
    few = compute_side_by_side([Task(finish, (n,), str(n), n) for n in range(FEW_TASKS)], CONTEXT, "finishing")
    assert {process for _, process in few} == {os.getpid()}


def test_what_a_piece_raises_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="three"):
        compute_side_by_side([Task(raise_at, (n,), str(n), 1) for n in range(9)], CONTEXT, "raising")


def test_a_shared_argument_is_read_once_by_a_helper_and_not_copied_here() -> None:
    large = Shared(Large(100))
    results = compute_side_by_side([Task(use, (large, n), str(n), n) for n in range(60)], CONTEXT, "using")
    assert [value for value, *_ in results] == [100 + n for n in range(60)]
    assert {read for *_, read in results} == {1}
    assert compute_side_by_side([Task(use, (large, 1), "here", 1)], CONTEXT, "using") == [(101, os.getpid(), 0)]


def mark(folder: Path, number: int) -> None:
    time.sleep(0.02)
    if not number:
        raise ValueError("zero")
    (folder / str(number)).touch()


def threshold(number: int) -> tuple[int, int]:
    time.sleep(0.02)
    return gc.get_threshold()[0], os.getpid()


def test_helpers_seldom_look_for_dead_objects_and_a_caller_as_often_as_before() -> None:
    before = gc.get_threshold()
    results = compute_side_by_side([Task(threshold, (n,), str(n), 1) for n in range(20)], CONTEXT, "asking")
    assert {number for number, _ in results} == {ALLOCATIONS}
    assert gc.get_threshold() == before


def test_helpers_are_begun_early_where_a_project_has_work_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spec is one piece or more; files that are only extended are none."""
    begun: list[tuple[str, ...]] = []
    monkeypatch.setattr(parallel, "_start_server", lambda *modules: begun.append(modules))
    monkeypatch.setattr(parallel, "collect_rarely", lambda: None)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (tmp_path / "specs").mkdir()
    for name in ("_base", "papers", *(f"spec{n}" for n in range(FEW_TASKS))):
        (tmp_path / "specs" / f"{name}.yaml").touch()
    preload_helpers(None, Project(tmp_path))
    assert begun == []
    (tmp_path / "specs" / "more.yaml").touch()
    preload_helpers(1, Project(tmp_path))
    assert begun == []
    preload_helpers(None, Project(tmp_path), "json")
    assert begun == [("json",)]


def test_what_a_piece_raises_stops_what_has_not_begun(tmp_path: Path) -> None:
    pieces = [Task(mark, (tmp_path, n), str(n), -n) for n in range(60)]
    with pytest.raises(ValueError, match="zero"):
        compute_side_by_side(pieces, CONTEXT, "marking")
    assert len(list(tmp_path.iterdir())) < 30
