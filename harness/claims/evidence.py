"""A measurement table as claims see it: series over repeats, their means and differences by the design."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.design import Design, Fixed, Series, design_of
from harness.claims.expectation import Measured
from harness.claims.statistics import Estimate, Mean, difference
from harness.errors import HarnessError
from harness.metrics.exposure import EXPOSURE_METRICS
from harness.privacy.gaussian import shuffled_epsilon

OUTCOME = ("count_outcome", "count_outcomes")
"""Metrics that say which outcome a split drew in a repeat, and of how many equally likely ones."""
MANY = 1e9
"""Degrees of freedom of an error that is known, not estimated from repeats."""


class Evidence:
    """A measurement table, indexed by what claims ask of it."""

    def __init__(
        self, table: pd.DataFrame, delta: float, design: Design | None = None,
        shuffled_epochs: dict[str, int] | None = None, draws: dict[str, str] | None = None,
        batch_clipped: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """
        Args:
            shuffled_epochs: by arm whose accountant assumes other batches than the shuffled ones trained on: how long.
            batch_clipped: arms that clip the mean of a batch, which one record moves by up to twice the norm, be it
                removed or replaced.
            draws: by arm, what names its way to draw records; arms of one name have the same records in each repeat.
        """
        self.delta, self.design = delta, design or Fixed()
        self.shuffled_epochs, self._draws = shuffled_epochs or {}, draws or {}
        self._batch_clipped = batch_clipped
        self.first: int | None = None
        columns = ["arm", "attack", "metric", "epsilon"]
        ordered = table.sort_values([*columns, "repeat"])
        self._drawn = drawn_by_arm(ordered)
        self._groups: dict[Any, Series] = {
            key: _series(group, self._drawn.get(key[0])) for key, group in ordered.groupby(columns)
        }
        self.epsilons = sorted(float(e) for e in table["epsilon"].unique())
        self.repeats = int(table["repeat"].max()) + 1 if len(table) else 0
        self._noise: dict[Any, float] = {}
        if "noise_multiplier" in table:
            self._noise = dict(table.groupby(["arm", "epsilon"])["noise_multiplier"].first())

    def test(self, operands: Sequence[Measured]) -> str:
        """How means of these are tested, in words."""
        drawn = any(operand.arm in self._drawn for operand in operands)
        return self.design.test + (self.design.test_drawn if drawn else "")

    def of_first(self, n: int) -> Evidence:
        """The same, of the first `n` repeats of every cell."""
        part = copy.copy(self)
        part.first = n
        return part

    def epsilon_as_trained(self, arm: str, epsilon: float, replace: bool) -> float | None:
        """What a nominal epsilon's noise gives for the batches that were trained on; None: the nominal one."""
        if arm not in self.shuffled_epochs or (arm, epsilon) not in self._noise:
            return None
        twice = replace or arm in self._batch_clipped
        return shuffled_epsilon(self._noise[(arm, epsilon)], self.shuffled_epochs[arm], self.delta, twice)

    def series(self, operand: Measured, epsilon: float) -> Series:
        """One number a repeat. Raises HarnessError where there are none."""
        epsilon = epsilon if operand.epsilon is None else operand.epsilon
        found = self._one(operand, operand.metric, epsilon)
        if operand.minus is not None:
            found = found.minus(self._one(operand, operand.minus, epsilon))
        return found.first(self.first).times(operand.times)

    def _one(self, operand: Measured, metric: str, epsilon: float) -> Series:
        key = (operand.arm, operand.attack or "", metric, epsilon)
        if key not in self._groups:
            raise HarnessError(f"no measurements of {operand.text()} at epsilon {epsilon:g}; run `harness run` again")
        return self._groups[key]

    def mean(self, operand: Measured, epsilon: float) -> Mean:
        """Mean over repeats of a measured operand."""
        if operand.metric in EXPOSURE_METRICS:
            return self._over_runs(operand, epsilon)
        return self.design.mean(self.series(operand, epsilon))

    def _over_runs(self, operand: Measured, epsilon: float) -> Estimate:
        """Of one number that all runs give together: what is drawn is the records; the models are taken as they are."""
        found = self.series(operand, epsilon)
        return Estimate(float(found.values[0]), float(found.errors[0]), MANY, self.repeats)

    def gap(self, left: Measured, right: Measured, epsilon: float) -> Mean:
        """Of left - right: paired by repeat where both have the same records, of independent models else."""
        if left.metric in EXPOSURE_METRICS or right.metric in EXPOSURE_METRICS:
            sides = [self.mean(operand, epsilon) for operand in (left, right)]
            if not all(isinstance(side, Estimate) for side in sides):
                raise HarnessError(f"{left.text()} can be compared with a number, or with its like; it is of all runs")
            return difference(*sides)  # type: ignore[arg-type]
        return self.gap_of(left.arm, right.arm, self.series(left, epsilon), self.series(right, epsilon))

    def gap_of(self, left_arm: str, right_arm: str, left: Series, right: Series) -> Mean:
        """Of left - right, series of two arms."""
        same = self._draws.get(left_arm, left_arm) == self._draws.get(right_arm, right_arm)
        return self.design.within(left, right) if same else self.design.between(left, right)

    def noise(self, arm: str, epsilon: float) -> float:
        """The noise multiplier of a cell; infinite where nothing is known of it."""
        return self._noise.get((arm, epsilon), math.inf)

    def counts(self, arm: str, name: str) -> Array:
        """Every value that a count took, sorted. Raises HarnessError for an unknown count."""
        found = [group.values for k, group in self._groups.items() if k[:3] == (arm, "", f"count_{name}")]
        if not found:
            raise HarnessError(f"arm {arm!r} counts no {name!r}")
        return np.asarray(np.unique(np.concatenate(found)))

    def grid(self, at: Sequence[float] | None) -> list[float]:
        """The measured epsilons among `at` (default: every finite one)."""
        if at is None:
            return [e for e in self.epsilons if math.isfinite(e)]
        return [e for e in self.epsilons if e in at]


def means(table: pd.DataFrame, metrics: Collection[str]) -> dict[tuple[str, str, str, float], Mean]:
    """Mean over repeats by arm, attack, metric and epsilon, as claims see it."""
    design = design_of(table)
    needed = table[table["metric"].isin([*metrics, *OUTCOME])].sort_values("repeat")
    drawn = drawn_by_arm(needed)
    groups = needed[needed["metric"].isin(metrics)].groupby(["arm", "attack", "metric", "epsilon"])
    return {
        (str(arm), str(attack), str(metric), float(str(epsilon))): design.mean(_series(group, drawn.get(arm)))
        for (arm, attack, metric, epsilon), group in groups
    }


def groups_by_outcome(table: pd.DataFrame, metric: str) -> Iterator[tuple[str, str, int, float, pd.DataFrame]]:
    """Where a split draws one of a few outcomes: arm, attack, outcome and epsilon, and the repeats that drew it."""
    drawn = drawn_by_arm(table)
    chosen = table[(table["metric"] == metric) & table["arm"].isin(list(drawn))]
    for (arm, attack, epsilon), group in chosen.groupby(["arm", "attack", "epsilon"]):
        for outcome, part in group.groupby(group["repeat"].map(drawn[arm][0])):
            yield str(arm), str(attack), int(str(outcome)), float(str(epsilon)), part


def drawn_by_arm(table: pd.DataFrame) -> dict[Any, tuple[dict[int, int], int]]:
    """By arm whose split draws one of a few outcomes: that of each repeat, and how many there are.

    Arms where the number of outcomes is not the same in every repeat are left out: their chances are not known.
    """
    found = {}
    chosen = table[table["metric"].isin(OUTCOME)]
    for arm, group in chosen.groupby("arm"):
        outcome, outcomes = (
            group[group["metric"] == name].drop_duplicates("repeat").set_index("repeat")["value"] for name in OUTCOME
        )
        codes, labels = pd.factorize(outcome, sort=True)
        if outcomes.nunique() == 1 and len(labels) <= int(outcomes.iloc[0]):
            found[arm] = dict(zip(outcome.index, codes, strict=True)), int(outcomes.iloc[0])
    return found


def _series(group: pd.DataFrame, drawn: tuple[dict[int, int], int] | None) -> Series:
    values, errors = group["value"].to_numpy(float), group["stderr"].to_numpy(float)
    if drawn is None:
        return Series(values, errors)
    by_repeat, outcomes = drawn
    return Series(values, errors, np.array([by_repeat[r] for r in group["repeat"]], dtype=np.int64), outcomes)
