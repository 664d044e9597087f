"""What is known of a mean: its estimate, and tests and intervals of it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from harness.inference.arrays import Array

FEWEST = 6
"""Repeats below which no test of a mean decides that knows nothing of the results' range. An outcome as likely as not
is missed by five repeats once in 32, more often than a verdict may be wrong in one direction; by six once in 64."""


class MeanEstimate(ABC):
    """What is known of the mean of run results."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Mean over the repeats looked at."""

    @property
    @abstractmethod
    def stderr(self) -> float:
        """Its standard error."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Repeats looked at."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Two-sided interval; infinite where the spread is unknown."""

    @abstractmethod
    def p_above(self, value: float) -> float:
        """One-sided p-value of H0: mean <= value."""

    @abstractmethod
    def p_below(self, value: float) -> float:
        """One-sided p-value of H0: mean >= value."""

    @abstractmethod
    def shift(self, by: float, sign: float = 1.0) -> MeanEstimate:
        """The estimate of `sign * mean + by`."""

    @property
    def tested_repeats(self) -> int:
        """Repeats that its test is on, where that are fewer than were looked at."""
        return self.n

    @property
    def of_records(self) -> bool:
        """Whether its error is that of drawing records, known beforehand, so that repeats do not have to show it."""
        return False

    @property
    @abstractmethod
    def repeat_values(self) -> Array | None:
        """(n,) what is averaged, one number a repeat, as it was measured; None where there is no such number."""

    def is_positive(self, or_zero: bool = False) -> Array | None:
        """(n,) whether that is above 0, or not below it with `or_zero`, in each repeat; None where it is not known."""
        values = self.repeat_values
        return None if values is None else values >= 0 if or_zero else values > 0


class SequentialEstimate(MeanEstimate):
    """A mean that may be looked at after any number of repeats, and says how many more would tell."""

    def guess_repeats(self, alpha: float, sign: float) -> int:
        """A guess at the first repeats that tell it to be above 0 (`sign` 1), or below it (-1), at a one-sided level:
        what a look at them decides, computed from all repeats, which last digits can move. At least 1."""
        return self.n

    @abstractmethod
    def project_repeats(self, alpha: float, max_repeats: int) -> int | None:
        """Repeats, of at most `max_repeats`, at which a one-sided test at `alpha` tells the mean from 0 if further
        results are like those there are; None where there are none."""
