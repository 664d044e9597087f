"""Estimates of a mean, with tests and intervals of it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from harness.inference.arrays import Array

FEWEST = 6
"""The number of repeats below which no test of a mean decides that knows nothing of the results' range. An outcome as
likely as not is missed by five repeats once in 32, more often than a verdict may be wrong in one direction; by six once
in 64."""


class MeanEstimate(ABC):
    """Base of the estimates of the mean of run results."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """The mean over the repeats looked at."""

    @property
    @abstractmethod
    def stderr(self) -> float:
        """The standard error of the mean."""

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of repeats looked at."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The ends of a two-sided interval of that level; infinite where the spread is unknown."""

    @abstractmethod
    def p_above(self, value: float) -> float:
        """The one-sided p-value of H0: mean <= value, small where the mean is above the value."""

    @abstractmethod
    def p_below(self, value: float) -> float:
        """The one-sided p-value of H0: mean >= value, small where the mean is below the value."""

    @abstractmethod
    def shift(self, by: float, sign: float = 1.0) -> MeanEstimate:
        """The estimate of `sign * mean + by`."""

    @property
    def tested_repeats(self) -> int:
        """The number of repeats that the test is on, which may be fewer than were looked at."""
        return self.n

    @property
    def of_records(self) -> bool:
        """Whether the error is that of drawing records, known beforehand, so that repeats do not have to show it."""
        return False

    @property
    @abstractmethod
    def repeat_values(self) -> Array | None:
        """The numbers that are averaged, one a repeat, as they were measured, (n,); None where there are no such."""

    def is_positive(self, or_zero: bool = False) -> Array | None:
        """Whether the number of each repeat is above 0, or not below it with `or_zero`: (n,); None: it is not known."""
        values = self.repeat_values
        return None if values is None else values >= 0 if or_zero else values > 0


class SequentialEstimate(MeanEstimate):
    """Base of the estimates that may be looked at after any number of repeats, and say how many more would tell."""

    def guess_repeats(self, alpha: float, sign: float) -> int:
        """A guess at the number of first repeats that tell the mean to be above 0 (`sign` 1), or below it (-1).

        It is what a look at them decides at a one-sided level, computed from all repeats, which last digits can move.
        It is at least 1, and `n` where none tell.
        """
        return self.n

    @abstractmethod
    def project_repeats(self, alpha: float, max_repeats: int) -> int | None:
        """The number of repeats at which a one-sided test at `alpha` tells the mean from 0.

        Further results are taken to be like those there are. It is None where `max_repeats` do not tell.
        """
