"""A measured side is above, or below, another."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part, refuse_ends
from harness.claims.expression import Expression, chain, numeral, phrase
from harness.claims.judge import Right, compare_at
from harness.claims.kinds.two_sided import TwoSided
from harness.claims.operands import MetricOperand, MetricSeries, Real, Relation
from harness.claims.results import Part, PartResult, PointResult
from harness.coordinates import Where


@CLAIM_KINDS.register
class Compare(TwoSided):
    """left RELATION right + margin, at the grid points of `at`."""

    kind: Literal["compare"] = "compare"
    takes_ends: ClassVar[bool] = True
    relation: Relation
    margin: Real = 0.0
    """Added to the right side."""

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
        sign, shift = ("+" if self.margin > 0 else "-"), ([numeral(abs(self.margin))] if self.margin else [])
        pairs = [(left.tree(), chain(sign, right.tree(), *shift)) for left, right in self.alternatives()]
        return chain("or", *(chain(self.relation, left, right) for left, right in pairs))

    def relax(self) -> tuple[str, Self] | None:
        """A margin that makes the claim easier is a tolerance; one that makes it harder is what is claimed."""
        if self.margin == 0 or (self.margin > 0) == (self.relation in (">", ">=")):
            return None
        wider = 2 * self.margin
        return f"a margin of {wider:g} in place of {self.margin:g}", self.model_copy(update={"margin": wider})

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        return self.judge_places(
            evidence, part, "one-sided", lambda of, left, right, where: self.look(of, part, left, right, where)
        )

    def look(self, evidence: Measurements, part: Part, left: MetricSeries, right: Right, where: Where) -> PointResult:
        """What is found at one place."""
        return compare_at(evidence, part.index, left, self.relation, right, self.margin, where)
