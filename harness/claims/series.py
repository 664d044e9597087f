"""One number a repeat, from the rows of a measurement table, with the outcome that a split drew in each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.design import SUMMARY, Series, design_of
from harness.coordinates import Place, place
from harness.inference import MeanEstimate
from harness.metrics import METRICS

OUTCOME = ("count_outcome", "count_outcomes")
"""Metrics that say which outcome a split drew in a repeat, and of how many equally likely ones."""
NUMBERS = {"value": np.float64, "stderr": np.float64, "repeat": np.int64, "n": np.int64}
LATER = "later"
"""What a table remembers of which the first repeats were left out (`harness.claims.later`)."""
RANGES = "ranges"
"""What a table of results from elsewhere remembers: the ends of the range of each metric that is not the harness'."""


@dataclass(frozen=True)
class TableFacts:
    """What a table's file says of all its numbers."""

    ranges: Mapping[str, tuple[float, float]]
    summary: bool
    """Whether a row is a mean of several repeats, with its standard error."""
    is_later: bool = False
    """Whether it has repeats from some on, which is not the same one in every cell."""

    @classmethod
    def of(cls, table: pd.DataFrame) -> TableFacts:
        ranges = {name: (low, high) for name, (low, high) in table.attrs.get(RANGES, {}).items()}
        return cls(ranges, table.attrs.get("design") == SUMMARY, bool(table.attrs.get(LATER)))

    def range_of(self, metric: str) -> tuple[float, float]:
        """Infinite where nothing is known."""
        known = METRICS.get(metric)
        return (known.low, known.high) if known else self.ranges.get(metric, (-math.inf, math.inf))


def is_of_runs(metric: str) -> bool:
    """Whether a metric is one number of several runs together."""
    return metric in METRICS and METRICS[metric].scope == "runs"


def means(
    table: pd.DataFrame, metrics: Collection[str], axes: Sequence[str] = ("epsilon",)
) -> dict[tuple[str, str, str, Place], MeanEstimate]:
    """Estimate of the mean over repeats by arm, attack, metric and place on the axes."""
    design = design_of(table)
    return {key: design.mean(series) for key, series in all_series(table, metrics, axes).items()}


def intervals_of(
    table: pd.DataFrame, metrics: Collection[str], axes: Sequence[str] = ("epsilon",)
) -> dict[tuple[str, str, str, Place], tuple[float, float, float]]:
    """Mean and both ends of its 95% confidence interval, by arm, attack, metric and place."""
    series = all_series(table, metrics, axes)
    return dict(zip(series, design_of(table).intervals(list(series.values())), strict=True))


def all_series(
    table: pd.DataFrame, metrics: Collection[str], axes: Sequence[str] = ("epsilon",)
) -> dict[tuple[str, str, str, Place], Series]:
    """The series of these metrics, one number per repeat, by arm, attack, metric and place."""
    facts, needed = TableFacts.of(table), table[table["metric"].isin([*metrics, *OUTCOME])]
    drawn = outcomes_by_arm(needed)
    return {
        key: series_of(numbers, key[2], drawn.get(key[0]), facts)
        for key, numbers in groups_of_rows(needed[needed["metric"].isin(metrics)], axes)
    }


@dataclass(frozen=True)
class Numbers:
    """Of one arm, attack, metric and place, (n,) each in the order of repeats."""

    values: Array
    errors: Array
    repeats: Array
    counts: Array | None = None
    """Of records, or of the repeats that a mean is of; None where the table does not say."""


def groups_of_rows(table: pd.DataFrame, axes: Sequence[str]) -> Iterator[tuple[tuple[str, str, str, Place], Numbers]]:
    """Numbers of a table by arm, attack, metric and place on the axes."""
    by = ["arm", "attack", "metric", *axes]
    ordered = table.sort_values("repeat", kind="stable")
    # Slices of columns cost a tenth of what frames of the groups would.
    group = ordered.groupby(by, dropna=False).ngroup().to_numpy()
    order = np.argsort(group, kind="stable")
    columns = [ordered[name].to_numpy()[order] for name in by]
    numbers = [ordered[name].to_numpy(kind)[order] for name, kind in NUMBERS.items() if name in ordered]
    for rows in np.split(np.arange(len(order)), np.flatnonzero(np.diff(group[order])) + 1) if len(order) else ():
        arm, attack, metric, *levels = (column[rows[0]] for column in columns)
        where = place((axis, v) for axis, v in zip(axes, levels, strict=True) if v == v and v is not None)
        yield (str(arm), str(attack), str(metric), where), Numbers(*(column[rows] for column in numbers))


def groups_by_outcome(table: pd.DataFrame, metric: str) -> Iterator[tuple[str, str, int, float, pd.DataFrame]]:
    """For splits that draw one of a few outcomes: arm, attack, outcome, epsilon, and the rows of the repeats that drew
    it."""
    drawn = outcomes_by_arm(table)
    chosen = table[(table["metric"] == metric) & table["arm"].isin(list(drawn))]
    for (arm, attack, epsilon), group in chosen.groupby(["arm", "attack", "epsilon"]):
        for outcome, part in group.groupby(group["repeat"].map(drawn[str(arm)][0])):
            yield str(arm), str(attack), int(str(outcome)), float(str(epsilon)), part


def means_by_outcome(
    table: pd.DataFrame, metrics: Collection[str]
) -> dict[tuple[str, str, str], dict[int, dict[float, float]]]:
    """By arm, attack and metric, the mean of each outcome at each epsilon, for splits that draw one of a few."""
    drawn = outcomes_by_arm(table)
    chosen = table[table["metric"].isin(list(metrics)) & table["arm"].isin(list(drawn))]
    averages: dict[tuple[str, str, str], dict[int, dict[float, float]]] = {}
    for (arm, attack, metric, where), numbers in groups_of_rows(chosen, ["epsilon"]) if drawn else ():
        at, of_repeat = dict(where), drawn[arm][0]
        outcomes = np.array([of_repeat.get(repeat, -1) for repeat in numbers.repeats])
        for outcome in np.unique(outcomes[outcomes >= 0]).tolist() if "epsilon" in at else ():
            mean = float(numbers.values[outcomes == outcome].mean())
            averages.setdefault((arm, attack, metric), {}).setdefault(outcome, {})[float(at["epsilon"])] = mean
    return averages


def outcomes_by_arm(table: pd.DataFrame) -> dict[str, tuple[dict[int, int], int]]:
    """By arm whose split draws one of a few outcomes: that of each repeat, and how many there are.

    Arms where the number of outcomes is not the same in every repeat are left out: their chances are not known.
    """
    drawn: dict[str, tuple[dict[int, int], int]] = {}
    chosen = table[table["metric"].isin(OUTCOME)]
    for arm, group in chosen.groupby("arm") if len(chosen) else ():
        outcome, outcomes = (
            group[group["metric"] == name].drop_duplicates("repeat").set_index("repeat")["value"] for name in OUTCOME
        )
        codes, labels = pd.factorize(outcome, sort=True)
        if outcomes.nunique() == 1 and len(labels) <= int(outcomes.iloc[0]):
            drawn[str(arm)] = dict(zip(outcome.index, codes, strict=True)), int(outcomes.iloc[0])
    return drawn


def series_of(numbers: Numbers, metric: str, drawn: tuple[dict[int, int], int] | None, facts: TableFacts) -> Series:
    """Numbers of a metric, with the range that it declares.

    `drawn`: the outcome of each repeat's split, and how many there are.
    """
    low, high = facts.range_of(metric)
    start = int(numbers.repeats[0]) if facts.is_later and not is_of_runs(metric) and len(numbers.repeats) else 0
    series = Series(numbers.values, numbers.errors, low=low, high=high, start=start)
    if facts.summary and numbers.counts is not None:
        return replace(series, repeats=int(numbers.counts[0]))
    if drawn is None:
        return series
    by_repeat, outcomes = drawn
    return replace(series, drawn=np.array([by_repeat[r] for r in numbers.repeats], dtype=np.int64), outcomes=outcomes)
