"""Ball arithmetic with derivatives: every result encloses the true value and the true gradient.

Arb (through python-flint) keeps a number as a midpoint and a radius that contains every rounding error; a
ball that covers an interval gives the range of a formula on it. Derivatives are carried along (forward mode).
"""

from __future__ import annotations

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


class Ball:
    """A ball, its gradient and its Hessian by the variables of a box."""

    __slots__ = ("gradient", "hessian", "value")

    def __init__(self, value: Any, gradient: Vector, hessian: Matrix) -> None:
        self.value, self.gradient, self.hessian = value, gradient, hessian

    @classmethod
    def variable(cls, low: float, high: float, index: int, count: int) -> Ball:
        """The variable of that index among `count`, anywhere in [low, high]."""
        zero = arb(0)
        gradient = tuple(arb(1) if i == index else zero for i in range(count))
        return cls(interval(low, high), gradient, ((zero,) * count,) * count)

    @classmethod
    def constant(cls, value: float, count: int) -> Ball:
        """A number among `count` variables."""
        zero = arb(0)
        return cls(arb(float(value)), (zero,) * count, ((zero,) * count,) * count)

    def like(self, value: float) -> Ball:
        """A number among the same variables."""
        return Ball.constant(value, len(self.gradient))

    def _lift(self, other: Any) -> Ball:
        return other if isinstance(other, Ball) else self.like(other)

    def _chain(self, value: Any, slope: Any, bend: Any) -> Ball:
        """f(self), from f and its first and second derivative at the value."""
        g = self.gradient
        gradient = tuple(slope * a for a in g)
        hessian = tuple(
            tuple(bend * a * b + slope * h for b, h in zip(g, row, strict=True))
            for a, row in zip(g, self.hessian, strict=True)
        )
        return Ball(value, gradient, hessian)

    def __add__(self, other: Any) -> Ball:
        o = self._lift(other)
        return Ball(
            self.value + o.value,
            tuple(a + b for a, b in zip(self.gradient, o.gradient, strict=True)),
            tuple(
                tuple(a + b for a, b in zip(r, q, strict=True)) for r, q in zip(self.hessian, o.hessian, strict=True)
            ),
        )

    __radd__ = __add__

    def __neg__(self) -> Ball:
        return Ball(
            -self.value, tuple(-g for g in self.gradient), tuple(tuple(-h for h in row) for row in self.hessian)
        )

    def __sub__(self, other: Any) -> Ball:
        return self + (-self._lift(other))

    def __rsub__(self, other: Any) -> Ball:
        return self._lift(other) + (-self)

    def __mul__(self, other: Any) -> Ball:
        o = self._lift(other)
        x, y, g, k = self.value, o.value, self.gradient, o.gradient
        n = range(len(g))
        return Ball(
            x * y,
            tuple(a * y + b * x for a, b in zip(g, k, strict=True)),
            tuple(
                tuple(self.hessian[i][j] * y + o.hessian[i][j] * x + g[i] * k[j] + g[j] * k[i] for j in n) for i in n
            ),
        )

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
