"""Where a claim's number was measured, in words, and the interval of its left side."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from harness.claims.contrasts import Contrast
from harness.claims.expectation import ClaimKind
from harness.claims.operands import AxisValue, FormulaValue, Number
from harness.claims.verdict import Point
from harness.coordinates import format_level
from harness.formulas import formula_named
from harness.report.sides import range_of
from harness.report.vocabulary import BOUND_WORDS, LETTERS, level_words


def where_words(point: Point, part: ClaimKind, axes: Sequence[str], own: Collection[str] = ()) -> str:
    """`at ε = 5`; empty where there is only one place, or where each side has its own.

    `own`: axes of which a side names a value of its own.
    """
    places = [level_words(name, value) for name, value in (point.at or {}).items() if name not in own]
    for name, values in (point.chosen or {}).items():
        least, greatest = format_level(values[0]), format_level(values[-1])
        places.append(
            f"the chosen {LETTERS.get(name, name)} = {least}" + ("" if least == greatest else f" to {greatest}")
        )
    if "epsilon" in own:
        pass
    elif point.epsilon is not None:
        places.insert(0, level_words("epsilon", point.epsilon))
    elif "epsilon" in axes and not _has_own_epsilon(part) and not getattr(part, "needs_repeats", False):
        places.insert(0, "without noise")
    text = ", ".join(places)
    return text if not text or text.startswith("without") else f"at {text}"


def _has_own_epsilon(part: ClaimKind) -> bool:
    """Whether a side has an epsilon that is fixed or chosen for it, so that points have none."""
    return any(
        (operand.chosen is not None and operand.chosen.axis == "epsilon")
        or operand.fixed_axes.get("epsilon", math.inf) != math.inf
        or "epsilon" in operand.mean_over
        for operand in part.operands()
    )


def pattern_of(part: ClaimKind | None) -> Contrast | None:
    """What the points of a part compare, without the place, or the first of alternatives; None where that differs."""
    return part.patterns()[0] if part is not None and part.patterns() else None


def left_interval(pattern: Contrast, point: Point) -> tuple[float | None, float | None] | None:
    """The 95% interval of the left side, where the right side is not measured; None where it cannot be told.

    Ends beyond what the metric can be are its ends; an interval as wide as the metric's range says nothing.
    """
    if not isinstance(pattern.right, Number | FormulaValue | AxisValue):
        return None
    low, high = point.low, point.high
    if pattern.relation in (">", ">="):
        interval = add_bound(point.right, low), add_bound(point.right, high)
    elif pattern.relation in ("<", "<="):
        interval = subtract_bound(point.right, high), subtract_bound(point.right, low)
    elif low is not None and high is not None and high < pattern.line:
        above = point.left >= point.right
        near, far = pattern.line - high, pattern.line - low
        interval = (point.right + near, point.right + far) if above else (point.right - far, point.right - near)
    else:
        return None
    return _within_range(interval, range_of(pattern.left))


def _within_range(
    interval: tuple[float | None, float | None], ends: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    """An interval cut to the range of what it is of; an end that is not finite is none."""
    if ends is None:
        return interval
    low, high = (None if x is None else min(max(x, ends[0]), ends[1]) for x in interval)
    return low, high


def interval_of_left(part: ClaimKind, point: Point) -> tuple[float | None, float | None] | None:
    """The same by the part that a point is of."""
    pattern = pattern_of(part)
    return None if pattern is None else left_interval(pattern, point)


def add_bound(x: float, y: float | None) -> float | None:
    """The sum of a number and an end of an interval; None for an unbounded end."""
    return None if y is None else x + y


def subtract_bound(x: float, y: float | None) -> float | None:
    """The difference of a number and an end of an interval; None for an unbounded end."""
    return None if y is None else x - y


def formula_words(name: str) -> str:
    """A formula by what it is and where it is from: `the bound of humphries2020 Theorem 3.1, Eq. (8)`."""
    if name in BOUND_WORDS:
        return f"the {BOUND_WORDS[name]}"
    formula = formula_named(name)
    return f"the {'bound' if formula.bounds is not None else 'value'} of {formula.source}"
