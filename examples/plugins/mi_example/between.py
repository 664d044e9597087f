"""A kind of claim: a metric lies between two numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from harness.plugins import (
    CLAIM_KINDS,
    At,
    Compared,
    Contrast,
    Expression,
    MeasuredClaimKind,
    Measurements,
    MetricOperand,
    NameScope,
    Node,
    Number,
    Real,
    Where,
    chain,
    numeral,
    over_grid,
)


@CLAIM_KINDS.register
class Between(MeasuredClaimKind):
    """low < of < high, at every grid point; one claim for each metric, arm and attack that `of` lists."""

    kind: Literal["between"] = "between"
    of: MetricOperand
    low: Real
    high: Real
    at: At = None

    def tree(self) -> Expression:
        return chain("<", numeral(self.low), self.of.curve.tree(), numeral(self.high))

    def parts(self, declared: NameScope) -> Sequence[Self]:
        return [self.model_copy(update={"of": one}) for one in declared.complete(self.of).expand()]

    def operands(self) -> Sequence[MetricOperand]:
        return [self.of]

    def contrasts(self, table: Measurements) -> Compared:
        curve, low, high = self.of.curve, Number(value=self.low), Number(value=self.high)

        def compare(where: Where) -> list[Node]:
            return [Contrast(curve, low, where, ">", 0.0), Contrast(curve, high, where, "<", 0.0)]

        return over_grid(table, [curve], self.at, "one-sided {test}", compare)
