"""The numbers of what a claim compares: one a repeat, taken from a table once, for the first repeats as for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from harness.arrays import Array
from harness.claims.contrasts import Contrast, WeightedSum
from harness.claims.design import Design, Series, in_step
from harness.claims.evidence import Measurements
from harness.claims.operands import AxisValue, Chosen, FormulaValue, MetricSeries
from harness.claims.series import is_of_runs
from harness.coordinates import Cell, Level, Place, Where, place
from harness.coordinates import text as place_text
from harness.errors import HarnessError
from harness.inference.estimates import MeanEstimate
from harness.metrics import METRICS


class NothingToTest(HarnessError):
    """There is no number to test, so what is claimed stays open.

    `test`: the test in words, where it is known what would be tested.
    """

    def __init__(self, message: str, test: str = "none") -> None:
        super().__init__(message)
        self.test = test


@dataclass(frozen=True)
class Repeats:
    """Which repeats of a table are looked at."""

    first: int | None = None
    """So many of every cell; None: all."""
    owner_set: tuple[str, float] | None = None
    """An arm, and the size of its owner set in those of its repeats that count; None: whatever that is."""


ALL = Repeats()


class Samples:
    """Numbers of a table's curves, one a repeat."""

    def __init__(self, table: Measurements) -> None:
        self.table = table
        self.taken = 0
        """How many curves were read from the table."""
        self._index = table.index
        self._curves: dict[tuple[MetricSeries, Place, float | None], CurveSample] = {}
        self._contrasts: dict[Contrast, ContrastSample] = {}

    def of_curve(self, curve: MetricSeries, where: Where, owner_set: float | None = None) -> CurveSample:
        """The numbers of a curve at a place, of the repeats of one owner set of its arm or of all.

        Raises HarnessError where there are none.
        """
        key = curve, place(where), owner_set
        if key not in self._curves:
            self._curves[key] = CurveSample(self, curve, where, owner_set)
        return self._curves[key]

    def of_contrast(self, contrast: Contrast) -> ContrastSample:
        """The numbers of a contrast. Raises HarnessError where there are none."""
        if contrast not in self._contrasts:
            self._contrasts[contrast] = ContrastSample(self, contrast)
        return self._contrasts[contrast]

    def series(self, curve: MetricSeries, where: Where, repeats: Repeats = ALL) -> Series:
        """One number a repeat. Raises HarnessError where there are none."""
        if curve.chosen is not None:
            return self._chosen_series(curve, curve.chosen, where, repeats).scale(curve.times)
        parts = [self._series_at(curve, point, repeats) for point in self._places(curve, where)]
        total = parts[0]
        for other in parts[1:]:
            total = total.add(other)
        return total.scale(curve.times / len(parts))

    def cells(self, curves: Sequence[MetricSeries], where: Where) -> frozenset[Cell]:
        """The cells that curves' values at a place are measured on; with the baseline's, for metrics relative to it."""
        cells: set[Cell] = set()
        for curve in curves:
            for point in self._places(curve, where):
                cells |= _cells_with_baseline(self.table.cell(curve, point), curve.metric, curve.minus)
                if curve.chosen is not None and curve.chosen.repeats is None:
                    chooser = replace(curve, arm=curve.chosen.arm or curve.arm)
                    cells |= _cells_with_baseline(self.table.cell(chooser, point), curve.chosen.metric)
        return frozenset(cells)

    def choices(self, curve: MetricSeries, where: Where, repeats: Repeats = ALL) -> dict[float, int]:
        """By value of the axis on which a curve's place is chosen: the number of repeats that choose it."""
        assert curve.chosen is not None
        levels = self._candidates(curve, curve.chosen)
        counts = np.bincount(self._choice(curve, curve.chosen, where, repeats).values, minlength=len(levels))
        return {float(level): int(count) for level, count in zip(levels, counts, strict=True) if count}

    def runs_in_group(self, curves: Sequence[MetricSeries], where: Where) -> int:
        """Number of runs that a metric of several runs is of."""
        if self.table.design.name == "fixed":
            return self.table.repeats
        ends = [self._curve_at(curve, curve.metric, where)[1][:1] for curve in curves]
        return min(int(end[0]) + 1 for end in ends)

    def _places(self, curve: MetricSeries, where: Where) -> list[dict[str, Level]]:
        """The places that a curve's value at a place is taken from: itself, or those averaged over or chosen from."""
        axes = {axis: self.table.levels(curve, axis) for axis in curve.mean_over}
        if (chosen := curve.chosen) is not None:
            axes[chosen.axis] = levels = self._candidates(curve, chosen)
            if chosen.repeats is not None:
                axes[chosen.axis] = [levels[self._choice(curve, chosen, where, ALL).values[0]]]
        return [{**where, **dict(zip(axes, one, strict=True))} for one in product(*axes.values())]

    def _candidates(self, curve: MetricSeries, chosen: Chosen) -> list[Level]:
        """Values of an axis to choose from, in order; of epsilon the finite ones, since without noise nothing is lost
        and nothing private. Raises HarnessError where there are none."""
        levels = self.table.levels(curve, chosen.axis)
        levels = [v for v in levels if math.isfinite(float(v))] if chosen.axis == "epsilon" else levels
        if not levels:
            raise HarnessError(f"{curve.text()} was measured at no {chosen.axis} to choose; run the spec again")
        return levels

    def _choice(self, curve: MetricSeries, chosen: Chosen, where: Where, repeats: Repeats) -> Series:
        """Index of the value of the axis that is chosen in each repeat: the least one at which the metric meets its
        bound.

        With `chosen.repeats` one choice, by the mean over these repeats, holds for all. Raises NothingToTest where no
        value does.
        """
        fixed = tuple((axis, value) for axis, value in curve.at if axis in self.table.cell_axes)
        chooser = MetricSeries(chosen.metric, chosen.arm or curve.arm, at=fixed)
        levels = self._candidates(curve, chosen)
        places = [{**where, chosen.axis: level} for level in levels]
        looked_at = repeats if chosen.repeats is None else replace(repeats, first=chosen.repeats)
        series = in_step([self._single_series(chooser, chosen.metric, point, looked_at) for point in places])
        measured = np.stack([one.values for one in series])
        if chosen.repeats is not None:
            measured = np.repeat(measured.mean(axis=1, keepdims=True), measured.shape[1], axis=1)
        holds = chosen.admissible_mask(measured)
        if not holds.any(axis=0).all():
            best = measured[:, ~holds.any(axis=0)].mean(axis=1)
            nearest = best.argmin() if chosen.at_most is not None else best.argmax()
            raise NothingToTest(
                f"no {chosen.axis} can be chosen: {chooser.text()} is {chosen.bound} at none of "
                f"{', '.join(f'{level:g}' for level in levels)} (nearest: {best[nearest]:.3g} at {levels[nearest]:g})"
            )
        return replace(series[0], values=holds.argmax(axis=0))

    def _chosen_series(self, curve: MetricSeries, chosen: Chosen, where: Where, repeats: Repeats) -> Series:
        """The series whose value in each repeat is taken at the place that is chosen there."""
        choice, open_ = self._choice(curve, chosen, where, repeats), replace(curve, chosen=None, times=1.0)
        if chosen.repeats is not None:
            return self.series(open_, self._places(curve, where)[0], repeats)
        levels = self._candidates(curve, chosen)
        series = [self.series(open_, {**where, chosen.axis: level}, repeats) for level in levels]
        choice, *series = in_step([choice, *series])
        every = np.arange(len(choice.values))
        return replace(
            series[0],
            values=np.stack([one.values for one in series])[choice.values, every],
            errors=np.stack([one.errors for one in series])[choice.values, every],
            low=min(one.low for one in series),
            high=max(one.high for one in series),
        )

    def _series_at(self, curve: MetricSeries, where: Where, repeats: Repeats) -> Series:
        series = self._single_series(curve, curve.metric, where, repeats)
        if curve.minus is not None:
            series = series.subtract(self._single_series(curve, curve.minus, where, repeats))
        return series

    def _curve_at(self, curve: MetricSeries, metric: str, where: Where) -> tuple[Series, Array]:
        """The numbers of a metric at a place, and the repeat of each. Raises HarnessError where there are none."""
        known, at = self._index.curve((curve.arm, curve.attack, metric)), {**where, **dict(curve.at)}
        if known is not None:
            place_of_curve = place((axis, at[axis]) for axis in known.axes if axis in at)
            if place_of_curve in known.series:
                return known.series[place_of_curve], known.repeats_of[place_of_curve]
        raise HarnessError(f"no measurements of {curve.text()} at {place_text(where)}; run the spec again")

    def _single_series(self, curve: MetricSeries, metric: str, where: Where, repeats: Repeats) -> Series:
        (series, of), first = self._curve_at(curve, metric, where), repeats.first
        self.taken += 1
        if first is not None and is_of_runs(metric):
            first = int((of < first).sum())
        series = series.take_first(first)
        if repeats.owner_set is None or repeats.owner_set[0] != curve.arm:
            return series
        sizes, of = self._index.owner_sets[curve.arm], of[: len(series.values)]
        return series.of(np.array([sizes[repeat] == repeats.owner_set[1] for repeat in of], dtype=bool))


class CurveSample:
    """The numbers of a curve at a place, of the first repeats or of all."""

    def __init__(self, samples: Samples, curve: MetricSeries, where: Where, owner_set: float | None = None) -> None:
        self.curve, self.where = curve, where
        self._samples, self._owner_set = samples, None if owner_set is None else (curve.arm, owner_set)
        self._means: dict[tuple[Design, int | None], MeanEstimate] = {}

    @cached_property
    def _whole(self) -> Series:
        return self._samples.series(self.curve, self.where, Repeats(None, self._owner_set))

    @cached_property
    def _is_sliced(self) -> bool:
        """Whether the numbers of the first repeats are the first of all numbers."""
        metrics = [self.curve.metric, *([] if self.curve.minus is None else [self.curve.minus])]
        return self._owner_set is None and self.curve.chosen is None and not any(map(is_of_runs, metrics))

    def first(self, n: int | None) -> Series:
        """The numbers of the first `n` repeats (None: of all).

        Raises NothingToTest where a place has to be chosen in each, and none can.
        """
        if n is None or self._is_sliced:
            return self._whole.take_first(n)
        return self._samples.series(self.curve, self.where, Repeats(n, self._owner_set))

    def mean(self, method: Design, n: int | None) -> MeanEstimate:
        """Estimate of their mean over the first `n` repeats (None: over all)."""
        if (method, n) not in self._means:
            series = self.first(n)
            if is_of_runs(self.curve.metric):
                runs = self._samples.runs_in_group([self.curve], self.where)
                self._means[method, n] = method.of_records([series], runs)
            else:
                self._means[method, n] = method.mean(series)
        return self._means[method, n]


class ContrastSample:
    """The numbers of both sides of a contrast."""

    def __init__(self, samples: Samples, contrast: Contrast) -> None:
        self._samples, self._contrast = samples, contrast
        self.left = samples.of_curve(contrast.left, contrast.where, contrast.owner_set)
        lower = samples.table.lower_metric(contrast.left)
        self.lower = None if lower is None else samples.of_curve(lower, contrast.where, contrast.owner_set)
        """The left side by the metric that is on average not too high, where its own is not too low."""
        self._gaps: dict[tuple[CurveSample, Design, int | None], tuple[float, MeanEstimate]] = {}

    @cached_property
    def cells(self) -> frozenset[Cell]:
        """The cells that both sides are measured on."""
        return self._samples.cells(self._contrast.curves, self._contrast.where)

    @cached_property
    def right(self) -> CurveSample | list[tuple[float, CurveSample]] | float:
        """The other side: the numbers of one curve or of several with their weights, or a value."""
        right, where, table = self._contrast.right, self._contrast.where, self._samples.table
        if isinstance(right, MetricSeries):
            owner_set = self._contrast.owner_set if right.arm == self._contrast.left.arm else None
            return self._samples.of_curve(right, where, owner_set)
        if isinstance(right, WeightedSum):
            return [(weight, self._samples.of_curve(curve, where)) for weight, curve in right.of]
        if isinstance(right, FormulaValue):
            return table.formula(right, self._contrast.left, where)
        if isinstance(right, AxisValue):
            return table.coordinates(self._contrast.left, where)[right.axis]
        return right.value

    def gap(self, left: CurveSample, method: Design, n: int | None) -> tuple[float, MeanEstimate]:
        """Value of the right side, and estimate of left - right, over the first `n` repeats (None: over all)."""
        if (key := (left, method, n)) not in self._gaps:
            self._gaps[key] = self._gap(left, method, n)
        return self._gaps[key]

    def _gap(self, left: CurveSample, method: Design, n: int | None) -> tuple[float, MeanEstimate]:
        right = self.right
        if isinstance(right, float | int):
            return right, left.mean(method, n).shift(-right)
        if isinstance(right, list):
            line = right[0][1].first(n).scale(right[0][0])
            for weight, other in right[1:]:
                line = line.add(other.first(n).scale(weight))
            same = all(self._samples.table.share_records(left.curve, of.curve) for _, of in right)
            return method.mean(line).mean, method.mean_within_arm(left.first(n), line, same)
        if self._is_in_step(right, method):
            of_both = in_step([left.first(n), right.first(n)])
            return method.mean(of_both[1]).mean, self.difference(left, right, method, n)
        return right.mean(method, n).mean, self.difference(left, right, method, n)

    def _is_in_step(self, right: CurveSample, method: Design) -> bool:
        """Whether a difference of both sides is of the repeats that both have."""
        left = self.left.curve
        paired = method.name != "fixed" or self._samples.table.draw_alike(left.arm, right.curve.arm)
        return paired and not is_of_runs(left.metric)

    def left_beside(self, method: Design, n: int | None) -> float:
        """Mean of the left side over the repeats that both sides have, so that both and their difference add up."""
        right = self.right
        if not isinstance(right, CurveSample) or not self._is_in_step(right, method):
            return self.left.mean(method, n).mean
        own, _ = in_step([self.left.first(n), right.first(n)])
        return method.mean(own).mean

    def difference(self, left: CurveSample, right: CurveSample, method: Design, n: int | None) -> MeanEstimate:
        """Estimate of left - right: paired by repeat where both have the same records, of independent models
        otherwise."""
        own, other, curves = left.first(n), right.first(n), [left.curve, right.curve]
        kinds = {is_of_runs(curve.metric) for curve in curves}
        if kinds == {True}:
            return method.of_records([own, other], self._samples.runs_in_group(curves, left.where))
        if True in kinds:
            raise HarnessError(
                f"{left.curve.text()}: a number that all runs give together can only be compared with a number "
                "or with another such one"
            )
        return difference_of_arms(self._samples.table, left.curve, right.curve, own, other, method)


def difference_of_arms(
    table: Measurements, left: MetricSeries, right: MetricSeries, own: Series, other: Series, method: Design
) -> MeanEstimate:
    """Estimate of left - right from the series of two curves: paired where both arms have the same records in each
    repeat."""
    if not table.draw_alike(left.arm, right.arm):
        return method.mean_between_arms(own, other)
    return method.mean_within_arm(own, other, table.share_records(left, right))


def _cells_with_baseline(cell: Cell, *metrics: str | None) -> set[Cell]:
    """A cell, and the one without noise where a metric is relative to that."""
    if any(m in METRICS and METRICS[m].scope == "baseline" for m in metrics):
        return {cell, (cell[0], place({**dict(cell[1]), "epsilon": math.inf}))}
    return {cell}
