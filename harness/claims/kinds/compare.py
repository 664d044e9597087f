"""A measured side is above, or below, another."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from harness.claims.contrasts import Compared, Contrast, Right
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part, refuse_ends
from harness.claims.expression import Expression, chain, numeral, phrase
from harness.claims.kinds.two_sided import TwoSided
from harness.claims.operands import MetricOperand, MetricSeries, Real, Relation
from harness.coordinates import Where


@CLAIM_KINDS.register
class Compare(TwoSided):
    """left RELATION right + plus + margin, at the grid points of `at`."""

    kind: Literal["compare"] = "compare"
    takes_ends: ClassVar[bool] = True
    relation: Relation
    margin: Real = 0.0
    """Added to the right side. One that makes the claim easier is a tolerance, and is doubled and halved."""
    plus: Real = Field(default=0.0, exclude_if=lambda plus: not plus)
    """Added to the right side as a part of what is claimed: of `auc - 0.5 < 0.6 * (auc - 0.5)` the 0.2."""

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        if self.left.minus is not None:
            refuse_ends(self.left.metrics)
        if isinstance(self.right, MetricOperand):
            refuse_ends(self.right.metrics)

    def tree(self) -> Expression:
        return phrase(self.comparison(), points_part(self.quantifier, self.at))

    def comparison(self) -> Expression:
        """Without the grid points."""
        pairs = [(left.tree(), self._moved(right.tree())) for left, right in self.alternatives()]
        return chain("or", *(chain(self.relation, left, right) for left, right in pairs))

    def _moved(self, right: Expression) -> Expression:
        for shift in (self.plus, self.margin):
            if shift:
                right = chain("+" if shift > 0 else "-", right, numeral(abs(shift)))
        return right

    @property
    def _is_tolerance(self) -> bool:
        """A margin that makes the claim easier is a tolerance; one that makes it harder is what is claimed."""
        return self.margin != 0 and (self.margin > 0) != (self.relation in (">", ">="))

    def doubled_tolerance(self) -> str | None:
        return f"a margin of {2 * self.margin:g} in place of {self.margin:g}" if self._is_tolerance else None

    def contrasts(self, table: Measurements) -> Compared:
        return self.compare_places(table, "one-sided {test}")

    def contrast(self, left: MetricSeries, right: Right, where: Where, owner_set: float | None = None) -> Contrast:
        line = self.plus + self.margin
        doubled = self.plus + 2 * self.margin if self._is_tolerance else None
        return Contrast(left, right, where, self.relation, line, doubled, owner_set)
