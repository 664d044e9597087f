"""Of two axes, one explains more of how a metric varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from harness.arrays import Array
from harness.claims.contrasts import Compared, Comparisons, NotRun, PointInWords, RepeatNumber
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind
from harness.claims.expression import Expression, Name, phrase
from harness.claims.operands import MetricOperand


@CLAIM_KINDS.register
class VarianceShare(MeasuredClaimKind):
    """The share of a metric's variance over the grid that the main effect of `axis` explains is above that of `than`.

    Both are omega squared of a two-way analysis of variance on the grid of the two axes, one a repeat. Unlike shares of
    sums of squares they are 0 on average where nothing but noise varies, however many values the axes have.
    """

    kind: Literal["variance-share"] = "variance-share"
    needs_repeats: ClassVar[bool] = True
    hashed_kind: ClassVar[str | None] = "explains-more"
    of: MetricOperand
    """One claim for each metric, arm and attack that it lists."""
    axis: str
    than: str
    at: At = None
    """Grid points of the two axes; a third axis has to be fixed here."""

    def tree(self) -> Expression:
        of = phrase("explains more of the variance of", self.of.curve.tree())
        return phrase(Name(name=self.axis), of, "than", Name(name=self.than))

    def parts(self, declared: NameScope) -> Sequence[Self]:
        return [self.model_copy(update={"of": one}) for one in declared.complete(self.of).expand()]

    def operands(self) -> Sequence[MetricOperand]:
        return [self.of]

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        if self.axis == self.than:
            raise ValueError(f"compares the axis {self.axis!r} with itself")
        (arm,), attack = self.of.arm, (self.of.attack or ("",))[0]
        for name in (self.axis, self.than):
            declared.check_varies(name, self.of, arm, attack)

    def point_in_words(self) -> PointInWords:
        shares = f" that {self.axis} explains, less the share that {self.than} explains,"
        return PointInWords(("the share of the variance of ", self.of.curve, shares))

    def contrasts(self, table: Measurements) -> Compared:
        curve = self.of.curve
        grid = table.grid([curve], self.at)
        rows, columns = (list(dict.fromkeys(at[name] for at in grid)) for name in (self.axis, self.than))
        if len(rows) < 2 or len(columns) < 2 or len(grid) != len(rows) * len(columns):
            return NotRun(f"the profile runs no whole grid of two values or more of {self.axis} and {self.than}")
        wheres = {(at[self.axis], at[self.than]): at for at in grid}  # which fix other axes, too

        def excess(values: Array) -> Array:
            shares = main_effects(values.reshape(len(rows), len(columns), -1))
            difference: Array = shares[0] - shares[1]
            return difference

        number = RepeatNumber(
            [(curve, wheres[r, c]) for r in rows for c in columns],
            excess,
            ">",
            0.0,
            missing="the metric does not vary over the grid",
        )
        test = "one-sided {test}, of each repeat's difference of explained shares of variance"
        return Comparisons((number,), test)


def main_effects(values: Array) -> Array:
    """(2, n) shares of the variance over a grid (rows, columns, n) that rows and that columns explain: omega squared.

    What noise alone adds to the sum of squares of an effect, its degrees of freedom times the mean square of what both
    effects leave over, is taken off (Hays 1963). A share may so be below 0. Not a number where nothing varies.
    """
    rows, columns = values.shape[:2]
    centre = values.mean(axis=(0, 1))
    total = np.square(values - centre).sum(axis=(0, 1))
    of_rows = columns * np.square(values.mean(axis=1) - centre).sum(axis=0)
    of_columns = rows * np.square(values.mean(axis=0) - centre).sum(axis=0)
    noise = (total - of_rows - of_columns) / ((rows - 1) * (columns - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: Array = np.stack([of_rows - (rows - 1) * noise, of_columns - (columns - 1) * noise]) / (total + noise)
    return shares
