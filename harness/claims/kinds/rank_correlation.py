"""Over arms, one metric rises where another does, or falls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind, points_part
from harness.claims.expression import Expression, aside, chain, listing, names, numeral, phrase
from harness.claims.kinds.over_repeats import judge_repeats, stack_repeats
from harness.claims.operands import MetricOperand, MetricSeries
from harness.claims.results import Part, PartResult, not_run, unknown_part
from harness.coordinates import Where

FEWEST = 3


@CLAIM_KINDS.register
class RankCorrelation(MeasuredClaimKind):
    """Spearman's rank correlation of two metrics over arms (and grid points), one a repeat, above or below a number."""

    kind: Literal["rank-correlation"] = "rank-correlation"
    needs_repeats: ClassVar[bool] = True
    of: MetricOperand
    """Its arms are those that the correlation is over; default: all."""
    with_: MetricOperand = Field(alias="with")
    """What it leaves out is as in `of`."""
    above: float | None = Field(default=None, ge=-1, le=1)
    below: float | None = Field(default=None, ge=-1, le=1)
    at: At = None
    """Grid points that the correlation is over too."""

    @model_validator(mode="after")
    def _check_one_of_both(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise ValueError("give either `above` or `below`")
        return self

    def tree(self) -> Expression:
        arms = listing(names(self.of.arm))
        left = phrase("rank correlation of", _names(self.of), "and", _names(self.with_), "over the arms", arms)
        sign, limit = (">", self.above) if self.above is not None else ("<", self.below)
        return phrase(chain(sign, left, *([] if limit is None else [numeral(limit)])), points_part("all", self.at))

    def parts(self, declared: NameScope) -> Sequence[Self]:
        of = self.of if self.of.arm else self.of.model_copy(update={"arm": tuple(declared.arms)})
        other = self.with_.inherit(of)
        arms = frozenset({"arm"})
        pairs = [(one, two) for one in of.expand(arms) for two in other.narrow_like(of, one).expand(arms)]
        return [self.model_copy(update={"of": one, "with_": two}) for one, two in pairs]

    def operands(self) -> Sequence[MetricOperand]:
        return self.of, self.with_

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        from scipy import stats

        pairs = [(one.curve, self.with_.model_copy(update={"arm": one.arm}).curve) for one in self.of.expand()]
        places: list[tuple[MetricSeries, MetricSeries, Where]] = [
            (one, two, at) for one, two in pairs for at in evidence.grid([one, two], self.at)
        ]
        if len(places) < FEWEST:
            return not_run(f"a rank correlation needs {FEWEST} arms or grid points, the profile runs {len(places)}")
        sides = [
            stack_repeats(evidence, [(one, at) for one, _, at in places]),
            stack_repeats(evidence, [(two, at) for _, two, at in places]),
        ]
        repeats = min(side.shape[1] for side in sides)
        correlations = np.array([stats.spearmanr(sides[0][:, r], sides[1][:, r]).statistic for r in range(repeats)])
        test = f"one-sided {evidence.design.test}, of each repeat's rank correlation over {len(places)} places"
        if not np.isfinite(correlations).all():
            return unknown_part("a metric does not vary over the arms", test)
        against = self.above if self.above is not None else self.below
        assert against is not None
        every = [(curve, at) for one, two, at in places for curve in (one, two)]
        return judge_repeats(
            evidence, part, every, correlations, against, 1.0 if self.above is not None else -1.0, test
        )


def _names(operand: MetricOperand) -> Expression:
    attacks = aside(chain("/", *names(operand.attack), tight=True)) if operand.attack else None
    return phrase(chain("/", *names(operand.metric), tight=True), attacks)
