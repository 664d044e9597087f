"""Runs that fall into two groups are said to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.single_runs import RUNS, SingleRuns


def groups(values: list[float]) -> str:
    return SingleRuns("the advantage", tuple(values)).groups


def test_two_groups_far_apart_are_told_with_their_sizes_and_ends() -> None:
    said = groups([0.5 + 0.01 * i for i in range(6)] + [0.9 + 0.005 * i for i in range(18)])
    assert said == (
        "The runs fall into two groups: 6 of 24 from 0.5 to 0.55, 18 from 0.9 to 0.985, and none between; "
        "a mean describes neither."
    )


@pytest.mark.parametrize(
    "values",
    [
        [0.5] * 30,
        [0.1 * i for i in range(30)],
        [0.5] * 4 + [0.9] * 30,  # too few in one of them
        [0.5] * 6 + [0.9] * 60,  # less than a tenth
        [0.5] * 5 + [0.9] * 5,  # too few runs
        [],
    ],
)
def test_other_runs_are_one_group(values: list[float]) -> None:
    assert groups(values) == ""


@given(st.lists(st.floats(0, 1), min_size=RUNS, max_size=40))
def test_what_is_said_counts_every_run_once(values: list[float]) -> None:
    said = groups(values)
    if said:
        first, second = (
            int(word) for word in (said.split("groups: ")[1].split(" of ")[0], said.split(", ")[1].split()[0])
        )
        assert first + second == len(values)
        assert min(first, second) >= 5
