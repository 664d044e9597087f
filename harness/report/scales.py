"""Ends and ticks of the axes of figures: ranges come from what is drawn, and no two tick labels touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.vocabulary import figure

if TYPE_CHECKING:
    from matplotlib.axis import Axis

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
FEWEST = 3
"""Ticks that an axis of numbers has at least."""
STEPS, POWERS = 7, 6
"""Steps between ticks of a linear axis, and powers of ten that a logarithmic one has ticks at, at most."""
THOUSAND = 1000.0
"""Where an axis ends from which on its labels have commas; those with as many decimals each have none."""
CHARACTER = 0.0086
"""Inches of a character's width for each point of its size, on average and rather too much."""
GAP = 0.06
"""Inches between two labels, at least."""


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


def locate_ticks(along: Axis) -> None:
    """Put ticks at round numbers of an axis that has its ends and its scale, at least `FEWEST`."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, ScalarFormatter

    low, high = along.get_view_interval()
    even = MaxNLocator(STEPS, steps=[1, 2, 5, 10], min_n_ticks=FEWEST)
    if along.get_scale() == "log":
        along.set_minor_locator(NullLocator())
        along.set_major_formatter(FuncFormatter(lambda value, _: figure(value).removeprefix("1×")))
        locators = [LogLocator(numticks=POWERS), LogLocator(subs=(1.0, 3.0), numticks=POWERS), even]
    else:
        decimals = ScalarFormatter(useOffset=False)
        decimals.set_scientific(False)
        along.set_major_formatter(decimals if max(-low, high) < THOUSAND else "{x:,.10g}")
        locators = [even]
    for locator in locators:
        along.set_major_locator(locator)
        if len(shown_ticks(along)[0]) >= FEWEST:
            break


def shown_ticks(along: Axis) -> tuple[list[float], list[str]]:
    """The ticks of an axis between its ends, and their labels."""
    every, scale = along.get_majorticklocs(), along.get_transform()
    low, high = scale.transform(along.get_view_interval())
    near = 1e-9 * (high - low)
    places = [float(v) for v, at in zip(every, scale.transform(every), strict=True) if low - near <= at <= high + near]
    return places, along.get_major_formatter().format_ticks(places)


def choose_ticks(
    along: Axis, places: Sequence[float], labels: Sequence[str], first: Sequence[int], size: float
) -> list[int]:
    """Indices of ticks of a horizontal axis that can be labelled without two labels touching.

    Args:
        first: indices in the order in which they are wanted.
        size: of labels, in points.
    """
    figure = along.get_figure(root=True)
    assert figure is not None
    width = along.axes.get_position().width * float(figure.get_figwidth())
    scale = along.get_transform()
    low, high = scale.transform(along.get_view_interval())
    inches = (scale.transform(places) - low) / (high - low) * width
    half = [max(len(label), 2) * size * CHARACTER / 2 for label in labels]
    chosen: list[int] = []
    for i in first:
        if all(abs(inches[i] - inches[j]) >= half[i] + half[j] + GAP for j in chosen):
            chosen.append(i)
    return sorted(chosen)
