"""The epsilon of many steps whose losses are given on a lattice: tilted, convolved by the FFT, and weighed back.

An FFT's rounding is relative to the largest mass, so that far tails would drown in it. Tilting puts the largest mass
where epsilon is, and rounding is relative to delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy

from harness.arrays import Array
from harness.privacy.lattice import Masses

# The relative rounding error of one addition in a convolution, from above.
ROUNDING = 4 * float(np.finfo(float).eps)
FAR = 24.0
"""The logarithm of the chance, under the tilt, of a sum outside of the window; more where the tilt is large."""
SURE, TRIES = 1e-2, 12
"""Share of delta that rounding may be, and how often the tilt is made less until it is."""
SMALLEST, LARGEST = 2**14, 2**22
"""Points of a convolution: fewer save nothing, more take too long and too much memory."""


class Sum:
    """The sum of the losses of `steps` steps, tilted by exp(theta loss) so that it lies about epsilon at `delta`."""

    def __init__(self, masses: Masses, steps: int, delta: float, tilt: float | None = None) -> None:
        """Take the masses of one step's losses; a `tilt` of None is the one that Chernoff's bound is best at."""
        self.masses, self.steps, self.delta = masses, steps, delta
        self._losses = masses.losses
        self.tilt = self._best_tilt() if tilt is None else tilt
        self.log_moment, self.mean, self.variance = self._cumulants(self.tilt)

    def _cumulants(self, tilt: float) -> tuple[float, float, float]:
        """The logarithm of E exp(tilt loss) of one step, and the mean and variance of its tilted loss."""
        logs = self.masses.log_mass + tilt * self._losses
        greatest = float(logs.max())
        p = np.exp(logs - greatest)
        total = float(p.sum())
        mean = float(p @ self._losses) / total
        return greatest + math.log(total), mean, float(p @ (self._losses - mean) ** 2) / total

    def _best_tilt(self) -> float:
        """The tilt at which (steps K(tilt) + ln(1/delta)) / tilt is least, K being the logarithm of a step's moment.

        It is at most the tilt that tells neighbours on the lattice apart.
        """
        least, goal = 1e-9 / (1 + float(np.abs(self._losses).max()) * self.steps), -math.log(self.delta)
        greatest = 10 / self.masses.width

        def excess(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            log_moment, mean, _ = self._cumulants(tilt)
            return self.steps * (tilt * mean - log_moment) - goal

        low, high = math.log(min(least, greatest / 2)), math.log(greatest)
        if excess(high) <= 0:
            return greatest
        if excess(low) >= 0:
            return math.exp(low)
        return math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-4)))

    @property
    def converted_epsilon(self) -> float:
        """The epsilon by Chernoff's bound, at least the true one."""
        return max((self.steps * self.log_moment - math.log(self.delta)) / self.tilt, 0.0)

    @cached_property
    def window(self) -> tuple[float, float]:
        """The distances from its mean, below and above, that the tilted sum passes with chance exp(-far_distance)."""
        return self._tail_distance(-1), self._tail_distance(1)

    @property
    def far_distance(self) -> float:
        """The logarithm of one over the chance, under the tilt, of a sum outside of the window (`FAR`)."""
        return FAR + 1.5 * math.log1p(self.tilt)

    def _tail_distance(self, sign: int) -> float:
        """The distance from the mean that the tilted sum passes with chance exp(-far_distance), from above.

        It is Chernoff's bound solved for the distance, by the exponent at which that is least.
        """
        end = self._losses[-1] if sign > 0 else self._losses[0]
        greatest = self.steps * abs(float(end) - self.mean)

        def distance(log_s: float) -> float:
            s = sign * math.exp(log_s)
            moment = self._cumulants(self.tilt + s)[0] - self.log_moment
            return (self.far_distance + self.steps * (moment - s * self.mean)) / abs(s)

        likely = 0.5 * math.log(2 * self.far_distance / (self.steps * self.variance + (self.masses.width * 1e-3) ** 2))
        minimum = scipy.optimize.minimize_scalar(distance, bounds=(likely - 30, likely + 10), method="bounded")
        return min(greatest, float(minimum.fun))

    def points(self, width: float) -> int:
        """The number of points that a convolution at that width needs."""
        return max(SMALLEST, math.ceil(sum(self.window) / width) + 8)

    @cached_property
    def _convolution(self) -> tuple[float, Array]:
        """The lowest sum in the window, and the tilted masses from there on."""
        width, offset = self.masses.width, self.steps * self.masses.offset
        size = scipy.fft.next_fast_len(self.points(width), real=True)
        p = np.exp(self.masses.log_mass + self.tilt * self._losses - self.log_moment)
        wrapped = np.bincount(np.mod(self.masses.places, size), p, size)
        # A power of the transform in place of many convolutions; a transform of 0 has no logarithm, and a power of 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            powers = np.exp(self.steps * np.log(scipy.fft.rfft(wrapped)))
        masses = scipy.fft.irfft(np.nan_to_num(powers), size)
        slack = (size * width - sum(self.window)) / 2
        lowest = math.floor((self.steps * self.mean - self.window[0] - slack - offset) / width)
        return offset + lowest * width, np.roll(masses, -(lowest % size))

    def epsilon(self, above: bool, lost: float = 0.0) -> float:
        """The least epsilon of at least 0 at `delta`, with `lost` of delta spent, from above or from below.

        Rounding, and what lies outside of the window, is counted in full (`above`) or left out. Where that decides,
        since epsilon lies far below what the sum was tilted to, the sum is tilted less.

        Raises ArithmeticError where no tilt serves, or one would need too many points, or epsilon lies outside of the
        window.
        """
        tilted = self
        for _ in range(TRIES):
            if tilted.points(self.masses.width) > LARGEST:
                raise ArithmeticError(f"its sums have more than {LARGEST:,} points")
            epsilon, sure = tilted._solve(above, lost)
            if sure:
                return epsilon
            tilted = Sum(self.masses, self.steps, self.delta, tilted._tilt_of(epsilon))
        raise ArithmeticError("rounding is larger than delta")

    def _tilt_of(self, epsilon: float) -> float:
        """The tilt at which the mean of the sum is epsilon; at least a quarter of the present one."""
        low, high = self.tilt / 4, self.tilt * 0.99
        for _ in range(40):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.steps * self._cumulants(middle)[1] < epsilon else (low, middle)
        return low

    def _solve(self, above: bool, lost: float) -> tuple[float, bool]:
        """The epsilon at this tilt, and whether that is sure; False where rounding decides and it is about right."""
        lowest, masses = self._convolution
        width, tilt = self.masses.width, self.tilt
        decay, small = math.exp(-tilt * width), -math.expm1(-width)
        # At epsilon = each sum: what is above it, weighed by exp(-tilt y), and by exp(-tilt y) (1 - exp(-y)).
        weighed = _decaying_sums(np.maximum(masses, 0.0), decay)
        spent = _decaying_sums(np.append(weighed[1:], 0.0) * decay * small, decay * (1 - small))
        y = width * np.arange(len(masses))
        norm = float(np.linalg.norm(masses)) * float(np.linalg.norm(np.exp(-tilt * y) * -np.expm1(-y - width)))
        rest = ROUNDING * (self.steps + math.log2(len(masses)) + 8) * norm + math.exp(-self.far_distance)
        goal = math.log(self.delta - lost) - self.steps * self.log_moment
        low = max(0.0, lowest)
        first = max(0, math.ceil((low - lowest) / width))
        at = lowest + width * np.arange(first, len(masses))

        def excess(tilted_delta: Array, epsilon: Array, share: float) -> Array:
            with np.errstate(divide="ignore"):
                logs = np.log(np.maximum(tilted_delta + share * rest, 0.0))
            return np.asarray(logs - tilt * epsilon - goal)

        def solve(share: float) -> tuple[float, float]:
            over = np.flatnonzero(excess(spent[first:], at, share) > 0)
            place = first + (int(over[-1]) + 1 if len(over) else 0)
            if place >= len(masses):  # or all of the window lies below 0
                return math.inf, 0.0
            if not len(over) and lowest > 0:
                return -math.inf, 0.0
            begin, end = float(at[over[-1]]) if len(over) else low, float(lowest + place * width)

            def is_over(epsilon: float) -> bool:
                y = end - epsilon
                tilted_delta = math.exp(-tilt * y) * (
                    float(spent[place]) * math.exp(-y) - float(weighed[place]) * math.expm1(-y)
                )
                return bool(excess(np.asarray(tilted_delta), np.asarray(epsilon), share) > 0)

            return _crossing(begin, end, is_over, above), float(spent[max(0, place - 1)])

        epsilon, there = solve(1.0 if above else -1.0)
        if epsilon == 0 or (math.isfinite(epsilon) and rest < SURE * there):
            return epsilon, True
        largest = self.steps * float(self._losses[-1])
        if above and epsilon >= largest - width:  # no sum is larger
            return max(0.0, largest), True
        about = solve(0.0)[0]
        if not math.isfinite(about):
            raise ArithmeticError("epsilon lies outside of the window of sums")
        return about, False


def _crossing(low: float, high: float, is_over: Callable[[float], bool], above: bool) -> float:
    """The epsilon between two neighbouring sums, or 0 and the least sum, at which delta is reached.

    It is rounded up with `above`, else down.
    """
    if low == 0 and not is_over(0.0):
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle in (low, high) or high - low < 1e-9 * high:
            break
        low, high = (middle, high) if is_over(middle) else (low, middle)
    return high if above else low


def _decaying_sums(values: Array, factor: float) -> Array:
    """The sum at each place of what comes there and after, times the factor to the power of how far away it is."""
    # In pieces so short that powers of the factor in one are no smaller than e^-300, by which they are divided.
    reach = max(1, min(len(values), int(300 / max(-math.log(max(factor, 1e-100)), 1e-300))))
    falling = factor ** np.arange(reach)
    sums, before = np.empty(len(values)), 0.0
    for start in range(0, len(values), reach):
        piece = values[::-1][start : start + reach]
        weights = falling[: len(piece)]
        sums[start : start + reach] = weights * (np.cumsum(piece / weights) + factor * before)
        before = float(sums[start + len(piece) - 1])
    return sums[::-1]
