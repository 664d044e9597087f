"""How many repeats: fixed beforehand, or until claims are decided. Their means are tested accordingly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.anytime import anytime
from harness.claims.statistics import Mean, difference, estimate
from harness.claims.verdict import DesignName
from harness.errors import HarnessError

Series = tuple[Array, Array]
"""Values and record-sampling errors of repeats 0, 1, ..., (n,) each."""


class Design(ABC):
    """Estimates of means and of differences of means."""

    name: ClassVar[DesignName]
    test: ClassVar[str]

    @abstractmethod
    def mean(self, values: Array, errors: Array) -> Mean:
        """From one value and one record-sampling error a repeat, (n,) each."""

    @abstractmethod
    def between(self, left: Series, right: Series) -> Mean:
        """Of the difference of two arms, which share no models."""

    def within(self, left: Series, right: Series) -> Mean:
        """Of the difference of two series of one arm, which come from the same splits: paired by repeat."""
        n = min(len(left[0]), len(right[0]))
        return self.mean(left[0][:n] - right[0][:n], np.hypot(left[1][:n], right[1][:n]))


class Fixed(Design):
    """The number of repeats does not depend on what they show."""

    name = "fixed"
    test = "t-test of the mean over repeats, corrected for skewness (paired within an arm, Welch between arms)"

    def mean(self, values: Array, errors: Array) -> Mean:
        return estimate(values, errors)

    def between(self, left: Series, right: Series) -> Mean:
        return difference(estimate(*left), estimate(*right))


class Sequential(Design):
    """Repeats were added for as long as claims were open: confidence sequences, valid whenever one stops."""

    name = "sequential"
    test = "anytime-valid t-test of the mean over repeats, corrected for skewness (paired by repeat)"

    def mean(self, values: Array, errors: Array) -> Mean:
        return anytime(values, errors)

    def between(self, left: Series, right: Series) -> Mean:
        return self.within(left, right)


DESIGNS: dict[str, Design] = {design.name: design for design in (Fixed(), Sequential())}


def design_of(table: pd.DataFrame) -> Design:
    """The design that a measurement table's file remembers. Raises HarnessError for one that is unknown."""
    name = str(table.attrs.get("design", "fixed"))
    if name not in DESIGNS:
        raise HarnessError(f"measurements of an unknown design {name!r}; known: {', '.join(DESIGNS)}")
    return DESIGNS[name]
