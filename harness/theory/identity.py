"""Exact identities: both sides as rational functions of the variables and of exp(variable / 24).

exp of a variable is treated as a further, independent symbol, so equality of the polynomials proves the identity
for all values; where a formula needs anything else (a root, a logarithm), there is nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from harness.theory.compound import LIFT

ROOTS = 24
"""The root of an exponential that is a symbol, exp(variable / ROOTS): halves, thirds and eighths are whole powers."""


class NotRational(Exception):
    """The exception for a formula that leaves the field of rational functions."""


class RationalFunction:
    """A quotient of polynomials with rational coefficients."""

    __slots__ = ("bottom", "names", "top")

    def __init__(self, top: fmpq_mpoly, bottom: fmpq_mpoly, names: Sequence[str]) -> None:
        self.top, self.bottom, self.names = top, bottom, names

    def lift(self, other: RationalFunction | float) -> RationalFunction:
        """A number as a constant of the same field."""
        if isinstance(other, RationalFunction):
            return other
        value = Fraction(float(other))
        one = self.bottom * 0 + 1
        return RationalFunction(one * fmpq(value.numerator, value.denominator), one, self.names)

    def __add__(self, other: RationalFunction | float) -> RationalFunction:
        o = self.lift(other)
        return RationalFunction(self.top * o.bottom + o.top * self.bottom, self.bottom * o.bottom, self.names)

    __radd__ = __add__

    def __neg__(self) -> RationalFunction:
        return RationalFunction(-self.top, self.bottom, self.names)

    def __sub__(self, other: RationalFunction | float) -> RationalFunction:
        return self + (-self.lift(other))

    def __rsub__(self, other: RationalFunction | float) -> RationalFunction:
        return self.lift(other) - self

    def __mul__(self, other: RationalFunction | float) -> RationalFunction:
        o = self.lift(other)
        return RationalFunction(self.top * o.top, self.bottom * o.bottom, self.names)

    __rmul__ = __mul__

    def __truediv__(self, other: RationalFunction | float) -> RationalFunction:
        o = self.lift(other)
        if o.top.is_zero():
            raise NotRational
        return RationalFunction(self.top * o.bottom, self.bottom * o.top, self.names)

    def __rtruediv__(self, other: RationalFunction | float) -> RationalFunction:
        return self.lift(other) / self

    def exp(self) -> RationalFunction:
        """The exponential of a rational multiple of one variable. Raises NotRational for anything else."""
        symbols = self.top.context().gens()
        for i, _ in enumerate(self.names):
            # self = q * variable exactly when top = q * variable * bottom, for a constant q.
            if self.top.is_zero():
                return self.lift(1.0)
            for power in (p for p in range(-4 * ROOTS, 4 * ROOTS + 1) if p):
                if self.top * ROOTS == symbols[i] * self.bottom * power:
                    raised = symbols[len(self.names) + i] ** abs(power)
                    one = self.bottom * 0 + 1
                    return RationalFunction(*((raised, one) if power > 0 else (one, raised)), self.names)
        raise NotRational

    def expm1(self) -> RationalFunction:
        """The exponential less 1. Raises NotRational as `exp` does."""
        return self.exp() - 1.0

    def tanh(self) -> RationalFunction:
        """The hyperbolic tangent, by the exponential of twice the function. Raises NotRational as `exp` does."""
        twice = (self * 2.0).exp()
        return (twice - 1.0) / (twice + 1.0)

    def _refuse(self) -> NoReturn:
        """Raise NotRational: the function leaves the field of rational functions."""
        raise NotRational

    log = sqrt = erfc = _refuse


Side = Callable[[Mapping[str, Any]], Any]
"""A side of an equation: a function of the variables by name."""


def are_identical(left: Side, right: Side, names: Sequence[str]) -> bool:
    """Whether both sides are the same rational function; False where they differ or are not rational.

    >>> are_identical(lambda at: at["x"] * at["x"] - 1.0, lambda at: (at["x"] - 1.0) * (at["x"] + 1.0), ["x"])
    True
    >>> are_identical(lambda at: at["x"].exp() - 1.0, lambda at: at["x"], ["x"])
    False
    """
    ctx = fmpq_mpoly_ctx.get([*names, *(f"exp_{n}" for n in names)], Ordering.lex)
    symbols = ctx.gens()
    one = ctx.constant(1)
    unit = RationalFunction(one, one, tuple(names))
    given: dict[str, object] = {n: RationalFunction(symbols[i], one, tuple(names)) for i, n in enumerate(names)}
    given[LIFT] = unit.lift
    try:
        difference = left(given) - right(given)
    except NotRational:
        return False
    return bool(difference.top.is_zero())
