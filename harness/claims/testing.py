"""How one point of a claim is tested, by a method, at a look at a table. Never touches a model.

Each direction is tested at alpha / 2, so a point supports a claim just when its 95% interval clears the
line, and the chance of a wrong verdict in either direction together is at most alpha. How a mean over
repeats is tested is the method's business (`harness.claims.design`); what points say together,
`harness.claims.combine`'s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from harness.arrays import Array
from harness.claims.contrasts import BetweenEnds, Contrast, RepeatNumber, SeriesAt, WeightedSum
from harness.claims.design import Design, Series, in_step
from harness.claims.results import LEVEL, Interval, PointResult
from harness.claims.samples import ContrastSample, CurveSample, NothingToTest, Samples, difference_of_arms
from harness.coordinates import Cell
from harness.inference.ends import clearer_end
from harness.inference.equivalence import equivalence_p_values
from harness.inference.estimates import MeanEstimate


@dataclass(frozen=True, eq=False)
class Look:
    """What is looked at: the first repeats of a table's samples, tested by a method, against lines as declared or with
    twice their tolerance."""

    samples: Samples
    method: Design
    first: int | None = None
    """Repeats of every cell; None: all."""
    doubled: bool = False
    """Whether tolerances are twice what was declared."""
    halved: bool = False
    """Whether they are half of it."""

    @property
    def repeats(self) -> int:
        """How many repeats are looked at."""
        return self.samples.table.repeats if self.first is None else min(self.first, self.samples.table.repeats)

    def take_first(self, n: int) -> Look:
        """A look at the first `n` repeats."""
        return replace(self, first=None if n >= self.samples.table.repeats else n)

    def by(self, method: Design) -> Look:
        """The same look, by another method."""
        return replace(self, method=method)

    def with_doubled_tolerance(self) -> Look:
        """The same look, with tolerances doubled."""
        return replace(self, doubled=True)

    def with_half_tolerance(self) -> Look:
        """The same look, with tolerances halved."""
        return replace(self, halved=True)

    def line(self, of: Contrast | BetweenEnds) -> float:
        """The line that a contrast is tested against."""
        if of.doubled is None:
            return of.line
        return of.doubled if self.doubled else of.line - (of.doubled - of.line) / 2 if self.halved else of.line


def compare_contrast(contrast: Contrast, look: Look) -> PointResult:
    """Test `left RELATION right + line`, or `|left - right| < line`. Raises HarnessError without measurements."""
    sample, line = look.samples.of_contrast(contrast), look.line(contrast)
    own, left = sample.left.mean(look.method, look.first), sample.left_beside(look.method, look.first)
    value, difference = sample.gap(sample.left, look.method, look.first)
    if contrast.relation == "within":
        found = compare_equivalence(contrast, own, value, difference, line, sample.cells)
    elif sample.lower is not None:
        found = _between_two_metrics(contrast, own, value, difference, line, sample, look)
    else:
        effect = _distance(difference, line, contrast.relation in (">", ">="))
        right = value if isinstance(contrast.right, WeightedSum) else value + line
        found = _one_sided(contrast, own, right, effect, sample)
    return replace(found, left=left)


def _distance(left_minus_right: MeanEstimate, margin: float, upward: bool) -> MeanEstimate:
    return left_minus_right.shift(-margin) if upward else left_minus_right.shift(margin, -1.0)


def _one_sided(
    contrast: Contrast, own: MeanEstimate, right: float, effect: MeanEstimate, sample: ContrastSample
) -> PointResult:
    or_equal = contrast.relation in (">=", "<=")
    return PointResult(
        contrast.where,
        own.mean,
        right,
        effect,
        partial(effect.p_above, 0),
        partial(effect.p_below, 0),
        sample.cells,
        partial(effect.interval, LEVEL),
        partial(effect.is_positive, or_equal),
        contrast,
        own,
    )


def _between_two_metrics(
    contrast: Contrast,
    own: MeanEstimate,
    value: float,
    difference: MeanEstimate,
    line: float,
    sample: ContrastSample,
    look: Look,
) -> PointResult:
    """Of a metric known between two ends: the end that is not too high can support, the one not too low oppose."""
    assert sample.lower is not None
    upward, or_equal = contrast.relation in (">", ">="), contrast.relation in (">=", "<=")
    least = sample.lower.mean(look.method, look.first)
    _, from_below = sample.gap(sample.lower, look.method, look.first)
    effects = _distance(from_below, line, upward), _distance(difference, line, upward)
    low, high = effects if upward else effects[::-1]
    effect = clearer_end(low, high)
    return PointResult(
        contrast.where,
        own.mean,
        value + line,
        effect,
        partial(low.p_above, 0),
        partial(high.p_below, 0),
        sample.cells,
        lambda: (low.interval(LEVEL)[0], high.interval(LEVEL)[1]),
        partial(effect.is_positive, or_equal),
        contrast,
        own,
        from_below=least,
    )


def compare_equivalence(
    contrast: Contrast,
    own: MeanEstimate,
    right: float,
    difference: MeanEstimate,
    tolerance: float,
    cells: frozenset[Cell],
) -> PointResult:
    """Whether a difference is within a tolerance, by two one-sided tests."""

    @cache
    def p_values() -> tuple[float, float]:
        return equivalence_p_values(difference, tolerance)

    def interval() -> Interval:
        low, high = difference.interval(LEVEL)
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return tolerance - max(abs(low), abs(high)), tolerance - nearest

    def holds() -> Array | None:
        return None if difference.repeat_values is None else np.abs(difference.repeat_values) < tolerance

    effect = difference.shift(tolerance, -1.0) if difference.mean >= 0 else difference.shift(tolerance)
    return PointResult(
        contrast.where,
        own.mean,
        right,
        effect,
        lambda: p_values()[0],
        lambda: p_values()[1],
        cells,
        interval,
        holds,
        contrast,
        own,
    )


def compare_with_ends(contrast: BetweenEnds, look: Look) -> PointResult:
    """Test whether one curve's value lies between two others': the side nearer to failing is shown."""
    samples, method, n, line = look.samples, look.method, look.first, look.line(contrast)
    own = samples.of_curve(contrast.left, contrast.where)
    low, high = sorted(
        (samples.of_curve(curve, where) for curve, where in contrast.ends), key=lambda end: end.mean(method, n).mean
    )

    def gap(end: CurveSample) -> MeanEstimate:
        return difference_of_arms(samples.table, own.curve, end.curve, own.first(n), end.first(n), method)

    above, below = gap(low).shift(line), gap(high).shift(line, -1.0)
    effect, end = min(((above, low), (below, high)), key=lambda pair: pair[0].mean)
    cells = samples.cells([contrast.left], contrast.where).union(
        *(samples.cells([curve], where) for curve, where in contrast.ends)
    )

    def holds() -> Array | None:
        sides = [one.is_positive(or_zero=True) for one in (above, below)]
        known = [side for side in sides if side is not None]
        least = min(map(len, known), default=0)
        return None if len(known) < len(sides) else np.logical_and.reduce([side[:least] for side in known])

    return PointResult(
        contrast.where,
        own.mean(method, n).mean,
        end.mean(method, n).mean,
        effect,
        lambda: max(side.p_above(0) for side in (above, below)),
        lambda: min(1.0, 2 * min(side.p_below(0) for side in (above, below))),
        cells,
        partial(effect.interval, LEVEL),
        holds,
    )


def compare_repeat_number(statistic: RepeatNumber, look: Look, words: str) -> tuple[PointResult, dict[str, object]]:
    """Test the mean of one number a repeat; with fields of the reason that tell it.

    `words`: the test in words. Raises NothingToTest where nothing varies.
    """
    numbers = _stack(statistic.places, look)
    values = statistic.compute(numbers)
    known = np.isfinite(values)
    if (known.sum() < 2) if statistic.skips_missing else not known.all():
        raise NothingToTest(statistic.missing, words)
    places = statistic.places if known.all() else ()
    values, repeats = values[known], len(values)
    ends: tuple[float, float] = (-1.0, 1.0)
    by_fisher = statistic.fisher and look.method.name != "bounded"
    tested, against = values, statistic.line
    if by_fisher:  # bets are on the coefficients themselves, which have a range
        tested, against, ends = (
            np.arctanh(np.clip(values, -0.999999, 0.999999)),
            math.atanh(against),
            (-math.inf, math.inf),
        )
    mean = look.method.mean(_series_of(places, tested, look, *ends))
    sign = 1.0 if statistic.relation == ">" else -1.0
    effect = mean.shift(-sign * against, sign)
    middle = math.tanh(mean.mean) if by_fisher else mean.mean
    cells: frozenset[Cell] = frozenset().union(*(look.samples.cells([curve], at) for curve, at in statistic.places))

    def holds() -> Array | None:
        return values > statistic.line if statistic.fisher else effect.is_positive()

    counted = repeats if statistic.fisher else None
    result = PointResult(
        {},
        middle,
        statistic.line,
        effect,
        partial(effect.p_above, 0),
        partial(effect.p_below, 0),
        cells,
        partial(effect.interval, LEVEL),
        holds,
        counted=counted,
    )
    if not statistic.words:
        return result, {}
    return result, {"words": statistic.words.format(mean=middle, repeats=len(values), line=statistic.line)}


def _stack(places: Sequence[SeriesAt], look: Look) -> Array:
    """(places, repeats), of the repeats that every place has."""
    series = in_step([look.samples.of_curve(curve, where).first(look.first) for curve, where in places])
    return np.stack([one.values for one in series])


def _series_of(
    places: Sequence[SeriesAt], values: Array, look: Look, low: float = -math.inf, high: float = math.inf
) -> Series:
    """(n,) numbers between `low` and `high`, one a repeat, of what was measured at places: their error is what repeats
    show, and what the split drew is that of the places, where they are of one arm."""
    series = Series(values, np.zeros(len(values)), low=low, high=high)
    if len({curve.arm for curve, _ in places}) != 1:
        return series
    own = in_step([look.samples.of_curve(curve, where).first(look.first) for curve, where in places])[0]
    if own.drawn is None or len(own.drawn) < len(values):
        return series
    return replace(series, drawn=own.drawn[: len(values)], outcomes=own.outcomes)
