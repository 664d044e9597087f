"""Terms of operations and elementary functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from harness.claims.expression import Bracketed, Expression, Name, Operation, chain
from harness.theory.compound import Compound
from harness.theory.elementary import ELEMENTARY, count_fault
from harness.theory.leaves import Constant

if TYPE_CHECKING:
    from harness.theory.term import Term

MOST_WHOLE = 64
"""The largest whole exponent that is multiplied out."""


class _Operation(Compound):
    """Two terms and the operation on them."""

    sign: ClassVar[str]
    operate: ClassVar[Callable[[Any, Any], Any]]

    def _terms(self) -> tuple[Term, Term]:
        return next(iter(self.__dict__.values()))  # type: ignore[no-any-return]

    def tree(self) -> Expression:
        left, right = self._terms()
        return Bracketed(brackets="()", inside=chain(self.sign, left.tree(), right.tree()))

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The result of the operation on the values of both terms at a point."""
        left, right = self._terms()
        return type(self).operate(left.evaluate(at), right.evaluate(at))


class Plus(_Operation):
    """The sum of two terms."""

    plus: tuple[Term, Term]
    sign, operate = "+", operator.add


class Minus(_Operation):
    """The first term less the second."""

    minus: tuple[Term, Term]
    sign, operate = "-", operator.sub

    def tree(self) -> Expression:
        first, second = self.minus
        if isinstance(first, Constant) and first.value == 0:
            return Bracketed(brackets="()", inside=Operation(operator="-", terms=(second.tree(),)))
        return super().tree()


class Times(_Operation):
    """The product of two terms."""

    times: tuple[Term, Term]
    sign, operate = "*", operator.mul


class Ratio(_Operation):
    """The first term over the second."""

    ratio: tuple[Term, Term]
    sign, operate = "/", operator.truediv


class Power(_Operation):
    """The first term to the power of the second; exact where that is a whole number, or the first is above 0."""

    power: tuple[Term, Term]
    sign: ClassVar[str] = "^"

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The power at a point: of a whole exponent by products, of another as exp(exponent * log(base))."""
        base, exponent = self.power
        if (
            isinstance(exponent, Constant)
            and exponent.value == int(exponent.value)
            and abs(exponent.value) <= MOST_WHOLE
        ):
            return whole_power(base.evaluate(at), int(exponent.value))
        value, by = base.evaluate(at), exponent.evaluate(at)
        if isinstance(value, float | int) and isinstance(by, float | int):
            return float(value) ** float(by)
        return ELEMENTARY["exp"].function(by * ELEMENTARY["log"].function(value))


class Applied(Compound):
    """An elementary function of terms, such as `{function: exp, of: [{variable: epsilon}]}`."""

    function: str
    of: tuple[Term, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_function(self) -> Applied:
        if self.function not in ELEMENTARY:
            raise ValueError(f"unknown function {self.function!r}; there are: {', '.join(ELEMENTARY)}")
        if fault := count_fault(self.function, len(self.of)):
            raise ValueError(fault)
        return self

    def _terms(self) -> tuple[Term, ...]:
        return self.of

    def tree(self) -> Expression:
        return Name(name=self.function, of=tuple(term.tree() for term in self.of))

    def is_exact(self) -> bool:
        return ELEMENTARY[self.function].exact and super().is_exact()

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The function's value at a point, of the sort that its arguments are."""
        return ELEMENTARY[self.function].function(*(term.evaluate(at) for term in self.of))


def whole_power(base: Any, exponent: int) -> Any:
    """A base to a whole power, by squaring."""
    if exponent < 0:
        return 1.0 / whole_power(base, -exponent)
    if exponent == 0:
        return 1.0 + 0.0 * base
    half = whole_power(base, exponent // 2) if exponent > 1 else None
    if half is None:
        return base
    return half * half * base if exponent % 2 else half * half
