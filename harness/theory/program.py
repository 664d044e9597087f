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
from harness.theory.term import LIFT

Box = tuple[tuple[float, float], ...]
Formula = Callable[[Mapping[str, Any]], Any]
"""Takes the variables by name, as floats, arrays or balls, and under LIFT what turns a constant into the same."""
Operation = Callable[[Any, Any], Any]
"""Of two balls; one on a single ball is given it twice."""
Step = tuple[Operation, int, int, int]
"""An operation, the register that it writes, and the two that it reads."""
Part = Literal["value", "gradient", "hessian"]
ZERO = arb(0)


class Record:
    """A ball that a program will compute."""

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
        return self._recorder.record(_exp, self, self)

    def expm1(self) -> Record:
        return self._recorder.record(_expm1, self, self)

    def log(self) -> Record:
        return self._recorder.record(_log, self, self)

    def sqrt(self) -> Record:
        return self._recorder.record(_sqrt, self, self)

    def tanh(self) -> Record:
        return self._recorder.record(_tanh, self, self)

    def erfc(self) -> Record:
        return self._recorder.record(_erfc, self, self)


def _is_zero(value: object) -> bool:
    return isinstance(value, arb) and bool(value.is_zero())


def _function(name: str) -> Operation:
    method = getattr(arb, name)
    return lambda ball, _: method(ball)


_negate, _exp, _expm1 = _function("__neg__"), _function("exp"), _function("expm1")
_log, _sqrt, _tanh, _erfc = _function("log"), _function("sqrt"), _function("tanh"), _function("erfc")


class _Recorder:
    """Registers: each holds an input or a constant, or is written by one step."""

    def __init__(self, drops_zeros: bool) -> None:
        self.drops_zeros = drops_zeros
        self.registers: list[arb | None] = []
        self.steps: dict[int, Step] = {}
        """By the register that a step writes, each after those that write what it reads."""
        self._places: dict[object, int] = {}

    def add_input(self) -> Record:
        """A register that is filled anew for every box."""
        self.registers.append(None)
        return Record(self, len(self.registers) - 1)

    def record(self, operation: Operation, left: object, right: object) -> Record:
        """What an operation gives: in a new register, or in that of the same operation before."""
        reads = self.register_of(left), self.register_of(right)
        register = self._place((operation, *reads), None)
        self.steps[register] = (operation, register, *reads)
        return Record(self, register)

    def register_of(self, value: Any) -> int:
        """The register of a record or of a constant."""
        if isinstance(value, Record):
            return value.register
        ball = arb(value)
        exact = (ball.mid().man_exp(), ball.rad().man_exp()) if ball.is_finite() else ball.str(more=True)
        return self._place(exact, ball)

    def _place(self, key: object, value: arb | None) -> int:
        if key not in self._places:
            self._places[key] = len(self.registers)
            self.registers.append(value)
        return self._places[key]


class Program:
    """What a formula does, with its derivatives by some of its variables."""

    def __init__(
        self,
        formula: Formula,
        names: Sequence[str],
        fixed: Collection[int],
        along: tuple[int, ...],
        drops_zeros: bool = True,
    ) -> None:
        """
        Args:
            fixed: the numbers of the variables that have one value on all boxes.
            along: the numbers of those by which derivatives are wanted.
            drops_zeros: zero times anything is zero; else it is no number where the other factor is infinite.
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
        """Registers with the sides of a box as inputs, and with what is the same on all boxes."""
        registers: list[Any] = [interval(*side) for side in sides]
        registers += self._registers[len(sides) :]
        carry_out(self._first, registers)
        return registers

    def steps(self, parts: tuple[Part, ...]) -> list[Step]:
        """What computes the last of some parts, where those before it are computed."""
        if parts not in self._by_parts:
            before = [self._first, *(self.steps(parts[:n]) for n in range(1, len(parts)))]
            written = {to for steps in before for _, to, _, _ in steps}
            self._by_parts[parts] = self._steps_to(self._outputs[parts[-1]], written)
        return self._by_parts[parts]

    def _steps_to(self, outputs: Iterable[int], left_out: Collection[int]) -> list[Step]:
        """Steps that write registers, and what those read; without steps that write registers of `left_out`.

        What these alone need is left out too.
        """
        waiting, needed = [*outputs], set[int]()
        while waiting:
            register = waiting.pop()
            if register in self._steps and register not in needed:
                needed.add(register)
                waiting += self._steps[register][2:]
        return [self._steps[register] for register in sorted(needed.difference(left_out))]


def carry_out(steps: Iterable[Step], registers: list[Any]) -> None:
    """Carry out steps on registers."""
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
        """Numbers of the variables by which derivatives are taken."""
        return self._program.variables

    @property
    def drops_zeros(self) -> bool:
        """Whether zero times anything was taken as zero."""
        return self._program.drops_zeros

    @property
    def value(self) -> arb:
        """Range of the formula."""
        self._compute("value")
        value: arb = self._registers[self._program.value]
        return value

    @property
    def gradient(self) -> Vector:
        """(n,) ranges of the derivatives by `variables`."""
        self._compute("gradient")
        registers = self._registers
        return tuple([registers[g] for g in self._program.gradient])

    @property
    def hessian(self) -> Matrix:
        """(n, n) ranges of the second derivatives."""
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
        """`like`: of the same formula and variables, on another domain."""
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

        `drops_zeros`: as in `Program`.
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
