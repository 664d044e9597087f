"""Proof or refutation of `f >= 0` on a box, by branch and bound in ball arithmetic.

A box is done where an enclosure of f on it is not below minus the tolerance. Three enclosures are tried: f on
the whole box; Taylor's formula to second order about the centre; and, where f only grows or only falls with a
variable on the box, f on the face where it is least. The last one handles inequalities that touch equality on a
face, such as two bounds that agree at epsilon = 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from flint import arb

from harness.arrays import Array
from harness.theory.ball import Ball, in_high_precision, interval
from harness.theory.compound import LIFT
from harness.theory.program import Box, Encloser, Enclosure, Formula

MAX_BOXES = 60_000
"""The number of boxes after which a proof is given up as undecided."""
SAMPLES = 4096
"""The number of points, about, at which a formula is looked at before it is proved."""


@dataclass(frozen=True)
class Proof:
    """The outcome of a proof of `f >= 0`."""

    outcome: Literal["proved", "refuted", "undecided"]
    boxes: int
    """The number of boxes looked at."""
    worst: float
    """The smallest f among the sampled points (what was proved for all is at least minus the tolerance)."""
    at: dict[str, float]
    """The point where f is smallest; if refuted, one where f is certainly negative."""


def sample(domain: Mapping[str, tuple[float, float]]) -> dict[str, Array]:
    """The points of a box for a look ahead of the proof: its corners and a regular lattice, half of it logarithmic."""
    names = list(domain)
    if not names:
        return {}
    free = max(1, sum(low < high for low, high in domain.values()))
    count = max(3, round(SAMPLES ** (1 / free)))
    axes = []
    for low, high in domain.values():
        points = count if low < high else 3  # more would be the same again
        axis = np.linspace(low, high, points)
        if low >= 0 and high > 0:
            start = low if low > 0 else high * 1e-6
            axis = np.concatenate([axis, np.geomspace(start, high, points)])
        axes.append(np.unique(axis))
    grid = np.meshgrid(*axes, indexing="ij")
    return {name: g.ravel() for name, g in zip(names, grid, strict=True)}


@in_high_precision()
def prove(
    formula: Formula,
    domain: Mapping[str, tuple[float, float]],
    tolerance: float,
    strict: bool = False,
    encloser: Encloser | None = None,
) -> Proof:
    """The proof or refutation of `formula` >= -tolerance (`strict`: > tolerance) on the whole box `domain`.

    `encloser` is that of the formula on the domain, where the caller has one.
    """
    names = list(domain)
    every = tuple(range(len(names)))
    threshold = arb(tolerance if strict else -tolerance)
    encloser = encloser or Encloser(formula, domain)

    def holds(value: arb) -> bool:
        return bool(value > threshold) if strict else bool(value >= threshold)

    def fails(value: arb) -> bool:
        return bool(value <= threshold) if strict else bool(value < threshold)

    worst, where = _smallest_sampled(formula, domain)
    if where is not None and fails(_value_at(formula, where)):
        return Proof("refuted", 1, worst, where)
    stack: list[Box] = [tuple(domain.values())]
    boxes = 0
    while stack:
        box = stack.pop()
        boxes += 1
        free = tuple([i for i, (low, high) in enumerate(box) if low < high])
        enclosure = encloser.enclose(box, free)
        if holds(enclosure.value):
            continue
        middle = tuple([(low + high) / 2 for low, high in box])
        centre = encloser.enclose(tuple([(m, m) for m in middle]), free)
        if fails(centre.value):
            return Proof("refuted", boxes, float(centre.value.mid()), dict(zip(names, middle, strict=True)))
        form = _taylor(centre, enclosure, box, middle)
        if holds(form):
            continue
        if not form.is_finite():  # what is infinite by one variable may hide what it does by another
            enclosure = encloser.enclose(box, every, drops_zeros=False)
        signs = {i: _sign(encloser, enclosure, box, i) for i in free}
        if any(signs.values()):
            stack.append(tuple([_face(side, signs.get(i, 0)) for i, side in enumerate(box)]))
            continue
        axis = _widest_variable(enclosure, box) if free else None
        if axis is None or boxes > MAX_BOXES or middle[axis] in box[axis]:
            return Proof("undecided", boxes, worst, dict(zip(names, middle, strict=True)))
        stack += _halves(box, axis, middle[axis])
    return Proof("proved", boxes, worst, where or {})


def _value_at(formula: Formula, point: Mapping[str, float]) -> arb:
    """The formula's value at a point, in ball arithmetic."""
    given: dict[str, object] = {n: Ball.variable(v, v, i, len(point), 0) for i, (n, v) in enumerate(point.items())}
    value: arb = formula({**given, LIFT: lambda value: Ball.constant(value, len(point), 0)}).value
    return value


def _taylor(centre: Enclosure, enclosure: Enclosure, box: Box, middle: tuple[float, ...]) -> arb:
    """The enclosure of f on the box by Taylor's formula to second order about the centre, with the Hessian's range."""
    steps = [interval(*box[i]) - arb(middle[i]) for i in enclosure.variables]
    total = centre.value
    for g, step, row in zip(centre.gradient, steps, enclosure.hessian, strict=True):
        total = total + g * step
        for h, other in zip(row, steps, strict=True):
            total = total + h * step * other / 2
    return total


def _sign(encloser: Encloser, enclosure: Enclosure, box: Box, i: int) -> int:
    """The sign of the derivative by variable i: 1 where nowhere negative on the box, -1 nowhere positive, 0 unknown.

    Where its plain range does not tell, it is looked at on the face where it is least (greatest), as far as the
    Hessian's signs show which one that is.
    """
    place = enclosure.variables.index(i)
    known = _plain_sign(enclosure.gradient[place])
    if known:
        return known
    bends = {j: _plain_sign(h) for j, h in zip(enclosure.variables, enclosure.hessian[place], strict=True)}
    bends = {j: bend for j, bend in bends.items() if bend and box[j][0] < box[j][1]}
    if not bends:
        return 0
    along = (i,) if enclosure.drops_zeros else enclosure.variables
    for sign in (1, -1):
        face = tuple([_face(side, sign * bends.get(j, 0)) for j, side in enumerate(box)])
        if bool(sign * encloser.enclose(face, along, enclosure.drops_zeros).gradient[along.index(i)] >= 0):
            return sign
    return 0


def _widest_variable(enclosure: Enclosure, box: Box) -> int:
    """The variable to cut, which is the one that moves the value most over the box."""
    # A derivative that is not finite counts as very large: times a width it stays comparable.
    sizes = [float(abs(g).upper()) for g in enclosure.gradient]
    widths = [
        (high - low) * (size if math.isfinite(size) else 1e300) if low < high else -1.0
        for size, (low, high) in zip(sizes, [box[i] for i in enclosure.variables], strict=True)
    ]
    return enclosure.variables[widths.index(max(widths))]


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
    """The sign that every number of a ball has; 0 where they differ."""
    if bool(value >= 0):
        return 1
    return -1 if bool(value <= 0) else 0


def _face(side: tuple[float, float], sign: int) -> tuple[float, float]:
    """The end of a side at which a function with a derivative of this sign is least; all of it where that is 0."""
    low, high = side
    if sign == 0 or low == high:
        return side
    return (low, low) if sign > 0 else (high, high)


def _halves(box: Box, axis: int, middle: float) -> list[Box]:
    """The two boxes into which a box is cut across a variable."""
    low, high = box[axis]
    return [(*box[:axis], half, *box[axis + 1 :]) for half in ((low, middle), (middle, high))]


@in_high_precision()
def prove_sign(
    formula: Formula,
    domain: Mapping[str, tuple[float, float]],
    along: str,
    sign: int,
    encloser: Encloser | None = None,
) -> Proof:
    """The proof or refutation that `sign` times the derivative of `formula` by `along` is nowhere negative on a box.

    `encloser` is that of the formula on the domain, where the caller has one.
    """
    names = list(domain)
    free = tuple([i for i, (low, high) in enumerate(domain.values()) if low < high])
    index, every = names.index(along), tuple(range(len(names)))
    place = free.index(index)
    encloser = encloser or Encloser(formula, domain)
    stack: list[Box] = [tuple(domain.values())]
    boxes = 0
    while stack:
        box = stack.pop()
        boxes += 1
        enclosure = encloser.enclose(box, free)
        if not all(g.is_finite() for g in enclosure.gradient):
            enclosure = encloser.enclose(box, every, drops_zeros=False)
        if _sign(encloser, enclosure, box, index) == sign:
            continue
        middle = tuple([(low + high) / 2 for low, high in box])
        centre = sign * encloser.enclose(tuple([(m, m) for m in middle]), free).gradient[place]
        if bool(centre < 0):
            return Proof("refuted", boxes, float(centre.mid()), dict(zip(names, middle, strict=True)))
        form = centre  # the mean value form of the derivative
        for bend, i in zip(enclosure.hessian[enclosure.variables.index(index)], enclosure.variables, strict=True):
            form = form + sign * bend * (interval(*box[i]) - arb(middle[i]))
        if bool(form >= 0):
            continue
        widths = [(high - low) / max(abs(low), abs(high), 1e-300) for low, high in box]
        axis = int(np.argmax(widths))
        if boxes > MAX_BOXES or middle[axis] in box[axis]:
            return Proof("undecided", boxes, math.nan, dict(zip(names, middle, strict=True)))
        stack += _halves(box, axis, middle[axis])
    return Proof("proved", boxes, 0.0, {})
