"""A measurement table by what is measured and where: built once, and shared by all looks at the table.

A table has a hundred times the curves that its claims ask for, so a curve is read when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.design import Series
from harness.claims.series import NUMBERS, OUTCOME, Numbers, TableFacts, outcomes_by_arm, series_of
from harness.coordinates import Cell, Level, Place, place
from harness.metrics.metric import derived_from

MetricKey = tuple[str, str, str]
"""Arm, attack and metric."""


@dataclass(frozen=True)
class Curve:
    """One metric of an arm under an attack, wherever it was measured."""

    series: dict[Place, Series]
    repeats_of: dict[Place, Array]
    """The repeat of each number of a series; of metrics of several runs the last run of each group of them."""

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Axes along which it was measured."""
        return tuple(axis for axis, _ in next(reversed(self.series)))

    @cached_property
    def levels(self) -> dict[str, list[Level]]:
        """Values of each axis at which it was measured."""
        known: dict[str, dict[Level, None]] = {}
        for where in self.series:
            for axis, value in where:
                known.setdefault(axis, {})[value] = None
        return {axis: list(values) for axis, values in known.items()}


class TableIndex:
    """What a measurement table has."""

    is_later = False
    """Whether the first repeats were left out, not as many in every cell."""

    def __init__(self, table: pd.DataFrame, axes: Sequence[str], cell_axes: Sequence[str]) -> None:
        """The rows of the table say on `axes` where they were measured, of which `cell_axes` are the experiment's."""
        self._axes, self._cell_axes, self._table = tuple(axes), tuple(cell_axes), table
        self._facts = TableFacts.of(table)
        self.is_later = self._facts.is_later
        outcomes = table[table["metric"].isin(OUTCOME)]
        if len(outcomes):
            outcomes = outcomes.sort_values(["arm", "attack", "metric", *axes, "repeat"])
        self._drawn = outcomes_by_arm(outcomes)
        self.repeats = int(table["repeat"].max()) + 1 if len(table) else 0
        """How many, in all."""
        self.drawn = frozenset(self._drawn)
        """Arms whose split draws one of a few outcomes."""
        self.outcomes = {arm: outcomes for arm, (_, outcomes) in self._drawn.items()}
        """By arm whose split draws one of a few outcomes: how many there are."""
        self.attacks = frozenset(table["attack"].unique()) - {""}
        """Those of which there are measurements."""
        self._rows = _RowsByCurve.of(table, self._axes)
        self._curves: dict[MetricKey, Curve | None] = {}

    def curve(self, key: MetricKey) -> Curve | None:
        """A metric's measurements; those of the metric that it follows from, where it was not measured itself; None
        where there are none."""
        if key not in self._curves:
            self._curves[key] = self._read_curve(key)
        return self._curves[key]

    def _read_curve(self, key: MetricKey) -> Curve | None:
        arm, attack, metric = key
        source, factor, summand = key, 1.0, 0.0
        if key not in self._rows.of_curve:
            derived = (
                ((arm, attack, own), factor, summand)
                for own in self._rows.metrics
                for name, factor, summand in derived_from(own)
                if name == metric and (arm, attack, own) in self._rows.of_curve
            )
            *_, (source, factor, summand) = [(None, 1.0, 0.0), *derived]
            if source is None:
                return None
        series, repeats_of = {}, {}
        for where, numbers in self._rows.places(source):
            scaled = replace(numbers, values=factor * numbers.values + summand, errors=factor * numbers.errors)
            series[where] = series_of(scaled, metric, self._drawn.get(arm), self._facts)
            repeats_of[where] = numbers.repeats
        return Curve(series, repeats_of)

    def counts(self, arm: str, name: str) -> list[Array]:
        """The values of a count of an arm, at each place."""
        curve = self.curve((arm, "", f"count_{name}"))
        return [] if curve is None else [series.values for series in curve.series.values()]

    @cached_property
    def cells(self) -> tuple[dict[Cell, float], dict[Cell, float]]:
        """The noise multiplier of each cell, and its epsilon."""
        noise: dict[Cell, float] = {}
        epsilon: dict[Cell, float] = {}
        if "noise_multiplier" in self._table:
            columns = ["arm", *dict.fromkeys([*self._cell_axes, "noise_multiplier", "epsilon"])]
            for row in self._table[columns].drop_duplicates(["arm", *self._cell_axes]).to_dict("records"):
                cell = (row["arm"], place((axis, row[axis]) for axis in self._cell_axes))
                noise[cell], epsilon[cell] = row["noise_multiplier"], row["epsilon"]
        return noise, epsilon

    @property
    def noise(self) -> dict[Cell, float]:
        """The noise multiplier of each cell."""
        return self.cells[0]

    @property
    def epsilon(self) -> dict[Cell, float]:
        """Epsilon of each cell, also where it follows from other axes."""
        return self.cells[1]

    @cached_property
    def first_repeats(self) -> dict[str, int]:
        """By arm: its first repeat, where the first ones were left out."""
        if not self.is_later:
            return {}
        facts = self._table["metric"].str.startswith("count_")
        return {str(arm): int(repeat) for arm, repeat in self._table[~facts].groupby("arm")["repeat"].min().items()}

    @cached_property
    def owner_sets(self) -> dict[str, dict[int, float]]:
        """By arm whose owner set is not of the same size in every repeat: its size in each."""
        rows = self._table[self._table["metric"] == "count_owner_set"].drop_duplicates(["arm", "repeat"])
        by_arm = {str(arm): dict(zip(of["repeat"], of["value"], strict=True)) for arm, of in rows.groupby("arm")}
        return {arm: sizes for arm, sizes in by_arm.items() if len(set(sizes.values())) > 1}

    @cached_property
    def records(self) -> dict[MetricKey, int]:
        """Fewest records, members and non-members, that a number of an attack is of; only of attacks, where it is
        known. Of a mean of runs, `n` is another number."""
        if self._facts.summary or "n" not in self._table:
            return {}
        known = self._table[(self._table["attack"] != "") & (self._table["n"] > 0)]
        fewest = known.groupby(["arm", "attack", "metric"], as_index=False)["n"].min()
        rows = zip(fewest["arm"], fewest["attack"], fewest["metric"], fewest["n"], strict=True)
        return {(arm, attack, metric): int(n) for arm, attack, metric, n in rows}


@dataclass(frozen=True)
class _RowsByCurve:
    """The rows of a table in the order of arm, attack, metric, place and repeat."""

    axes: tuple[str, ...]
    numbers: Mapping[str, Array]
    """Columns of numbers, (rows,) each."""
    levels: tuple[Array, ...]
    """Of each axis, the value at each place, (places,)."""
    starts: Array
    """The first row of each place, and the number of rows, (places + 1,)."""
    of_curve: Mapping[MetricKey, tuple[int, int]]
    """The first place of each curve, and the one after its last."""

    @classmethod
    def of(cls, table: pd.DataFrame, axes: tuple[str, ...]) -> _RowsByCurve:
        """Slices of columns cost a tenth of what frames of groups would."""
        columns = [pd.factorize(table[name], sort=True) for name in ("arm", "attack", "metric", *axes)]
        # Nothing comes last.
        codes = [np.where(code < 0, len(distinct), code) for code, distinct in columns]
        order = np.lexsort([table["repeat"].to_numpy(), *codes[::-1]])
        changed = np.zeros(max(0, len(order) - 1), dtype=bool)
        for code in codes:
            changed |= np.diff(code[order]) != 0
        starts = np.concatenate([[0], np.flatnonzero(changed) + 1, [len(order)]]).astype(np.int64)
        first = order[starts[:-1]] if len(order) else order
        # A column is of few distinct values, and to take one by one out of a column of texts is slow.
        names = [[*map(str, distinct), "nan"] for _, distinct in columns[:3]]
        of_curve: dict[MetricKey, tuple[int, int]] = {}
        for i, (arm, attack, metric) in enumerate(zip(*(code[first].tolist() for code in codes[:3]), strict=True)):
            key = names[0][arm], names[1][attack], names[2][metric]
            of_curve[key] = of_curve.get(key, (i, i))[0], i + 1
        numbers = {name: table[name].to_numpy(kind)[order] for name, kind in NUMBERS.items() if name in table}
        levels = tuple(table[name].iloc[first].to_numpy() for name in axes)
        return cls(axes, numbers, levels, starts, of_curve)

    @cached_property
    def metrics(self) -> dict[str, None]:
        """Every metric, in the order of the rows."""
        return dict.fromkeys(metric for _, _, metric in self.of_curve)

    def places(self, key: MetricKey) -> Iterator[tuple[Place, Numbers]]:
        """Where a curve was measured, with the numbers there."""
        for i in range(*self.of_curve[key]):
            rows = slice(self.starts[i], self.starts[i + 1])
            levels = zip(self.axes, (column[i] for column in self.levels), strict=True)
            where = place((axis, v) for axis, v in levels if v == v and v is not None)
            yield where, Numbers(*(column[rows] for column in self.numbers.values()))
