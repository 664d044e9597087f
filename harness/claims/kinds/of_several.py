"""What kinds share that are made of several claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from harness.claims.contrasts import PointInWords
from harness.claims.declared import NameScope
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.operands import FormulaValue, MetricOperand, MetricSeries


class OfSeveral(MeasuredClaimKind):
    """A kind of claim that is made of several others, its field `of`."""

    if TYPE_CHECKING:
        of: tuple[MeasuredClaimKind, ...]

    def made_of(self) -> Sequence[MeasuredClaimKind]:
        return self.of

    def point_in_words(self) -> PointInWords:
        """One number of one of the claims; in which sense it is compared the claims may not share."""
        return PointInWords((tuple(curve for one in self.of for curve in _left_curves(one)),), relation=self._sense())

    def _sense(self) -> Literal["<", ">", "between"]:
        """How their left sides have to stand to the right ones; `between` where they differ."""
        signs = {pattern.relation[0] for one in self.of for pattern in one.patterns()}
        return {"<": "<", ">": ">"}.get("".join(signs), "between")  # type: ignore[return-value]

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


def _left_curves(one: MeasuredClaimKind) -> list[MetricSeries]:
    """The curves that a claim measures, without what it compares them with."""
    return [pattern.left for pattern in one.patterns()] or [operand.curve for operand in one.operands()]
