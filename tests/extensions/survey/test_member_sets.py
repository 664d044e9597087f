"""Member sets of a table: every value and range once, with enough rows, and without columns that say the same."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.data.dataset import Schema
from harness.data.encoding import Preprocessing, encode
from harness.data.split import Sizes
from harness.extensions.survey.member_sets import LeftOut, MemberSet, list_member_sets, range_edges

SIZES = Sizes(members=20, test=5, nonmembers=20)
SCHEMA = Schema("label", ("site",))


def table(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    site = rng.choice(["A", "B", "C"], rows, p=[0.5, 0.4, 0.1])
    return pd.DataFrame(
        {
            "site": site,
            "country": np.where(site == "A", "here", "there"),
            "age": rng.integers(20, 80, rows),
            "weight": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(70, 10, rows)),
            "label": rng.integers(0, 2, rows),
        }
    )


def member_sets(frame: pd.DataFrame, ranges: int = 4, clusters: int = 0) -> tuple[list[MemberSet], list[LeftOut]]:
    features = encode(frame, SCHEMA, Preprocessing()).features
    return list_member_sets(frame, SCHEMA, SIZES, features, ranges, clusters)


def test_values_and_ranges_divide_the_rows_that_have_one() -> None:
    frame = table()
    sets, _ = member_sets(frame)
    rows = {one.label: one.rows for one in sets}
    assert sum(n for label, n in rows.items() if label.startswith("age ")) == len(frame)
    assert sum(n for label, n in rows.items() if label.startswith("weight ")) == frame["weight"].notna().sum()
    assert {label for label in rows if label.startswith("site")} == {"site = A", "site = B", "site = C"}
    assert rows["site = A"] == (frame["site"] == "A").sum()


def test_dates_are_cut_into_spans_of_time() -> None:
    days = pd.date_range("2020-01-01", periods=400, freq="D")
    frame = table().assign(admitted=(days - pd.Timestamp("1970-01-01")).days)
    features = encode(frame, SCHEMA, Preprocessing()).features
    sets, _ = list_member_sets(frame, SCHEMA, SIZES, features, 2, 0, ("admitted",))
    assert {one.label: one.rows for one in sets if one.label.startswith("admitted")} == {
        "admitted before 2020-07-18": 199,
        "admitted 2020-07-18 and later": 201,
    }
    (late,) = (one for one in sets if one.label == "admitted 2020-07-18 and later")
    assert dict(late.split) == {"kind": "range", "attribute": "admitted", "low": 18461.0}
    assert late.name == "admitted-2020-07-18-and-later"


def test_names_are_an_arms_and_no_two_are_the_same() -> None:
    frame = table().rename(columns={"site": "Sité / no. 1"})
    frame["label"] = frame["label"].astype(int)
    features = encode(frame, Schema("label", ()), Preprocessing()).features
    sets, _ = list_member_sets(frame, Schema("label", ()), SIZES, features, 4, 3)
    names = [one.name for one in sets]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) for name in names)


def test_a_column_that_says_who_is_a_member_is_removed_and_another_is_not() -> None:
    sets, _ = member_sets(table())
    proxies = {one.label: one.split.get("proxy_columns") for one in sets}
    assert proxies["site = A"] == ["country"], "country says whether the site is A"
    assert proxies["site = B"] is None, "country says that it is not A, and not which of the others"


def test_of_two_sets_with_the_same_rows_the_first_is_kept() -> None:
    sets, left = member_sets(table())
    assert "country = here" not in {one.label for one in sets}
    assert LeftOut("country = here", "the same rows as site = A") in left


def test_too_few_rows_inside_or_outside_are_left_out_with_their_number() -> None:
    frame = table()
    frame.loc[:9, "site"] = "D"
    frame["mostly"] = np.where(np.arange(len(frame)) < 5, "no", "yes")
    _, left = member_sets(frame)
    why = {one.label: one.why for one in left}
    assert why["site = D"] == "10 rows, 25 are needed"
    assert why["mostly = yes"] == "5 rows outside of it, 20 are needed"


def test_clusters_are_numbered_by_size() -> None:
    sets, _ = member_sets(table(), clusters=3)
    sizes = [one.rows for one in sets if one.label.startswith("cluster")]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == 400


def test_a_table_whose_columns_all_say_the_same_leaves_no_feature() -> None:
    half = np.arange(100) % 2 == 0
    frame = pd.DataFrame({"site": np.where(half, "A", "B"), "twin": np.where(half, "x", "y"), "label": 1 * ~half})
    sets, left = member_sets(frame)
    assert sets == []
    assert left[0] == LeftOut("site = A", "every other column says the same, so no feature is left")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(2, 6))
def test_edges_cut_numbers_into_ranges_none_of_which_is_empty(values: list[int], ranges: int) -> None:
    numbers = np.array(values, float)
    edges = range_edges(numbers, ranges)
    assert edges == sorted(set(edges))
    assert len(edges) < ranges
    counts = np.histogram(numbers, [-np.inf, *edges, np.inf])[0]
    assert (counts > 0).all()
    assert len(edges) > 0 or len(set(values)) == 1


def test_even_numbers_are_cut_into_quarters() -> None:
    assert range_edges(np.arange(100.0), 4) == pytest.approx([24, 49, 74])
