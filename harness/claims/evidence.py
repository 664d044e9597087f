"""A measurement table as claims see it: what was measured, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.arm_facts import ArmFacts
from harness.claims.design import Design, Fixed
from harness.claims.operands import FormulaValue, MetricSeries
from harness.claims.table_index import Curve, TableIndex
from harness.coordinates import Cell, Level, Where, order_levels, place
from harness.coordinates import text as place_text
from harness.errors import HarnessError
from harness.formulas import formula_named
from harness.metrics import METRICS


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
        self.index = TableIndex(table, self.axes, self.cell_axes)
        self.attacks = self.index.attacks
        """Those of which there are measurements."""
        self.repeats = self.index.repeats

    def with_index(self, index: TableIndex, design: Design) -> Measurements:
        """The same of another index and design, such as those of a control."""
        other = copy(self)
        other.index, other.repeats, other.design = index, index.repeats, design
        return other

    def lower_metric(self, curve: MetricSeries) -> MetricSeries | None:
        """The series of the metric that is on average not too high, where the curve's own is on average not too low;
        else None."""
        if curve.metric not in METRICS:
            return None
        lower = METRICS[curve.metric].never_above
        measured = (m for m in lower if self.index.curve((curve.arm, curve.attack, m)) is not None)
        return next((replace(curve, metric=metric) for metric in measured), None)

    def draws_outcomes(self, curves: Sequence[MetricSeries]) -> bool:
        """Whether the split of one of these curves' arms draws one of a few outcomes."""
        return any(curve.arm in self.index.drawn for curve in curves)

    def draw_alike(self, left: str, right: str) -> bool:
        """Whether two arms have the same records in each repeat."""
        return left == right or self.arm(left).draws == self.arm(right).draws != ""

    def share_records(self, left: MetricSeries, right: MetricSeries) -> bool:
        """Whether two curves are of one metric on the same records.

        An axis of the experiment may change what is drawn, but for epsilon, which is of training alone.
        """
        fixed = [{axis: v for axis, v in c.at if axis in self.cell_axes and axis != "epsilon"} for c in (left, right)]
        same = left.metric == right.metric and left.minus is None and right.minus is None and fixed[0] == fixed[1]
        return same and self.draw_alike(left.arm, right.arm)

    def owner_sets(self, arm: str, first: int | None = None) -> list[float]:
        """Sizes of the owner sets that an arm's split draws in its first repeats (None: in all), in their order; empty
        where all are of one size."""
        sizes, start = self.index.owner_sets.get(arm, {}), self.index.first_repeats.get(arm, 0)
        seen = (sizes[r] for r in sorted(sizes) if r >= start and (first is None or r - start < first))
        return list(dict.fromkeys(seen))

    def all_owner_sets_drawn(self, arm: str, first: int | None = None) -> bool:
        """Whether an arm's split drew, in its first repeats (None: in all), each owner set that it can draw."""
        return len(self.owner_sets(arm, first)) == self.index.outcomes.get(arm)

    def arm(self, name: str) -> ArmFacts:
        """The facts that are known of an arm."""
        return self._arms[name]

    def axes_of(self, curve: MetricSeries) -> tuple[str, ...]:
        """Axes along which the curve varies: those of its measurements that it neither fixes nor averages over.

        Raises HarnessError where there are no measurements of it.
        """
        return tuple(axis for axis in self.axes if axis in self._varying_axes(curve) and axis not in curve.closed_axes)

    def _varying_axes(self, curve: MetricSeries) -> tuple[str, ...]:
        return self._measured(curve).axes

    def _measured(self, curve: MetricSeries) -> Curve:
        known = self.index.curve((curve.arm, curve.attack, curve.metric))
        if known is None:
            raise HarnessError(f"no measurements of {curve.text()}; run the spec again")
        return known

    def levels(self, curve: MetricSeries, axis: str) -> list[Level]:
        """Values of an axis at which the curve was measured, in order."""
        return order_levels(self._measured(curve).levels.get(axis, ()))

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
        n, share = self.index.records.get((arm, attack, metric)), self.arm(arm).nonmember_share
        return None if n is None or share is None else round(n * share)

    def epsilon_as_trained(self, curve: MetricSeries, where: Where, replace: bool) -> tuple[float, float] | None:
        """What a nominal epsilon's noise gives for the batches that were trained on, from below and from above; None:
        the nominal one."""
        cell = self.cell(curve, where)
        if cell not in self.index.noise:
            return None
        return self.arm(curve.arm).epsilon_as_trained(self.index.noise[cell], cell[1], replace)

    def cell(self, curve: MetricSeries, where: Where) -> Cell:
        """The cell that a curve's value at a place is measured on."""
        at = {**where, **dict(curve.at)}
        return curve.arm, place((axis, at[axis]) for axis in self.cell_axes if axis in at)

    def noise(self, arm: str, epsilon: float) -> float:
        """The noise multiplier of an arm at epsilon; infinite where it is not known."""
        return self.index.noise.get((arm, place({"epsilon": epsilon})), math.inf)

    def coordinates(self, curve: MetricSeries, where: Where) -> dict[str, float]:
        """What a formula's parameters may be at a place: epsilon, delta, prior, the metric's FPR, numeric axes."""
        facts, at = self.arm(curve.arm), {**where, **dict(curve.at)}
        numeric = {name: float(v) for name, v in at.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        cell = self.cell(curve, where)
        if cell in self.index.epsilon:  # an epsilon that follows from other axes
            numeric.setdefault("epsilon", self.index.epsilon[cell])
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
        counts = self.index.counts(arm, name)
        if not counts:
            raise HarnessError(f"arm {arm!r} counts no {name!r}")
        return np.asarray(np.unique(np.concatenate(counts)))
