"""What kinds with a left and a right side share: one part for each of the names that a side lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar, Self

from pydantic import Field

from harness.claims.combine import over_grid
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import At, For, MeasuredClaimKind, names_for_some, sides, some_of
from harness.claims.judge import Right, as_one_series
from harness.claims.operands import OWNER_SET, FormulaValue, MetricOperand, MetricSeries, Operand
from harness.claims.owner_sets import some_owner_set
from harness.claims.results import Part, PartResult, PointResult
from harness.coordinates import Where

Look = Callable[[Measurements, MetricSeries, Right, Where], PointResult]
"""What is found at a place of two sides."""


class TwoSided(MeasuredClaimKind):
    """A measured side against another side, at every grid point or at some."""

    counts_absent_points: ClassVar[bool] = True
    left: MetricOperand
    """The measured side; the claim is made for each metric, arm and attack that it lists."""
    right: Operand
    """What it is compared with. A measured side means what the left says, but for what it says itself."""
    quantifier: For = Field(default="all", alias="for")
    """Grid points at which it has to hold."""
    at: At = None
    """Grid points to look at."""

    def parts(self, declared: NameScope) -> Sequence[Self]:
        left, right = sides(self.left, self.right, declared)
        but = names_for_some(self.quantifier)
        updates = [{"left": one, "right": other} for one, other in _pairs(left, right, but)]
        return [self.model_copy(update=update) for update in updates]

    def operands(self) -> Sequence[MetricOperand]:
        return [side for side in (self.left, self.right) if isinstance(side, MetricOperand)]

    def formulas(self) -> Sequence[FormulaValue]:
        return [self.right] if isinstance(self.right, FormulaValue) else []

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        if not isinstance(self.quantifier, str):
            declared.check_quantified(self.quantifier, self.left)
        if isinstance(self.right, FormulaValue):
            declared.check_formula(self.right, self.left)
        elif not isinstance(self.right, MetricOperand) and hasattr(self.right, "axis"):
            for arm in self.left.arm:
                for attack in self.left.attack or ("",):
                    declared.check_numeric(self.right.axis, arm, attack)

    def alternatives(self) -> list[tuple[MetricSeries, Right]]:
        """The pairs of sides of which one is enough; mostly a single one."""
        return [(one.curve, as_one_series(other)) for one, other in _pairs(self.left, self.right, frozenset())]

    def measured_alternatives(self, evidence: Measurements) -> list[tuple[MetricSeries, Right]]:
        """Those of the alternatives whose attacks have measurements."""
        return [pair for pair in self.alternatives() if not _lost_attacks(pair, evidence)]

    def judge_places(self, evidence: Measurements, part: Part, test: str, look: Look) -> PartResult:
        """Judge at every place by `look(evidence, left, right, where)`."""
        pairs = self.measured_alternatives(evidence)
        curves = [c for left, right in pairs for c in (left, right) if isinstance(c, MetricSeries)]
        some = some_of(self.quantifier, evidence.axes)
        any_owner_set = not isinstance(self.quantifier, str) and self.quantifier.get(OWNER_SET) == "some"

        def judge_place(where: Where) -> list[PointResult]:
            if any_owner_set:
                return [
                    some_owner_set(evidence, left, where, part, partial(_judge_selection, look, left, right, where))
                    for left, right in pairs
                ]
            return [look(evidence, left, right, where) for left, right in pairs]

        words, lost = f"{test} {evidence.test(curves)}", len(self.alternatives()) - len(pairs)
        return over_grid(evidence, part, curves, self.at, words, some, judge_place, lost)


def _lost_attacks(pair: tuple[MetricSeries, Right], evidence: Measurements) -> bool:
    """Whether one of two sides is of an attack of which there are no measurements."""
    return any(isinstance(one, MetricSeries) and one.attack and one.attack not in evidence.attacks for one in pair)


def _judge_selection(look: Look, left: MetricSeries, right: Right, where: Where, evidence: Measurements) -> PointResult:
    return look(evidence, left, right, where)


def _pairs(left: MetricOperand, right: Operand, but: frozenset[str]) -> Iterator[tuple[MetricOperand, Operand]]:
    for one in left.expand(but):
        for other in right.narrow_like(left, one).expand(but) if isinstance(right, MetricOperand) else [right]:
            yield one, other
