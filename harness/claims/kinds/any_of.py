"""At every grid point one of several comparisons holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from harness.claims.contrasts import Compared, Either, Node, PointInWords
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, points_part
from harness.claims.expression import Expression, chain, phrase
from harness.claims.grid import over_grid
from harness.claims.kinds.compare import Compare
from harness.claims.kinds.of_several import OfSeveral
from harness.claims.operands import MetricSeries, Several
from harness.coordinates import Where


@CLAIM_KINDS.register
class AnyOf(OfSeveral):
    """At every grid point of `at`, one of several comparisons holds at least: none fails together with the others."""

    kind: Literal["any-of"] = "any-of"
    hashed_kind: ClassVar[str | None] = "either"
    takes_ends: ClassVar[bool] = True
    arm: Several = ()
    """Arms of those comparisons that name none; one claim for each."""
    of: tuple[Compare, ...] = Field(min_length=2)
    """Their own `for` and `at` do not count."""
    at: At = None
    """Grid points to look at."""

    def tree(self) -> Expression:
        return phrase(chain("or", *(one.comparison() for one in self.of)), points_part("all", self.at))

    def parts(self, declared: NameScope) -> Sequence[Self]:
        each: list[tuple[str, ...]] = [(arm,) for arm in self.arm] or [()]
        return [
            self.model_copy(update={"arm": arms, "of": tuple(_complete_option(one, arms, declared) for one in self.of)})
            for arms in each
        ]

    def point_in_words(self) -> PointInWords:
        curves = tuple(left for one in self.of for left, _ in one.alternatives())
        return PointInWords(("the clearest of several alternatives, ", curves, ","), relation=self._sense())

    def contrasts(self, table: Measurements) -> Compared:
        pairs = [(one, *pair) for one in self.of for pair in one.alternatives()]
        curves = [c for _, left, right in pairs for c in (left, right) if isinstance(c, MetricSeries)]
        test = "of either side, Bonferroni over them: one-sided {test}"

        def compare(where: Where) -> list[Node]:
            return [Either(tuple(one.contrast(left, right, where) for one, left, right in pairs))]

        return over_grid(table, curves, self.at, test, compare)


def _complete_option(one: Compare, arms: tuple[str, ...], declared: NameScope) -> Compare:
    left = one.left if one.left.arm or not arms else one.left.model_copy(update={"arm": arms})
    parts = one.model_copy(update={"left": left, "quantifier": "all"}).parts(declared)
    if len(parts) > 1:
        raise ValueError("a comparison of an any-of lists several names; list arms in the any-of's `arm`")
    return parts[0]
