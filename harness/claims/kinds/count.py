"""Counts of the data and of the split are the printed ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from harness.claims.declared import NameScope, describe_unknown_name
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, MeasuredClaimKind
from harness.claims.expression import Expression, Name, Numeral, chain, listing
from harness.claims.reasons import Counted, Reason
from harness.claims.results import Part, PartResult
from harness.claims.verdict import Outcome, Point

SHOWN = 6


@CLAIM_KINDS.register
class Count(MeasuredClaimKind):
    """Counts of the data and of the split equal the printed ones in every repeat."""

    kind: Literal["count"] = "count"
    arm: str
    equals: dict[str, int] = Field(min_length=1)
    """Printed value of each count, such as `owner_set: 15784`."""

    def tree(self) -> Expression:
        of = (Name(name=self.arm),)
        return listing(chain("=", Name(name=n, of=of), Numeral(number=value)) for n, value in self.equals.items())

    def attacks(self) -> Mapping[str, tuple[str, ...]]:
        return {self.arm: ("",)}

    def check(self, declared: NameScope) -> None:
        if self.arm not in declared.arms:
            raise ValueError(describe_unknown_name("arm", self.arm, declared.arms))
        if declared.of_models is not None:
            raise ValueError("count is of records that were drawn here; results from elsewhere count none")

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        points, counts = [], []
        for name, printed in self.equals.items():
            counted = evidence.counts(self.arm, name)
            shown = tuple(float(value) for value in counted[:SHOWN])
            counts.append(Counted(name=name, printed=printed, found=shown, several=len(counted) > SHOWN))
            right = counts[-1].is_right
            farthest = float(counted[np.abs(counted - printed).argmax()])
            points.append(
                Point(
                    expectation=part.index,
                    left=farthest,
                    right=printed,
                    effect=0.0 - abs(farthest - printed),
                    low=None,
                    high=None,
                    p_support=0.0 if right else 1.0,
                    p_oppose=1.0 if right else 0.0,
                    repeats=1,
                )
            )
        worst = min(range(len(points)), key=lambda i: points[i].effect)
        outcome: Outcome = "reproduced" if all(count.is_right for count in counts) else "violated"
        reason = Reason(found="counted", point=worst, counts=tuple(counts))
        return PartResult(outcome, reason, tuple(points), points[worst], "exact count", "none")
