"""A chain of measured sides, each above the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field

from harness.claims.contrasts import Compared, Contrast, Node, PointInWords
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind, points_part
from harness.claims.expression import Expression, aside, chain, numeral, phrase
from harness.claims.grid import over_grid
from harness.claims.kinds.margins import doubled_margin, doubled_margin_text
from harness.claims.operands import NAMED, MetricOperand, Real
from harness.config import one_or_many
from harness.coordinates import Where


@CLAIM_KINDS.register
class Order(MeasuredClaimKind):
    """A chain of operands, each above (or below) the next by more than `margin`, at every grid point of `at`."""

    kind: Literal["order"] = "order"
    measured_field: ClassVar[str | None] = "of"
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

    def doubled_tolerance(self) -> str | None:
        return doubled_margin_text(self.margin)

    def point_in_words(self) -> PointInWords:
        curves = tuple(operand.curve for operand in self.of)
        more = f", with the claim's margin of {self.margin:g}".replace("-", "−") if self.margin else ""
        return PointInWords((curves,), (f"the next of the chain{more}",))

    def contrasts(self, table: Measurements) -> Compared:
        curves = [operand.curve for operand in self.of]
        pairs = [(a, b) if self.direction == "falling" else (b, a) for a, b in pairwise(curves)]

        doubled = doubled_margin(self.margin)

        def compare(where: Where) -> list[Node]:
            return [Contrast(above, below, where, ">", self.margin, doubled) for above, below in pairs]

        return over_grid(table, curves, self.at, "one-sided {test}", compare)
