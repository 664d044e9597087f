"""What kinds share that are made of several claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.claims.declared import NameScope
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.operands import FormulaValue, MetricOperand


class OfSeveral(MeasuredClaimKind):
    """A kind of claim that is made of several others, its field `of`."""

    if TYPE_CHECKING:
        of: tuple[MeasuredClaimKind, ...]

    def made_of(self) -> Sequence[MeasuredClaimKind]:
        return self.of

    def operands(self) -> Sequence[MetricOperand]:
        return [operand for one in self.of for operand in one.operands()]

    def formulas(self) -> Sequence[FormulaValue]:
        return [formula for one in self.of for formula in one.formulas()]

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        for one in self.of:
            one.check(declared)

    def doubled_tolerance(self) -> str | None:
        texts = dict.fromkeys(text for one in self.of if (text := one.doubled_tolerance()) is not None)
        return " and ".join(texts) or None
