"""A measured side is within a tolerance of another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal

from harness.claims.contrasts import Compared, Contrast, Right
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, points_part
from harness.claims.expression import Absolute, Expression, chain, numeral, phrase
from harness.claims.kinds.two_sided import TwoSided
from harness.claims.operands import MetricSeries, Number, Width
from harness.coordinates import Where


@CLAIM_KINDS.register
class Close(TwoSided):
    """|left - right| < tolerance, tested as equivalence (two one-sided tests)."""

    kind: Literal["close"] = "close"
    tolerance: Width

    def tree(self) -> Expression:
        apart = [Absolute(absolute=chain("-", left.tree(), right.tree())) for left, right in self.alternatives()]
        either = chain("or", *(chain("<", one, numeral(self.tolerance)) for one in apart))
        return phrase(either, points_part(self.quantifier, self.at))

    def contrasts(self, table: Measurements) -> Compared:
        return self.compare_places(table, "equivalence by two one-sided tests: {test}")

    def contrast(self, left: MetricSeries, right: Right, where: Where, owner_set: float | None = None) -> Contrast:
        return Contrast(left, right, where, "within", self.tolerance, 2 * self.tolerance, owner_set)

    @property
    def is_of_printed_numbers(self) -> bool:
        return isinstance(self.right, Number)

    def doubled_tolerance(self) -> str:
        return f"a tolerance of {2 * self.tolerance:g} in place of {self.tolerance:g}"

    def printed_numbers(self) -> Sequence[tuple[MetricSeries, Where, float]]:
        if not isinstance(self.right, Number) or self.quantifier != "all":
            return ()
        at = self.at or {}
        places = [dict(zip(at, values, strict=True)) for values in itertools.product(*at.values())]
        places = [where for where in places if "epsilon" in where and not math.isnan(float(where["epsilon"]))]
        fixed = [{"epsilon": self.left.epsilon}] if self.left.epsilon is not None else []
        return [(left, place, self.right.value) for left, _ in self.alternatives() for place in fixed or places]
