"""The epsilon of Poisson-sampled Gaussian steps, from above and from below.

One step, and steps of full batches, have closed forms. For all others the losses of a step are put on a lattice
(`harness.privacy.lattice`), once so that the pair of distributions dominates the true one (Doroshenko et al. 2022,
"connect the dots"), once so that the true one dominates the pair; both errors are of the square of the lattice's width.
The sum over steps is a convolution, tilted so that rounding is relative to a delta of any size
(`harness.privacy.convolution`). The width follows from epsilon, delta and the number of steps, and is made finer until
both sides agree.
"""

from __future__ import annotations

import math
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import scipy

from harness.errors import PrivacyError
from harness.formulas.gaussian import epsilon_of_mu
from harness.privacy.convolution import SMALLEST, Sum
from harness.privacy.lattice import OneStep, Step, loss

TOLERANCE = 5e-3
"""Largest gap of both sides, as a share of epsilon."""
AIM = 2e-3
"""The gap that the first width is chosen for."""
# The least noise multiplier and delta that exact accounting reaches; smaller ones are refused.
LEAST_NOISE, LEAST_DELTA = 1e-3, 1e-250
# The largest number of steps.
MOST_STEPS = 10**9
"""Of more, rounding decides, which shows only after minutes."""
LARGEST_WINDOW = 2**21
"""Points of a convolution: more take too long."""
LARGEST_WORK = 2**22
"""Points of all convolutions after which no finer width is tried."""
LOST = 1e-5
"""Share of delta that outcomes may have which are so far out that they count as certain disclosure."""


class Sides(NamedTuple):
    """A number that is known from below and from above."""

    low: float
    high: float


class Steps(NamedTuple):
    """A number of like steps: their noise in clipping norms, and the chance `rate` of a record to be in a batch."""

    noise: float
    rate: float
    number: int


def sampled_epsilon(steps: Steps, delta: float) -> Sides:
    """The epsilon for add/remove-one neighbours at `delta`, its sides no more than `TOLERANCE` of it apart.

    Raises HarnessError where that is out of reach.

    >>> epsilon = sampled_epsilon(Steps(1.1, 1.0, 1), 1e-5)
    >>> round(epsilon.low, 4), round(epsilon.high, 4)
    (3.9213, 3.9213)
    """
    _check(steps, delta)
    known = _closed_form(steps, delta)
    if known is not None:
        return Sides(known, known)
    _check_number(steps)
    return _settle_sides(steps, delta)


def epsilon_above(steps: Steps, delta: float) -> float:
    """The epsilon of a record's removal, from above, at the first width of the lattice.

    It is cheaper than `sampled_epsilon`: a search for the noise asks for it many times. Raises HarnessError where it is
    out of reach.
    """
    _check(steps, delta)
    known = _closed_form(steps, delta)
    if known is not None:
        return known
    _check_number(steps)
    question = _Question(steps, delta)
    return question.sides(question.width, "high")[1]


def _check(steps: Steps, delta: float) -> None:
    if not delta >= LEAST_DELTA:
        raise PrivacyError(f"privacy: delta {delta:g} is out of reach of exact accounting; use {LEAST_DELTA:g} or more")
    if not steps.noise >= LEAST_NOISE:
        raise PrivacyError(
            f"privacy: noise multiplier {steps.noise:g} is out of reach of exact accounting; "
            f"use {LEAST_NOISE:g} or more"
        )


def _check_number(steps: Steps) -> None:
    """Raise HarnessError for more steps than can be convolved."""
    if steps.number > MOST_STEPS:
        raise PrivacyError(
            f"privacy: {steps.number:.6g} steps are too many for exact accounting; use {MOST_STEPS:,} or fewer, or the "
            "accountant rdp, which takes as long for any number of them"
        )


def _closed_form(steps: Steps, delta: float) -> float | None:
    """The epsilon of full batches (Balle and Wang 2018) or of one step (Balle, Barthe and Gaboardi 2018, Theorem 8).

    It is None where there is no closed form.
    """
    if steps.rate >= 1:
        return epsilon_of_mu(math.sqrt(steps.number) / steps.noise, delta)
    if steps.number == 1:
        if delta >= steps.rate:
            return 0.0
        return float(loss(epsilon_of_mu(1 / steps.noise, delta / steps.rate), steps.rate))
    return None


@cache
def _settle_sides(steps: Steps, delta: float) -> Sides:
    question = _Question(steps, delta)
    width, work = question.width, 0
    while True:
        work += question.rough_sum.points(width)
        low, high = question.sides(width)
        gap = high - low
        if gap <= TOLERANCE * high:
            return Sides(low, high)
        least = sum(question.rough_sum.window) / LARGEST_WINDOW
        if width <= least or work > LARGEST_WORK:
            raise PrivacyError(f"privacy: {question} is out of reach: it is between {low:.4g} and {high:.4g}")
        width = max(least, width * max(0.2, 0.8 * math.sqrt(AIM * high / gap)))


class _Question:
    """Steps at a delta, and how wide the lattice has to be."""

    def __init__(self, steps: Steps, delta: float) -> None:
        self.steps, self.delta = steps, delta
        self.step = Step(steps.noise, steps.rate)
        self.reach = -float(scipy.special.ndtri_exp(math.log(LOST * delta / 4 / steps.number)))

    def __str__(self) -> str:
        steps = self.steps
        return (
            f"the exact epsilon of noise multiplier {steps.noise:g} in {steps.number} steps at rate {steps.rate:g} and "
            f"delta {self.delta:g}"
        )

    @cached_property
    def rough_sum(self) -> Sum:
        """The sum on a lattice that is far finer than a step's losses are apart, too fine to convolve."""
        z = np.linspace(-self.reach, self.reach, 2001)
        s = self.steps.noise
        squares = loss(z / s - 0.5 / s**2, self.steps.rate) ** 2
        spread = math.sqrt(float(np.average(squares, weights=np.exp(-z * z / 2))))
        return Sum(OneStep(self.step, self.reach, 1e-3 * spread).from_above("remove"), self.steps.number, self.delta)

    @cached_property
    def width(self) -> float:
        """The width of the lattice for a gap of `AIM`: a variance of a step's loss that differs by v moves epsilon by
        steps (tilt + 1) v / 2."""
        rough, count = self.rough_sum, self.steps.number
        window = sum(rough.window)
        width = min(window / SMALLEST, 50.0)
        for _ in range(4):
            added = OneStep(self.step, self.reach, width).added_variance(rough.tilt)
            gap = 0.75 * count * (rough.tilt + 1) * added / max(rough.converted_epsilon, 1e-300)
            if gap <= AIM:
                break
            width *= min(0.9, max(0.1, math.sqrt(AIM / gap)))
        return max(width, window / LARGEST_WINDOW)

    def sides(self, width: float, which: str = "both") -> tuple[float, float]:
        """The epsilon from below and from above; with `which` "high", of a record's removal and from above alone.

        Raises HarnessError where the side from above is out of reach; the one from below is 0 then.
        """
        one = OneStep(self.step, self.reach, width)
        count, delta, lost = self.steps.number, self.delta, LOST * self.delta
        try:
            high = Sum(one.from_above("remove"), count, delta).epsilon(True, lost)
            if which == "high":
                return 0.0, high
            high = max(high, Sum(one.from_above("add"), count, delta).epsilon(True, lost))
        except ArithmeticError as error:
            raise PrivacyError(f"privacy: {self} is out of reach ({error})") from None
        try:
            return Sum(one.from_below(), count, delta).epsilon(False), high
        except ArithmeticError:
            return 0.0, high
