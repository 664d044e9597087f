"""So many of several claims hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr

from harness.claims.contrasts import Compared, Comparisons, NotRun, WholeClaims
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, MeasuredClaimKind
from harness.claims.expression import Bracketed, Expression, listing, numeral, phrase
from harness.claims.kinds.of_several import OfSeveral
from harness.claims.operands import NAMED
from harness.coordinates import Level

if TYPE_CHECKING:
    AnyMeasuredClaim = MeasuredClaimKind
# Else it stands for every registered kind, once all are known (harness.spec.claim).


@CLAIM_KINDS.register
class AtLeast(OfSeveral):
    """At least so many of several claims hold: what a paper says happens often, or in most of its figures.

    A partial conjunction: of m claims, of which k are to hold, k each hold at the level over m - k + 1, or m - k + 1
    each fail at the level over k (Benjamini and Heller 2008).
    """

    kind: Literal["at-least"] = "at-least"
    takes_ends: ClassVar[bool] = True
    needed: Annotated[int, Field(ge=1)]
    """How many of them have to hold."""
    of: tuple[AnyMeasuredClaim, ...] = Field(min_length=1)
    """The claims that are counted, each whole: for every metric, arm and attack that it lists."""
    over: dict[str, tuple[Level, ...]] = {}
    """Values of axes, or names of `arm`, `attack` or `metric`: each claim is counted once at each."""
    _sizes: tuple[int, ...] = PrivateAttr(default=())
    """Of one of its `parts`: how many of `of` make up each claim that is counted; none: one each."""

    def tree(self) -> Expression:
        many = phrase("at least", numeral(self.needed), "of", numeral(len(self._groups())))
        whole = (listing((one.tree() for one in group), ";") for group in self._groups())
        claims = listing((Bracketed(brackets="()", inside=one) for one in whole), ";")
        return listing([many, claims], ":")

    def parts(self, declared: NameScope) -> Sequence[Self]:
        places: list[dict[str, Level]] = [{}]
        for name, values in self.over.items():
            places = [{**where, name: value} for where in places for value in values]
        each = [_claim_at(one, where).parts(declared) for one in self.of for where in places]
        if self.needed > len(each):
            raise ValueError(f"needed is {self.needed}, but {len(each)} claims are counted; give at most as many")
        whole = self.model_copy(update={"of": tuple(part for parts in each for part in parts), "over": {}})
        whole._sizes = tuple(map(len, each))
        return [whole]

    def _groups(self) -> list[tuple[MeasuredClaimKind, ...]]:
        """The parts of each claim that is counted."""
        ends = np.cumsum(self._sizes or [1] * len(self.of))
        return [self.of[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        for one in self.of:
            if one.is_counted:
                kind = type(one).plugin_name()
                raise ValueError(f"{kind} is of numbers that are the same in every run; claim it by itself")

    def contrasts(self, table: Measurements) -> Compared:
        claims = []
        for group in self._groups():
            of = [one.contrasts(table) for one in group]
            if (missing := next((one for one in of if isinstance(one, NotRun)), None)) is not None:
                return missing
            claims.append(WholeClaims(tuple(one for one in of if isinstance(one, Comparisons))))
        first = claims[0].of[0]
        return Comparisons(
            tuple(claims), f"each claim by itself: {first.test}", "share", self.needed, draws=first.draws
        )


def _claim_at(one: MeasuredClaimKind, where: Mapping[str, Level]) -> MeasuredClaimKind:
    """A claim at values of axes, and of these names."""
    names = {name: str(value) for name, value in where.items() if name in NAMED}
    return one.at_values(names, {name: value for name, value in where.items() if name not in NAMED})
