"""How repeats are shared out among the claims of a spec: which open claims get more models, and in which order.

Repeats beyond the spec's are asked for only where no claim needs any within it, and while all models together stay
within a share of the fixed design's, or where none is added to those that the table has. After that, where the profile
asks for distribution-free verdicts, decided claims whose verdicts are not get more repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.claims.results import PartResult
from harness.claims.sequential import CEILING, SHARE, allocate_repeats, by_cell, is_decided
from harness.coordinates import Attacked, Cell
from harness.inference.estimates import FEWEST

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


def allocate_among_claims(
    results: Results, alpha: float, limits: Limits, present: Mapping[Cell, int], cheapest: bool = False
) -> Needs:
    """Repeats that each open claim gets next, without claims that get none.

    Args:
        present: repeats that each cell has.
        cheapest: keep only claims expected to need at most `CHEAPEST_FACTOR` times the fewest further models.
    """
    repeats, most = limits.spec_repeats, limits.repeat_limit
    needs = {c: allocate_repeats(parts, alpha, repeats, repeats_in_reach=most) for c, parts in results.items()}
    if not any(needs.values()):
        needs = _allocate_past_spec(results, alpha, limits, present)
    needs = {claim: needed for claim, needed in needs.items() if needed}
    if not cheapest or not needs:
        return needs
    missing = {}
    for claim in needs:
        wanted = allocate_repeats(results[claim], alpha, repeats, most, until_decision=True, repeats_in_reach=most)
        missing[claim] = max(1, count_models(present, [wanted]) - sum(present.values()))
    return {claim: needs[claim] for claim in needs if missing[claim] <= CHEAPEST_FACTOR * min(missing.values())}


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
