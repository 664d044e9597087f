"""Ball arithmetic with derivatives: every result encloses the true value and the true gradient.

Arb (through python-flint) keeps a number as a midpoint and a radius that contains every rounding error; a
ball that covers an interval gives the range of a formula on it. Derivatives are carried along (forward mode).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from flint import arb, ctx

PRECISION = 128
"""Bits of a midpoint."""
ctx.prec = PRECISION


Vector = tuple[Any, ...]
Matrix = tuple[Vector, ...]


def interval(low: float, high: float) -> Any:
    """The smallest ball that covers [low, high]."""
    return arb(low) if low == high else arb(low).union(arb(high))


@cache
def _zeros(count: int) -> tuple[Vector, Matrix]:
    """The derivatives of a number."""
    none = (arb(0),) * count
    return none, (none,) * count


def _symmetric(n: int, entry: Callable[[int, int], Any]) -> Matrix:
    """The matrix (n, n) of which the entries from the diagonal on are given."""
    if n == 1:
        return ((entry(0, 0),),)
    rows: list[list[Any]] = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            rows[i][j] = rows[j][i] = entry(i, j)
    return tuple([tuple(row) for row in rows])


class Ball:
    """A ball, its gradient and its Hessian by the variables of a box."""

    __slots__ = ("flat", "gradient", "hessian", "value")

    def __init__(self, value: Any, gradient: Vector, hessian: Matrix, flat: bool = False) -> None:
        """`flat`: it does not depend on the variables, so that both derivatives are zero."""
        self.value, self.gradient, self.hessian, self.flat = value, gradient, hessian, flat

    @classmethod
    def variable(cls, low: float, high: float, index: int, count: int) -> Ball:
        """The variable of that index among `count`, anywhere in [low, high]."""
        zero = arb(0)
        gradient = tuple(arb(1) if i == index else zero for i in range(count))
        return cls(interval(low, high), gradient, ((zero,) * count,) * count)

    @classmethod
    def constant(cls, value: float, count: int) -> Ball:
        """A number among `count` variables."""
        return cls(arb(float(value)), *_zeros(count), flat=True)

    def like(self, value: float) -> Ball:
        """A number among the same variables."""
        return Ball.constant(value, len(self.gradient))

    def _lift(self, other: Any) -> Ball:
        return other if isinstance(other, Ball) else self.like(other)

    def _chain(self, value: Any, slope: Any, bend: Any) -> Ball:
        """f(self), from f and its first and second derivative at the value."""
        if self.flat:
            return Ball(value, self.gradient, self.hessian, flat=True)
        g, h = self.gradient, self.hessian
        bent = [bend * a for a in g]
        hessian = _symmetric(len(g), lambda i, j: bent[i] * g[j] + slope * h[i][j])
        return Ball(value, tuple([slope * a for a in g]), hessian)

    def __add__(self, other: Any) -> Ball:
        o = self._lift(other)
        value = self.value + o.value
        if self.flat or o.flat:
            found = o if self.flat else self
            return Ball(value, found.gradient, found.hessian, flat=found.flat)
        h, q = self.hessian, o.hessian
        return Ball(
            value,
            tuple([a + b for a, b in zip(self.gradient, o.gradient, strict=True)]),
            _symmetric(len(h), lambda i, j: h[i][j] + q[i][j]),
        )

    __radd__ = __add__

    def __neg__(self) -> Ball:
        if self.flat:
            return Ball(-self.value, self.gradient, self.hessian, flat=True)
        h = self.hessian
        return Ball(-self.value, tuple([-g for g in self.gradient]), _symmetric(len(h), lambda i, j: -h[i][j]))

    def __sub__(self, other: Any) -> Ball:
        return self + (-self._lift(other))

    def __rsub__(self, other: Any) -> Ball:
        return self._lift(other) + (-self)

    def __mul__(self, other: Any) -> Ball:
        o = self._lift(other)
        if self.flat or o.flat:
            factor, found = (self.value, o) if self.flat else (o.value, self)
            return found._scaled(factor)
        x, y, g, k = self.value, o.value, self.gradient, o.gradient
        h, q = self.hessian, o.hessian
        return Ball(
            x * y,
            tuple([a * y + b * x for a, b in zip(g, k, strict=True)]),
            _symmetric(len(g), lambda i, j: h[i][j] * y + q[i][j] * x + g[i] * k[j] + g[j] * k[i]),
        )

    def _scaled(self, factor: Any) -> Ball:
        """Times a number that does not depend on the variables."""
        if self.flat:
            return Ball(self.value * factor, self.gradient, self.hessian, flat=True)
        h = self.hessian
        hessian = _symmetric(len(h), lambda i, j: h[i][j] * factor)
        return Ball(self.value * factor, tuple([a * factor for a in self.gradient]), hessian)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Ball:
        return self * self._lift(other)._reciprocal()

    def __rtruediv__(self, other: Any) -> Ball:
        return self._lift(other) * self._reciprocal()

    def _reciprocal(self) -> Ball:
        value = 1 / self.value
        return self._chain(value, -value * value, 2 * value**3)

    # `harness.formulas.numbers` calls these, so a formula works on balls as it is written.
    def exp(self) -> Ball:
        value = self.value.exp()
        return self._chain(value, value, value)

    def expm1(self) -> Ball:
        value = self.value.exp()
        return self._chain(self.value.expm1(), value, value)

    def log(self) -> Ball:
        inverse = 1 / self.value
        return self._chain(self.value.log(), inverse, -inverse * inverse)

    def sqrt(self) -> Ball:
        value = self.value.sqrt()
        return self._chain(value, 1 / (2 * value), -1 / (4 * value**3))

    def tanh(self) -> Ball:
        value = self.value.tanh()
        slope = 1 - value * value
        return self._chain(value, slope, -2 * value * slope)

    def erfc(self) -> Ball:
        slope = -2 / arb.pi().sqrt() * (-self.value * self.value).exp()
        return self._chain(self.value.erfc(), slope, -2 * self.value * slope)
