"""How many repeats the claims of a spec would still need.

Open claims come first, on all repeats. A profile that asks for more than a verdict goes on: with claims that only
repeats decide which had been seen when they were declared, until those since decide them; with decided claims until
they reach the target of what stands; and until the metrics' ranges alone decide them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from harness.claims.allocation import (
    CHEAPEST_FACTOR,
    PILOT,
    Limits,
    Needs,
    add_seen,
    allocate_among_claims,
    allocate_for_ranges,
    allocate_for_standing,
    by_cell,
    count_models,
    repeats_of,
)
from harness.claims.design import Bounded
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
    """Repeats that each cell and attack needs next, by claim; only claims that are open and need some.

    `cheapest`: keep only claims expected to need few further models beside the cheapest. Raises ClaimError for a claim
    that cannot be judged.
    """
    assert scaled.spec.own_experiment is not None
    alpha = scaled.spec.level if alpha is None else alpha
    present = repeats_of(table, scaled.spec.own_experiment.coordinates)
    look = look_at(scaled, table)
    later = LaterRepeats(scaled, table, look)
    return share_out_repeats(scaled, look, later, present, judges_of(scaled.spec, alpha), alpha, cheapest)


def share_out_repeats(
    scaled: Scaled,
    look: Look,
    later: LaterRepeats,
    present: Mapping[Attacked, int],
    judges: Mapping[str, JudgeClaim],
    alpha: float,
    cheapest: bool = False,
) -> dict[str, dict[Attacked, int]]:
    """Repeats that each cell and attack needs next, by claim, from a look at all repeats and what judges each claim.

    `present`: repeats that each cell and attack has. Raises ClaimError for a claim that cannot be judged.
    """
    experiment = scaled.spec.own_experiment
    assert experiment is not None
    limits = Limits(experiment.repeats, scaled.repeat_limit, experiment.models() / experiment.repeats)
    by_claim = judge_all_claims(scaled.spec, look, judges)
    written_late = {
        claim.id: claim for claim in scaled.spec.claims if claim.id in by_claim and later.seen_before(claim)
    }
    by_later = {name: later.judge(claim, alpha) for name, claim in written_late.items()}
    open_claims = {name: parts for name, parts in by_claim.items() if by_later.get(name) is None}
    needs = allocate_among_claims(open_claims, alpha, limits, by_cell(present), cheapest)
    if needs or scaled.basis != "distribution-free":
        return needs
    # What had been seen decides these, as far as they are decided.
    settled = {
        name: parts
        for name, parts in by_claim.items()
        if name in written_late and later.can_be_new(written_late[name]) and is_decided(parts) and not is_exact(parts)
    }
    fresh = [
        _Fresh(claim, settled[name], later, limits, present) for name, claim in written_late.items() if name in settled
    ]
    if needs := _merge(
        cheapest, present, {one.claim.id: one.until_decided(alpha) for one in fresh if by_later[one.claim.id] is None}
    ):
        return needs
    others = {name: parts for name, parts in by_claim.items() if name not in written_late}
    target = 1 / TARGETS["t-test"]
    by_target = judge_all_claims(scaled.spec, look, judges_of(scaled.spec, target))
    needs = allocate_for_standing(others, by_target, target, limits)
    needs |= _merge(False, present, {one.claim.id: one.until_standing(alpha, target) for one in fresh})
    if needs:
        return needs
    by_ranges = judge_all_claims(scaled.spec, look.by(Bounded()), judges)
    return allocate_for_ranges(others, by_ranges, alpha, limits)


@dataclass(frozen=True)
class _Fresh:
    """A claim that was decided when some of its repeats had been seen, and what it needs beside these."""

    claim: Claim
    every: list[PartResult]
    """Its results on all repeats."""
    later: LaterRepeats
    limits: Limits
    """Of all repeats."""
    present: Mapping[Attacked, int]

    def until_decided(self, alpha: float) -> dict[Attacked, int]:
        """Repeats that it needs next to be decided by those since."""
        found = self.later.find(self.claim, alpha)
        if found is not None:
            wanted = allocate_among_claims({"": found}, alpha, self._limits_since(), {}).get("", {})
            return self._in_all(wanted, found)
        cells = ((cell, f) for f in self.every for one in f.point_results for cell in one.cells | one.decided_on)
        attacked = {(cell, attack): PILOT for cell, f in cells for attack in f.attacks.get(cell[0], ("",))}
        return self._in_all(attacked, self.every)

    def until_standing(self, alpha: float, target: float) -> dict[Attacked, int]:
        """Repeats that it needs next to reach the target of what stands by those since."""
        found, decided = self.later.find(self.claim, target), self.later.find(self.claim, alpha)
        if found is None or decided is None:
            return {}
        wanted = allocate_for_standing({"": decided}, {"": found}, target, self._limits_since()).get("", {})
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


def _merge(cheapest: bool, present: Mapping[Attacked, int], needs: Mapping[str, dict[Attacked, int]]) -> Needs:
    """The needs of claims that have some; with `cheapest` of those that need few models beside the one that needs the
    fewest."""
    wanted, cells = {name: needed for name, needed in needs.items() if needed}, by_cell(present)
    if not cheapest or not wanted:
        return wanted
    missing = {name: max(1, count_models(cells, [needed]) - sum(cells.values())) for name, needed in wanted.items()}
    return {name: wanted[name] for name in wanted if missing[name] <= CHEAPEST_FACTOR * min(missing.values())}
