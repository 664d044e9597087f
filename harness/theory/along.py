"""Terms over the values of a variable of their own: sums, and the largest or smallest value on an interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field

from harness.claims.expression import Bracketed, Expression, Name, Row, Words, chain, listing
from harness.theory.compound import LIFT, Compound

if TYPE_CHECKING:
    from harness.theory.term import Term

MOST_TERMS, GRID = 10_000, 400
"""Terms of a sum; steps of an interval that is searched for an optimum before the best is refined."""


class _Along(Compound):
    """A term over the values of a variable of its own."""

    along: str = Field(pattern=r"^[A-Za-z]\w*$")
    """The variable, which is known inside of the term alone."""
    low: Term
    high: Term
    word: ClassVar[str]
    values: ClassVar[str]

    def _inside(self) -> Term:
        raise NotImplementedError

    def _terms(self) -> tuple[Term, ...]:
        return self._inside(), self.low, self.high

    def variables(self) -> set[str]:
        """The variables of the term but its own, and those of its ends."""
        return (self._inside().variables() - {self.along}) | self.low.variables() | self.high.variables()

    def tree(self) -> Expression:
        ends = Bracketed(brackets="[]", inside=listing([self.low.tree(), self.high.tree()]))
        over = chain("in", Name(name=self.along), ends)
        row = (self._inside().tree(), Words(words=f"for {self.values}"), over)
        return Name(name=self.word, of=(Row(row=row),))


class Sum(_Along):
    """The sum of a term over the integers from `low` to `high`, both included."""

    sum: Term
    word, values = "sum", "integers"

    def _inside(self) -> Term:
        return self.sum

    def is_exact(self) -> bool:
        """Whether it is a sum of so many terms at every point, each of which is exact."""
        return not (self.low.variables() | self.high.variables()) and self.sum.is_exact()

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The sum at a point. Raises ValueError for ends that are no integers, or too far apart."""
        ends = [float(end.evaluate(_as_floats(at))) for end in (self.low, self.high)]
        low, high = (round(end) for end in ends)
        if [low, high] != ends or high - low >= MOST_TERMS:
            raise ValueError(f"a sum goes over at most {MOST_TERMS:,} integers, not from {ends[0]:g} to {ends[1]:g}")
        lift = at.get(LIFT, float)
        return sum((self.sum.evaluate({**at, self.along: lift(float(i))}) for i in range(low, high + 1)), lift(0.0))


class _Optimum(_Along):
    """An optimum of a term over an interval, found by search on a grid and about its best point; or of all integers."""

    integers: bool = False
    """Over the integers from `low` to `high`, both included, in place of the interval."""
    sense: ClassVar[float]

    @property
    def values(self) -> str:  # type: ignore[override]
        return "integers" if self.integers else "interval"

    def is_exact(self) -> bool:
        return False

    def evaluate(self, at: Mapping[str, Any]) -> float:
        """The optimum at a point. Raises ValueError where the interval is empty or the term has no value on it."""
        low, high = (float(end.evaluate(at)) for end in (self.low, self.high))
        if self.integers:
            return self._best_of_integers(at, low, high)
        if not low < high:
            raise ValueError(f"an interval from {low:g} to {high:g} is empty")

        def value(x: float) -> float:
            return self.sense * float(self._inside().evaluate({**at, self.along: float(x)}))

        grid = np.linspace(low, high, GRID + 1)
        values = np.array([value(x) for x in grid])
        if np.isnan(values).all():
            raise ValueError("the term has no value on the interval")
        best = int(np.nanargmax(values))
        ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID)])
        near = scipy.optimize.minimize_scalar(lambda x: -value(x), bounds=ends, method="bounded")
        return self.sense * max(float(values[best]), -float(near.fun))

    def _best_of_integers(self, at: Mapping[str, Any], low: float, high: float) -> float:
        first, last = round(low), round(high)
        if [first, last] != [low, high] or not 0 <= last - first < MOST_TERMS:
            raise ValueError(f"an optimum is of at most {MOST_TERMS:,} integers, not from {low:g} to {high:g}")
        of = [float(self._inside().evaluate({**at, self.along: float(i)})) for i in range(first, last + 1)]
        if np.isnan(of).all():
            raise ValueError("the term has no value at any of the integers")
        return self.sense * float(np.nanmax(self.sense * np.array(of)))


class Integral(_Along):
    """The integral of a term over an interval, by adaptive quadrature."""

    integral: Term
    word, values = "integral", "interval"

    def _inside(self) -> Term:
        return self.integral

    def is_exact(self) -> bool:
        return False

    def evaluate(self, at: Mapping[str, Any]) -> float:
        """The integral at a point. Raises ValueError where it does not come out to about nine digits."""
        low, high = (float(end.evaluate(at)) for end in (self.low, self.high))

        def term(x: float) -> float:
            return float(self.integral.evaluate({**at, self.along: float(x)}))

        # With all of its output it warns of nothing; how near it came is looked at below.
        value, error, *_ = scipy.integrate.quad(term, low, high, epsabs=1e-10, limit=400, full_output=1)
        if not error <= 1e-8 * max(1.0, abs(value)):
            raise ValueError(
                f"the integral from {low:g} to {high:g} is known to {error:.1g} alone; write it as a sum of integrals "
                "that end where its term bends, or end it where the rest no longer counts"
            )
        return float(value)


class Largest(_Optimum):
    """The largest value of a term over an interval."""

    largest: Term
    word, sense = "max", 1.0

    def _inside(self) -> Term:
        return self.largest


class Smallest(_Optimum):
    """The smallest value of a term over an interval."""

    smallest: Term
    word, sense = "min", -1.0

    def _inside(self) -> Term:
        return self.smallest


def _as_floats(at: Mapping[str, Any]) -> dict[str, Any]:
    """A point for ends of a sum, whose values are numbers."""
    return {name: value for name, value in at.items() if name != LIFT}
