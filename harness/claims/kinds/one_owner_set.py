"""Several comparisons hold together on one owner set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from harness.claims.contrasts import Compared, Comparisons, Either, Node, NotRun, Right, TogetherOnOneSet
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, MeasuredClaimKind
from harness.claims.expression import Bracketed, Expression, Name, listing, phrase
from harness.claims.kinds.compare import Compare
from harness.claims.kinds.of_several import OfSeveral
from harness.claims.operands import MetricSeries
from harness.coordinates import Level, Where


@CLAIM_KINDS.register
class OneOwnerSet(OfSeveral):
    """On one of the owner sets that a split may draw, all of several comparisons hold.

    It is for sentences on one run of a split that the paper drew once and does not name. It is violated where all owner
    sets that the split can draw were drawn, and on each of them one of the comparisons fails.
    """

    kind: Literal["one-owner-set"] = "one-owner-set"
    counts_absent_points: ClassVar[bool] = False
    of: tuple[Compare, ...] = Field(min_length=2)
    """Their left sides are of one arm, whose split draws the owner set."""

    def tree(self) -> Expression:
        claims = listing((Bracketed(brackets="()", inside=one.tree()) for one in self.of), ";")
        return phrase("for one", Name(name="owner_set"), claims)

    def parts(self, declared: NameScope) -> Sequence[Self]:
        whole = tuple(part for one in self.of for part in one.parts(declared))
        return [self.model_copy(update={"of": whole})]

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        arms = sorted({arm for one in self.of for arm in one.left.arm})
        if len(arms) != 1:
            raise ValueError(f"an owner set is that of one arm; the left sides are of {', '.join(arms)}")
        for one in self.of:
            if not isinstance(one.quantifier, str):
                raise ValueError("a comparison of a one-owner-set is for all or for some of its places")

    def contrasts(self, table: Measurements) -> Compared:
        ((arm,),) = {one.left.arm for one in self.of}
        sizes = table.owner_sets(arm)
        if not sizes:
            return NotRun(f"the split of the arm {arm!r} draws one owner set alone, so far")
        places = [_places(one, table) for one in self.of]
        if not all(places):
            return NotRun("nothing was measured at the places of one of the comparisons")
        of = {
            size: tuple(node for one, there in zip(self.of, places, strict=True) for node in _nodes(one, there, size))
            for size in sizes
        }
        test = "on each owner set, Bonferroni over the sets in the order drawn: one-sided {test}"
        return Comparisons((TogetherOnOneSet(arm, of),), test)

    def at_values(self, names: Mapping[str, str], levels: Mapping[str, Level]) -> Self:
        of = tuple(one.at_values(names, levels) for one in self.of)
        return self.model_copy(update={"of": of})

    def made_of(self) -> Sequence[MeasuredClaimKind]:
        return self.of


def _places(one: Compare, table: Measurements) -> list[tuple[MetricSeries, Right, Where]]:
    """Both sides of a comparison at each of its places, of attacks that were measured."""
    places: list[tuple[MetricSeries, Right, Where]] = []
    for left, right in one.measured_alternatives(table):
        curves = [left, *([right] if isinstance(right, MetricSeries) else [])]
        places += [(left, right, where) for where in table.grid(curves, one.at)]
    return places


def _nodes(one: Compare, places: Sequence[tuple[MetricSeries, Right, Where]], size: float) -> list[Node]:
    """What a comparison compares on one owner set: all of its places, or one of them."""
    contrasts = [one.contrast(left, right, where, size) for left, right, where in places]
    return [Either(tuple(contrasts))] if one.quantifier == "some" else [*contrasts]
