"""A kind of claim: a metric lies between two numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from harness.plugins import (
    CLAIM_KINDS,
    At,
    Expression,
    MeasuredClaimKind,
    Measurements,
    MetricOperand,
    NameScope,
    Number,
    Part,
    PartResult,
    PointResult,
    Real,
    chain,
    compare_at,
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

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        curve, low, high = self.of.curve, Number(value=self.low), Number(value=self.high)

        def looks(where: Mapping[str, Any]) -> list[PointResult]:
            above = compare_at(evidence, part.index, curve, ">", low, 0.0, where)
            return [above, compare_at(evidence, part.index, curve, "<", high, 0.0, where)]

        return over_grid(evidence, part, [curve], self.at, evidence.test([curve]), frozenset(), looks)
