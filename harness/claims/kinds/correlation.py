"""Two metrics move together over an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.claims.contrasts import Compared, Comparisons, NotRun, PointInWords, RepeatNumber
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind
from harness.claims.expression import Expression, Name, chain, numeral, phrase
from harness.claims.operands import MetricOperand
from harness.inference.correlation import pearson

FEWEST = 3


@CLAIM_KINDS.register
class Correlation(MeasuredClaimKind):
    """Pearson correlation of two metrics over the epsilon grid, one coefficient a repeat, above `above`."""

    kind: Literal["correlation"] = "correlation"
    needs_repeats: ClassVar[bool] = True
    effect_scale: ClassVar[str] = "on the scale of Fisher's z"
    left: MetricOperand
    """One claim for each metric, arm and attack that it lists."""
    right: MetricOperand
    """What it leaves out is as on the left."""
    above: float = Field(default=0.0, gt=-1, lt=1)
    at: At = None
    """Grid points; of other axes than epsilon too, where they vary."""

    def tree(self) -> Expression:
        of = phrase(self.left.curve.tree(), "and", self.right.curve.tree())
        return chain(">", phrase("corr over", Name(name="epsilon"), "of", of), numeral(self.above))

    def parts(self, declared: NameScope) -> Sequence[Self]:
        left = declared.complete(self.left)
        right = self.right.inherit(left)
        pairs = [(one, other) for one in left.expand() for other in right.narrow_like(left, one).expand()]
        return [self.model_copy(update={"left": one, "right": other}) for one, other in pairs]

    def operands(self) -> Sequence[MetricOperand]:
        return self.left, self.right

    def point_in_words(self) -> PointInWords:
        return PointInWords(("the mean correlation over epsilon of ", self.left.curve, " with ", self.right.curve))

    def contrasts(self, table: Measurements) -> Compared:
        curves = [self.left.curve, self.right.curve]
        grid = table.grid(curves, self.at)
        if len(grid) < FEWEST:
            return NotRun(f"a correlation needs {FEWEST} epsilons, the profile runs {len(grid)}")
        number = RepeatNumber(
            [(curve, where) for curve in curves for where in grid],
            correlate_halves,
            ">",
            self.above,
            missing="fewer than two repeats have a correlation (a metric does not vary over epsilon)",
            skips_missing=True,
            fisher=True,
            words=f"mean correlation {{mean:.2f}} over {len(grid)} epsilons in {{repeats}} repeats, against {{line:g}}",
        )
        return Comparisons((number,), "one-sided {test}, of {scale}each repeat's correlation over epsilon")


def correlate_halves(values: Array) -> Array:
    """(n,) Pearson correlations of the first half of the rows of (2 k, n) with the second, one for each column."""
    left, right = np.split(values, 2)
    return np.array([pearson(left[:, r], right[:, r]) for r in range(values.shape[1])])
