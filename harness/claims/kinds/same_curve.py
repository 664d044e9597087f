"""Over the noise multiplier, several arms follow one curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from harness.claims.combine import combine, combine_by_repeat
from harness.claims.declared import NameScope
from harness.claims.design import Series
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind
from harness.claims.expression import Expression, Name, aside, listing, names, phrase, width
from harness.claims.operands import MetricOperand, MetricSeries, Width
from harness.claims.results import Part, PartResult, PointResult, not_run, point
from harness.coordinates import Cell


@dataclass(frozen=True)
class _Value:
    """What an arm gives at one epsilon."""

    arm: str
    series: Series
    mean: float
    cells: frozenset[Cell]

    @classmethod
    def of(cls, evidence: Measurements, curve: MetricSeries, epsilon: float) -> _Value:
        series = evidence.series(curve, here := {"epsilon": epsilon})
        return cls(curve.arm, series, evidence.design.mean(series).mean, evidence.cells([curve], here))


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

    def relax(self) -> tuple[str, Self]:
        wider = 2 * self.tolerance
        return f"a tolerance of {wider:g} in place of {self.tolerance:g}", self.model_copy(update={"tolerance": wider})

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        """One look for each two arms and epsilon of the first whose noise multiplier is between two of the second."""
        curves = [operand.curve for operand in self.operands()]
        epsilons = [float(where["epsilon"]) for where in evidence.grid(curves, self.at)]
        noisy = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
        if not noisy:
            asked = ", ".join(f"{e:g}" for e in (self.at or {}).get("epsilon", ()))
            return not_run(f"the profile runs none of the epsilon {asked}")
        point_results = []
        known = {curve.arm: {epsilon: _Value.of(evidence, curve, epsilon) for epsilon in noisy} for curve in curves}
        for own, other in permutations(curves, 2):
            line = sorted((evidence.noise(other.arm, epsilon), epsilon) for epsilon in noisy)
            for epsilon in noisy:
                place = evidence.noise(own.arm, epsilon)
                around = [(a[1], b[1]) for a, b in pairwise(line) if a[0] <= place <= b[0]]
                if around:
                    ends = [known[other.arm][at] for at in around[0]]
                    point_results.append(
                        self._judge_between(evidence, part.index, epsilon, known[own.arm][epsilon], ends)
                    )
        if not point_results:
            return not_run("no two arms have noise multipliers that overlap")
        return combine((point_results, "all"), part, f"above one end and below the other: {evidence.test(curves)}")

    def _judge_between(
        self, evidence: Measurements, index: int, epsilon: float, own: _Value, ends: Sequence[_Value]
    ) -> PointResult:
        """Whether one arm's value lies between another's at two epsilons: the side nearer to failing is shown."""
        low, high = sorted(ends, key=lambda end: end.mean)
        above = evidence.gap_of(own.arm, low.arm, own.series, low.series).shift(self.tolerance)
        below = evidence.gap_of(own.arm, high.arm, own.series, high.series).shift(self.tolerance, -1.0)
        support = max(side.p_above(0) for side in (above, below))
        oppose = min(1.0, 2 * min(side.p_below(0) for side in (above, below)))
        effect, end = min(((above, low), (below, high)), key=lambda pair: pair[0].mean)
        cells = own.cells.union(*(end.cells for end in ends))
        nearer = point(index, {"epsilon": epsilon}, own.mean, end.mean, effect, None, support, oppose)
        inside = [PointResult(nearer, side, cells, side.is_positive(or_zero=True)) for side in (above, below)]
        return PointResult(nearer, effect, cells, combine_by_repeat(inside, np.logical_and))
