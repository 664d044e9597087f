"""Ends and ticks of the axes of figures: ranges come from what is drawn, and no two tick labels touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.vocabulary import superscript

NARROWEST = 0.05
"""The least span of a value axis, as a share of the largest value."""
REACH = 3.0
"""Spans of what is drawn by which its intervals may widen an axis; longer ones are cut, and the figure says so."""
NEAR_ZERO = 0.35
"""Share of the largest value below which the least one draws zero into the axis."""
MARGIN = 0.05
"""Of the span, at either end."""
WIDE = 50.0
"""Ratio of the ends of a positive axis from which it is logarithmic."""
DECADES = 6
"""Decades beyond what a figure is about that a logarithmic axis shows of a curve."""
CHARACTER = 0.0086
"""Inches of a character's width for each point of its size, on average and rather too much."""


@dataclass(frozen=True)
class Range:
    """The ends of an axis, and whether something that is drawn goes on beyond them."""

    low: float
    high: float
    cut: bool = False

    def clip(self, value: float) -> float:
        """The value, or the end that it lies beyond; not-a-number stays."""
        return min(max(value, self.low), self.high)


def value_range(values: Sequence[float], ends: Sequence[float] = (), top: float | None = None) -> Range:
    """The ends of an axis of values.

    Args:
        values: what has to be inside: means, printed numbers, horizontal lines.
        ends: of intervals; they widen the axis up to `REACH` spans of the values.
        top: a higher end that is asked for; kept where the values reach a third of it.
    """
    finite = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    least = NARROWEST * max(abs(low), abs(high)) or NARROWEST
    reach = REACH * max(high - low, least)
    bounded = [e for e in ends if math.isfinite(e)]
    wanted_low, wanted_high = min([low, *bounded]), max([high, *bounded])
    cut = wanted_low < low - reach or wanted_high > high + reach or len(bounded) < len(ends)
    low, high = max(wanted_low, low - reach), min(wanted_high, high + reach)
    if 0 < low <= NEAR_ZERO * high:
        low = 0.0
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    margin = MARGIN * (high - low)
    high += margin
    if top is not None and top / 3 <= high < top:
        high = top
    return Range(low - margin, high, cut)


def log_range(values: Sequence[float], about: Sequence[float]) -> Range:
    """The ends of a logarithmic axis: of all positive values, at most `DECADES` decades beyond what it is `about`."""
    positive = [v for v in values if v > 0 and math.isfinite(v)]
    core = [v for v in about if v > 0 and math.isfinite(v)] or positive
    low = max(min(positive), min(core) / 10**DECADES)
    high = min(max(positive), max(core) * 10**DECADES)
    return Range(low / 1.3, high * 1.3, low > min(positive) or high < max(positive))


def is_wide(values: Sequence[float]) -> bool:
    """Whether numbers are positive and spread so far that a logarithmic axis shows them better."""
    return min(values) > 0 and max(values) / min(values) > WIDE


def linear_ticks(low: float, high: float, at_most: int = 7) -> tuple[list[float], list[str]]:
    """Round values between the ends, and their labels, all with the same decimals."""
    step = 10.0 ** math.floor(math.log10((high - low) / at_most))
    step *= next(m for m in (1, 2, 5, 10, 20) if (high - low) / (step * m) <= at_most)
    first = math.ceil(low / step - 1e-9)
    ticks = [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return ticks, [f"{tick:,.{decimals}f}".replace("-", "−") for tick in _without_minus(ticks)]


def _without_minus(ticks: Sequence[float]) -> list[float]:
    return [tick if abs(tick) > 1e-12 else 0.0 for tick in ticks]


def log_ticks(low: float, high: float, at_most: int = 6) -> tuple[list[float], list[str]]:
    """Powers of ten between the ends, or also their doubles and halves where these are less than two."""
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    if len(powers) < 2:
        every = [
            m * 10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high))) for m in (1, 2, 5)
        ]
        ticks = [tick for tick in every if low <= tick <= high]
    else:
        ticks = [10.0**k for k in powers[:: math.ceil(len(powers) / at_most)]]
    return ticks, [power_label(tick) for tick in ticks]


def power_label(value: float) -> str:
    """A tick of a logarithmic axis: as a number near one, as a power of ten beyond."""
    if 1e-3 < value < 1e5:
        return f"{value:,.6g}"
    mantissa, _, power = f"{value:.0e}".partition("e")
    return f"{mantissa}×10{superscript(int(power))}".removeprefix("1×")


def choose_ticks(
    places: Sequence[float], labels: Sequence[str], first: Sequence[int], width: float, size: float = 9.5
) -> list[int]:
    """Indices of ticks that can be labelled without two labels touching.

    Args:
        places: where each tick is along the axis, from 0 to 1.
        first: indices in the order in which they are wanted.
        width: of the axis, in inches.
    """
    chosen: list[int] = []
    half = [max(len(label), 2) * size * CHARACTER / 2 / width for label in labels]
    gap = 0.06 / width
    for i in first:
        if all(abs(places[i] - places[j]) >= half[i] + half[j] + gap for j in chosen):
            chosen.append(i)
    return sorted(chosen)
