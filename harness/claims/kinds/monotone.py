"""A metric rises, or falls, along an axis."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from harness.claims.combine import over_grid
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Expression, Name, aside, numeral, phrase
from harness.claims.judge import compare_at
from harness.claims.kinds.along import Along
from harness.claims.operands import Real
from harness.claims.results import Part, PartResult, PointResult
from harness.coordinates import Where


@CLAIM_KINDS.register
class Monotone(Along):
    """A metric rises (falls) from each grid point of an axis to the next, by more than `margin`.

    A negative margin allows so much movement the other way.
    """

    kind: Literal["monotone"] = "monotone"
    direction: Literal["rising", "falling"]
    margin: Real = 0.0

    def tree(self) -> Expression:
        shift = aside("by more than", numeral(self.margin), "a step") if self.margin else None
        along = Name(name=self.along)
        return phrase(self.of.curve.tree(), f"is {self.direction} in", along, shift, points_part("all", self.at))

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        levels = self.levels(evidence)
        if too_few := self.refuse_few(levels, 2, "a trend"):
            return too_few
        steps = [(self.curve_at(a), self.curve_at(b), b) for a, b in pairwise(levels)]
        rising = self.direction == "rising"

        def compare_steps(where: Where) -> list[PointResult]:
            return [
                compare_at(
                    evidence,
                    part.index,
                    after if rising else before,
                    ">",
                    before if rising else after,
                    self.margin,
                    self.place_shown(where, level),
                )
                for before, after, level in steps
            ]

        curves = [curve for step in steps for curve in step[:2]]
        return over_grid(
            evidence, part, curves, self.other_axes(), f"one-sided {evidence.test(curves)}", frozenset(), compare_steps
        )
