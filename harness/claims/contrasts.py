"""What a claim compares, as data: who against whom, where, in which sense and by how much, and how results combine.

A kind of claim says what it compares in `Comparisons`; nothing of it is tested here. `harness.claims.samples` takes the
numbers of a contrast from a table, `harness.claims.testing` tests it by a method, and `harness.claims.combine` combines
the results. So one declaration serves every look at a table, every method, and both widths of a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.arrays import Array
from harness.claims.operands import (
    AxisValue,
    FormulaValue,
    MetricOperand,
    MetricSeries,
    Number,
    PointQuantifier,
    Relation,
)
from harness.coordinates import Where

Right = MetricSeries | FormulaValue | AxisValue | Number
"""A right side, where it names one curve at most."""
SeriesAt = tuple[MetricSeries, Where]
"""A curve at a place."""


def as_one_series(right: Right | MetricOperand) -> Right:
    """A right side that names at most one curve, as a series; others unchanged."""
    return right.curve if isinstance(right, MetricOperand) else right


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A sum of curves of one arm, repeat by repeat, such as the straight line between two of its points."""

    of: tuple[tuple[float, MetricSeries], ...]
    """Weights and curves."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """`left RELATION right + line` at a place, or `|left - right| < line`."""

    left: MetricSeries
    right: Right | WeightedSum
    where: Where
    relation: Relation | Literal["within"]
    line: float
    """A margin, or the tolerance of `within`."""
    doubled: float | None = None
    """The line with twice the tolerance; None: the line is what is claimed, and no tolerance."""
    owner_set: float | None = None
    """The size of the left arm's owner set, whose repeats alone count; None: those of all owner sets do."""

    @property
    def curves(self) -> list[MetricSeries]:
        """Every measured side."""
        if isinstance(self.right, WeightedSum):
            return [self.left, *(curve for _, curve in self.right.of)]
        return [self.left, *([self.right] if isinstance(self.right, MetricSeries) else [])]


@dataclass(frozen=True, eq=False)
class BetweenEnds:
    """A curve's value lies between those of two others, in either order, or within `line` of that range."""

    left: MetricSeries
    where: Where
    ends: tuple[SeriesAt, SeriesAt]
    line: float
    doubled: float


@dataclass(frozen=True, eq=False)
class RepeatNumber:
    """The mean over repeats of one number, computed from many curves in each repeat, is above (below) a line."""

    places: Sequence[SeriesAt]
    compute: Callable[[Array], Array]
    """Takes the values at the places, (places, n), and returns a number for each repeat, (n,)."""
    relation: Literal["<", ">"]
    line: float
    missing: str
    """What is said where repeats have no number, because nothing varies."""
    skips_missing: bool = False
    """Whether repeats without a number are left out, as long as two have one; else one such repeat leaves it open."""
    fisher: bool = False
    """Whether a t-test is on Fisher's z of the numbers, which are correlations."""
    words: str = ""
    """The reason in words, with `{mean}`, `{repeats}` and `{line}`; empty: the numbers are told as any other's."""


@dataclass(frozen=True, eq=False)
class Either:
    """One of several is enough."""

    of: tuple[Node, ...]
    absent: int = 0
    """Further ones of which nothing is known."""


@dataclass(frozen=True, eq=False)
class Both:
    """All of several must hold, and the one nearest to failing is shown."""

    of: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class SomeOwnerSet:
    """A contrast holds of one of the owner sets that the left arm's split draws."""

    by_size: Mapping[float, Contrast]
    """In the order in which they are drawn."""
    whole: Contrast
    """That of all repeats."""


@dataclass(frozen=True, eq=False)
class TogetherOnOneSet:
    """All of several hold on one of the owner sets that an arm's split draws."""

    arm: str
    by_size: Mapping[float, tuple[Node, ...]]
    """In the order in which they are drawn."""


@dataclass(frozen=True, eq=False)
class WholeClaims:
    """Several claims, each with all its points, all of which must hold: counted as one."""

    of: tuple[Comparisons, ...]


Node = Contrast | BetweenEnds | RepeatNumber | Either | Both | SomeOwnerSet | TogetherOnOneSet | WholeClaims


@dataclass(frozen=True, eq=False)
class Comparisons:
    """What one part of a claim compares, and at how many of its points it has to hold."""

    of: tuple[Node, ...]
    """One for each point."""
    test: str
    """The test in words, with `{test}` for what the method says of a mean, and `{scale}` for Fisher's z."""
    quantifier: PointQuantifier = "all"
    needed: int = 0
    """At how many of the points it has to hold, of a `share`."""
    absent: int = 0
    """Further points of which nothing is known."""
    draws: bool = False
    """Whether a split draws one of a few outcomes, which the method then adjusts for."""


Phrase = tuple[str | MetricSeries | tuple[MetricSeries, ...], ...]
"""Words with curves among them; a tuple of curves stands for one of these. Names of axes are words."""


@dataclass(frozen=True)
class PointInWords:
    """What both numbers of a point are, of a kind of claim whose points are not all of the same two curves."""

    left: Phrase
    right: Phrase = ()
    """What the number on the right is; empty where it is a line that needs no words."""
    relation: Literal["<", ">", "between"] = ">"
    """How the left number has to stand to the right one."""


@dataclass(frozen=True)
class PrintedEntry:
    """One entry of a printed table."""

    row: int
    curve: MetricSeries
    axis: str
    level: float
    printed: float
    tolerance: float


@dataclass(frozen=True)
class Counts:
    """Counts of an arm's data and split are the printed ones, in every repeat."""

    arm: str
    equals: Mapping[str, int]


@dataclass(frozen=True)
class NotRun:
    """The profile runs too little for anything to be compared."""

    words: str
    """What it runs too little of."""


Compared = Comparisons | Counts | NotRun
"""What a kind of claim says of one of its parts."""


def leaves_of(node: Node) -> Iterator[Contrast | BetweenEnds | RepeatNumber]:
    """Everything that is tested by itself, in the order in which it is declared."""
    match node:
        case Either() | Both():
            for one in node.of:
                yield from leaves_of(one)
        case SomeOwnerSet():
            yield from (*node.by_size.values(), node.whole)
        case TogetherOnOneSet():
            for nodes in node.by_size.values():
                for one in nodes:
                    yield from leaves_of(one)
        case WholeClaims():
            for claim in node.of:
                for one in claim.of:
                    yield from leaves_of(one)
        case _:
            yield node


def needed_points(share: float, points: int) -> int:
    """A share of a number of points as a whole number, rounded up, at least 1."""
    return max(1, math.ceil(share * points - 1e-9))
