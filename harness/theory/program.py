"""Formulas as programs in ball arithmetic: what a formula does with balls is recorded once and done on every box.

`Ball` computes on records in place of balls, so a program does what `Ball` would, in the same order, and encloses the
same. It leaves out what comes out as zero, does once what occurs twice, and what is the same on all boxes once for all
of them; derivatives are computed where they are asked for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from flint import arb

from harness.theory.ball import Ball, Matrix, Vector, interval
from harness.theory.compound import LIFT

Box = tuple[tuple[float, float], ...]
"""The low and high end of each variable."""
Formula = Callable[[Mapping[str, Any]], Any]
"""A function of the variables by name, as floats, arrays or balls, and under LIFT of what turns constants into such."""
Operation = Callable[[Any, Any], Any]
"""An operation on two balls; one on a single ball is given it twice."""
Step = tuple[Operation, int, int, int]
"""An operation, the register that it writes, and the two that it reads."""
Part = Literal["value", "gradient", "hessian"]
"""The parts of an enclosure, each of which is computed when it is asked for."""
ZERO = arb(0)
"""The ball of 0, exactly."""


class Record:
    """A ball that a program will compute: operations on it are recorded, and not carried out."""

    __slots__ = ("_recorder", "register")

    def __init__(self, recorder: _Recorder, register: int) -> None:
        self._recorder, self.register = recorder, register

    def __add__(self, other: object) -> Record:
        return self if _is_zero(other) else self._recorder.record(operator.add, self, other)

    def __radd__(self, other: object) -> Record:
        return self if _is_zero(other) else self._recorder.record(operator.add, other, self)

    def __sub__(self, other: object) -> Record:
        return self if _is_zero(other) else self._recorder.record(operator.sub, self, other)

    def __rsub__(self, other: object) -> Record:
        return -self if _is_zero(other) else self._recorder.record(operator.sub, other, self)

    def __mul__(self, other: object) -> Record | arb:
        return ZERO if self._vanishes(other) else self._recorder.record(operator.mul, self, other)

    def __rmul__(self, other: object) -> Record | arb:
        return ZERO if self._vanishes(other) else self._recorder.record(operator.mul, other, self)

    def _vanishes(self, factor: object) -> bool:
        """Whether the product with a factor is left out, as zero."""
        return self._recorder.drops_zeros and _is_zero(factor)

    def __truediv__(self, other: object) -> Record:
        return self._recorder.record(operator.truediv, self, other)

    def __rtruediv__(self, other: object) -> Record:
        return self._recorder.record(operator.truediv, other, self)

    def __pow__(self, power: int) -> Record:
        return self._recorder.record(operator.pow, self, power)

    def __neg__(self) -> Record:
        return self._recorder.record(_negate, self, self)

    def exp(self) -> Record:
        """The record of the exponential function."""
        return self._recorder.record(_exp, self, self)

    def expm1(self) -> Record:
        """The record of the exponential function less 1."""
        return self._recorder.record(_expm1, self, self)

    def log(self) -> Record:
        """The record of the natural logarithm."""
        return self._recorder.record(_log, self, self)

    def sqrt(self) -> Record:
        """The record of the square root."""
        return self._recorder.record(_sqrt, self, self)

    def tanh(self) -> Record:
        """The record of the hyperbolic tangent."""
        return self._recorder.record(_tanh, self, self)

    def erfc(self) -> Record:
        """The record of the complementary error function."""
        return self._recorder.record(_erfc, self, self)


def _is_zero(value: object) -> bool:
    return isinstance(value, arb) and bool(value.is_zero())


def _function(name: str) -> Operation:
    method = getattr(arb, name)
    return lambda ball, _: method(ball)


_negate, _exp, _expm1 = _function("__neg__"), _function("exp"), _function("expm1")
_log, _sqrt, _tanh, _erfc = _function("log"), _function("sqrt"), _function("tanh"), _function("erfc")


class _Recorder:
    """The registers of a program: each holds an input or a constant, or is written by one step."""

    def __init__(self, drops_zeros: bool) -> None:
        self.drops_zeros = drops_zeros
        self.registers: list[arb | None] = []
        self.steps: dict[int, Step] = {}
        """The steps by the register that each writes, in an order in which what is read has been written."""
        self._places: dict[object, int] = {}

    def add_input(self) -> Record:
        """The record of a new register that is filled anew for every box."""
        self.registers.append(None)
        return Record(self, len(self.registers) - 1)

    def record(self, operation: Operation, left: object, right: object) -> Record:
        """The record of an operation's result, in a new register, or in that of the same operation before."""
        reads = self.register_of(left), self.register_of(right)
        register = self._place((operation, *reads), None)
        self.steps[register] = (operation, register, *reads)
        return Record(self, register)

    def register_of(self, value: Any) -> int:
        """The register of a record or of a constant."""
        if isinstance(value, Record):
            return value.register
        # By its exact midpoint and radius: balls with a radius are never equal, not even to themselves.
        ball = arb(value)
        exact = (ball.mid().man_exp(), ball.rad().man_exp()) if ball.is_finite() else ball.str(more=True)
        return self._place(exact, ball)

    def _place(self, key: object, value: arb | None) -> int:
        """The register under a key, new where there is none."""
        if key not in self._places:
            self._places[key] = len(self.registers)
            self.registers.append(value)
        return self._places[key]


class Program:
    """A formula as steps on registers, with its derivatives by some of its variables."""

    def __init__(
        self,
        formula: Formula,
        names: Sequence[str],
        fixed: Collection[int],
        along: tuple[int, ...],
        drops_zeros: bool = True,
    ) -> None:
        """Record a formula.

        Args:
            formula: the function that is recorded.
            names: the variables, in the order of a box's sides.
            fixed: the numbers of the variables that have one value on all boxes.
            along: the numbers of those by which derivatives are wanted.
            drops_zeros: whether zero times anything is zero; else it is no number where the other factor is infinite.
        """
        self.variables, self.drops_zeros = along, drops_zeros
        recorder = _Recorder(drops_zeros)
        count = len(along)
        given: dict[str, object] = {LIFT: lambda value: Ball.constant(value, count)}
        for i, name in enumerate(names):
            place = along.index(i) if i in along else None
            given[name] = Ball.input(cast(arb, recorder.add_input()), place, count)
        ball: Ball = formula(given)
        self.value = recorder.register_of(ball.value)
        self.gradient = tuple(map(recorder.register_of, ball.gradient))
        self.hessian = tuple(tuple(map(recorder.register_of, row)) for row in ball.hessian)
        self._outputs: dict[Part, list[int]] = {
            "value": [self.value],
            "gradient": [*self.gradient],
            "hessian": [register for row in self.hessian for register in row],
        }
        self._registers, self._steps = recorder.registers, recorder.steps
        varying = set(range(len(names))).difference(fixed)
        for _, to, *reads in self._steps.values():
            if not varying.isdisjoint(reads):
                varying.add(to)
        self._first = self._steps_to([register for some in self._outputs.values() for register in some], varying)
        self._by_parts: dict[tuple[Part, ...], list[Step]] = {}

    def begin(self, sides: Box) -> list[Any]:
        """The registers with the sides of a box as inputs, and with what is the same on all boxes."""
        registers: list[Any] = [interval(*side) for side in sides]
        registers += self._registers[len(sides) :]
        carry_out(self._first, registers)
        return registers

    def steps(self, parts: tuple[Part, ...]) -> list[Step]:
        """The steps that compute the last of some parts, where those before it are computed."""
        if parts not in self._by_parts:
            before = [self._first, *(self.steps(parts[:n]) for n in range(1, len(parts)))]
            written = {to for steps in before for _, to, _, _ in steps}
            self._by_parts[parts] = self._steps_to(self._outputs[parts[-1]], written)
        return self._by_parts[parts]

    def _steps_to(self, outputs: Iterable[int], left_out: Collection[int]) -> list[Step]:
        """The steps that write the outputs and what those read, but for steps that write a register of `left_out`."""
        waiting, needed = [*outputs], set[int]()
        while waiting:
            register = waiting.pop()
            if register in self._steps and register not in needed:
                needed.add(register)
                waiting += self._steps[register][2:]
        return [self._steps[register] for register in sorted(needed.difference(left_out))]


def carry_out(steps: Iterable[Step], registers: list[Any]) -> None:
    """Carry out steps on registers, which are written in place."""
    for operation, to, left, right in steps:
        registers[to] = operation(registers[left], registers[right])


class Enclosure:
    """The range of a formula on a box, and those of its derivatives, each computed when it is first asked for."""

    __slots__ = ("_parts", "_program", "_registers")

    def __init__(self, program: Program, registers: list[Any]) -> None:
        self._program, self._registers = program, registers
        self._parts: tuple[Part, ...] = ()

    @property
    def variables(self) -> tuple[int, ...]:
        """The numbers of the variables by which derivatives are taken."""
        return self._program.variables

    @property
    def drops_zeros(self) -> bool:
        """Whether zero times anything was taken as zero."""
        return self._program.drops_zeros

    @property
    def value(self) -> arb:
        """The range of the formula on the box."""
        self._compute("value")
        value: arb = self._registers[self._program.value]
        return value

    @property
    def gradient(self) -> Vector:
        """The ranges of the derivatives by `variables`, (n,)."""
        self._compute("gradient")
        registers = self._registers
        return tuple([registers[g] for g in self._program.gradient])

    @property
    def hessian(self) -> Matrix:
        """The ranges of the second derivatives by `variables`, (n, n)."""
        self._compute("hessian")
        registers = self._registers
        return tuple([tuple([registers[h] for h in row]) for row in self._program.hessian])

    def _compute(self, part: Part) -> None:
        if part not in self._parts:
            self._parts = (*self._parts, part)
            carry_out(self._program.steps(self._parts), self._registers)


class Encloser:
    """A formula on boxes of a domain. Proofs on several domains with the same fixed variables share their programs."""

    def __init__(
        self, formula: Formula, domain: Mapping[str, tuple[float, float]], like: Encloser | None = None
    ) -> None:
        """Take a formula and the sides of its domain; `like` is one of the same formula and variables elsewhere."""
        self._formula, self._names, self._sides = formula, list(domain), tuple(domain.values())
        self._fixed = [i for i, (low, high) in enumerate(self._sides) if low == high]
        self._varying = [i for i, (low, high) in enumerate(self._sides) if low < high]
        shared = like is not None and like._fixed == self._fixed
        self._programs: dict[tuple[tuple[int, ...], bool], Program] = (
            {} if like is None or not shared else like._programs
        )
        self._begun: dict[tuple[tuple[int, ...], bool], tuple[Program, list[Any]]] = {}

    def enclose(self, box: Box, along: tuple[int, ...], drops_zeros: bool = True) -> Enclosure:
        """The formula's range on a box of the domain, with derivatives by the variables of the numbers `along`.

        `drops_zeros` says whether zero times anything is zero, as in `Program`.
        """
        key = along, drops_zeros
        if key not in self._begun:
            if key not in self._programs:
                self._programs[key] = Program(self._formula, self._names, self._fixed, along, drops_zeros)
            program = self._programs[key]
            self._begun[key] = program, program.begin(self._sides)
        program, begun = self._begun[key]
        registers = begun.copy()
        for i in self._varying:
            registers[i] = interval(*box[i])
        return Enclosure(program, registers)
