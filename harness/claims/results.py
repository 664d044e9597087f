"""What is found at the points of a claim, and of one of its parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from harness.arrays import Array
from harness.claims.contrasts import Contrast
from harness.claims.operands import PointQuantifier
from harness.claims.reasons import Reason, place_of, reason_in_words
from harness.claims.verdict import Outcome, Point
from harness.coordinates import Cell, Where
from harness.inference.estimates import MeanEstimate

LEVEL = 0.95
Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class PointResult:
    """The result at one point of a claim, and the cells that it was measured on.

    What takes time is computed when it is asked for, once.
    """

    where: Where
    left: float
    """Mean of the left side over repeats."""
    right: float
    """Value of the right side, margin included."""
    effect: MeanEstimate
    """The distance to the claimed side of the line; above 0: as claimed."""
    support_at: Callable[[], float]
    oppose_at: Callable[[], float]
    cells: frozenset[Cell]
    interval_at: Callable[[], Interval]
    holds_at: Callable[[], Array | None]
    contrast: Contrast | None = None
    """What was compared, where it is two sides."""
    own: MeanEstimate | None = None
    """The left side, by itself."""
    from_below: MeanEstimate | None = None
    """The left side, where the metric is on average not too low: by the metric that is not too high."""
    counted: int | None = None
    """Repeats, where some of them have no number to average."""
    repeats_among: int | None = None
    """Repeats of these cells, where it is of some of them alone: of those that draw one owner set."""
    decided_on: frozenset[Cell] = frozenset()
    """Further cells that it stands on, more repeats of which would tell nothing."""

    @cached_property
    def support(self) -> float:
        """One-sided p-value against 'it does not hold here'."""
        return self.support_at()

    @cached_property
    def oppose(self) -> float:
        """One-sided p-value against 'it holds here'."""
        return self.oppose_at()

    @cached_property
    def interval(self) -> Interval:
        """The effect's interval at `LEVEL`; infinite where nothing bounds it."""
        return self.interval_at()

    @cached_property
    def holds(self) -> Array | None:
        """Whether what is claimed of the mean holds of each repeat, (n,) bool; None where it says nothing of one."""
        return self.holds_at()

    @property
    def corrected_by(self) -> float:
        """By how much its p-value is above that of its effect, at least 1.

        What is against closeness is tested in two directions, and where one of several comparisons is enough, the
        clearest is taken.
        """
        of_effect = min(self.effect.p_above(0), self.effect.p_below(0))
        two_sided = self.contrast is not None and self.contrast.relation == "within" and self.effect.mean < 0
        known = min(self.support, self.oppose) / of_effect if of_effect > 0 else 1.0
        return max(known, 2.0 if two_sided else 1.0)

    @property
    def looked_at(self) -> int:
        """Repeats that it is of."""
        return self.effect.n if self.counted is None else self.counted

    @property
    def repeats(self) -> int:
        """Number of repeats that its cells have."""
        return self.repeats_among or self.looked_at

    def point(self, part: int) -> Point:
        """What is published of it, as a point of a part of a claim."""
        low, high = self.interval
        others = {name: value for name, value in self.where.items() if name != "epsilon"}
        asked = self.where.get("epsilon")
        epsilon = None if asked is None else float(asked)
        return Point(
            expectation=part,
            epsilon=None if epsilon is None or math.isinf(epsilon) else epsilon,
            at=others or None,
            left=self.left,
            left_from_below=None if self.from_below is None else self.from_below.mean,
            right=self.right,
            effect=self.effect.mean,
            low=low if math.isfinite(low) else None,
            high=high if math.isfinite(high) else None,
            p_support=self.support,
            p_oppose=self.oppose,
            repeats=self.looked_at,
        )


@dataclass(frozen=True, eq=False)
class PartResult:
    """The outcome of one part of a claim and the evidence for it."""

    outcome: Outcome
    point_results: tuple[PointResult, ...] = ()
    """Those from which it follows where more repeats may decide."""
    place: int | None = None
    """Index of the point that decides."""
    reason_fields: Mapping[str, object] = field(default_factory=dict)
    """What the reason says besides the numbers of that point."""
    reason_fields_at: Callable[[], Mapping[str, object]] | None = None
    """Further ones, which take time and are computed where the reason is shown."""
    part: int = 0
    """Index of the part, from 0."""
    test: str = ""
    correction: str = ""
    quantifier: PointQuantifier = "all"
    needed: int = 0
    """At how many of the points it has to hold."""
    p_value: float | None = None
    """Of the outcome, corrected for the points looked at; none where it is inconclusive or exact."""
    support: float = 1.0
    """One-sided p-value of the part, corrected for the points looked at, against 'it does not hold'."""
    oppose_at: Callable[[], float] | None = None
    attacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By arm, those that it is about; an empty one, or none: the models themselves."""
    absent: int = 0
    """Points beside the `point_results` of which nothing is known."""
    shown: tuple[PointResult, ...] | None = None
    """The points as they are shown, where those that more repeats may decide are of a wider tolerance."""
    exact_points: tuple[Point, ...] = ()
    """Of numbers that are the same in every run."""
    chosen_at: Mapping[int, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    """By index of a point and axis: the values that are chosen in the repeats."""

    level: float = 0.0
    """One-sided level at which it was judged."""
    parts: int = 1
    """Number of parts of the claim."""

    @cached_property
    def oppose(self) -> float:
        """One-sided p-value against 'it holds', corrected for the points looked at and for the claim's parts."""
        return 1.0 if self.oppose_at is None else self.oppose_at()

    @property
    def shown_results(self) -> tuple[PointResult, ...]:
        """The results that its points are of."""
        return self.point_results if self.shown is None else self.shown

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """What is published of every point."""
        points = self.exact_points or tuple(one.point(self.part) for one in self.shown_results)
        if not self.chosen_at:
            return points
        return tuple(p.model_copy(update={"chosen": dict(self.chosen_at[i])}) for i, p in enumerate(points))

    @property
    def deciding(self) -> Point | None:
        """The point that decides."""
        return None if self.place is None else self.points[self.place]

    @cached_property
    def why(self) -> Reason:
        """The reason of the outcome, as data."""
        fields = {**self.reason_fields, **(self.reason_fields_at() if self.reason_fields_at is not None else {})}
        decides = None if self.exact_points else self.deciding
        if decides is not None:
            numbers = {name: getattr(decides, name) for name in ("left", "right", "effect", "low", "high")}
            fields = {"point": self.place, "at": place_of(decides.epsilon, decides.at), **numbers, **fields}
        return Reason.model_validate({"quantifier": self.quantifier, **fields})

    def add_to_reason(self, **fields: object) -> PartResult:
        """The same with more in its reason."""
        return replace(self, reason_fields={**self.reason_fields, **fields})

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
        return self.reason_fields.get("found") == "counted"

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
    return PartResult("not run", reason_fields=reason_in_words(words).model_dump(exclude_unset=True))


def unknown_part(words: str, test: str = "none") -> PartResult:
    """The result of a part about which nothing was found; `words` say why."""
    fields = reason_in_words(words).model_dump(exclude_unset=True)
    return PartResult("inconclusive", reason_fields=fields, test=test, correction="none")
