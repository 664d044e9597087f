"""Which values of a table are named: those that enough rows share; and cuts that are nobody's number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.data.disclosure import round_edge, rows_of, withhold_of_former, withhold_values
from harness.data.steps import Step
from harness.report.preparation import describe_steps

TABLE = pd.DataFrame(
    {
        "diag": ["flu"] * 40 + ["hiv"] * 2 + ["cold"] * 58,
        "city": ["Bonn"] * 50 + ["Bonn, old"] + ["Ulm"] * 49,
        "code": [7] * 30 + [8] * 70,
        "y": [1.0] * 3 + [2.0] * 97,
    }
)


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        (Step("trimmed", "diag", 1, "flu"), "flu"),
        (Step("trimmed", "diag", 1, "hiv"), ""),
        (Step("normalised", "diag", 12, "hiv"), ""),
        (Step("merged", "diag", 2, "flu, cold"), "flu, cold"),
        (Step("merged", "diag", 2, "flu, hiv"), ""),
        (Step("merged", "diag", 5, "flu, cold, hiv and 2 more"), ""),
        (Step("merged", "city", 1, "Bonn"), ""),
        (Step("leading zeros", "code", 20, "007"), "007"),
        (Step("leading zeros", "code", 2, "007"), ""),
        (Step("nearly unique", "diag", 70, "hiv"), ""),
        (Step("filled", "diag", 3, "the mode, flu"), "the mode, flu"),
        (Step("filled", "diag", 3, "the mode, hiv"), ""),
        (Step("filled", "code", 3, "the mean, 7.7"), "the mean, 7.7"),
        (Step("filled", "code", 95, "the mean, 7.7"), ""),
        (Step("filled", "diag", 3, "a category of its own, missing"), "a category of its own, missing"),
        (Step("nearly constant", "code", 2), "fewer than 10"),
        (Step("nearly constant", "code", 10), ""),
        (Step("renamed", "diag", 1, "' diag'"), "' diag'"),
        (Step("scaled", "", 3, "standard"), "standard"),
        (Step("lost class", "y", 1, "2.0"), "2.0"),
    ],
)
def test_a_value_is_named_where_enough_rows_share_it(step: Step, kept: str) -> None:
    (made,) = withhold_values([step], TABLE, 10)
    assert made.detail == kept
    assert withhold_values([step], TABLE, 1) == (step,)
    (line,) = describe_steps("mine.csv", [made]).lines
    assert "hiv" not in line
    assert "()" not in line


def test_classes_that_few_records_have_are_one_step_with_their_number() -> None:
    steps = [Step("rare class", "y", 1, name) for name in ("a", "b", "c")] + [Step("lost class", "y", 1, "1.0")]
    assert withhold_values(steps, TABLE, 10) == (Step("rare class", "y", 3), Step("lost class", "y", 1))
    assert describe_steps("mine.csv", withhold_values(steps, TABLE, 10)).lines == (
        "classes of one record: 3 of y",
        "classes without a complete row: 1 of y",
    )


def test_steps_of_a_former_table_lose_what_one_record_has() -> None:
    steps = [
        Step("rare class", "y", 1, "a"),
        Step("nearly unique", "note", 90, "Jane"),
        Step("scaled", "", 2, "standard"),
    ]
    kept = withhold_of_former(steps, 10)
    assert "Jane" not in str(kept)
    assert Step("rare class", "y", 1) in kept
    assert Step("scaled", "", 2, "standard") in kept
    assert withhold_of_former(steps, 1) == tuple(steps)


def test_rows_are_counted_by_text_and_by_number() -> None:
    assert (rows_of(TABLE, "diag", "hiv"), rows_of(TABLE, "code", "007"), rows_of(TABLE, "y", "1")) == (2, 30, 3)


@given(st.lists(st.floats(-1e6, 1e6), min_size=60, max_size=200), st.integers(20, 40), st.integers(2, 10))
def test_a_cut_stays_between_its_neighbours(values: list[float], place: int, least: int) -> None:
    """As many rows as are asked for, less the one, move to the other side of a cut at most."""
    ordered = np.sort(np.array(values))
    edge = float(ordered[place])
    cut = round_edge(ordered, edge, least)
    same = int((ordered == edge).sum())
    if same >= least:
        assert cut == edge
    else:
        moved = abs(int((ordered < cut).sum()) - int((ordered < edge).sum()))
        assert moved <= least + same
    assert round_edge(ordered, edge, 1) == edge


def test_a_cut_of_single_numbers_is_none_of_them() -> None:
    incomes = np.sort(np.round(np.random.default_rng(3).lognormal(8, 1, 400), 2))
    for place in (100, 200, 300):
        assert round_edge(incomes, float(incomes[place]), 10) not in incomes
    ages = np.sort(np.repeat(np.arange(20, 60), 10))
    assert round_edge(ages, 30.0, 10) == 30.0, "ten rows have it"
