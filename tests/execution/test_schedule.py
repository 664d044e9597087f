"""What is computed next: what unlocks other work first, and what may be wanted later where workers would wait."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from harness.errors import HarnessError
from harness.execution.executor import WorkerPool, run_pieces
from harness.execution.plan import Piece, StackKey
from harness.execution.planner import make_plan
from harness.execution.schedule import Schedule
from harness.execution.store import Store
from harness.paths import Project
from harness.progress import Progress
from harness.spec.load import load_specs
from tests.conftest import SMALL_SPEC

Make = Callable[..., Project]


def piece(name: str, *needs: Piece, stack: StackKey | None = None) -> Piece:
    return Piece("train", {"name": name}, needs, stack=stack)


def names(task: tuple[Piece, ...] | None) -> list[str]:
    return [p.description["name"] for p in task or ()]


def test_what_has_been_waited_for_goes_before_the_rest() -> None:
    shadow, others = piece("shadow"), [piece(f"other {i}") for i in range(3)]
    fit = piece("fit", shadow)
    schedule = Schedule([shadow, *others, fit])
    assert names(schedule.take(2)) == ["shadow"]
    assert names(schedule.take(2)) == ["other 0"]
    assert schedule.finish(shadow.key) is shadow
    assert names(schedule.take(2)) == ["fit"]
    assert names(schedule.take(2)) == ["other 1"]


def test_what_may_be_wanted_later_is_handed_out_only_when_asked_for() -> None:
    asked, later = piece("asked"), piece("later")
    after = piece("after", asked, later)
    schedule = Schedule([asked], [asked, later, after])
    assert names(schedule.take(1)) == ["asked"]
    assert schedule.take(1) is None
    assert names(schedule.take(1, ahead=True)) == ["later"]
    assert schedule.finish(later.key) is None, "nobody asked for it"
    assert schedule.take(1, ahead=True) is None, "`after` needs what is not finished yet"
    assert schedule.finish(asked.key) is asked
    assert not schedule.wanted
    assert names(schedule.take(1, ahead=True)) == ["after"]


def test_what_is_being_computed_is_not_handed_out_again_and_comes_back_where_its_worker_died() -> None:
    running, other = piece("running"), piece("other")
    schedule = Schedule([running, other], busy={running.key})
    assert names(schedule.take(1)) == ["other"]
    assert schedule.take(1) is None
    schedule.give_back([(running,)])
    assert names(schedule.take(1)) == ["running"]
    assert schedule.finish(piece("of an earlier call").key) is None


def test_a_stack_is_of_pieces_that_are_wanted_alike() -> None:
    stack = StackKey("alike", 8)
    asked, later = ([piece(f"{what} {i}", stack=stack) for i in range(3)] for what in ("asked", "later"))
    schedule = Schedule(asked, later)
    assert names(schedule.take(1)) == ["asked 0", "asked 1", "asked 2"]
    assert names(schedule.take(2, ahead=True)) == ["later 0", "later 1"]


def test_workers_that_would_wait_begin_with_the_next_round(make_project: Make) -> None:
    """What was begun early is found, counted once, and the same as what one process makes in turn, which waits for
    nobody and begins nothing early."""
    made = []
    for workers in (1, 2):
        project = make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 60"), where=f"with-{workers}")
        pieces = [p for p in make_plan(project, load_specs(project, [])[0].spec).pieces() if p.kind == "split"]
        first = pieces[:1]
        with WorkerPool(project, workers, Progress(quiet=True)) as worker_pool:
            one = run_pieces(worker_pool, first, "one", pieces)
            assert bool(worker_pool.start().running_batches) == (workers > 1)
            both = one.join(run_pieces(worker_pool, pieces, "two"))
        assert (both.computed, both.reused) == (len(pieces), 0)
        assert sum(both.by_kind.values()) == pytest.approx(both.core_seconds)
        made.append([Store(project.store).get(p.kind, p.key).digest for p in pieces])
    assert made[0] == made[1]


def test_a_fault_in_what_nobody_asked_for_stops_nothing_until_it_is_asked_for(make_project: Make) -> None:
    project = make_project()
    pieces = make_plan(project, load_specs(project, [])[0].spec).pieces()
    split, model = (next(p for p in pieces if p.kind == kind) for kind in ("split", "train"))
    steep = model.settings["training"].model_copy(update={"learning_rate": 1e38})
    diverging = dataclasses.replace(
        model,
        description={**model.description, "training": steep.content()},
        settings={**model.settings, "training": steep},
    )
    others = [p for p in pieces if p.kind in ("split", "train")]
    with WorkerPool(project, 2, Progress(quiet=True)) as worker_pool:
        run_pieces(worker_pool, [split], "one", [diverging])
        assert any(diverging in task for task in worker_pool.start().running_batches)
        assert run_pieces(worker_pool, others, "two").computed == len(others) - 1, "all but the split, which is there"
        with pytest.raises(HarnessError, match="diverged"):
            run_pieces(worker_pool, [diverging], "three")
