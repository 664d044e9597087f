"""Proof or refutation of `f >= 0` on a box, by branch and bound in ball arithmetic.

A box is done where an enclosure of f on it is not below minus the tolerance. Three enclosures are tried: f on
the whole box; Taylor's formula to second order about the centre; and, where f only grows or only falls with a
variable on the box, f on the face where it is least. The last one handles inequalities that touch equality on a
face, such as two bounds that agree at epsilon = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from flint import arb

from harness.arrays import Array
from harness.theory.ball import Ball, in_high_precision, interval
from harness.theory.term import LIFT

Box = tuple[tuple[float, float], ...]
Formula = Callable[[Mapping[str, Any]], Any]
"""Takes the variables by name, as floats, arrays or balls, and under LIFT what turns a constant into the same."""
MAX_BOXES = 60_000
SAMPLES = 4096


@dataclass(frozen=True)
class Proof:
    """What became of `f >= 0`."""

    outcome: Literal["proved", "refuted", "undecided"]
    boxes: int
    """Boxes looked at."""
    worst: float
    """Smallest f among the sampled points (what was proved for all is at least minus the tolerance)."""
    at: dict[str, float]
    """Where that was; if refuted, a point where f is certainly negative."""


def sample(domain: Mapping[str, tuple[float, float]]) -> dict[str, Array]:
    """Points of a box for a look ahead of the proof: its corners and a regular lattice, half of it logarithmic."""
    names = list(domain)
    if not names:
        return {}
    free = max(1, sum(low < high for low, high in domain.values()))
    count = max(3, round(SAMPLES ** (1 / free)))
    axes = []
    for low, high in domain.values():
        axis = np.linspace(low, high, count)
        if low >= 0 and high > 0:
            start = low if low > 0 else high * 1e-6
            axis = np.concatenate([axis, np.geomspace(start, high, count)])
        axes.append(np.unique(axis))
    grid = np.meshgrid(*axes, indexing="ij")
    return {name: g.ravel() for name, g in zip(names, grid, strict=True)}


@in_high_precision()
def prove(formula: Formula, domain: Mapping[str, tuple[float, float]], tolerance: float, strict: bool = False) -> Proof:
    """Prove or refute that `formula` >= -tolerance (`strict`: > tolerance) on the whole box `domain`."""
    names = list(domain)
    threshold = arb(tolerance if strict else -tolerance)

    def enclose(box: Box, order: int = 2) -> Ball:
        return _enclosure(formula, names, box, order)

    def holds(value: arb) -> bool:
        return bool(value > threshold) if strict else bool(value >= threshold)

    def fails(value: arb) -> bool:
        return bool(value <= threshold) if strict else bool(value < threshold)

    worst, where = _smallest_sampled(formula, domain)
    if where is not None and fails(enclose(tuple((where[n], where[n]) for n in names), 0).value):
        return Proof("refuted", 1, worst, where)
    stack: list[Box] = [tuple(domain.values())]
    boxes = 0
    while stack:
        box = stack.pop()
        boxes += 1
        enclosure = enclose(box)
        if holds(enclosure.value):
            continue
        middle = tuple((low + high) / 2 for low, high in box)
        point = dict(zip(names, middle, strict=True))
        centre = enclose(tuple((m, m) for m in middle), 1)
        if fails(centre.value):
            return Proof("refuted", boxes, float(centre.value.mid()), point)
        if holds(_taylor(centre, enclosure, box, middle)):
            continue
        signs = [_sign(enclose, enclosure, box, i) if low < high else 0 for i, (low, high) in enumerate(box)]
        if any(signs):
            stack.append(tuple(_face(side, sign) for side, sign in zip(box, signs, strict=True)))
            continue
        if not box:
            return Proof("undecided", boxes, worst, point)
        axis = _widest_variable(enclosure, box)
        low, high = box[axis]
        if boxes > MAX_BOXES or middle[axis] in (low, high):
            return Proof("undecided", boxes, worst, point)
        for half in ((low, middle[axis]), (middle[axis], high)):
            stack.append((*box[:axis], half, *box[axis + 1 :]))
    return Proof("proved", boxes, worst, where or {})


def _enclosure(formula: Formula, names: list[str], box: Box, order: int) -> Ball:
    """The formula's range on a box, with that of its derivatives up to an order."""
    count = len(names)
    sides = enumerate(zip(names, box, strict=True))
    given: dict[str, object] = {n: Ball.variable(low, high, i, count, order) for i, (n, (low, high)) in sides}
    enclosure: Ball = formula({**given, LIFT: lambda value: Ball.constant(value, count, order)})
    return enclosure


def _taylor(centre: Ball, enclosure: Ball, box: Box, middle: tuple[float, ...]) -> arb:
    """Enclosure of f on the box: Taylor's formula to second order about the centre, with the Hessian's range."""
    steps = [interval(low, high) - arb(m) for (low, high), m in zip(box, middle, strict=True)]
    total = centre.value
    for g, step, row in zip(centre.gradient, steps, enclosure.hessian, strict=True):
        total = total + g * step
        for h, other in zip(row, steps, strict=True):
            total = total + h * step * other / 2
    return total


def _sign(at: Callable[[Box, int], Ball], enclosure: Ball, box: Box, i: int) -> int:
    """1 where the derivative by variable i is nowhere negative on the box, -1 where nowhere positive, 0 if unknown.

    Where its plain range does not tell, it is looked at on the face where it is least (greatest), as far as the
    Hessian's signs show which one that is.
    """
    known = _plain_sign(enclosure.gradient[i])
    if known:
        return known
    bends = [_plain_sign(h) if low < high else 0 for h, (low, high) in zip(enclosure.hessian[i], box, strict=True)]
    if not any(bends):
        return 0
    for sign in (1, -1):
        face = tuple(_face(side, sign * bend) for side, bend in zip(box, bends, strict=True))
        if bool(sign * at(face, 1).gradient[i] >= 0):
            return sign
    return 0


def _widest_variable(enclosure: Ball, box: Box) -> int:
    """The variable to cut: the one that moves the value most over the box."""
    sizes = [float(abs(g).upper()) for g in enclosure.gradient]
    widths = [
        (high - low) * (size if math.isfinite(size) else 1e300) if low < high else -1.0
        for size, (low, high) in zip(sizes, box, strict=True)
    ]
    return int(np.argmax(widths)) if widths else 0


def _smallest_sampled(
    formula: Formula, domain: Mapping[str, tuple[float, float]]
) -> tuple[float, dict[str, float] | None]:
    """The smallest value of a formula at sampled points, in floating point, and where it is."""
    points = sample(domain)
    with np.errstate(all="ignore"):
        values = np.asarray(formula(points), float)
    if not points:
        return float(values), {}
    values = np.broadcast_to(values, next(iter(points.values())).shape)
    finite = np.isfinite(values)
    if not finite.any():
        return float("nan"), None
    i = int(np.argmin(np.where(finite, values, np.inf)))
    return float(values[i]), {n: float(v[i]) for n, v in points.items()}


def _plain_sign(value: arb) -> int:
    if bool(value >= 0):
        return 1
    return -1 if bool(value <= 0) else 0


def _face(side: tuple[float, float], sign: int) -> tuple[float, float]:
    low, high = side
    if sign == 0 or low == high:
        return side
    return (low, low) if sign > 0 else (high, high)


@in_high_precision()
def prove_sign(formula: Formula, domain: Mapping[str, tuple[float, float]], along: str, sign: int) -> Proof:
    """Prove or refute that `sign` times the derivative of `formula` by `along` is nowhere negative on a box."""
    names = list(domain)
    index = names.index(along)

    def enclose(box: Box, order: int = 2) -> Ball:
        return _enclosure(formula, names, box, order)

    stack: list[Box] = [tuple(domain.values())]
    boxes = 0
    while stack:
        box = stack.pop()
        boxes += 1
        middle = tuple((low + high) / 2 for low, high in box)
        point = dict(zip(names, middle, strict=True))
        enclosure = enclose(box)
        if bool(sign * enclosure.gradient[index] >= 0) or _sign(enclose, enclosure, box, index) == sign:
            continue
        centre = sign * enclose(tuple((m, m) for m in middle), 1).gradient[index]
        if bool(centre < 0):
            return Proof("refuted", boxes, float(centre.mid()), point)
        form = centre  # the mean value form of the derivative
        for bend, (low, high), m in zip(enclosure.hessian[index], box, middle, strict=True):
            form = form + sign * bend * (interval(low, high) - arb(m))
        if bool(form >= 0):
            continue
        widths = [(high - low) / max(abs(low), abs(high), 1e-300) for low, high in box]
        axis = int(np.argmax(widths))
        low, high = box[axis]
        if boxes > MAX_BOXES or middle[axis] in (low, high):
            return Proof("undecided", boxes, math.nan, point)
        for half in ((low, middle[axis]), (middle[axis], high)):
            stack.append((*box[:axis], half, *box[axis + 1 :]))
    return Proof("proved", boxes, 0.0, {})
