"""The repeats that claims still need: where more models can decide a claim, and which claims get them.

The rules are listed in docs/statistics.md. A first round of `PILOT` repeats shows on which side each point lies. Then
repeats go to where they can decide an open claim: for all points, to the point that speaks most clearly against it, or
else to all that do not support it yet; for some point, with the sides exchanged; for a share of the points, to the
clearest on its side while it may still be supported, else to the clearest against it. A point that cannot be decided
any more gets none, and a claim with a part that the profile does not run is pursued for what speaks against it alone.

A point is given up where even `CEILING` times the spec's repeats would not decide, supposing an effect `EARLY_SLACK`
standard errors larger than was measured. What stopping early has saved may be spent past the spec's repeats, up to
`CEILING` times as many or the profile's `max_repeats`, where the effect, one standard error in favour of what was
found, may still be decided, while all models together stay within `SHARE` of the fixed design's (or twice `FEWEST` a
cell). A profile may ask for more than a verdict: that it reaches the targets of verdicts that stand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from harness.claims.results import PartResult, PointResult
from harness.claims.whole import is_decided
from harness.coordinates import Attacked, Cell, Level, place
from harness.inference.estimates import FEWEST, SequentialEstimate

PILOT = 2
"""Repeats of the first round: what a claim needs depends on which points are on its side (docs/statistics.md)."""
CEILING = 3
"""Times the spec's repeats that a cell may get. A test that may look at any time has a wider interval than one of a
number of repeats fixed beforehand; with up to three times as many it decides as often (docs/statistics.md)."""
SLACK = 1.0
"""Standard errors by which the effect may be larger than it was found, when asking whether more repeats can decide.
With none, half of the effects that are just in reach would be given up."""
EARLY_SLACK = 1.5
"""The same within the spec's repeats, where they are to decide with up to `CEILING` times as many."""
SHARE = 1 / 3
"""Of the fixed design's models: what a run may use altogether before it keeps to the spec's repeats."""
GROWTH = 8
CHEAPEST_FACTOR = 2
"""Times the fewest models that claims are expected to need: what others may need to be served beside them."""
Needs = dict[str, dict[Attacked, int]]
"""By claim: repeats that it needs, by cell and attack."""
Results = Mapping[str, Sequence[PartResult]]
"""By claim: the results of its parts."""


@dataclass(frozen=True)
class Limits:
    """How many repeats and models a run may use."""

    spec_repeats: int
    """Repeats of a cell that the spec asks for."""
    repeat_limit: int
    """Repeats that a cell may get."""
    cells: float
    """Cells of the fixed design."""

    @property
    def models_past_spec(self) -> float:
        """Models that all claims together may use beyond the spec's repeats."""
        past_ceiling = self.repeat_limit > CEILING * self.spec_repeats
        share = SHARE * self.repeat_limit if past_ceiling else 0
        return self.cells * max(SHARE * self.spec_repeats, 2 * FEWEST, share)


def add_seen(
    needs: Mapping[Attacked, int], findings: Sequence[PartResult], seen: Mapping[Cell, int]
) -> dict[Attacked, int]:
    """Repeats needed in all, from those needed beside the `seen` ones: sides of a point are paired, so each of its
    cells starts where all have new ones."""
    start: dict[Cell, int] = {}
    for cells in (one.cells | one.decided_on for f in findings for one in f.point_results):
        most = max((seen.get(cell, 0) for cell in cells), default=0)
        start |= {cell: max(most, start.get(cell, 0)) for cell in cells}
    return {(cell, attack): n + start.get(cell, 0) for (cell, attack), n in needs.items()}


def allocate_among_claims(
    results: Results, alpha: float, limits: Limits, present: Mapping[Cell, int], until_decision: bool = False
) -> Needs:
    """Repeats that each open claim gets next, without claims that get none.

    Args:
        present: repeats that each cell has.
        until_decision: give those that are expected to decide, where any are.
    """
    repeats, most = limits.spec_repeats, limits.repeat_limit
    needs = {c: allocate_repeats(parts, alpha, repeats, repeats_in_reach=most) for c, parts in results.items()}
    if not any(needs.values()):
        needs = _allocate_past_spec(results, alpha, limits, present)
    needs = {claim: needed for claim, needed in needs.items() if needed}
    if not until_decision:
        return needs
    return {
        c: allocate_repeats(results[c], alpha, repeats, most, until_decision=True, repeats_in_reach=most) or needed
        for c, needed in needs.items()
    }


def keep_cheapest(needs: Needs, until: Needs, present: Mapping[Cell, int]) -> Needs:
    """The needs of claims expected to need at most `CHEAPEST_FACTOR` times the fewest further models.

    Args:
        until: the repeats that are expected to do for each claim.
        present: repeats that each cell has.
    """
    missing = {c: max(1, count_models(present, [until.get(c, needs[c])]) - sum(present.values())) for c in needs}
    return {c: needed for c, needed in needs.items() if missing[c] <= CHEAPEST_FACTOR * min(missing.values())}


def _allocate_past_spec(results: Results, alpha: float, limits: Limits, present: Mapping[Cell, int]) -> Needs:
    """Repeats beyond the spec's, to claims in the order of the models that are expected to decide them."""
    repeats, most = limits.spec_repeats, limits.repeat_limit
    until = {c: allocate_repeats(parts, alpha, repeats, most, until_decision=True) for c, parts in results.items()}
    chosen: Needs = {}
    for claim in sorted(until, key=lambda claim: count_models(present, [until[claim]])):
        needed = allocate_repeats(results[claim], alpha, repeats, most)
        reserved = [*(until[other] for other in chosen), until[claim]]
        adds_none = count_models(present, [until[claim], needed]) == sum(present.values())
        if until[claim] and (adds_none or count_models(present, reserved) <= limits.models_past_spec):
            chosen[claim] = needed
    return chosen


def allocate_for_standing(
    results: Results, by_target: Results, target: float, limits: Limits, until_decision: bool = False
) -> Needs:
    """Repeats for decided claims that do not stand among all claims yet, and are likely to.

    `by_target`: what they come to at the level `target` that verdicts have to reach for it. `until_decision`: give
    those that are expected to reach it.
    """
    repeats, most = limits.spec_repeats, limits.repeat_limit
    settled = (claim for claim, parts in results.items() if is_decided(parts))
    needs = {
        c: allocate_repeats(by_target[c], target, repeats, most, until_decision, only_likely=True) for c in settled
    }
    return {claim: needed for claim, needed in needs.items() if needed}


def allocate_for_ranges(results: Results, by_ranges: Results, alpha: float, limits: Limits) -> Needs:
    """Repeats for decided claims that the metrics' ranges alone do not decide yet, and are likely to.

    `by_ranges`: what the ranges alone say.
    """
    repeats, most = limits.spec_repeats, min(CEILING * limits.spec_repeats, limits.repeat_limit)
    settled = (claim for claim, parts in results.items() if is_decided(parts))
    needs = {c: allocate_repeats(by_ranges[c], alpha, repeats, most, only_likely=True) for c in settled}
    return {claim: needed for claim, needed in needs.items() if needed}


def count_models(present: Mapping[Cell, int], needs: Sequence[Mapping[Attacked, int]]) -> int:
    """Number of models of a table once its cells, which have `present` repeats, have those needed, too."""
    repeats = dict(present)
    for cell, target in (item for asked in needs for item in by_cell(asked).items()):
        repeats[cell] = max(repeats.get(cell, 0), target)
    return sum(repeats.values())


def next_look(repeats: int, max_repeats: int) -> int:
    """Repeats at the look after one at so many: an eighth more, so that looking costs little beside training."""
    return min(max_repeats, repeats + max(1, repeats // GROWTH))


def allocate_repeats(
    findings: Sequence[PartResult],
    alpha: float,
    repeats: int,
    max_repeats: int | None = None,
    until_decision: bool = False,
    only_likely: bool = False,
    repeats_in_reach: int | None = None,
) -> dict[Attacked, int]:
    """Repeats that an open claim needs next, by cell and attack; empty where it is decided or cannot be decided any
    more.

    Args:
        repeats: of the spec.
        max_repeats: limit for cells that may decide; None: `repeats`.
        until_decision: give the repeats that are expected to decide, not those of the next look.
        only_likely: ask for more only where the present repeats make a decision likely, below the spec's repeats too.
        repeats_in_reach: limit in judging whether a cell with fewer repeats than the spec's may decide; None: CEILING
            times the spec's.
    """
    if is_decided(findings):
        return {}
    rule = _Rule(alpha / 2, len(findings), repeats, max_repeats or repeats, only_likely, repeats_in_reach)
    places = [(f, *rule.points_to_repeat(f)) for f in findings if f.outcome == "inconclusive"]
    places = _keep_clearest(places)
    # So the claim cannot be reproduced any more.
    hopeless = any(not chosen for _, chosen, _ in places) or any(f.outcome == "not run" for f in findings)
    needs: dict[Attacked, int] = {}
    for f, chosen, against in places:
        if hopeless and not against:
            continue
        for look in chosen:
            target = rule.expected_repeats(look, f) if until_decision else rule.next_look(look, f)
            for one in ((cell, attack) for cell in look.cells for attack in f.attacks.get(cell[0], ("",))):
                needs[one] = max(needs.get(one, 0), target)
    return needs


def by_cell(needs: Mapping[Attacked, int]) -> dict[Cell, int]:
    """Repeats of each cell: the most that any attack on it needs."""
    repeats: dict[Cell, int] = {}
    for (cell, _), target in needs.items():
        repeats[cell] = max(repeats.get(cell, 0), target)
    return repeats


@dataclass(frozen=True)
class _Rule:
    """How the repeats of a claim's parts are allocated."""

    alpha: float
    """One-sided."""
    parts: int
    spec_repeats: int
    max_repeats: int
    only_likely: bool = False
    repeats_in_reach: int | None = None

    def next_look(self, look: PointResult, finding: PartResult) -> int:
        """Repeats of a point at its next look."""
        repeats = look.repeats
        if self.only_likely:  # a projection of results that are alike: rounds of half as many more
            return min(self.expected_repeats(look, finding), repeats + (repeats + 1) // 2)
        max_repeats = self.spec_repeats if repeats < self.spec_repeats else self.max_repeats
        return min(FEWEST, max_repeats) if repeats < FEWEST else next_look(repeats, max_repeats)

    def expected_repeats(self, look: PointResult, finding: PartResult) -> int:
        """Repeats of a point that decide it if the effect stays as it is; the limit where those do not."""
        effect = look.effect
        projected = (
            effect.project_repeats(self._level(look, finding), self.max_repeats)
            if isinstance(effect, SequentialEstimate)
            else None
        )
        if projected is None or look.repeats_among is None:
            return projected or self.max_repeats
        return min(self.max_repeats, math.ceil(projected * look.repeats_among / look.looked_at))

    def points_to_repeat(self, finding: PartResult) -> tuple[list[PointResult], bool]:
        """The points at which a part needs repeats next, and whether these may turn it against the claim."""
        if finding.quantifier == "share":
            return self._points_of_share(finding)
        all_points = finding.quantifier == "all"
        needed = self._levels(finding)[0]
        # Where the profile leaves points out, not every point can be shown to hold (for some point: to fail).
        open_, turned, used_up = [], [], finding.absent > 0
        for look in finding.point_results:
            if (look.support if all_points else look.oppose) <= needed:
                continue
            if not self._is_worthwhile(look, self._level(look, finding)):
                used_up = True
            elif _is_on_deciding_side(look, finding):
                turned.append(look)
            else:
                open_.append(look)
        if turned:
            return [min(turned, key=lambda look: _clearness(look, all_points))], all_points
        return ([] if used_up else open_), not all_points

    def _points_of_share(self, finding: PartResult) -> tuple[list[PointResult], bool]:
        """The same for a part that has to hold at a share of its points."""
        support, oppose = finding.levels(self.alpha, self.parts)
        still_to_support, still_to_oppose = (
            finding.needed,
            len(finding.point_results) + finding.absent - finding.needed + 1,
        )
        its_side: list[PointResult] = []
        other_side: list[PointResult] = []
        for look in finding.point_results:
            if look.support <= support:
                still_to_support -= 1
            elif look.oppose <= oppose:
                still_to_oppose -= 1
            elif self._is_worthwhile(look, self._level(look, finding)):
                (other_side if _is_on_deciding_side(look, finding) else its_side).append(look)
        if len(its_side) >= still_to_support:
            return sorted(its_side, key=lambda look: _clearness(look, all_points=False))[:still_to_support], False
        if len(other_side) >= still_to_oppose:
            return sorted(other_side, key=lambda look: _clearness(look, all_points=True))[:still_to_oppose], True
        return [], False

    def _levels(self, finding: PartResult) -> tuple[float, float]:
        """One-sided levels of what every point needs, and of what decides alone at one point."""
        support, oppose = finding.levels(self.alpha, self.parts)
        return (oppose, support) if finding.quantifier == "some" else (support, oppose)

    def _level(self, look: PointResult, finding: PartResult) -> float:
        return self._levels(finding)[_is_on_deciding_side(look, finding)] / look.corrected_by

    def _is_worthwhile(self, look: PointResult, level: float) -> bool:
        """Whether a point may get more repeats, and these may decide it."""
        effect, repeats = look.effect, look.repeats
        early = repeats < self.spec_repeats
        if early and not self.only_likely and (repeats < FEWEST or not isinstance(effect, SequentialEstimate)):
            return True
        if (repeats >= self.max_repeats and not early) or not isinstance(effect, SequentialEstimate):
            return False
        slack = EARLY_SLACK if early and not self.only_likely else SLACK
        hoped = effect.shift(math.copysign(slack * effect.stderr, effect.mean))
        assert isinstance(hoped, SequentialEstimate)
        return (
            hoped.project_repeats(
                level, (self.repeats_in_reach or CEILING * self.spec_repeats) if early else self.max_repeats
            )
            is not None
        )


_PartLooks = tuple[PartResult, list[PointResult], bool]
"""A part, where it needs repeats next, and whether they may turn it against its claim."""


def _keep_clearest(parts: list[_PartLooks]) -> list[_PartLooks]:
    """Of parts that have a point against the claim only the clearest, which alone would violate it; else all parts."""
    against = [(f, looks, turned) for f, looks, turned in parts if turned and f.quantifier == "all"]
    return [min(against, key=lambda part: _clearness(part[1][0], all_points=True))] if against else parts


def _clearness(look: PointResult, all_points: bool) -> tuple[float, float]:
    """Sort key of points, clearest first: the p-value, then the effect in standard errors."""
    effect = look.effect
    p = look.oppose if all_points else look.support
    return p, -abs(effect.mean) / effect.stderr if effect.stderr else -math.inf


def _is_on_deciding_side(look: PointResult, finding: PartResult) -> bool:
    """Whether a point is on the side that decides alone.

    That is against a claim for all points, and for a claim for some point; for a share of points, against the claim.
    """
    return look.effect.mean != 0 and (look.effect.mean < 0) == (finding.quantifier != "some")


def repeats_of(table: pd.DataFrame, axes: Sequence[str]) -> dict[Attacked, int]:
    """Number of repeats in a table by cell and attack ("": of the models themselves)."""
    repeats: dict[Attacked, int] = {}
    for key, count in table.groupby(["arm", "attack", *axes])["repeat"].nunique().items():
        names: tuple[Level, ...] = key  # type: ignore[assignment]
        repeats[(str(names[0]), place(zip(axes, names[2:], strict=True))), str(names[1])] = int(count)
    return repeats
