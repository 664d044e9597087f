"""A metric rises along an axis with falling returns."""

from __future__ import annotations

import math
from typing import Literal

from harness.claims.combine import over_grid
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Expression, aside, names, numeral, phrase
from harness.claims.kinds.along import Along
from harness.claims.operands import Real
from harness.claims.results import Part, PartResult, PointResult, point
from harness.coordinates import Where


@CLAIM_KINDS.register
class Concave(Along):
    """At each value between two neighbours, the metric is above the straight line through them by more than `margin`.

    A negative margin allows so much below it.
    """

    kind: Literal["concave"] = "concave"
    scale: Literal["linear", "log"] = "linear"
    """Of the axis, between whose values the line is drawn."""
    margin: Real = 0.0

    def tree(self) -> Expression:
        shift = aside("by more than", numeral(self.margin)) if self.margin else None
        axis = phrase(*names([self.along] if self.scale == "linear" else ["log", self.along]))
        return phrase(self.of.curve.tree(), "is concave in", axis, shift, points_part("all", self.at))

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        levels = self.levels(evidence)
        if too_few := self.refuse_few(levels, 3, "a curve's bend"):
            return too_few
        at = [math.log(float(v)) if self.scale == "log" else float(v) for v in levels]

        def look(i: int, where: Where) -> PointResult:
            share = (at[i] - at[i - 1]) / (at[i + 1] - at[i - 1])
            before, own, after = (evidence.series(self.curve_at(levels[j]), where) for j in (i - 1, i, i + 1))
            line = before.scale(1 - share).add(after.scale(share))
            effect = evidence.design.mean_within_arm(own, line).shift(-self.margin)
            mean = evidence.design.mean
            curves = [self.curve_at(levels[j]) for j in (i - 1, i, i + 1)]
            bend = point(part.index, self.place_shown(where, levels[i]), mean(own).mean, mean(line).mean, effect)
            return PointResult(bend, effect, evidence.cells(curves, where), effect.is_positive())

        curves = [self.curve_at(level) for level in levels]
        return over_grid(
            evidence,
            part,
            curves,
            self.other_axes(),
            f"one-sided {evidence.test(curves)}",
            frozenset(),
            lambda where: [look(i, where) for i in range(1, len(levels) - 1)],
        )
