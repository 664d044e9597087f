"""Results of claims on one of the owner sets that a split draws, of which a paper has drawn one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from harness.claims.contrasts import (
    BetweenEnds,
    Contrast,
    Node,
    RepeatNumber,
    SomeOwnerSet,
    TogetherOnOneSet,
    leaves_of,
)
from harness.claims.operands import OWNER_SET
from harness.claims.results import Part, PointResult
from harness.claims.samples import NothingToTest
from harness.claims.testing import Look, compare_contrast
from harness.coordinates import Cell

FEWEST_ESTIMATED = 2
"""Repeats without which a mean has no error."""


def clearest_owner_set(node: SomeOwnerSet, look: Look, part: Part) -> PointResult:
    """The result for the owner set that shows it most clearly, among those that the left arm's split draws.

    The j-th owner set is tested at 1 / (j (j + 1)) of the level; these add up to the level however many are drawn.
    Nothing opposes such a claim: some owner sets may not have been drawn.
    """
    left, samples = node.whole.left, look.samples
    repeats_among = len(samples.of_curve(left, node.whole.where).first(look.first).values)
    point_results = []
    for number, size in enumerate(samples.table.owner_sets(left.arm, look.first), 1):
        of_one = samples.of_curve(left, node.whole.where, size)
        if len(of_one.first(look.first).values) >= FEWEST_ESTIMATED:
            one = compare_contrast(node.by_size[size], look)
            at = {**one.where, OWNER_SET: size}
            point_results.append((replace(one, where=at, repeats_among=repeats_among), number))
    if not point_results:
        point_results = [(compare_contrast(node.whole, look), 1)]
    weighted = []
    for one, number in point_results:
        support = min(1.0, one.support * number * (number + 1)) if one.looked_at >= part.fewest else 1.0
        weighted.append(replace(one, support_at=partial(float, support), oppose_at=partial(float, 1.0)))
    return min(weighted, key=lambda one: (one.support, -one.effect.mean))


def _has_repeats(leaf: Contrast | BetweenEnds | RepeatNumber, look: Look, size: float) -> bool:
    """Whether the left side of a comparison has repeats of an owner set that a mean has an error of."""
    assert isinstance(leaf, Contrast)
    of_one = look.samples.of_curve(leaf.left, leaf.where, size)
    return len(of_one.first(look.first).values) >= FEWEST_ESTIMATED


def together_on_one_set(
    node: TogetherOnOneSet, look: Look, part: Part, result_at: Callable[[Node], PointResult]
) -> PointResult:
    """The result for the owner set on which several comparisons hold together most clearly.

    The j-th owner set is tested at 1 / (j (j + 1)) of the level, as in `clearest_owner_set`. Where each set that the
    split can draw was drawn, it is opposed if on every one of them a comparison is, by Bonferroni over these. A set of
    which a comparison has too few repeats says nothing.

    Args:
        result_at: gives the result of each comparison at the look.

    Raises NothingToTest where no set has repeats of everything that is compared.
    """
    joint = []
    for number, size in enumerate(look.samples.table.owner_sets(node.arm, look.first), 1):
        if not all(_has_repeats(leaf, look, size) for one in node.by_size[size] for leaf in leaves_of(one)):
            continue
        results = [result_at(one) for one in node.by_size[size]]
        enough = all(one.looked_at >= part.fewest for one in results)
        weakest = max(results, key=lambda one: one.support)
        support = min(1.0, weakest.support * number * (number + 1)) if enough else 1.0
        oppose = min(1.0, min(one.oppose for one in results) * len(results)) if enough else 1.0
        cells: frozenset[Cell] = frozenset().union(*(one.cells for one in results))
        joint.append((replace(weakest, where={**weakest.where, OWNER_SET: size}, cells=cells), support, oppose))
    if not joint:
        raise NothingToTest("no owner set has repeats of everything that is compared")
    shown, support, _ = min(joint, key=lambda one: (one[1], -one[0].effect.mean))
    drawn = len(joint) == len(node.by_size) and look.samples.table.all_owner_sets_drawn(node.arm, look.first)
    oppose = max(one[2] for one in joint) if drawn else 1.0
    return replace(
        shown,
        support_at=partial(float, support),
        oppose_at=partial(float, oppose),
        holds_at=lambda: None,
        repeats_among=max(one.looked_at for one, _, _ in joint),
    )
