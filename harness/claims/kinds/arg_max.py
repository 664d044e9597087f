"""A metric is largest at one value of an axis."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.claims.contrasts import Compared, Contrast, Node, NotRun, PointInWords
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Expression, Name, aside, chain, level, numeral, phrase
from harness.claims.grid import over_grid
from harness.claims.kinds.along import Along
from harness.claims.kinds.margins import doubled_margin, doubled_margin_text
from harness.claims.operands import Real
from harness.coordinates import Level, Where


@CLAIM_KINDS.register
class ArgMax(Along):
    """At `is` the metric is above that at every other value of the axis by more than `margin`."""

    kind: Literal["arg-max"] = "arg-max"
    peak: Level = Field(alias="is")
    """The value of the axis."""
    margin: Real = 0.0
    """A negative one allows so much less."""

    def tree(self) -> Expression:
        shift = aside("by more than", numeral(self.margin)) if self.margin else None
        place = chain("=", Name(name=self.along), level(self.peak))
        return phrase(self.of.curve.tree(), "is largest at", place, shift, points_part("all", self.other_axes()))

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        declared.check_at({self.along: (self.peak,)}, [self.of])

    def doubled_tolerance(self) -> str | None:
        return doubled_margin_text(self.margin)

    def point_in_words(self) -> PointInWords:
        more = f", with the claim's margin of {self.margin:g}".replace("-", "−") if self.margin else ""
        return PointInWords((self.curve_at(self.peak),), (f"its value there{more}",))

    def contrasts(self, table: Measurements) -> Compared:
        levels = self.levels(table)
        if too_few := self.refuse_few(levels, 2, "a maximum"):
            return too_few
        if self.peak not in levels:
            return NotRun(f"the profile runs no {self.along} {self.peak}")
        top, others = self.curve_at(self.peak), [level for level in levels if level != self.peak]

        doubled = doubled_margin(self.margin)

        def compare(where: Where) -> list[Node]:
            return [
                Contrast(top, self.curve_at(level), self.place_shown(where, level), ">", self.margin, doubled)
                for level in others
            ]

        curves = [self.curve_at(level) for level in levels]
        return over_grid(table, curves, self.other_axes(), "one-sided {test}", compare)
