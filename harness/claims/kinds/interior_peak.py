"""A metric is higher in the middle of an axis than at both ends."""

from __future__ import annotations

from typing import ClassVar, Literal

from harness.claims.contrasts import Both, Compared, Contrast, Either, Node, NotRun, PointInWords
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Expression, Name, numeral, phrase
from harness.claims.grid import over_grid
from harness.claims.kinds.along import Along
from harness.claims.kinds.margins import doubled_margin, doubled_margin_text
from harness.claims.operands import Real
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

    def doubled_tolerance(self) -> str | None:
        return doubled_margin_text(self.margin)

    def point_in_words(self) -> PointInWords:
        more = f", with the claim's margin of {self.margin:g}".replace("-", "−") if self.margin else ""
        return PointInWords((self.of.curve,), (f"the higher of its values at both ends of {self.along}{more}",))

    def contrasts(self, table: Measurements) -> Compared:
        levels = self.levels(table)
        if too_few := self.refuse_few(levels, 3, "a peak"):
            return too_few
        between = [v for v in levels[1:-1] if self.peak is None or v == self.peak]
        if not between:
            return NotRun(f"the profile runs no {self.along} {self.peak} between others")
        ends = [self.curve_at(levels[0]), self.curve_at(levels[-1])]

        def above_both(level: Level, where: Where) -> Both:
            own, at = self.curve_at(level), self.place_shown(where, level)
            return Both(tuple(Contrast(own, end, at, ">", self.margin, doubled_margin(self.margin)) for end in ends))

        def compare(where: Where) -> list[Node]:
            return [Either(tuple(above_both(level, where) for level in between))]

        curves = [self.curve_at(level) for level in levels]
        return over_grid(table, curves, self.other_axes(), "above both ends: one-sided {test}", compare)
