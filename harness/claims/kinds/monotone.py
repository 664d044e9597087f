"""A metric rises, or falls, along an axis."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from harness.claims.contrasts import Compared, Contrast, Node, PointInWords
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Expression, Name, aside, numeral, phrase
from harness.claims.grid import over_grid
from harness.claims.kinds.along import Along
from harness.claims.kinds.margins import doubled_margin, doubled_margin_text
from harness.claims.operands import Real
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

    def doubled_tolerance(self) -> str | None:
        return doubled_margin_text(self.margin)

    def point_in_words(self) -> PointInWords:
        more = f", with the claim's margin of {self.margin:g}".replace("-", "−") if self.margin else ""
        if self.direction == "rising":
            return PointInWords((self.of.curve,), (f"its value one step before{more}",))
        return PointInWords((self.of.curve, " one step before"), (f"its value after the step{more}",))

    def contrasts(self, table: Measurements) -> Compared:
        levels = self.levels(table)
        if too_few := self.refuse_few(levels, 2, "a trend"):
            return too_few
        steps = [(self.curve_at(a), self.curve_at(b), b) for a, b in pairwise(levels)]

        doubled = doubled_margin(self.margin)

        def compare(where: Where) -> list[Node]:
            pairs = [(b, a, level) if self.direction == "rising" else (a, b, level) for a, b, level in steps]
            return [Contrast(a, b, self.place_shown(where, level), ">", self.margin, doubled) for a, b, level in pairs]

        curves = [curve for step in steps for curve in step[:2]]
        return over_grid(table, curves, self.other_axes(), "one-sided {test}", compare)
