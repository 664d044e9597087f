"""How many repeats: fixed beforehand, or until claims are decided. Their means are tested accordingly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.anytime import anytime
from harness.claims.statistics import Estimate, Mean, combined, difference, estimate
from harness.claims.verdict import DesignName
from harness.errors import HarnessError


@dataclass(frozen=True)
class Series:
    """One number a repeat, of repeats 0, 1, ..."""

    values: Array
    """(n,)"""
    errors: Array
    """(n,) record-sampling errors."""
    drawn: Array | None = None
    """(n,) int: which of a few equally likely outcomes the split drew, numbered from 0; None: it draws none such."""
    outcomes: int = 1
    """How many of them there are."""

    def first(self, n: int | None) -> Series:
        """Of the first `n` repeats (None: of all)."""
        drawn = None if self.drawn is None else self.drawn[:n]
        return replace(self, values=self.values[:n], errors=self.errors[:n], drawn=drawn)

    def minus(self, other: Series) -> Series:
        """The difference repeat by repeat, of those that both have; what the split draws is taken to be the same."""
        n = min(len(self.values), len(other.values))
        left, right = self.first(n), other.first(n)
        return replace(left, values=left.values - right.values, errors=np.hypot(left.errors, right.errors))

    def plus(self, other: Series) -> Series:
        """The sum repeat by repeat, of those that both have."""
        return self.minus(other.times(-1.0))

    def times(self, factor: float) -> Series:
        """Every number times `factor`."""
        return replace(self, values=self.values * factor, errors=self.errors * abs(factor))


class Design(ABC):
    """Estimates of means and of differences of means.

    Where a split draws one of a few outcomes, each as likely as the others (which cluster of each class is the owner
    set), the mean is that over the outcomes, not over those that happened to be drawn more often.
    """

    name: ClassVar[DesignName]
    test: ClassVar[str]
    test_drawn: ClassVar[str]
    """What is added where a split draws one of a few outcomes."""

    @abstractmethod
    def mean(self, series: Series) -> Mean:
        """Of one number a repeat."""

    @abstractmethod
    def between(self, left: Series, right: Series) -> Mean:
        """Of the difference of two arms, which share no models."""

    def within(self, left: Series, right: Series) -> Mean:
        """Of the difference of two series of one arm, which come from the same splits: paired by repeat."""
        return self.mean(left.minus(right))


class Fixed(Design):
    """The number of repeats does not depend on what they show."""

    name = "fixed"
    test = "t-test of the mean over repeats, corrected for skewness (paired within an arm, Welch between arms)"
    test_drawn = "; stratified by the outcome that the split draws, where each was drawn twice"

    def mean(self, series: Series) -> Estimate:
        """Stratified by what the split drew, once each outcome was drawn twice."""
        if series.drawn is None or np.bincount(series.drawn, minlength=series.outcomes).min() < 2:
            return estimate(series.values, series.errors)
        strata = [np.flatnonzero(series.drawn == outcome) for outcome in range(series.outcomes)]
        parts = [(1 / series.outcomes, estimate(series.values[s], series.errors[s])) for s in strata]
        return combined(parts, len(series.values))

    def between(self, left: Series, right: Series) -> Mean:
        return difference(self.mean(left), self.mean(right))


class Sequential(Design):
    """Repeats were added for as long as claims were open: confidence sequences, valid whenever one stops."""

    name = "sequential"
    test = "anytime-valid t-test of the mean over repeats, corrected for skewness (paired by repeat)"
    test_drawn = "; adjusted for the outcome that the split draws, by what earlier repeats say of it"

    def mean(self, series: Series) -> Mean:
        return anytime(adjusted(series), series.errors)

    def between(self, left: Series, right: Series) -> Mean:
        n = min(len(left.values), len(right.values))
        left, right = left.first(n), right.first(n)
        return anytime(adjusted(left) - adjusted(right), np.hypot(left.errors, right.errors))


def adjusted(series: Series) -> Array:
    """(n,) values, less what earlier repeats say of the outcome that the split drew against all outcomes alike.

    Repeats before this one alone say what to take off, and it is zero on average over the outcomes, so whatever they
    say each value keeps its mean given the past, which is what a martingale asks for.
    """
    if series.drawn is None:
        return series.values
    found = series.values.copy()
    sums, counts = np.zeros(series.outcomes), np.zeros(series.outcomes)
    for n, (value, outcome) in enumerate(zip(series.values, series.drawn, strict=True)):
        if n:
            known = np.where(counts > 0, sums / np.maximum(counts, 1), sums.sum() / n)
            found[n] = value - known[outcome] + known.mean()
        sums[outcome] += value
        counts[outcome] += 1
    return found


DESIGNS: dict[str, Design] = {design.name: design for design in (Fixed(), Sequential())}


def design_of(table: pd.DataFrame) -> Design:
    """The design that a measurement table's file remembers. Raises HarnessError for one that is unknown."""
    name = str(table.attrs.get("design", "fixed"))
    if name not in DESIGNS:
        raise HarnessError(f"measurements of an unknown design {name!r}; known: {', '.join(DESIGNS)}")
    return DESIGNS[name]
