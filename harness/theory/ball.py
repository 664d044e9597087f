"""Ball arithmetic with derivatives: every result encloses the true value and the true gradient.

Arb (through python-flint) keeps a number as a midpoint and a radius that contains every rounding error; a
ball that covers an interval gives the range of a formula on it. Derivatives are carried along (forward mode).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from operator import add, neg, sub

from flint import arb, ctx
from flint.flint_base.flint_context import PrecisionManager

PRECISION = 128
"""The number of bits of a midpoint."""

Vector = tuple[arb, ...]
"""A gradient: one ball a variable."""
Matrix = tuple[Vector, ...]
"""A Hessian, row by row."""


def in_high_precision() -> PrecisionManager:
    """The context manager, also a decorator, that computes with `PRECISION` bits."""
    return ctx.workprec(PRECISION)


def interval(low: float, high: float) -> arb:
    """The smallest ball that covers [low, high]."""
    return arb(low) if low == high else arb(low).union(arb(high))


@cache
def _pairs(count: int) -> tuple[tuple[int, int], ...]:
    """The rows and columns of a symmetric matrix in the order in which it is stored: upper triangle, row by row."""
    return tuple((i, j) for i in range(count) for j in range(i, count))


@cache
def _zeros(count: int, order: int) -> tuple[Vector, Vector]:
    """The gradient and the Hessian of a constant, as far as `order` says that they are carried along."""
    zero = arb(0)
    return (zero,) * (count if order else 0), (zero,) * (len(_pairs(count)) if order > 1 else 0)


class Ball:
    """A ball with its gradient and its Hessian by the variables of a box, as far as these are carried along."""

    __slots__ = ("gradient", "is_constant", "second_derivatives", "value")

    def __init__(self, value: arb, gradient: Vector, second_derivatives: Vector, is_constant: bool = False) -> None:
        """Take what is computed elsewhere.

        Args:
            value: the ball itself.
            gradient: (n,) the derivatives by the variables; empty where they are not carried along.
            second_derivatives: the Hessian from the diagonal on, row by row; empty where it is not carried along.
            is_constant: whether the ball depends on no variable, so that both derivatives are zero.
        """
        self.value, self.gradient, self.second_derivatives, self.is_constant = (
            value,
            gradient,
            second_derivatives,
            is_constant,
        )

    @classmethod
    def variable(cls, low: float, high: float, index: int, count: int, order: int = 2) -> Ball:
        """The ball of variable number `index` of `count`, anywhere in [low, high], with derivatives up to `order`."""
        return cls.input(interval(low, high), index, count, order)

    @classmethod
    def input(cls, value: arb, index: int | None, count: int, order: int = 2) -> Ball:
        """The ball of a variable: number `index` of the `count` by which derivatives are taken, None for another."""
        zeros, second_derivatives = _zeros(count, order)
        if index is None or not order:
            return cls(value, zeros, second_derivatives)
        return cls(value, (*zeros[:index], arb(1), *zeros[index + 1 :]), second_derivatives)

    @staticmethod
    def constant(value: float, count: int, order: int = 2) -> Ball:
        """The ball of a constant among `count` variables."""
        return _constant(float(value), count, order)

    @property
    def hessian(self) -> Matrix:
        """The second derivatives, (n, n)."""
        known = dict(zip(_pairs(count := len(self.gradient)), self.second_derivatives, strict=True))
        return tuple(tuple(known[min(i, j), max(i, j)] for j in range(count)) for i in range(count))

    def like(self, value: float) -> Ball:
        """The ball of a constant among the variables of this one."""
        return Ball.constant(value, len(self.gradient), 2 if self.second_derivatives else 1)

    def _lift(self, other: Ball | float) -> Ball:
        return other if isinstance(other, Ball) else self.like(other)

    def _chain(self, value: arb, slope: Callable[[], arb], bend: Callable[[arb], arb]) -> Ball:
        """The ball f(self), from f at the value, its first derivative there, and its second as a function of the first.

        Derivatives are functions, since that of a constant is never asked for.
        """
        if self.is_constant:
            return Ball(value, self.gradient, self.second_derivatives, is_constant=True)
        steep, g, second_derivatives = slope(), self.gradient, Vector()
        if self.second_derivatives:
            curvature = bend(steep)
            bent = [curvature * a for a in g]
            second_derivatives = tuple(
                [bent[i] * g[j] + steep * h for (i, j), h in zip(_pairs(len(g)), self.second_derivatives, strict=True)]
            )
        return Ball(value, tuple([steep * a for a in g]), second_derivatives)

    def __add__(self, other: Ball | float) -> Ball:
        if not isinstance(other, Ball):
            return Ball(self.value + arb(float(other)), self.gradient, self.second_derivatives, self.is_constant)
        o = other
        value = self.value + o.value
        if self.is_constant or o.is_constant:
            curved = o if self.is_constant else self
            return Ball(value, curved.gradient, curved.second_derivatives, is_constant=curved.is_constant)
        return Ball(
            value,
            tuple(map(add, self.gradient, o.gradient)),
            tuple(map(add, self.second_derivatives, o.second_derivatives)),
        )

    __radd__ = __add__

    def __neg__(self) -> Ball:
        if self.is_constant:
            return Ball(-self.value, self.gradient, self.second_derivatives, is_constant=True)
        return Ball(-self.value, tuple(map(neg, self.gradient)), tuple(map(neg, self.second_derivatives)))

    def __sub__(self, other: Ball | float) -> Ball:
        o = self._lift(other)
        value = self.value - o.value
        if o.is_constant:
            return Ball(value, self.gradient, self.second_derivatives, is_constant=self.is_constant)
        if self.is_constant:
            return Ball(value, tuple(map(neg, o.gradient)), tuple(map(neg, o.second_derivatives)))
        return Ball(
            value,
            tuple(map(sub, self.gradient, o.gradient)),
            tuple(map(sub, self.second_derivatives, o.second_derivatives)),
        )

    def __rsub__(self, other: Ball | float) -> Ball:
        return self._lift(other) - self

    def __mul__(self, other: Ball | float) -> Ball:
        if not isinstance(other, Ball):
            return self._scale(arb(float(other)))
        o = other
        if self.is_constant or o.is_constant:
            factor, curved = (self.value, o) if self.is_constant else (o.value, self)
            return curved._scale(factor)
        x, y, g, k = self.value, o.value, self.gradient, o.gradient
        second_derivatives = tuple(
            [
                h * y + q * x + g[i] * k[j] + g[j] * k[i]
                for (i, j), h, q in zip(_pairs(len(g)), self.second_derivatives, o.second_derivatives, strict=False)
            ]
        )
        return Ball(x * y, tuple([a * y + b * x for a, b in zip(g, k, strict=True)]), second_derivatives)

    def _scale(self, factor: arb) -> Ball:
        """The product with a number that does not depend on the variables."""
        if self.is_constant:
            return Ball(self.value * factor, self.gradient, self.second_derivatives, is_constant=True)
        return Ball(
            self.value * factor,
            tuple([a * factor for a in self.gradient]),
            tuple([h * factor for h in self.second_derivatives]),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Ball | float) -> Ball:
        return self * self._lift(other)._reciprocal()

    def __rtruediv__(self, other: Ball | float) -> Ball:
        return self._lift(other) * self._reciprocal()

    def _reciprocal(self) -> Ball:
        value = 1 / self.value
        return self._chain(value, lambda: -value * value, lambda _: 2 * value**3)

    # `harness.formulas.numbers` calls these, so a formula works on balls as it is written.
    def exp(self) -> Ball:
        """The exponential function of the ball."""
        value = self.value.exp()
        return self._chain(value, lambda: value, lambda _: value)

    def expm1(self) -> Ball:
        """The exponential function of the ball, less 1."""
        return self._chain(self.value.expm1(), self.value.exp, lambda slope: slope)

    def log(self) -> Ball:
        """The natural logarithm of the ball; not finite where the ball reaches 0."""
        return self._chain(self.value.log(), lambda: 1 / self.value, lambda inverse: -inverse * inverse)

    def sqrt(self) -> Ball:
        """The square root of the ball."""
        value = self.value.sqrt()
        return self._chain(value, lambda: 1 / (2 * value), lambda _: -1 / (4 * value**3))

    def tanh(self) -> Ball:
        """The hyperbolic tangent of the ball."""
        value = self.value.tanh()
        return self._chain(value, lambda: 1 - value * value, lambda slope: -2 * value * slope)

    def erfc(self) -> Ball:
        """The complementary error function of the ball."""
        return self._chain(
            self.value.erfc(),
            lambda: -2 / arb.pi().sqrt() * (-self.value * self.value).exp(),
            lambda slope: -2 * self.value * slope,
        )


@lru_cache(maxsize=4096)
def _constant(value: float, count: int, order: int) -> Ball:
    """The ball of a constant, kept: the numbers of a formula come again on every box."""
    return Ball(arb(value), *_zeros(count, order), is_constant=True)
