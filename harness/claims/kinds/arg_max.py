"""A metric is largest at one value of an axis."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.claims.combine import over_grid
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Expression, Name, aside, chain, level, numeral, phrase
from harness.claims.judge import compare_at
from harness.claims.kinds.along import Along
from harness.claims.operands import Real
from harness.claims.results import Part, PartResult, not_run
from harness.coordinates import Level


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

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        levels = self.levels(evidence)
        if too_few := self.refuse_few(levels, 2, "a maximum"):
            return too_few
        if self.peak not in levels:
            return not_run(f"the profile runs no {self.along} {self.peak}")
        top, others = self.curve_at(self.peak), [level for level in levels if level != self.peak]
        curves = [self.curve_at(level) for level in levels]
        return over_grid(
            evidence,
            part,
            curves,
            self.other_axes(),
            f"one-sided {evidence.test(curves)}",
            frozenset(),
            lambda where: [
                compare_at(
                    evidence, part.index, top, ">", self.curve_at(level), self.margin, self.place_shown(where, level)
                )
                for level in others
            ],
        )
