"""A metric rises along an axis with falling returns."""

from __future__ import annotations

import math
from typing import Literal

from harness.claims.contrasts import Compared, Contrast, Node, PointInWords, WeightedSum
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Expression, aside, names, numeral, phrase
from harness.claims.grid import over_grid
from harness.claims.kinds.along import Along
from harness.claims.kinds.margins import doubled_margin, doubled_margin_text
from harness.claims.operands import Real
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

    def doubled_tolerance(self) -> str | None:
        return doubled_margin_text(self.margin)

    def point_in_words(self) -> PointInWords:
        more = f", with the claim's margin of {self.margin:g}".replace("-", "−") if self.margin else ""
        return PointInWords((self.of.curve,), (f"the straight line between its neighbours there{more}",))

    def contrasts(self, table: Measurements) -> Compared:
        levels = self.levels(table)
        if too_few := self.refuse_few(levels, 3, "a curve's bend"):
            return too_few
        at = [math.log(float(v)) if self.scale == "log" else float(v) for v in levels]

        doubled = doubled_margin(self.margin)

        def bend(i: int, where: Where) -> Contrast:
            share = (at[i] - at[i - 1]) / (at[i + 1] - at[i - 1])
            line = WeightedSum(((1 - share, self.curve_at(levels[i - 1])), (share, self.curve_at(levels[i + 1]))))
            return Contrast(
                self.curve_at(levels[i]), line, self.place_shown(where, levels[i]), ">", self.margin, doubled
            )

        def compare(where: Where) -> list[Node]:
            return [bend(i, where) for i in range(1, len(levels) - 1)]

        curves = [self.curve_at(level) for level in levels]
        return over_grid(table, curves, self.other_axes(), "one-sided {test}", compare)
