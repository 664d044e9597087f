"""A measurement table by what is measured and where: built once, and shared by all views of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from harness.arrays import Array
from harness.claims.design import Series
from harness.claims.series import OUTCOME, TableFacts, groups_of_rows, outcomes_by_arm, series_of
from harness.coordinates import Cell, Level, Place, place
from harness.metrics.metric import derived_from

MetricKey = tuple[str, str, str]
"""Arm, attack and metric."""


@dataclass(frozen=True)
class TableIndex:
    """What a measurement table has."""

    repeats: int
    """How many, in all."""
    attacks: frozenset[str]
    """Those of which there are measurements."""
    series: dict[tuple[str, str, str, Place], Series]
    """By arm, attack, metric and place."""
    repeats_of: dict[tuple[str, str, str, Place], Array]
    """The repeat of each number of a series; of metrics of several runs the last run of each group of them."""
    varies: dict[MetricKey, tuple[str, ...]]
    """Axes along which it was measured."""
    levels: dict[MetricKey, dict[str, dict[Level, None]]]
    """Values of each axis at which it was measured."""
    noise: dict[Cell, float]
    """The noise multiplier of each cell."""
    epsilon: dict[Cell, float]
    owner_sets: dict[str, dict[int, float]]
    """By arm whose owner set is not of the same size in every repeat: its size in each."""
    records: dict[MetricKey, int]
    """Fewest records, members and non-members, that a number of an attack is of; only of attacks, where it is known."""
    drawn: frozenset[str]
    """Arms whose split draws one of a few outcomes."""


def index_table(table: pd.DataFrame, axes: Sequence[str], cell_axes: Sequence[str]) -> TableIndex:
    """Index a table whose rows say on `axes` where they were measured, of which `cell_axes` are the experiment's."""
    outcomes = table[table["metric"].isin(OUTCOME)]
    outcomes_of_repeats = outcomes_by_arm(outcomes.sort_values(["arm", "attack", "metric", *axes, "repeat"]))
    series: dict[tuple[str, str, str, Place], Series] = {}
    repeats_of: dict[tuple[str, str, str, Place], Array] = {}
    varies: dict[MetricKey, tuple[str, ...]] = {}
    levels: dict[MetricKey, dict[str, dict[Level, None]]] = {}
    derived = {metric: derived_from(metric) for metric in table["metric"].unique()}
    distinct = table[["arm", "attack", "metric"]].drop_duplicates()  # a row at a time, strings are slow to read
    measured = set(distinct.itertuples(index=False, name=None))
    facts = TableFacts.of(table)
    for (arm, attack, own, where), numbers in groups_of_rows(table, axes):
        for metric, factor, summand in ((own, 1.0, 0.0), *derived[own]):
            if metric != own and (arm, attack, metric) in measured:
                continue
            key = arm, attack, metric, where
            scaled = replace(numbers, values=factor * numbers.values + summand, errors=factor * numbers.errors)
            series[key] = series_of(scaled, metric, outcomes_of_repeats.get(arm), facts)
            repeats_of[key] = numbers.repeats
            varies[arm, attack, metric] = tuple(axis for axis, _ in where)
            known = levels.setdefault((arm, attack, metric), {})
            for axis, value in where:
                known.setdefault(axis, {})[value] = None
    noise: dict[Cell, float] = {}
    epsilon: dict[Cell, float] = {}
    if "noise_multiplier" in table:
        for row in table.drop_duplicates(["arm", *cell_axes]).to_dict("records"):
            cell = (row["arm"], place((axis, row[axis]) for axis in cell_axes))
            noise[cell], epsilon[cell] = row["noise_multiplier"], row["epsilon"]
    return TableIndex(
        int(table["repeat"].max()) + 1 if len(table) else 0,
        frozenset(table["attack"].unique()) - {""},
        series,
        repeats_of,
        varies,
        levels,
        noise,
        epsilon,
        _owner_sets(table),
        {} if facts.summary else _fewest_records(table),
        frozenset(outcomes_of_repeats),
    )


def _fewest_records(table: pd.DataFrame) -> dict[MetricKey, int]:
    """Of a table that has single runs: `n` of a mean is another number."""
    if "n" not in table:
        return {}
    known = table[(table["attack"] != "") & (table["n"] > 0)]
    fewest = known.groupby(["arm", "attack", "metric"], as_index=False)["n"].min()
    rows = zip(fewest["arm"], fewest["attack"], fewest["metric"], fewest["n"], strict=True)
    return {(arm, attack, metric): int(n) for arm, attack, metric, n in rows}


def _owner_sets(table: pd.DataFrame) -> dict[str, dict[int, float]]:
    rows = table[table["metric"] == "count_owner_set"].drop_duplicates(["arm", "repeat"])
    by_arm = {str(arm): dict(zip(of["repeat"], of["value"], strict=True)) for arm, of in rows.groupby("arm")}
    return {arm: sizes for arm, sizes in by_arm.items() if len(set(sizes.values())) > 1}
