"""How many repeats the claims of a spec would still need.

Open claims ask for repeats. A profile that wants more than a verdict asks for claims that are decided, too: until the
repeats since it was declared decide a claim, until it reaches the target of what stands, and, when no claim asks for
anything else, until the metrics' ranges alone decide it, and reach their target. One stage follows the other; a run
that has only so much time takes the claims of the first three that are expected to need the fewest models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from harness.claims.allocation import (
    PILOT,
    Limits,
    Needs,
    add_seen,
    allocate_among_claims,
    allocate_for_ranges,
    allocate_for_standing,
    by_cell,
    keep_cheapest,
    repeats_of,
)
from harness.claims.design import Bounded, Design
from harness.claims.judgement import JudgeClaim
from harness.claims.results import PartResult
from harness.claims.testing import Look
from harness.claims.whole import is_decided
from harness.coordinates import Attacked
from harness.inference import FEWEST
from harness.spec.claim import Claim
from harness.spec.profile import Scaled
from harness.verdicts.evidence import look_at
from harness.verdicts.later import LaterRepeats, is_exact
from harness.verdicts.measured import judge_all_claims, judges_of
from harness.verdicts.multiplicity import TARGETS


def repeats_wanted(
    scaled: Scaled, table: pd.DataFrame, alpha: float | None = None, cheapest: bool = False
) -> dict[str, dict[Attacked, int]]:
    """Repeats that each cell and attack needs next, by claim; only claims that need some.

    `cheapest`: keep only claims expected to need few further models beside the cheapest. Raises ClaimError for a claim
    that cannot be judged.
    """
    assert scaled.spec.own_experiment is not None
    alpha = scaled.spec.level if alpha is None else alpha
    present = repeats_of(table, scaled.spec.own_experiment.coordinates)
    look = look_at(scaled, table)
    later = LaterRepeats(scaled, table, look)
    return Wanted(scaled, look, later, present, judges_of(scaled.spec, alpha), alpha).share_out(cheapest)


def _without_present(needs: Needs, present: Mapping[Attacked, int]) -> Needs:
    """Needs without claims that have all they need: what they lack is not repeats."""
    return {
        claim: needed
        for claim, needed in needs.items()
        if any(repeats > present.get(attacked, 0) for attacked, repeats in needed.items())
    }


class Wanted:
    """What the claims of a spec want next, from a look at all repeats and what judges each claim.

    `present`: repeats that each cell and attack has. `expected`: the repeats that are expected to do, not those of the
    next look. Raises ClaimError for a claim that cannot be judged.
    """

    def __init__(
        self,
        scaled: Scaled,
        look: Look,
        later: LaterRepeats,
        present: Mapping[Attacked, int],
        judges: Mapping[str, JudgeClaim],
        alpha: float,
    ) -> None:
        experiment = scaled.spec.own_experiment
        assert experiment is not None
        self._spec, self._look, self._present, self._alpha = scaled.spec, look, present, alpha
        self._is_distribution_free = scaled.basis == "distribution-free"
        self._limits = Limits(experiment.repeats, scaled.repeat_limit, experiment.models() / experiment.repeats)
        self._results = judge_all_claims(scaled.spec, look, judges)
        late = [claim for claim in scaled.spec.claims if claim.id in self._results and later.seen_before(claim)]
        decided = {claim.id: later.judge(claim, alpha) is not None for claim in late}
        self._early = {name: parts for name, parts in self._results.items() if name not in decided}
        self._open = {name: parts for name, parts in self._results.items() if not decided.get(name)}
        # What had been seen decides these, as far as they are decided.
        self._late = [
            _Late(claim, parts, later, self._limits, present, decided[claim.id])
            for claim in late
            if later.can_be_new(claim) and is_decided(parts := self._results[claim.id]) and not is_exact(parts)
        ]
        self._target = 1 / TARGETS["t-test"]

    def share_out(self, cheapest: bool = False) -> dict[str, dict[Attacked, int]]:
        """Repeats that each cell and attack needs next, by claim; only claims that need some.

        `cheapest`: keep only claims expected to need few further models beside the cheapest.
        """
        stages = [self.by_open_claims]
        if self._is_distribution_free:
            stages += [self.by_claims_to_confirm, self.by_claims_to_stand]
        of_stages = (_without_present(stage(), self._present) for stage in stages)
        if cheapest:
            needs = {claim: needed for of_stage in of_stages for claim, needed in of_stage.items()}
            until = {claim: needed for stage in stages for claim, needed in stage(expected=True).items()}
            needs = keep_cheapest(needs, until, by_cell(self._present))
        else:
            needs = next(filter(None, of_stages), {})
        if not needs and self._is_distribution_free:
            levels = (self._alpha, 1 / TARGETS["bets"])
            needs = next(filter(None, (_without_present(self.by_ranges(level), self._present) for level in levels)), {})
        return needs

    def by_open_claims(self, expected: bool = False) -> Needs:
        """By those that all repeats do not decide."""
        return allocate_among_claims(self._open, self._alpha, self._limits, by_cell(self._present), expected)

    def by_claims_to_confirm(self, expected: bool = False) -> Needs:
        """By those that only repeats decide which had been seen when they were declared."""
        needs = {one.claim.id: one.until_decided(self._alpha, expected) for one in self._late if not one.is_confirmed}
        return {name: needed for name, needed in needs.items() if needed}

    def by_claims_to_stand(self, expected: bool = False) -> Needs:
        """By decided claims that do not reach the target of what stands."""
        by_target = judge_all_claims(self._spec, self._look, judges_of(self._spec, self._target))
        needs = allocate_for_standing(self._early, by_target, self._target, self._limits, expected)
        needs |= {one.claim.id: one.until_standing(self._alpha, self._target, expected) for one in self._late}
        return {name: needed for name, needed in needs.items() if needed}

    def by_ranges(self, level: float) -> Needs:
        """By decided claims that the metrics' ranges alone do not decide at a level."""
        by_ranges = judge_all_claims(self._spec, self._look.by(Bounded()), judges_of(self._spec, level))
        needs = allocate_for_ranges(self._early, by_ranges, level, self._limits)
        needs |= {one.claim.id: one.until_standing(self._alpha, level, method=Bounded()) for one in self._late}
        return {name: needed for name, needed in needs.items() if needed}


@dataclass(frozen=True)
class _Late:
    """A claim that was decided when some of its repeats had been seen, and what it needs beside these."""

    claim: Claim
    every: list[PartResult]
    """Its results on all repeats."""
    later: LaterRepeats
    limits: Limits
    """Of all repeats."""
    present: Mapping[Attacked, int]
    is_confirmed: bool
    """Whether those since it was declared decide it."""

    def until_decided(self, alpha: float, expected: bool) -> dict[Attacked, int]:
        """Repeats that it needs next to be decided by those since."""
        found = self.later.find(self.claim, alpha)
        if found is not None:
            wanted = allocate_among_claims({"": found}, alpha, self._limits_since(), {}, expected).get("", {})
            return self._in_all(wanted, found)
        cells = ((cell, f) for f in self.every for one in f.point_results for cell in one.cells | one.decided_on)
        attacked = {(cell, attack): PILOT for cell, f in cells for attack in f.attacks.get(cell[0], ("",))}
        return self._in_all(attacked, self.every)

    def until_standing(
        self, alpha: float, target: float, expected: bool = False, method: Design | None = None
    ) -> dict[Attacked, int]:
        """Repeats that it needs next to reach the target of what stands by those since."""
        found, decided = self.later.find(self.claim, target, method), self.later.find(self.claim, alpha)
        if found is None or decided is None:
            return {}
        limits = self._limits_since()
        wanted = allocate_for_standing({"": decided}, {"": found}, target, limits, expected).get("", {})
        return self._in_all(wanted, found)

    def _limits_since(self) -> Limits:
        left = self.limits.repeat_limit - self.later.seen_before(self.claim)
        return replace(self.limits, spec_repeats=min(self.limits.spec_repeats, max(left, 0)), repeat_limit=max(left, 0))

    def _in_all(self, wanted: Mapping[Attacked, int], findings: Sequence[PartResult]) -> dict[Attacked, int]:
        """The same with the repeats that had been seen; empty where nothing is missing, or a cell may not get so
        many."""
        if self._limits_since().repeat_limit < FEWEST:
            return {}
        needed = add_seen(wanted, findings, self.later.seen(self.claim))
        is_missing = any(n > self.present.get(attacked, 0) for attacked, n in needed.items())
        return needed if is_missing and max(needed.values()) <= self.limits.repeat_limit else {}
