"""Two metrics move together over an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from harness.claims.combine import combine
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind
from harness.claims.expression import Expression, Name, chain, numeral, phrase
from harness.claims.kinds.over_repeats import series_of, stack_repeats
from harness.claims.operands import MetricOperand
from harness.claims.results import Part, PartResult, PointResult, not_run, point, unknown_part
from harness.inference import pearson

FEWEST = 3


@CLAIM_KINDS.register
class Correlation(MeasuredClaimKind):
    """Pearson correlation of two metrics over the epsilon grid, one coefficient a repeat, above `above`."""

    kind: Literal["correlation"] = "correlation"
    needs_repeats: ClassVar[bool] = True
    left: MetricOperand
    """One claim for each metric, arm and attack that it lists."""
    right: MetricOperand
    """What it leaves out is as on the left."""
    above: float = Field(default=0.0, gt=-1, lt=1)
    at: At = None
    """Grid points; of other axes than epsilon too, where they vary."""

    def tree(self) -> Expression:
        of = phrase(self.left.curve.tree(), "and", self.right.curve.tree())
        return chain(">", phrase("corr over", Name(name="epsilon"), "of", of), numeral(self.above))

    def parts(self, declared: NameScope) -> Sequence[Self]:
        left = declared.complete(self.left)
        right = self.right.inherit(left)
        pairs = [(one, other) for one in left.expand() for other in right.narrow_like(left, one).expand()]
        return [self.model_copy(update={"left": one, "right": other}) for one, other in pairs]

    def operands(self) -> Sequence[MetricOperand]:
        return self.left, self.right

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        left, right = self.left.curve, self.right.curve
        grid = evidence.grid([left, right], self.at)
        of = "" if evidence.design.name == "bounded" else "Fisher's z of "
        test = f"one-sided {evidence.design.test}, of {of}each repeat's correlation over epsilon"
        if len(grid) < FEWEST:
            return not_run(f"a correlation needs {FEWEST} epsilons, the profile runs {len(grid)}")
        values = [stack_repeats(evidence, [(curve, where) for where in grid]) for curve in (left, right)]
        repeats = min(v.shape[1] for v in values)
        correlations = np.array([pearson(values[0][:, r], values[1][:, r]) for r in range(repeats)])
        correlations = correlations[np.isfinite(correlations)]
        cells = frozenset().union(*(evidence.cells([left, right], where) for where in grid))
        if len(correlations) < 2:
            reason = "fewer than two repeats have a correlation (a metric does not vary over epsilon)"
            return unknown_part(reason, test)
        bounded = evidence.design.name == "bounded"  # bets are on the coefficients themselves, which have a range
        numbers = correlations if bounded else np.arctanh(np.clip(correlations, -0.999999, 0.999999))
        places = [(curve, where) for curve in (left, right) for where in grid] if len(correlations) == repeats else []
        mean = evidence.design.mean(series_of(evidence, places, numbers, *((-1.0, 1.0) if bounded else ())))
        middle = mean.mean if bounded else math.tanh(mean.mean)
        effect = mean.shift(-(self.above if bounded else math.atanh(self.above)))
        seen = point(part.index, {}, middle, self.above, effect).model_copy(update={"repeats": repeats})
        finding = combine(([PointResult(seen, effect, cells, correlations > self.above)], "all"), part, test)
        span = f"{len(grid)} epsilons in {len(correlations)} repeats"
        words = f"mean correlation {middle:.2f} over {span}, against {self.above:g}"
        return replace(finding, why=finding.why.model_copy(update={"words": words}))
