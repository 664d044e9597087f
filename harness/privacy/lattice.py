"""Privacy losses of one Poisson-sampled Gaussian step on a lattice, from above and from below.

An outcome z (in deviations of the noise) of a batch with a record has the density P = (1 - q) N(0, 1) + q N(1/s, 1),
of one without it Q = N(0, 1). The loss of P against Q is L(z) = ln(1 - q + q e^w) at w = z/s - 1/(2 s^2), that of Q
against P is -L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from harness.arrays import Array
from harness.formulas.numbers import nodes_and_weights

Direction = Literal["remove", "add"]
"""Losses of P against Q, or of Q against P."""
DENSE = 50
"""Points on either side of a loss of 0 that are one width apart."""
GROWTH, WIDEST, COARSEST = 0.02, 0.05, 2e-4
"""Further out they are as far apart as this share of the loss, or this far, or this share where that is more."""
NODES, WEIGHTS = nodes_and_weights(8)
PARTS = 4
"""Panels that the space between two points is integrated in, at least."""
CANCELLED = 1e-12
"""A mass that is below 0 by this share of its neighbours is 0, but for rounding."""
EVEN, TURN = 0.25, 45.0
"""Longest panels in z, and how far, in w, on either side of where a loss turns they are half as long as a unit of w."""


class Step(NamedTuple):
    """One step of DP-SGD: its noise in clipping norms, and the chance of a record to be in the batch."""

    noise: float
    rate: float


@dataclass(frozen=True)
class Masses:
    """Probabilities of losses `offset + places * width`, in ascending order."""

    places: Array
    log_mass: Array
    """(k,), natural logarithms."""
    offset: float
    width: float

    @property
    def losses(self) -> Array:
        """The losses themselves, (k,), ascending."""
        losses: Array = self.offset + self.places * self.width
        return losses


def loss(w: Array | float, rate: Array | float) -> Array:
    """The privacy loss ln(1 - q + q e^w) at `w`, for a sampling rate q, of numbers or arrays alike.

    >>> float(loss(0.0, 0.1)), round(float(loss(700.0, 0.1)), 3)
    (0.0, 697.697)
    """
    # Two forms of one formula: near 0 the first cancels nothing, far out the second does not overflow.
    w, rate = np.asarray(w, dtype=float), np.asarray(rate, dtype=float)
    with np.errstate(divide="ignore"):  # at a rate of 1 to rounding, the least loss is minus infinity
        near = np.log1p(rate * np.expm1(np.minimum(w, 1.0)))
    far = np.log(rate) + w + np.log1p((1 - rate) / rate * np.exp(-np.maximum(w, 1.0)))
    losses: Array = np.where(w < 1, near, far)
    return losses


def place_of(step: Step, above_least: Array, losses: Array) -> Array:
    """The w at which the loss is as given, (k,); `above_least` is the losses less the least one, ln(1 - q)."""
    q = step.rate
    small = np.minimum(losses, 30.0)
    far = math.log1p(-q) - math.log(q) + above_least + np.log(-np.expm1(-above_least))
    w: Array = np.where(np.expm1(small) > -0.5 * q, np.log1p(np.maximum(np.expm1(small) / q, -0.5)), far)
    return np.where(losses > 30, far, w)


class OneStep:
    """The outcomes of one step, integrated between the points of a lattice.

    Outcomes further than `reach` deviations from where P and Q have their mass are left out.
    """

    def __init__(self, step: Step, reach: float, width: float) -> None:
        self.step, self.width = step, width
        s, least = step.noise, math.log1p(-step.rate)
        highest = float(loss((reach + 1 / s) / s - 0.5 / s**2, step.rate))
        # Most outcomes may have a loss that is all but the least one, which is a point then.
        on_least = -least < 64 * width
        self.offset = least if on_least else 0.0
        first = 0 if on_least else math.floor(least / width)
        last = math.ceil((highest - self.offset) / width) + 1
        self.places = _places(first, last, round(-self.offset / width), width)
        self.losses: Array = self.offset + self.places * width
        self._gap = 0.0 if on_least else least - self.losses[0]
        self._integrate(reach, least, on_least)

    def _integrate(self, reach: float, least: float, on_least: bool) -> None:
        """Set the panels, ascending in z: the cell of each, its nodes' distances from both ends of it, and weights."""
        s, q = self.step
        spaces = np.diff(self.places)
        count = np.maximum(PARTS, np.ceil(2 * spaces * self.width)).astype(int)
        number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        parts = np.append(
            np.repeat(self.places[:-1], count) + np.repeat(spaces / count, count) * number, self.places[-1]
        )
        finer = self.offset + parts * self.width
        above = parts * self.width if on_least else finer - least
        held = above > 0
        with np.errstate(divide="ignore"):
            w = place_of(self.step, above[held], finer[held])
        ends = s * w + 0.5 / s
        even = np.arange(-reach, reach + EVEN, EVEN)
        turn = 0.5 / s + s * (
            math.log1p(-q) - math.log(q) + np.arange(-TURN, TURN, 0.5)
        )  # from all but flat to straight
        between = np.concatenate([[-reach, reach + 1 / s], even, even + 1 / s, turn])
        z = np.unique(np.concatenate([ends, between]))
        z = z[(z >= -reach) & (z <= reach + 1 / s)]
        left, right = z[:-1], z[1:]
        middle = (left + right) / 2
        near = (middle <= reach) | (middle >= 1 / s - reach)
        left, right, middle = left[near], right[near], middle[near]

        # The w of the points themselves; the first point lies at the least loss or below, where there is none.
        at_least = self.places[1:] * self.width if on_least else self.losses[1:] - least
        points = place_of(self.step, at_least, self.losses[1:])
        self.cell: Array = np.minimum(np.searchsorted(s * points + 0.5 / s, middle, side="right"), len(spaces) - 1)
        nodes = (right - left)[:, None] * ((1 + NODES) / 2)  # from the left end
        here = (left[:, None] + nodes) / s - 0.5 / s**2
        share = np.exp(np.minimum(0.0, math.log(q) + points - self.losses[1:]))  # of the sampled, at a point
        upper = self.cell
        lower = np.maximum(self.cell - 1, 0)
        from_lower = (left / s - 0.5 / s**2 - points[lower])[:, None] + nodes / s
        from_upper = (left / s - 0.5 / s**2 - points[upper])[:, None] + nodes / s
        below = loss(from_lower, share[lower][:, None])
        start = (self.cell == 0)[:, None]
        with np.errstate(over="ignore"):
            above_first = np.logaddexp(0.0, math.log(q) - math.log1p(-q) + here) + self._gap
        self.below: Array = np.maximum(np.where(start, above_first, below), 0.0)
        self.above: Array = np.maximum(-loss(from_upper, share[upper][:, None]), 0.0)
        log_weight = np.log((right - left)[:, None] / 2 * WEIGHTS) - (here + 0.5 / s**2) ** 2 * s * s / 2
        self.log_weight: Array = log_weight - 0.5 * math.log(2 * math.pi)
        self.loss: Array = loss(here, q)

    def added_variance(self, tilt: float) -> float:
        """The variance that splitting adds to a loss which is weighed by exp(tilt loss)."""
        logs = self.log_weight + (tilt + 1) * self.loss
        weights = np.exp(logs - logs.max())
        counted = (weights > 0) & (self.below > 0) & (self.above > 0)  # at an end of its cell nothing is split
        split = weights[counted] * self.below[counted] * self.above[counted]
        return float(split.sum() / weights.sum())

    def from_above(self, direction: Direction) -> Masses:
        """The masses of a pair that dominates the step, less what lies out of reach.

        Each outcome is split between the points beside it so that its mass under both distributions stays.
        """
        to_lower, to_upper = self._split(direction)
        if direction == "remove":
            return self._masses(np.append(to_lower, 0.0) + np.append(0.0, to_upper), direction)
        return self._masses(np.append(to_upper, 0.0) + np.append(0.0, to_lower), direction)

    def from_below(self) -> Masses:
        """The masses of losses of P against Q, for a pair that the step dominates.

        At each point, delta as a function of exp(epsilon) is lowered to what tangents of it between the points have
        there. Chords between the lowered values lie below the tangents, and so below the curve, which is convex. Where
        they would not be convex themselves, outcomes are rounded down to the point below.
        """
        mass, low, high, _ = self._orient("remove")
        under = self._running_sums(mass * -np.expm1(-low))  # what a tangent at a panel's end lacks at the point below
        rest = (mass * np.expm1(high)).sum(axis=1)
        over = self._running_sums(rest[::-1, None], self.cell[::-1])[::-1] - rest  # and at the point above
        whole = np.bincount(self.cell, mass.sum(axis=1), len(self.places) - 1)
        return self._masses(
            _masses_from_below(np.diff(self.losses), whole, self._split("remove"), self.cell, under, over, rest),
            "remove",
        )

    def _running_sums(self, values: Array, groups: Array | None = None) -> Array:
        """The sums over nodes, and over the panels of a cell up to each; each addition is of numbers of one sign."""
        return _sums_within_groups(self.cell if groups is None else groups, values.sum(axis=1))

    def _split(self, direction: Direction) -> tuple[Array, Array]:
        """The mass of each cell that goes to its lower and to its upper loss, (cells,) each."""
        mass, low, high, space = self._orient(direction)
        share, cells = -np.expm1(-space)[:, None], len(self.places) - 1
        lower, upper = mass * np.exp(-low) * -np.expm1(-high) / share, mass * -np.expm1(-low) / share
        return np.bincount(self.cell, lower.sum(axis=1), cells), np.bincount(self.cell, upper.sum(axis=1), cells)

    def _orient(self, direction: Direction) -> tuple[Array, Array, Array, Array]:
        """The mass at nodes, their distances to the points of lower and higher loss, and the space between these."""
        space = np.diff(self.losses)[self.cell]
        if direction == "remove":
            return np.exp(self.log_weight + self.loss), self.below, self.above, space
        return np.exp(self.log_weight), self.above, self.below, space

    def _masses(self, total: Array, direction: Direction) -> Masses:
        with np.errstate(divide="ignore"):
            log_mass = np.log(total)
        held = np.isfinite(log_mass)
        if direction == "remove":
            return Masses(self.places[held], log_mass[held], self.offset, self.width)
        return Masses(-self.places[held][::-1], log_mass[held][::-1], -self.offset, self.width)


def _masses_from_below(
    spaces: Array, whole: Array, split: tuple[Array, Array], cell: Array, under: Array, over: Array, rest: Array
) -> Array:
    """The masses at the points for `OneStep.from_below`: `whole` and `split` are by cell, the others by panel."""
    cells, (to_lower, to_upper) = len(spaces), split
    with np.errstate(over="ignore"):
        to_left, to_right = 1 / np.expm1(spaces), 1 / -np.expm1(-spaces)
    first, last = np.searchsorted(cell, np.arange(cells)), np.searchsorted(cell, np.arange(cells), side="right")
    at = np.lexsort((np.maximum(under, over), cell))
    at = at[np.unique(cell[at], return_index=True)[1]]
    best_under, best_over, all_under = np.zeros((3, cells))
    best_under[cell[at]], best_over[cell[at]] = under[at], over[at]
    np.maximum.at(all_under, cell, under)
    all_over = np.bincount(cell, rest, cells)

    rounded = np.zeros(cells, dtype=bool)
    while True:
        before, after = np.append(True, rounded[:-1]), np.append(rounded[1:], True)
        rounded |= before & after
        before, after = np.append(True, rounded[:-1]) & ~rounded, np.append(rounded[1:], True) & ~rounded
        # Next to what is rounded down nothing may be lowered: the tangent is that at the point itself, and the next but
        # one has to leave the straight piece as it is.
        below = np.where(rounded | before, 0.0, np.where(after, all_under, best_under))
        above = np.where(rounded | after, 0.0, np.where(before, all_over, best_over))
        for k in np.flatnonzero(before[:-1]):
            if not (rounded[k + 1] or after[k + 1]):
                few = first[k + 1] + np.flatnonzero(under[first[k + 1] : last[k + 1]] <= all_over[k])
                below[k + 1], above[k + 1] = (under[few[-1]], over[few[-1]]) if len(few) else (0.0, all_over[k + 1])
        for k in np.flatnonzero(after[1:]) + 1:
            if not (rounded[k - 1] or before[k - 1] or (k > 1 and before[k - 2])):
                few = first[k - 1] + np.flatnonzero(over[first[k - 1] : last[k - 1]] <= all_under[k])
                below[k - 1], above[k - 1] = (under[few[0]], over[few[0]]) if len(few) else (all_under[k - 1], 0.0)
        lowered = np.maximum(np.append(below, 0.0), np.append(0.0, above))
        slopes = np.diff(lowered)
        total = np.append(np.where(rounded, whole, to_lower) - slopes * to_left, 0.0)
        total[1:] += np.where(rounded, 0.0, to_upper) + slopes * to_right
        wrong = total < -CANCELLED * (np.append(whole, 0.0) + np.append(0.0, whole))
        to_round = (wrong[:-1] | wrong[1:]) & ~rounded
        if not to_round.any():
            return np.maximum(total, 0.0)
        rounded |= to_round


def _sums_within_groups(groups: Array, values: Array) -> Array:
    """The running sums within runs of equal groups, (k,); each addition is of numbers of one sign."""
    # By doubling, not by differences of one running sum over all: those would cancel.
    sums, reach = values.copy(), 1
    while reach < len(sums):
        same = groups[reach:] == groups[:-reach]
        if not same.any():
            break
        sums[reach:] += np.where(same, sums[:-reach], 0.0)
        reach *= 2
    return sums


def _places(first: int, last: int, centre: int, width: float) -> Array:
    """The whole numbers from first to last that are points: one apart about the centre, further apart away from it."""
    farthest = float(max(last - centre, centre - first, DENSE))
    even, coarse = WIDEST / GROWTH / width, WIDEST / COARSEST / width
    parts = [np.arange(DENSE + 1.0), _growing_grid(DENSE, min(even, farthest), GROWTH)]
    parts.append(np.arange(max(DENSE, even), min(coarse, farthest), max(1.0, WIDEST / width)))
    parts.append(_growing_grid(max(DENSE, coarse), farthest, COARSEST))
    away = np.unique(np.floor(np.concatenate(parts))).astype(np.int64)
    places = np.unique(np.concatenate([centre - away, centre + away, [first, last]]))
    inside: Array = places[(places >= first) & (places <= last)]
    return inside


def _growing_grid(low: float, high: float, share: float) -> Array:
    """The numbers between low and high that are one, or this share of themselves, apart."""
    if low >= high:
        return np.empty(0)
    turn = min(max(low, 1 / share), high)
    return np.concatenate([np.arange(low, turn), turn * np.exp(np.arange(0, math.log(high / turn), math.log1p(share)))])
