"""What kinds about one metric along one axis share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

from harness.claims.contrasts import NotRun
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import At, MeasuredClaimKind
from harness.claims.operands import MetricOperand, MetricSeries, Several
from harness.coordinates import Level, Where, place


class Along(MeasuredClaimKind):
    """One metric along one axis; at every grid point of the other axes, or in the mean over them."""

    measured_field: ClassVar[str | None] = "of"
    of: MetricOperand
    """What is measured; the claim is made for each metric, arm and attack that it lists."""
    along: str = "epsilon"
    """The axis."""
    at: At = None
    """Grid points to look at, of this axis and of others."""
    mean_over: Several = ()
    """Axes over which the mean is taken first, repeat by repeat."""

    def parts(self, declared: NameScope) -> Sequence[Self]:
        of = declared.complete(self.of)
        if self.mean_over:
            of = of.model_copy(update={"mean_over": self.mean_over})
        return [self.model_copy(update={"of": one, "mean_over": ()}) for one in of.expand()]

    def operands(self) -> Sequence[MetricOperand]:
        return [self.of]

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        (arm,), attack = self.of.arm, (self.of.attack or ("",))[0]
        declared.check_varies(self.along, self.of, arm, attack)

    def levels(self, table: Measurements) -> list[Level]:
        """Values of the axis that are looked at, in order."""
        levels = table.levels(self.of.curve, self.along)
        asked = (self.at or {}).get(self.along)
        if asked is not None:
            return [v for v in levels if v in asked]
        return [v for v in levels if self.along != "epsilon" or v != float("inf")]

    def curve_at(self, level: Level) -> MetricSeries:
        """The curve fixed at one value of the axis."""
        curve = self.of.curve
        return replace(curve, at=place({**dict(curve.at), self.along: level}))

    def other_axes(self) -> dict[str, tuple[Level, ...]] | None:
        """Grid points asked for of the other axes."""
        return {k: v for k, v in self.at.items() if k != self.along} if self.at else None

    def refuse_few(self, levels: Sequence[Level], needed: int, what: str) -> NotRun | None:
        """Not run, where the profile runs too few values of the axis."""
        if len(levels) >= needed:
            return None
        runs = f"{len(levels)}" if len(levels) != 1 else "one"
        return NotRun(f"{what} needs {needed} values of {self.along}, the profile runs {runs}")

    def place_shown(self, where: Where, level: Level) -> dict[str, Level]:
        """A place with the axis in it, for the reader."""
        return {**where, self.along: level}
