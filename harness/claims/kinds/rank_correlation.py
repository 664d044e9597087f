"""Over arms, one metric rises where another does, or falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from harness.arrays import Array
from harness.claims.contrasts import Compared, Comparisons, NotRun, PointInWords, RepeatNumber
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind, points_part
from harness.claims.expression import Expression, aside, chain, listing, names, numeral, phrase
from harness.claims.operands import MetricOperand

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

    def point_in_words(self) -> PointInWords:
        of, other = (replace(next(iter(one.expand())).curve, arm="") for one in (self.of, self.with_))
        words = ("the rank correlation over arms of ", of, " with ", other)
        return PointInWords(words, relation=">" if self.above is not None else "<")

    def contrasts(self, table: Measurements) -> Compared:
        pairs = [(one.curve, self.with_.model_copy(update={"arm": one.arm}).curve) for one in self.of.expand()]
        places = [(one, two, at) for one, two in pairs for at in table.grid([one, two], self.at)]
        if len(places) < FEWEST:
            return NotRun(f"a rank correlation needs {FEWEST} arms or grid points, the profile runs {len(places)}")
        above = self.above if self.above is not None else self.below
        assert above is not None
        number = RepeatNumber(
            [*((one, at) for one, _, at in places), *((two, at) for _, two, at in places)],
            rank_correlate_halves,
            ">" if self.above is not None else "<",
            above,
            missing="a metric does not vary over the arms",
        )
        return Comparisons(
            (number,), f"one-sided {{test}}, of each repeat's rank correlation over {len(places)} places"
        )


def rank_correlate_halves(values: Array) -> Array:
    """(n,) Spearman correlations of the first half of the rows of (2 k, n) with the second, one for each column."""
    from scipy import stats

    left, right = np.split(values, 2)
    return np.array([stats.spearmanr(left[:, r], right[:, r]).statistic for r in range(values.shape[1])])


def _names(operand: MetricOperand) -> Expression:
    attacks = aside(chain("/", *names(operand.attack), tight=True)) if operand.attack else None
    return phrase(chain("/", *names(operand.metric), tight=True), attacks)
