"""A chain of measured sides, each above the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field

from harness.claims.combine import over_grid
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind, points_part
from harness.claims.expression import Expression, aside, chain, numeral, phrase
from harness.claims.judge import compare_at
from harness.claims.operands import NAMED, MetricOperand, Real
from harness.claims.results import Part, PartResult
from harness.config import one_or_many


@CLAIM_KINDS.register
class Order(MeasuredClaimKind):
    """A chain of operands, each above (or below) the next by more than `margin`, at every grid point of `at`."""

    kind: Literal["order"] = "order"
    of: Annotated[
        tuple[MetricOperand, ...],
        BeforeValidator(one_or_many(dict), json_schema_input_type=MetricOperand | tuple[MetricOperand, ...]),
    ] = Field(min_length=1)
    """The chain; later ones mean what the first says, but for what they say themselves. A single one that lists
    several arms (or attacks, or metrics) is the chain of these."""
    direction: Literal["falling", "rising"]
    """`falling`: the first operand is the largest."""
    margin: Real = 0.0
    at: At = None
    """Grid points to look at."""

    def tree(self) -> Expression:
        sign = ">" if self.direction == "falling" else "<"
        shift = aside("by more than", numeral(self.margin)) if self.margin else None
        return phrase(chain(sign, *(o.curve.tree() for o in self.of)), shift, points_part("all", self.at))

    def parts(self, declared: NameScope) -> Sequence[Self]:
        first = declared.complete(self.of[0])
        if len(self.of) == 1:
            along = next((name for name in ("arm", "attack", "metric") if len(getattr(first, name)) > 1), None)
            if along is None:
                raise ValueError("an order needs two operands, or one that lists several arms, attacks or metrics")
            each = first.model_copy(update={along: getattr(first, along)[:1]}).expand()
            chains = [[one.model_copy(update={along: (name,)}) for name in getattr(first, along)] for one in each]
        else:
            rest = [other.inherit(first) for other in self.of[1:]]
            chains = [[one, *(other.narrow_like(first, one) for other in rest)] for one in first.expand()]
            if any(len(getattr(o, name)) > 1 for chain in chains for o in chain for name in NAMED):
                raise ValueError("a later operand of an order lists several names; list them in the first one alone")
        return [self.model_copy(update={"of": tuple(chain)}) for chain in chains]

    def operands(self) -> Sequence[MetricOperand]:
        return self.of

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        curves = [operand.curve for operand in self.of]
        falling = self.direction == "falling"
        pairs = [(a, b) if falling else (b, a) for a, b in pairwise(curves)]
        return over_grid(
            evidence,
            part,
            curves,
            self.at,
            f"one-sided {evidence.test(curves)}",
            frozenset(),
            lambda at: [compare_at(evidence, part.index, above, ">", below, self.margin, at) for above, below in pairs],
        )
