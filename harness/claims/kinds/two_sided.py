"""What kinds with a left and a right side share: one part for each of the names that a side lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

from pydantic import Field

from harness.claims.contrasts import Compared, Contrast, Node, Right, SomeOwnerSet, as_one_series
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import At, For, MeasuredClaimKind, names_for_some, sides, some_of
from harness.claims.grid import over_grid
from harness.claims.operands import OWNER_SET, FormulaValue, MetricOperand, MetricSeries, Operand
from harness.coordinates import Where


class TwoSided(MeasuredClaimKind):
    """A measured side against another side, at every grid point or at some."""

    counts_absent_points: ClassVar[bool] = True
    measured_field: ClassVar[str | None] = "left"
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

    @property
    def needs_one_attack(self) -> bool:
        return "attack" in names_for_some(self.quantifier)

    def has_measured_alternative(self, table: Measurements) -> bool:
        return bool(self.measured_alternatives(table))

    def patterns(self) -> Sequence[Contrast]:
        return [self.contrast(left, right, {}) for left, right in self.alternatives()]

    def measured_alternatives(self, table: Measurements) -> list[tuple[MetricSeries, Right]]:
        """Those of the alternatives whose attacks have measurements."""
        return [pair for pair in self.alternatives() if not _lost_attacks(pair, table)]

    @abstractmethod
    def contrast(self, left: MetricSeries, right: Right, where: Where, owner_set: float | None = None) -> Contrast:
        """What is compared of two sides at a place, in the repeats of one owner set or in all."""

    def compare_places(self, table: Measurements, test: str) -> Compared:
        """What is compared at every place. `test`: the test in words, with `{test}` for what a method says."""
        pairs = self.measured_alternatives(table)
        curves = [c for left, right in pairs for c in (left, right) if isinstance(c, MetricSeries)]
        some = some_of(self.quantifier, table.axes)
        any_owner_set = not isinstance(self.quantifier, str) and self.quantifier.get(OWNER_SET) == "some"

        def compare(where: Where) -> list[Node]:
            if any_owner_set:
                return [self._of_some_owner_set(table, left, right, where) for left, right in pairs]
            return [self.contrast(left, right, where) for left, right in pairs]

        return over_grid(table, curves, self.at, test, compare, some, len(self.alternatives()) - len(pairs))

    def _of_some_owner_set(self, table: Measurements, left: MetricSeries, right: Right, where: Where) -> SomeOwnerSet:
        by_size = {size: self.contrast(left, right, where, size) for size in table.owner_sets(left.arm)}
        return SomeOwnerSet(by_size, self.contrast(left, right, where))


def _lost_attacks(pair: tuple[MetricSeries, Right], table: Measurements) -> bool:
    """Whether one of two sides is of an attack of which there are no measurements."""
    return any(isinstance(one, MetricSeries) and one.attack and one.attack not in table.attacks for one in pair)


def _pairs(left: MetricOperand, right: Operand, but: frozenset[str]) -> Iterator[tuple[MetricOperand, Operand]]:
    for one in left.expand(but):
        for other in right.narrow_like(left, one).expand(but) if isinstance(right, MetricOperand) else [right]:
            yield one, other
