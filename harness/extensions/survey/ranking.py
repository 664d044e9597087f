"""What a survey shows of each member set, ranked: from the verdicts on its claims."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.claims.verdict import Point, Verdict
from harness.extensions.survey.declaration import BLIND, BOUND, DIRECTION, SPLIT
from harness.extensions.survey.member_sets import RANDOM, MemberSet
from harness.verdicts.multiplicity import correct_for_all_claims, find_discoveries


@dataclass(frozen=True)
class MeasuredAdvantage:
    """A mean over repeats with its 95% interval."""

    epsilon: float
    mean: float
    low: float
    high: float
    repeats: int
    bound: float = math.nan
    """What the formula promises there; NaN without noise, where it promises nothing."""


@dataclass(frozen=True)
class Discovery:
    """A claim of a survey that is violated, among those of which at most 5% are expected to be wrong."""

    claim: str
    what: str
    """One of the words below: `ABOVE` and the others."""
    epsilon: float
    e_value: float


@dataclass(frozen=True)
class SetResult:
    """One member set: the membership advantage of the loss attack, of the blind attack, and what was discovered."""

    member_set: MemberSet
    advantages: tuple[MeasuredAdvantage, ...]
    """Of the loss attack, by epsilon, rising."""
    blind: float
    """Membership advantage of the blind attack; NaN where it was not measured."""
    discoveries: tuple[Discovery, ...]
    open_claims: tuple[str, ...]
    """Claims that the repeats did not decide."""

    @property
    def largest_advantage(self) -> float:
        """The advantage that is farthest from zero, with its sign; 0 where nothing was measured."""
        return max((one.mean for one in self.advantages), key=abs, default=0.0)

    @property
    def order(self) -> tuple[int, float, str]:
        """What sets are ranked by: bounds that are broken first, then the size of the largest advantage, then names."""
        broken = any(d.what in (ABOVE, BELOW) for d in self.discoveries)
        return (0 if broken else 1), -round(abs(self.largest_advantage), 9), self.member_set.name


ABOVE, BELOW = "above the bound", "below minus the bound"
TURNED, MORE, WITHOUT = "turned round", "more than on a random split", "without the model"
"""What may be discovered of a member set; the last: by a blind attack."""


def rank(sets: Iterable[MemberSet], verdicts: Sequence[Verdict]) -> list[SetResult]:
    """The results of all member sets and of the random split, ranked by `SetResult.order`.

    Discoveries are violated claims at a false discovery rate of at most 5% over all claims of the survey, by e-BH (Wang
    and Ramdas 2022), for any dependence between them.
    """
    by_claim = {verdict.id.split("#")[1]: verdict for verdict in correct_for_all_claims(verdicts)}
    found = {name.split("#")[1] for name in find_discoveries(verdicts)}
    every = [MemberSet(RANDOM, "random split", 0, {"kind": "random"}), *sets]
    return sorted((_result(one, by_claim, found) for one in every), key=lambda result: result.order)


def _result(member_set: MemberSet, by_claim: Mapping[str, Verdict], found: set[str]) -> SetResult:
    mine = {name: by_claim.get(f"{member_set.name}-{name}") for name in (BOUND, DIRECTION, SPLIT, BLIND)}
    known = {name: verdict for name, verdict in mine.items() if verdict is not None}
    advantages = [
        _advantage_of(point, math.nan if point.bound is None else point.bound)
        for point in _points(known.get(BOUND))
        if point.expectation == 0
    ]
    advantages += [_advantage_of(point, math.nan) for point in _points(known.get(DIRECTION))]
    blind = next((point.left for point in _points(known.get(BLIND))), math.nan)
    discoveries = (_discovery(name, v) for name, v in known.items() if v.id.split("#")[1] in found)
    return SetResult(
        member_set,
        tuple(sorted(advantages, key=lambda one: one.epsilon)),
        blind,
        tuple(one for one in discoveries if one is not None),
        tuple(verdict.id.split("#")[1] for verdict in known.values() if verdict.verdict == "inconclusive"),
    )


def _points(verdict: Verdict | None) -> Sequence[Point]:
    return () if verdict is None else verdict.numbers.points


def _advantage_of(point: Point, bound: float) -> MeasuredAdvantage:
    """The advantage at a point, whose effect is its distance to the line above it or below it."""
    low, high = (math.nan if end is None else end for end in (point.low, point.high))
    ends = (point.right + low, point.right + high) if math.isnan(bound) else (point.right - high, point.right - low)
    epsilon = math.inf if point.epsilon is None else point.epsilon
    return MeasuredAdvantage(epsilon, point.left, *ends, point.repeats, bound)


def _discovery(name: str, verdict: Verdict) -> Discovery | None:
    if verdict.verdict != "violated":
        return None
    reason = verdict.reasons[verdict.because[0]]
    deciding = verdict.numbers.points[reason.point] if reason.point is not None else None
    below = deciding is not None and deciding.expectation == 1
    what = {DIRECTION: TURNED, SPLIT: MORE, BLIND: WITHOUT}.get(name, BELOW if below else ABOVE)
    epsilon = math.inf if deciding is None or deciding.epsilon is None else deciding.epsilon
    return Discovery(verdict.id.split("#")[1], what, epsilon, verdict.numbers.e_value or math.nan)
