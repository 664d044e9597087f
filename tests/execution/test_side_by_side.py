"""Pieces of judging and drawing, in this process and in helpers: each once, in order, with what it raises."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from harness.pipeline.parallel import ALLOCATIONS, Shared, Task, compute_side_by_side
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


def test_helpers_take_the_largest_and_this_process_computes_too() -> None:
    results = compute_side_by_side([Task(square, (n,), str(n), n) for n in range(300)], CONTEXT, "squaring")
    here = [n for n, (_, process) in enumerate(results) if process == os.getpid()]
    assert here == list(range(len(here)))
    assert 0 < len(here) < 300


def test_what_a_piece_raises_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="three"):
        compute_side_by_side([Task(raise_at, (n,), str(n), 1) for n in range(9)], CONTEXT, "raising")


def test_a_shared_argument_is_not_copied_here_and_read_once_by_a_helper() -> None:
    large = Shared(Large(100))
    results = compute_side_by_side([Task(use, (large, n), str(n), n) for n in range(200)], CONTEXT, "using")
    assert [value for value, *_ in results] == [100 + n for n in range(200)]
    reads = {process: read for _, process, read in results}
    assert reads.pop(os.getpid()) == 0
    assert list(reads.values()) == [1]


def threshold(number: int) -> tuple[int, int]:
    time.sleep(0.02)
    return gc.get_threshold()[0], os.getpid()


def test_helpers_seldom_look_for_dead_objects_and_a_caller_as_often_as_before() -> None:
    before = gc.get_threshold()
    results = compute_side_by_side([Task(threshold, (n,), str(n), 1) for n in range(200)], CONTEXT, "asking")
    assert {number for number, process in results if process != os.getpid()} == {ALLOCATIONS}
    assert {number for number, process in results if process == os.getpid()} == {before[0]}
    assert gc.get_threshold() == before
