"""What is found at the points of a claim, and of one of its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.arrays import Array
from harness.claims.operands import PointQuantifier
from harness.claims.reasons import Reason, reason_in_words
from harness.claims.verdict import Outcome, Point
from harness.coordinates import Cell, Where
from harness.inference import MeanEstimate

LEVEL = 0.95


@dataclass(frozen=True)
class PointResult:
    """The result at one place that a claim looks at, and the cells that it was measured on."""

    point: Point
    effect: MeanEstimate
    cells: frozenset[Cell]
    holds: Array | None = None
    """(n,) bool: whether what is claimed of the mean holds of each repeat; None where it says nothing of one repeat."""
    repeats_among: int | None = None
    """Repeats of these cells, where it is of some of them alone: of those that draw one owner set."""
    decided_on: frozenset[Cell] = frozenset()
    """Further cells that it stands on, more repeats of which would tell nothing."""

    @property
    def repeats(self) -> int:
        """Number of repeats that its cells have."""
        return self.repeats_among or self.point.repeats


@dataclass(frozen=True)
class PartResult:
    """The outcome of one part of a claim and the evidence for it."""

    outcome: Outcome
    why: Reason
    points: tuple[Point, ...] = ()
    deciding: Point | None = None
    test: str = ""
    correction: str = ""
    point_results: tuple[PointResult, ...] = ()
    quantifier: PointQuantifier = "all"
    needed: int = 0
    """At how many of the points it has to hold."""
    p_value: float | None = None
    """Of the outcome, corrected for the points looked at; none where it is inconclusive or exact."""
    support: float = 1.0
    """One-sided p-value of the part, corrected for the points looked at, against 'it does not hold'."""
    oppose: float = 1.0
    """The same against 'it holds', corrected for the claim's parts too."""
    attacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By arm, those that it is about; an empty one, or none: the models themselves."""
    absent: int = 0
    """Points beside the `point_results` of which nothing is known."""

    def levels(self, alpha: float, parts: int) -> tuple[float, float]:
        """One-sided levels at which each point that is needed has to support the part, and each that refutes it to
        oppose it.

        `parts`: the number of parts of the claim.
        """
        m = max(1, len(self.point_results) + self.absent)
        k = {"all": m, "some": 1}.get(self.quantifier, self.needed)
        return alpha / (m - k + 1), alpha / parts / k

    @property
    def is_exact(self) -> bool:
        """Whether the part is about numbers that are the same in every run."""
        return self.why.found == "counted"

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        return self.why.text()


@dataclass(frozen=True)
class Part:
    """Which part of a claim is judged, and at what level."""

    index: int
    """From 0."""
    parts: int
    """How many the claim has."""
    alpha: float
    """One-sided."""
    fewest: int = 2
    """Repeats below which a point decides nothing."""


def not_run(words: str) -> PartResult:
    """The result of a part of which the profile runs too little; `words` say what."""
    return PartResult("not run", reason_in_words(words))


def unknown_part(words: str, test: str = "none") -> PartResult:
    """The result of a part about which nothing was found; `words` say why."""
    return PartResult("inconclusive", reason_in_words(words), (), None, test, "none")


def point(
    index: int,
    where: Where,
    left: float,
    right: float,
    effect: MeanEstimate,
    interval: tuple[float, float] | None = None,
    support: float | None = None,
    oppose: float | None = None,
) -> Point:
    """What was found at a place; by default the effect is claimed to be above 0."""
    low, high = effect.interval(LEVEL) if interval is None else interval
    others = {name: value for name, value in where.items() if name != "epsilon"}
    asked = where.get("epsilon")
    epsilon = None if asked is None else float(asked)
    return Point(
        expectation=index,
        epsilon=None if epsilon is None or math.isinf(epsilon) else epsilon,
        at=others or None,
        left=left,
        right=right,
        effect=effect.mean,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
        p_support=effect.p_above(0) if support is None else support,
        p_oppose=effect.p_below(0) if oppose is None else oppose,
        repeats=effect.n,
    )
