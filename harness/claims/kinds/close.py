"""A measured side is within a tolerance of another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_text
from harness.claims.judge import Part, PartResult, close
from harness.claims.kinds.two_sided import TwoSided
from harness.claims.operands import MetricSeries, Number, Width


@CLAIM_KINDS.register
class Close(TwoSided):
    """|left - right| < tolerance, tested as equivalence (two one-sided tests)."""

    kind: Literal["close"] = "close"
    tolerance: Width

    def text(self) -> str:
        shown = [f"|{left.text()} - {right.text()}| < {self.tolerance:g}" for left, right in self.alternatives()]
        return " or ".join(shown) + points_text(self.quantifier, self.at)

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        test = "equivalence by two one-sided tests:"
        return self.judged(
            evidence, part, test, lambda of, left, right, at: close(of, part.index, left, right, self.tolerance, at)
        )

    def relaxed(self) -> tuple[str, Self]:
        wider = 2 * self.tolerance
        return f"a tolerance of {wider:g} in place of {self.tolerance:g}", self.model_copy(update={"tolerance": wider})

    def printed(self) -> Sequence[tuple[MetricSeries, Mapping[str, Any], float]]:
        if not isinstance(self.right, Number) or self.quantifier != "all":
            return ()
        at = self.at or {}
        places = [dict(zip(at, values, strict=True)) for values in itertools.product(*at.values())]
        places = [where for where in places if "epsilon" in where and not math.isnan(float(where["epsilon"]))]
        fixed = [{"epsilon": self.left.epsilon}] if self.left.epsilon is not None else []
        return [(left, place, self.right.value) for left, _ in self.alternatives() for place in fixed or places]
