"""A measurement table as claims see it: series over repeats, their means and differences by the design."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.arm_facts import ArmFacts
from harness.claims.design import Design, Fixed, Series
from harness.claims.operands import Chosen, FormulaValue, MetricSeries
from harness.claims.series import is_of_runs
from harness.claims.table_index import index_table
from harness.coordinates import Cell, Level, Place, Where, order_levels, place
from harness.coordinates import text as place_text
from harness.errors import HarnessError
from harness.formulas import formula_named
from harness.inference import MeanEstimate
from harness.metrics import METRICS


class NoneChosen(HarnessError):
    """A metric meets its bound at no place of an axis, so no place can be chosen."""


class Measurements:
    """A measurement table, indexed for claims."""

    def __init__(
        self,
        table: pd.DataFrame,
        arms: Mapping[str, ArmFacts],
        design: Design | None = None,
        axes: Sequence[str] = ("epsilon",),
        cell_axes: Sequence[str] = ("epsilon",),
    ) -> None:
        """
        Args:
            axes: columns that say where on its axes a row was measured.
            cell_axes: those of them that are the experiment's; the others are an attack's.
        """
        self.design = design or Fixed()
        self.axes, self.cell_axes = tuple(axes), tuple(cell_axes)
        self._arms = arms
        self._index = index_table(table, self.axes, self.cell_axes)
        self.attacks = self._index.attacks
        """Those of which there are measurements."""
        self.repeats = self._index.repeats
        self.first_repeats: int | None = None
        self._owner_set: tuple[str, float] | None = None

    def lower_metric(self, curve: MetricSeries) -> MetricSeries | None:
        """The series of the metric that is on average not too high, where the curve's own is on average not too low;
        else None."""
        if curve.metric not in METRICS:
            return None
        measured = (m for m in METRICS[curve.metric].never_above if (curve.arm, curve.attack, m) in self._index.varies)
        return next((replace(curve, metric=metric) for metric in measured), None)

    def test(self, curves: Sequence[MetricSeries]) -> str:
        """How means of these series are tested, in words."""
        return self.design.test + (self.design.test_drawn if any(c.arm in self._index.drawn for c in curves) else "")

    def take_first(self, n: int) -> Measurements:
        """The measurements of the first `n` repeats of every cell."""
        part = copy.copy(self)
        part.first_repeats = n
        return part

    def owner_sets(self, arm: str) -> list[float]:
        """Sizes of the owner sets that an arm's split draws, in the order of the repeats; empty where all are of one
        size."""
        sizes = self._index.owner_sets.get(arm, {})
        seen = (sizes[repeat] for repeat in sorted(sizes) if self.first_repeats is None or repeat < self.first_repeats)
        return list(dict.fromkeys(seen))

    def of_owner_set(self, arm: str, size: float) -> Measurements:
        """The measurements without those repeats of an arm whose owner set is of another size."""
        part = copy.copy(self)
        part._owner_set = (arm, size)
        return part

    def with_design(self, design: Design) -> Measurements:
        """The measurements, tested by another design."""
        part = copy.copy(self)
        part.design = design
        return part

    def without_intervals(self) -> Measurements:
        """The measurements, tested without intervals: for decisions that are not shown."""
        return self.with_design(self.design.without_intervals())

    def arm(self, name: str) -> ArmFacts:
        """The facts that are known of an arm."""
        return self._arms[name]

    def axes_of(self, curve: MetricSeries) -> tuple[str, ...]:
        """Axes along which the curve varies: those of its measurements that it neither fixes nor averages over.

        Raises HarnessError where there are no measurements of it.
        """
        return tuple(axis for axis in self.axes if axis in self._varying_axes(curve) and axis not in curve.closed_axes)

    def _varying_axes(self, curve: MetricSeries) -> tuple[str, ...]:
        varying = self._index.varies.get((curve.arm, curve.attack, curve.metric))
        if varying is None:
            raise HarnessError(f"no measurements of {curve.text()}; run the spec again")
        return varying

    def levels(self, curve: MetricSeries, axis: str) -> list[Level]:
        """Values of an axis at which the curve was measured, in order."""
        self._varying_axes(curve)
        return order_levels(self._index.levels[curve.arm, curve.attack, curve.metric].get(axis, ()))

    def grid(
        self, curves: Sequence[MetricSeries], at: Mapping[str, Sequence[Level]] | None = None
    ) -> list[dict[str, Level]]:
        """Places at which all of the curves that vary there were measured, among `at`.

        Where `at` says nothing of an axis: all its values, of epsilon the finite ones.
        """
        axes = [axis for axis in self.axes if any(axis in self.axes_of(curve) for curve in curves)]
        axes.sort(key=lambda axis: axis == "epsilon")
        return [dict(zip(axes, chosen, strict=True)) for chosen in product(*self.choices_along(axes, curves, at))]

    def choices_along(
        self, axes: Sequence[str], curves: Sequence[MetricSeries], at: Mapping[str, Sequence[Level]] | None
    ) -> list[list[Level]]:
        """Of each axis, the values that all of the curves that vary along it have, among `at`."""
        choices = []
        for axis in axes:
            sets = [self.levels(curve, axis) for curve in curves if axis in self.axes_of(curve)]
            common = [v for v in sets[0] if all(v in other for other in sets[1:])]
            asked = (at or {}).get(axis)
            if asked is not None:
                common = [v for v in common if v in asked]
            elif axis == "epsilon":
                common = [v for v in common if math.isfinite(float(v))]
            choices.append(common)
        return choices

    def unmeasured_axes(self, curves: Sequence[MetricSeries]) -> list[str]:
        """Axes that curves fix at values that were not measured, in words."""
        unmeasured = []
        for curve in curves:
            for axis, value in curve.at:
                if axis in self._varying_axes(curve) and value not in self.levels(curve, axis):
                    unmeasured.append(place_text({axis: value}))
        return sorted(set(unmeasured))

    def nonmembers(self, arm: str, attack: str, metric: str) -> int | None:
        """Fewest non-members that a run of an attack has; None where it is not known."""
        n, share = self._index.records.get((arm, attack, metric)), self.arm(arm).nonmember_share
        return None if n is None or share is None else round(n * share)

    def epsilon_as_trained(self, curve: MetricSeries, where: Where, replace: bool) -> tuple[float, float] | None:
        """What a nominal epsilon's noise gives for the batches that were trained on, from below and from above; None:
        the nominal one."""
        cell = self.cell(curve, where)
        if cell not in self._index.noise:
            return None
        return self.arm(curve.arm).epsilon_as_trained(self._index.noise[cell], cell[1], replace)

    def cell(self, curve: MetricSeries, where: Where) -> Cell:
        """The cell that a curve's value at a place is measured on."""
        at = {**where, **dict(curve.at)}
        return curve.arm, place((axis, at[axis]) for axis in self.cell_axes if axis in at)

    def cells(self, curves: Sequence[MetricSeries], where: Where) -> frozenset[Cell]:
        """The cells that curves' values at a place are measured on; with the baseline's, for metrics relative to it."""
        cells: set[Cell] = set()
        for curve in curves:
            for point in self._places(curve, where):
                cells |= self._cells_with_baseline(self.cell(curve, point), curve.metric, curve.minus)
                if curve.chosen is not None and curve.chosen.repeats is None:
                    chooser = replace(curve, arm=curve.chosen.arm or curve.arm)
                    cells |= self._cells_with_baseline(self.cell(chooser, point), curve.chosen.metric)
        return frozenset(cells)

    @staticmethod
    def _cells_with_baseline(cell: Cell, *metrics: str | None) -> set[Cell]:
        """A cell, and the one without noise where a metric is relative to that."""
        if any(m in METRICS and METRICS[m].scope == "baseline" for m in metrics):
            return {cell, (cell[0], place({**dict(cell[1]), "epsilon": math.inf}))}
        return {cell}

    def series(self, curve: MetricSeries, where: Where) -> Series:
        """One number a repeat. Raises HarnessError where there are none."""
        if curve.chosen is not None:
            return self._chosen_series(curve, curve.chosen, where).scale(curve.times)
        parts = [self._series_at(curve, point) for point in self._places(curve, where)]
        total = parts[0]
        for other in parts[1:]:
            total = total.add(other)
        return total.scale(curve.times / len(parts))

    def _places(self, curve: MetricSeries, where: Where) -> list[dict[str, Level]]:
        """The places that a curve's value at a place is taken from: itself, or those averaged over or chosen from."""
        axes = {axis: self.levels(curve, axis) for axis in curve.mean_over}
        if (chosen := curve.chosen) is not None:
            axes[chosen.axis] = levels = self._candidates(curve, chosen)
            if chosen.repeats is not None:
                axes[chosen.axis] = [levels[self._choice(curve, chosen, where)[0]]]
        return [{**where, **dict(zip(axes, one, strict=True))} for one in product(*axes.values())]

    def choices(self, curve: MetricSeries, where: Where) -> dict[float, int]:
        """By value of the axis on which a curve's place is chosen: the number of repeats that choose it."""
        assert curve.chosen is not None
        levels = self._candidates(curve, curve.chosen)
        counts = np.bincount(self._choice(curve, curve.chosen, where), minlength=len(levels))
        return {float(level): int(count) for level, count in zip(levels, counts, strict=True) if count}

    def _candidates(self, curve: MetricSeries, chosen: Chosen) -> list[Level]:
        """Values of an axis to choose from, in order; of epsilon the finite ones, since without noise nothing is lost
        and nothing private."""
        levels = self.levels(curve, chosen.axis)
        return [v for v in levels if math.isfinite(float(v))] if chosen.axis == "epsilon" else levels

    def _choice(self, curve: MetricSeries, chosen: Chosen, where: Where) -> Array:
        """Index of the value of the axis that is chosen in each repeat, (n,) int: the least one at which the metric
        meets its bound.

        With `chosen.repeats` one choice, by the mean over these repeats, holds for all. Raises NoneChosen where no
        value does.
        """
        fixed = tuple((axis, value) for axis, value in curve.at if axis in self.cell_axes)
        chooser = MetricSeries(chosen.metric, chosen.arm or curve.arm, at=fixed)
        levels = self._candidates(curve, chosen)
        places = [{**where, chosen.axis: level} for level in levels]
        source = self if chosen.repeats is None else self.take_first(chosen.repeats)
        series = [source._single_series(chooser, chosen.metric, point).values for point in places]
        measured = np.stack([values[: min(map(len, series))] for values in series])
        if chosen.repeats is not None:
            measured = np.repeat(measured.mean(axis=1, keepdims=True), measured.shape[1], axis=1)
        holds = chosen.admissible_mask(measured)
        if not holds.any(axis=0).all():
            best = measured[:, ~holds.any(axis=0)].mean(axis=1)
            nearest = best.argmin() if chosen.at_most is not None else best.argmax()
            raise NoneChosen(
                f"no {chosen.axis} can be chosen: {chooser.text()} is {chosen.bound} at none of "
                f"{', '.join(f'{level:g}' for level in levels)} (nearest: {best[nearest]:.3g} at {levels[nearest]:g})"
            )
        first: Array = holds.argmax(axis=0)
        return first

    def _chosen_series(self, curve: MetricSeries, chosen: Chosen, where: Where) -> Series:
        """The series whose value in each repeat is taken at the place that is chosen there."""
        first, open_ = self._choice(curve, chosen, where), replace(curve, chosen=None, times=1.0)
        if chosen.repeats is not None:
            return self.series(open_, self._places(curve, where)[0])
        values = [self.series(open_, {**where, chosen.axis: level}) for level in self._candidates(curve, chosen)]
        repeats = np.arange(n := min(len(first), *(len(series.values) for series in values)))
        return replace(
            values[0].take_first(n),
            values=np.stack([series.values[:n] for series in values])[first[:n], repeats],
            errors=np.stack([series.errors[:n] for series in values])[first[:n], repeats],
            low=min(series.low for series in values),
            high=max(series.high for series in values),
        )

    def _series_at(self, curve: MetricSeries, where: Where) -> Series:
        series = self._single_series(curve, curve.metric, where)
        if curve.minus is not None:
            series = series.subtract(self._single_series(curve, curve.minus, where))
        return series

    def _key(self, curve: MetricSeries, metric: str, where: Where) -> tuple[str, str, str, Place]:
        at = {**where, **dict(curve.at)}
        axes = self._index.varies.get((curve.arm, curve.attack, metric), ())
        return curve.arm, curve.attack, metric, place((axis, at[axis]) for axis in axes if axis in at)

    def _single_series(self, curve: MetricSeries, metric: str, where: Where) -> Series:
        key = self._key(curve, metric, where)
        if key not in self._index.series:
            raise HarnessError(f"no measurements of {curve.text()} at {place_text(where)}; run the spec again")
        first = self.first_repeats
        if first is not None and is_of_runs(metric):
            first = int((self._index.repeats_of[key] < first).sum())
        series = self._index.series[key].take_first(first)
        if self._owner_set is None or self._owner_set[0] != curve.arm:
            return series
        sizes, repeats = self._index.owner_sets[curve.arm], self._index.repeats_of[key][: len(series.values)]
        return series.of(np.array([sizes[repeat] == self._owner_set[1] for repeat in repeats], dtype=bool))

    def mean(self, curve: MetricSeries, where: Where) -> MeanEstimate:
        """Mean over repeats of a curve's value at a place."""
        if is_of_runs(curve.metric):
            return self.design.of_records([self.series(curve, where)], self._runs_in_group([curve], where))
        return self.design.mean(self.series(curve, where))

    def _runs_in_group(self, curves: Sequence[MetricSeries], where: Where) -> int:
        """Number of runs that a metric of several runs is of."""
        if self.design.name == "fixed":
            return self.repeats
        ends = [self._index.repeats_of[self._key(curve, curve.metric, where)][:1] for curve in curves]
        return min(int(end[0]) + 1 for end in ends)

    def gap(self, left: MetricSeries, right: MetricSeries, where: Where) -> MeanEstimate:
        """Estimate of left - right: paired by repeat where both have the same records, of independent models
        otherwise."""
        sides = [self.series(curve, where) for curve in (left, right)]
        kinds = {is_of_runs(curve.metric) for curve in (left, right)}
        if kinds == {True}:
            return self.design.of_records(sides, self._runs_in_group([left, right], where))
        if True in kinds:
            raise HarnessError(
                f"{left.text()}: a number that all runs give together can only be compared with a number "
                "or with another such one"
            )
        return self.gap_of(left.arm, right.arm, *sides)

    def gap_of(self, left_arm: str, right_arm: str, left: Series, right: Series) -> MeanEstimate:
        """Estimate of left - right from series of two arms."""
        same = left_arm == right_arm or self.arm(left_arm).draws == self.arm(right_arm).draws != ""
        return self.design.mean_within_arm(left, right) if same else self.design.mean_between_arms(left, right)

    def noise(self, arm: str, epsilon: float) -> float:
        """The noise multiplier of an arm at epsilon; infinite where it is not known."""
        return self._index.noise.get((arm, place({"epsilon": epsilon})), math.inf)

    def coordinates(self, curve: MetricSeries, where: Where) -> dict[str, float]:
        """What a formula's parameters may be at a place: epsilon, delta, prior, the metric's FPR, numeric axes."""
        facts, at = self.arm(curve.arm), {**where, **dict(curve.at)}
        numeric = {name: float(v) for name, v in at.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        cell = self.cell(curve, where)
        if cell in self._index.epsilon:  # an epsilon that follows from other axes
            numeric.setdefault("epsilon", self._index.epsilon[cell])
        fixed = METRICS[curve.metric].coordinates if curve.metric in METRICS else {}
        of_arm = {"delta": facts.delta, "prior": facts.prior}
        known = {name: value for name, value in of_arm.items() if value is not None}
        return {**known, **facts.at.get(cell[1], {}), **fixed, **numeric}

    def formula(self, right: FormulaValue, curve: MetricSeries, where: Where, **instead: float) -> float:
        """A formula's value for what a curve measures at a place; `instead` replaces coordinates."""
        value = formula_named(right.formula).value({**self.coordinates(curve, where), **instead, **right.given})
        return value if right.times == 1 else right.times * value

    def counts(self, arm: str, name: str) -> Array:
        """The distinct values of a count over repeats, sorted. Raises HarnessError for an unknown count."""
        counts = [group.values for k, group in self._index.series.items() if k[:3] == (arm, "", f"count_{name}")]
        if not counts:
            raise HarnessError(f"arm {arm!r} counts no {name!r}")
        return np.asarray(np.unique(np.concatenate(counts)))
