"""Verdicts that stop: the first look that decides a claim, and the repeats that an open claim still needs.

A claim is judged after its first 2, 3, ... repeats, and its verdict is that of the first of these looks
that decides it; its tests hold at all looks together (`harness.claims.anytime`). While it is open, repeats
go where they can decide it:

- A claim for all points with one on the wrong side: to the point that speaks most clearly against it,
  which alone would violate it. With none, to all points that do not support it yet, since each must.
- A claim for some point: the same, with the sides exchanged.
- None, where the repeats that the spec allows at most are used up at a point that would have had to support
  it (for some point: to oppose it), and no other can turn the verdict the other way.
- A claim with a part that the profile does not run cannot be reproduced: only what speaks against it is pursued.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from harness.claims.evidence import Evidence
from harness.claims.judge import Cell, Finding, Look

GROWTH = 8
Judged = Callable[[Evidence], list[Finding]]


def grown(repeats: int, most: int) -> int:
    """The next look after one at so many repeats: an eighth more, so that looks cost little beside repeats."""
    return min(most, repeats + max(1, repeats // GROWTH))


def decided(findings: Sequence[Finding]) -> bool:
    """One part fails, or every part that is run holds."""
    outcomes = {f.outcome for f in findings}
    return "violated" in outcomes or (outcomes <= {"reproduced", "not run"} and "reproduced" in outcomes)


def first_verdict(judged: Judged, evidence: Evidence) -> tuple[list[Finding], int | None]:
    """The findings of the first look that decides, and its repeats; else those of all repeats, and None."""
    # Evidence only grows with the repeats, so a claim that one look decides is decided at all later ones.
    looks = range(2, max(2, evidence.repeats) + 1)
    place = bisect_left(looks, True, key=lambda n: decided(judged(evidence.of_first(n))))
    if place == len(looks):
        return judged(evidence), None
    return judged(evidence.of_first(looks[place])), looks[place]


def cells_used(findings: Sequence[Finding]) -> tuple[int, int]:
    """Trained models that the findings stand on, and cells (an arm at an epsilon) that they are of."""
    repeats: dict[Cell, int] = {}
    for look in (look for f in findings for look in f.looks):
        for cell in look.cells:
            repeats[cell] = max(repeats.get(cell, 0), look.point.repeats)
    return sum(repeats.values()), len(repeats)


def wanted(findings: Sequence[Finding], alpha: float, most: int) -> dict[Cell, int]:
    """Repeats that an open claim needs next, by cell; empty where it is decided, or can no longer be."""
    if decided(findings):
        return {}
    places = [(f, *_places(f, alpha / 2, most)) for f in findings if f.outcome == "inconclusive"]
    # So the claim cannot be reproduced any more.
    hopeless = any(not chosen for _, chosen, _ in places) or any(f.outcome == "not run" for f in findings)
    found: dict[Cell, int] = {}
    for _, chosen, against in places:
        if hopeless and not against:
            continue
        for look in chosen:
            target = grown(look.point.repeats, most)
            for cell in look.cells:
                found[cell] = max(found.get(cell, 0), target)
    return found


def _places(finding: Finding, alpha: float, most: int) -> tuple[list[Look], bool]:
    """Where this part needs repeats next, and whether they may turn it against the claim."""
    all_points = finding.quantifier == "all"
    open_, used_up = [], False
    for look in finding.looks:
        settled = (look.point.p_support if all_points else look.point.p_oppose) <= alpha
        if settled:
            continue
        if look.point.repeats >= most:
            used_up = True
        else:
            open_.append(look)
    turned = [look for look in open_ if (look.point.effect < 0) == all_points and look.point.effect != 0]
    if turned:
        clearest = min(turned, key=lambda look: look.point.p_oppose if all_points else look.point.p_support)
        return [clearest], all_points
    return ([] if used_up else open_), not all_points
