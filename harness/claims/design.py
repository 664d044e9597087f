"""How many repeats: fixed beforehand, or until claims are decided. Their means are tested accordingly.

A third way to test, `Bounded`, uses the range of the results alone, and may be applied to either.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.levels import RAREST
from harness.errors import HarnessError
from harness.inference import (
    FEWEST,
    MANY,
    Estimate,
    MeanEstimate,
    Stream,
    TMixtureCS,
    adjust_for_outcomes,
    adjusted_stream,
    bet_on_streams,
    bounded_stream,
    difference,
    estimate,
    moments,
    repeats_to_see_outcomes,
    stratified_estimate,
    t_mixture_ends,
    two_stake_cs,
)


@dataclass(frozen=True)
class Series:
    """One number a repeat, of repeats one after another."""

    values: Array
    """(n,)"""
    errors: Array
    """(n,) record-sampling errors."""
    drawn: Array | None = None
    """(n,) int: which of a few equally likely outcomes the split drew, numbered from 0; None: it draws none such."""
    outcomes: int = 1
    """How many of them there are."""
    low: float = -math.inf
    """No value can be below this."""
    high: float = math.inf
    """No value can be above this."""
    repeats: int | None = None
    """How many repeats its one value is the mean of, of which `errors` then is the standard error; None: a value is a
    repeat's own."""
    start: int = 0
    """The repeat of the first value."""
    is_picked: bool = False
    """Whether repeats between were left out, so that only a series of the same start has the same repeats."""

    def take_first(self, n: int | None) -> Series:
        """The series of the first `n` repeats (None: of all)."""
        if n is None or n >= len(self.values):
            return self
        drawn = None if self.drawn is None else self.drawn[:n]
        return replace(self, values=self.values[:n], errors=self.errors[:n], drawn=drawn)

    def start_at(self, repeat: int) -> Series:
        """The series from a repeat on. Raises HarnessError where it is not known which of its numbers that is."""
        left_out = max(0, repeat - self.start)
        if left_out and self.is_picked:
            raise HarnessError("repeats that some of the cells lack cannot be left out of those with one owner set")
        if not left_out:
            return self
        drawn = None if self.drawn is None else self.drawn[left_out:]
        return replace(
            self, values=self.values[left_out:], errors=self.errors[left_out:], drawn=drawn, start=self.start + left_out
        )

    def of(self, these: Array) -> Series:
        """The series of the repeats in a mask, (n,) bool, in which the split always draws the same outcome."""
        picked = self.values[these], self.errors[these]
        return Series(*picked, None, 1, self.low, self.high, start=self.start, is_picked=True)

    def subtract(self, other: Series, same_records: bool = False) -> Series:
        """The difference repeat by repeat, for the repeats that both have; the outcome of the split is this series'.

        Errors of independent records add up by their squares. What is measured on the `same_records` goes together, by
        how much tables do not say: whatever it is, the error of a difference is at least the distance of both errors
        (Cauchy and Schwarz), and repeats show the rest.
        """
        if self.repeats is not None:
            return self._subtract_mean(other)
        left, right = in_step([self, other])
        values = left.values - right.values
        errors = np.abs(left.errors - right.errors) if same_records else np.hypot(left.errors, right.errors)
        return replace(left, values=values, errors=errors, low=left.low - right.high, high=left.high - right.low)

    def _subtract_mean(self, other: Series) -> Series:
        """The difference of two means over the same repeats, whose results are not known one by one.

        However they go together, the standard deviation of their differences is at most the sum of both (Cauchy and
        Schwarz), and so is the standard error. Raises HarnessError for means over different numbers of repeats.
        """
        if self.repeats != other.repeats:
            raise HarnessError(
                f"a mean over {self.repeats} repeats cannot be compared within an arm with one over {other.repeats}; "
                "give both the same n, or make them arms"
            )
        errors = self.errors + other.errors
        ends = self.low - other.high, self.high - other.low
        return Series(self.values - other.values, errors, None, 1, *ends, self.repeats)

    def add(self, other: Series) -> Series:
        """The sum repeat by repeat, for the repeats that both have."""
        return self.subtract(other.scale(-1.0))

    def scale(self, factor: float) -> Series:
        """The series with every number multiplied by `factor`."""
        if factor == 1:
            return self
        ends = sorted(end * factor if factor else 0.0 for end in (self.low, self.high))
        values, errors = self.values * factor, self.errors * abs(factor)
        return replace(self, values=values, errors=errors, low=ends[0], high=ends[1])


class NoCommonRepeat(HarnessError):
    """Series that start at different repeats have none together."""


def in_step(many: Sequence[Series]) -> list[Series]:
    """The series of the repeats that all of them have. Raises HarnessError where these cannot be told."""
    start = max(series.start for series in many)
    late = [series.start_at(start) for series in many]
    n = min(len(series.values) for series in late)
    if n == 0 and start > 0:
        raise NoCommonRepeat("no repeat since then has all sides")
    return [series.take_first(n) for series in late]


class Design(ABC):
    """Estimates of means and of differences of means.

    Where a split draws one of a few outcomes, each as likely as the others (which cluster of each class is the owner
    set), the mean is that over the outcomes, not over those that happened to be drawn more often.
    """

    name: ClassVar[Literal["fixed", "sequential", "bounded"]]
    test: ClassVar[str]
    test_drawn: ClassVar[str]
    """What is added where a split draws one of a few outcomes."""
    fewest: ClassVar[int] = FEWEST
    """Repeats below which a point decides nothing."""

    @abstractmethod
    def mean(self, series: Series) -> MeanEstimate:
        """Estimate of the mean of a series."""

    @abstractmethod
    def mean_between_arms(self, left: Series, right: Series) -> MeanEstimate:
        """Estimate of the difference of the means of two arms, which share no models."""

    def intervals(self, many: Sequence[Series], level: float = 0.95) -> list[tuple[float, float, float]]:
        """The mean of each series with the ends of its confidence interval."""
        return [(mean.mean, *mean.interval(level)) for mean in map(self.mean, many)]

    def mean_within_arm(self, left: Series, right: Series, same_records: bool = False) -> MeanEstimate:
        """Estimate of the mean difference of two series of one split, paired by repeat."""
        return self.mean(left.subtract(right, same_records))

    def of_records(self, sides: Sequence[Series], runs: int) -> MeanEstimate:
        """Estimate of a metric of groups of runs, or of the difference of two.

        The error is that of drawing the records, known beforehand; the models are taken as given. Groups share their
        records, so more groups do not make the error smaller.
        """
        if any(len(side.values) == 0 for side in sides):
            return Estimate()
        estimates = [Estimate(float(s.values.mean()), float(s.errors.mean()), MANY, runs) for s in sides]
        return estimates[0] if len(estimates) == 1 else difference(*estimates)


@dataclass(frozen=True)
class Fixed(Design):
    """The number of repeats does not depend on what they show."""

    rarest: float = RAREST
    """N: what `harness.inference.least_p_value` bounds p-values by; 1: nothing does."""
    name = "fixed"
    test = "t-test of the mean over repeats, corrected for skewness (paired within an arm, Welch between arms)"
    test_drawn = "; stratified by the outcome that the split draws, where each was drawn twice"

    def mean(self, series: Series) -> Estimate:
        """Estimate stratified by the outcome of the split, once each outcome was drawn twice."""
        if series.drawn is None:
            found = estimate(series.values, series.errors)
        else:
            found = stratified_estimate(series.values, series.errors, series.drawn, series.outcomes)
        return replace(found, rarest=self.rarest)

    def mean_between_arms(self, left: Series, right: Series) -> MeanEstimate:
        return replace(difference(self.mean(left), self.mean(right)), repeat_values=left.subtract(right).values)


class Summarised(Fixed):
    """Nothing is known of repeats but their mean, its standard error, and how many they are."""

    test = (
        "t-test of a mean from its standard deviation and number of repeats, results taken to be normal (within an arm "
        "the largest error that two means can have together, Welch between arms)"
    )

    def mean(self, series: Series) -> Estimate:
        if series.repeats is None:  # of a number that is worked out from several
            return super().mean(series)
        return Estimate(float(series.values[0]), float(series.errors[0]), series.repeats - 1, series.repeats)

    def mean_between_arms(self, left: Series, right: Series) -> MeanEstimate:
        return difference(self.mean(left), self.mean(right))


@dataclass(frozen=True)
class Sequential(Design):
    """Repeats were added for as long as claims were open: confidence sequences, valid whenever one stops."""

    name = "sequential"
    test = "t-test of the mean over repeats that may be looked at after each, corrected for skewness (paired by repeat)"
    test_drawn = "; adjusted for the outcome that the split draws, by what earlier repeats say of it"
    last_look_only: bool = False
    """What the last look alone shows counts, for e-values."""
    rarest: float = RAREST
    """N: what `harness.inference.least_p_value` bounds p-values by; 1: nothing does."""

    def mean(self, series: Series) -> MeanEstimate:
        return self._test_values(adjust_for_splits(series), series, repeats_to_see_all(series))

    def intervals(self, many: Sequence[Series], level: float = 0.95) -> list[tuple[float, float, float]]:
        """The same as one at a time; series of so many repeats, of which splits draw nothing, all at once."""
        by_length: dict[int, list[int]] = {}
        for place, series in enumerate(many):
            by_length.setdefault(-1 if repeats_to_see_all(series) else len(series.values), []).append(place)
        drawn = by_length.pop(-1, [])
        ends = dict(zip(drawn, super().intervals([many[place] for place in drawn], level), strict=True))
        for places in by_length.values():
            of = moments(np.array([many[i].values for i in places]), np.array([many[i].errors for i in places]))
            numbers = (of.means[:, -1].tolist(), *(end.tolist() for end in t_mixture_ends(of, level, self.rarest)))
            ends.update(zip(places, zip(*numbers, strict=True), strict=True))
        return [ends[place] for place in range(len(many))]

    def of_records(self, sides: Sequence[Series], runs: int) -> MeanEstimate:
        """Estimate of the first group alone: others were added while one looked."""
        return super().of_records([side.take_first(1) for side in sides], runs)

    def mean_between_arms(self, left: Series, right: Series) -> MeanEstimate:
        difference = left.subtract(right)
        left, right = in_step([left, right])
        return self._test_values(
            adjust_for_splits(left) - adjust_for_splits(right),
            difference,
            max(repeats_to_see_all(left), repeats_to_see_all(right)),
        )

    def _test_values(self, values: Array, series: Series, left_out: int) -> MeanEstimate:
        if not left_out:
            return TMixtureCS(moments(values, series.errors), series.values, self.last_look_only, self.rarest)
        cs = two_stake_cs(values, series.errors, left_out, self.rarest)
        return replace(
            cs,
            whole=replace(
                cs.whole,
                repeat_values=series.values,
                last_look_only=self.last_look_only,
            ),
        )


@dataclass(frozen=True)
class Bounded(Design):
    """Nothing is used but the range of what is measured, however many repeats there are and why they ended."""

    name = "bounded"
    test = "bets on the mean over repeats, within the metric's range (paired within an arm, a bet on each of two arms)"
    test_drawn = "; adjusted for the outcome that the split draws, by what earlier repeats say of it"
    fewest = 1
    last_look_only: bool = False
    """What the last look alone shows counts, for e-values."""

    def mean(self, series: Series) -> MeanEstimate:
        return self._betting([stream_of(series)], series.values)

    def mean_between_arms(self, left: Series, right: Series) -> MeanEstimate:
        streams = stream_of(left), stream_of(right).negate()
        return self._betting(streams, left.subtract(right).values if left.repeats is None else None)

    def of_records(self, sides: Sequence[Series], runs: int) -> MeanEstimate:
        """An estimate that decides nothing: repeats do not show how such a metric varies."""
        return self._betting([Stream(side.values, np.array([-np.inf]), np.array([np.inf])) for side in sides])

    def _betting(self, streams: Sequence[Stream], each: Array | None = None) -> MeanEstimate:
        return replace(bet_on_streams(streams, each), last_look_only=self.last_look_only)


def adjust_for_splits(series: Series) -> Array:
    """(n,) values, less what earlier repeats say of the outcome that the split drew against all outcomes alike."""
    return series.values if series.drawn is None else adjust_for_outcomes(series.values, series.drawn, series.outcomes)


def repeats_to_see_all(series: Series) -> int:
    """Number of first repeats in which each outcome that the split may draw was seen; 0 where the split draws none."""
    return 0 if series.drawn is None else repeats_to_see_outcomes(series.drawn, series.outcomes)


def stream_of(series: Series) -> Stream:
    """The values adjusted for outcomes, with the range that each one had before it was drawn.

    Raises HarnessError for a value that is outside of the range that the metric declares.
    """
    try:
        if series.drawn is None:
            return bounded_stream(series.values, series.low, series.high)
        return adjusted_stream(series.values, series.low, series.high, series.drawn, series.outcomes)
    except ValueError as error:
        raise HarnessError(f"{error} that their metric declares") from None


DESIGNS: dict[str, Design] = {design.name: design for design in (Fixed(), Sequential())}
SUMMARY = "summary"
"""What a table of means says in the place of its design: how many repeats there are was fixed, too."""


def design_of(table: pd.DataFrame) -> Design:
    """The design that a measurement table's file remembers. Raises HarnessError for one that is unknown."""
    name = str(table.attrs.get("design", "fixed"))
    if name == SUMMARY:
        return Summarised()
    if name not in DESIGNS:
        raise HarnessError(f"measurements of an unknown design {name!r}; known: {', '.join(DESIGNS)}")
    return DESIGNS[name]
