"""Over the noise multiplier, several arms follow one curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import ClassVar, Literal

from pydantic import Field

from harness.claims.contrasts import BetweenEnds, Compared, Comparisons, NotRun, PointInWords
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind
from harness.claims.expression import Expression, Name, aside, listing, names, phrase, width
from harness.claims.operands import MetricOperand, Width


@CLAIM_KINDS.register
class SameCurve(MeasuredClaimKind):
    """Over the noise multiplier, a metric of several arms follows one monotone curve.

    Each arm's value at each of its noise multipliers has to lie between another arm's values at the next smaller and
    the next larger one (where there are both), or within `tolerance` of that range. Nothing is interpolated.
    """

    kind: Literal["same-curve"] = "same-curve"
    hashed_kind: ClassVar[str | None] = "collapse"
    metric: str
    attack: str | None = None
    arms_: tuple[str, ...] = Field(min_length=2, alias="arms")
    tolerance: Width
    at: At = None
    """Nominal epsilons to look at; default: the finite grid."""

    def operands(self) -> Sequence[MetricOperand]:
        attack = () if self.attack is None else (self.attack,)
        return [MetricOperand(metric=(self.metric,), arm=(arm,), attack=attack) for arm in self.arms_]

    def check(self, declared: NameScope) -> None:
        if declared.of_models is not None:
            raise ValueError("same-curve is over noise multipliers, which results from elsewhere do not have")
        super().check(declared)

    def tree(self) -> Expression:
        attack = None if self.attack is None else aside(Name(name=self.attack))
        of = phrase(Name(name=self.metric), attack, "of", listing(names(self.arms_)))
        between = phrase("between each other's values at neighbouring noise multipliers")
        return listing([of, listing([between, width(self.tolerance)])], ":")

    def doubled_tolerance(self) -> str:
        return f"a tolerance of {2 * self.tolerance:g} in place of {self.tolerance:g}"

    def point_in_words(self) -> PointInWords:
        curves = tuple(operand.curve for operand in self.operands())
        return PointInWords(
            (curves,), ("the nearer of another's values at the next noise multipliers",), relation="between"
        )

    def contrasts(self, table: Measurements) -> Compared:
        """One for each two arms and epsilon of the first whose noise multiplier is between two of the second."""
        curves = [operand.curve for operand in self.operands()]
        epsilons = [float(where["epsilon"]) for where in table.grid(curves, self.at)]
        noisy = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
        if not noisy:
            asked = ", ".join(f"{e:g}" for e in (self.at or {}).get("epsilon", ()))
            return NotRun(f"the profile runs none of the epsilon {asked}")
        nodes = []
        for own, other in permutations(curves, 2):
            line = sorted((table.noise(other.arm, epsilon), epsilon) for epsilon in noisy)
            for epsilon in noisy:
                place = table.noise(own.arm, epsilon)
                around = [(a[1], b[1]) for a, b in pairwise(line) if a[0] <= place <= b[0]]
                if around:
                    low, high = ((other, {"epsilon": at}) for at in around[0])
                    nodes.append(
                        BetweenEnds(own, {"epsilon": epsilon}, (low, high), self.tolerance, 2 * self.tolerance)
                    )
        if not nodes:
            return NotRun("no two arms have noise multipliers that overlap")
        test = "above one end and below the other: {test}"
        return Comparisons(tuple(nodes), test, draws=table.draws_outcomes(curves))
