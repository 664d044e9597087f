"""A metric is higher in the middle of an axis than at both ends."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.claims.combine import combine_alternatives, combine_by_repeat, over_grid
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Expression, Name, numeral, phrase
from harness.claims.judge import compare_at
from harness.claims.kinds.along import Along
from harness.claims.operands import Real
from harness.claims.results import Part, PartResult, PointResult, not_run
from harness.coordinates import Level, Where


@CLAIM_KINDS.register
class InteriorPeak(Along):
    """At `peak`, or at some value between, the metric is above that at the first and at the last value of the axis."""

    kind: Literal["interior-peak"] = "interior-peak"
    hashed_kind: ClassVar[str | None] = "hump"
    peak: Level | None = None
    """Where; default: at some value between the ends."""
    margin: Real = 0.0
    """Height of the peak above either end."""

    def tree(self) -> Expression:
        where = phrase("at", numeral(self.peak)) if isinstance(self.peak, float) else "somewhere between"
        more = phrase("by more than", numeral(self.margin)) if self.margin else None
        ends = phrase("than at both ends of", Name(name=self.along))
        return phrase(self.of.curve.tree(), "is higher", where, ends, more, points_part("all", self.other_axes()))

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        if self.peak is not None:
            declared.check_at({self.along: (self.peak,)}, [self.of])

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        levels = self.levels(evidence)
        if too_few := self.refuse_few(levels, 3, "a peak"):
            return too_few
        between = [v for v in levels[1:-1] if self.peak is None or v == self.peak]
        if not between:
            return not_run(f"the profile runs no {self.along} {self.peak} between others")
        ends = [self.curve_at(levels[0]), self.curve_at(levels[-1])]

        def above_both(level: Level, where: Where) -> PointResult:
            """The nearer end decides: both gaps have to be there."""
            at = self.place_shown(where, level)
            sides = [compare_at(evidence, part.index, self.curve_at(level), ">", end, self.margin, at) for end in ends]
            weak = max(sides, key=lambda look: look.point.p_support)
            oppose = min(1.0, 2 * min(look.point.p_oppose for look in sides))
            nearer = weak.point.model_copy(update={"p_oppose": oppose})
            cells = frozenset().union(*(look.cells for look in sides))
            return PointResult(nearer, weak.effect, cells, combine_by_repeat(sides, np.logical_and))

        curves = [self.curve_at(level) for level in levels]
        return over_grid(
            evidence,
            part,
            curves,
            self.other_axes(),
            f"above both ends: one-sided {evidence.test(curves)}",
            frozenset(),
            lambda where: [combine_alternatives([above_both(level, where) for level in between])],
        )
