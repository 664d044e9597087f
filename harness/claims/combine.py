"""How what is found at the points of a claim is combined to the outcome of one of its parts.

A claim for *all* grid points is an intersection: it is supported when every point supports it, each at
its level (an intersection-union test, which needs no correction), and opposed when one point opposes
it at that level over the number of points (Bonferroni). For *some* grid point it is the other way round.
Between the two lies a claim for at least k of m points, such as nine in ten entries of a printed table: k
points that each support it at the level over m - k + 1, or m - k + 1 that each oppose it at the level over k
(the partial conjunction test: Benjamini and Heller 2008, "Screening for partial conjunction hypotheses").
A claim of several parts is an intersection of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from harness.arrays import Array
from harness.claims.contrasts import (
    BetweenEnds,
    Both,
    Compared,
    Comparisons,
    Contrast,
    Counts,
    Either,
    Node,
    NotRun,
    RepeatNumber,
    SomeOwnerSet,
    TogetherOnOneSet,
    WholeClaims,
)
from harness.claims.owner_sets import clearest_owner_set, together_on_one_set
from harness.claims.reasons import Counted, Found
from harness.claims.results import Part, PartResult, PointResult, not_run, unknown_part
from harness.claims.samples import NothingToTest
from harness.claims.testing import Look, compare_contrast, compare_repeat_number, compare_with_ends
from harness.claims.verdict import Outcome, Point
from harness.coordinates import Cell
from harness.inference.estimates import MeanEstimate, SequentialEstimate
from harness.inference.quantifiers import partial_conjunction
from harness.inference.t_test import detectable_effect, repeats_needed

FAR = 10_000
"""Repeats past which a projection is not worth telling."""
COUNTS_SHOWN = 6


def judge_part(compared: Compared, look: Look, part: Part) -> PartResult:
    """Judge a part of a claim from what it compares, at a look at a table.

    Raises HarnessError for what was not measured.
    """
    if isinstance(compared, NotRun):
        return not_run(compared.words)
    if isinstance(compared, Counts):
        return _compare_counts(compared, look, part)
    try:
        return _judge_comparisons(compared, look, part)
    except NothingToTest as nothing:
        return unknown_part(str(nothing), nothing.test)


def _judge_comparisons(compared: Comparisons, look: Look, part: Part) -> PartResult:
    words = test_in_words(compared, look)
    results, unknown, fields = [], list[str](), dict[str, object]()
    for node in compared.of:
        if isinstance(node, RepeatNumber):
            result, fields = compare_repeat_number(node, look, words)
            results.append(result)
        elif isinstance(node, WholeClaims):
            try:
                results.append(result_of_whole(node, look, part))
            except NothingToTest as nothing:
                unknown.append(str(nothing))
        else:
            results.append(result_at(node, look, part))
    if not results:
        raise NothingToTest("; ".join(unknown))
    combined = combine(compared, results, part, words, compared.absent + len(unknown))
    return combined.add_to_reason(**fields) if fields else combined


def result_of_whole(node: WholeClaims, look: Look, part: Part) -> PointResult:
    """The result of claims that are counted as one place. Raises NothingToTest where there is no number of one."""
    each = Part(part.index, 1, part.alpha, part.fewest)
    return count_as_one([_judge_comparisons(one, look, each) for one in node.of])


def test_in_words(compared: Comparisons, look: Look) -> str:
    """How a part is tested at a look."""
    method = look.method.test + (look.method.test_drawn if compared.draws else "")
    scale = "" if look.method.name == "bounded" else "Fisher's z of "
    return compared.test.format(test=method, scale=scale)


def result_at(node: Node, look: Look, part: Part) -> PointResult:
    """The result at one point. Raises HarnessError for what was not measured."""
    match node:
        case Contrast():
            return compare_contrast(node, look)
        case BetweenEnds():
            return compare_with_ends(node, look)
        case Either():
            return combine_alternatives([result_at(one, look, part) for one in node.of], node.absent, part.alpha)
        case Both():
            return combine_both([result_at(one, look, part) for one in node.of])
        case SomeOwnerSet():
            return clearest_owner_set(node, look, part)
        case TogetherOnOneSet():
            return together_on_one_set(node, look, part, partial(result_at, look=look, part=part))
        case _:
            raise TypeError(f"{type(node).__name__} stands for a whole part of a claim, and is no alternative in one")


def combine_alternatives(
    point_results: Sequence[PointResult], absent: int = 0, alpha: float | None = None
) -> PointResult:
    """The result where one of several alternatives is enough.

    It is supported where one alternative is, by Bonferroni, and opposed where all are. What is shown is that of the
    clearest one. Where alternatives have unlike numbers of repeats and none is supported, that is the one which the
    fewest are expected to decide, and it alone is to have more: a p-value of few repeats says little of where it leads.

    Args:
        absent: number of further alternatives of which nothing is known; with any, it cannot be opposed.
        alpha: the level at which it is judged; None: the clearest one is shown whatever the repeats.
    """
    best = min(point_results, key=lambda result: result.support)
    many, nearest = len(point_results) + absent, None
    unlike = len({result.looked_at for result in point_results}) > 1
    if alpha is not None and unlike and best.support * many > alpha:
        expected = [(_expected_repeats(result, alpha / many), result) for result in point_results]
        known = [(repeats - result.looked_at, n) for n, (repeats, result) in enumerate(expected) if repeats is not None]
        if known:
            best = nearest = point_results[min(known)[1]]
    combined = _shown_by(
        best,
        point_results,
        lambda: min(1.0, min(result.support for result in point_results) * many),
        lambda: 1.0 if absent else max(result.oppose for result in point_results),
        np.logical_or,
    )
    if nearest is None:
        return combined
    return replace(combined, cells=nearest.cells, decided_on=combined.cells - nearest.cells)


def _expected_repeats(result: PointResult, level: float) -> int | None:
    """Repeats at which a result is expected to be supported; None where it is not, or nothing says so."""
    effect = result.effect
    if not isinstance(effect, SequentialEstimate) or effect.mean <= 0:
        return None
    return effect.project_repeats(level, FAR)


def combine_both(point_results: Sequence[PointResult]) -> PointResult:
    """The result where all of several must hold: the one nearest to failing is shown, and each may fail by itself."""
    weakest = max(point_results, key=lambda result: result.support)
    return _shown_by(
        weakest,
        point_results,
        lambda: weakest.support,
        lambda: min(1.0, len(point_results) * min(result.oppose for result in point_results)),
        np.logical_and,
    )


def _shown_by(
    shown: PointResult,
    point_results: Sequence[PointResult],
    support_at: Callable[[], float],
    oppose_at: Callable[[], float],
    how: np.ufunc,
) -> PointResult:
    cells: frozenset[Cell] = frozenset().union(*(result.cells for result in point_results))
    return replace(
        shown,
        support_at=support_at,
        oppose_at=oppose_at,
        cells=cells,
        holds_at=lambda: combine_by_repeat(point_results, how),
        repeats_among=None,
    )


def combine_by_repeat(point_results: Sequence[PointResult], how: np.ufunc) -> Array | None:
    """Whether one (`np.logical_or`) or all (`np.logical_and`) of several results hold in each repeat, (n,) bool; None
    where one of them does not say."""
    known = [result.holds for result in point_results if result.holds is not None]
    if len(known) < len(point_results):
        return None
    n = min(map(len, known))
    held: Array = how.reduce([holds[:n] for holds in known])
    return held


def count_as_one(results: Sequence[PartResult]) -> PointResult:
    """A claim that is counted as one place, from the results of its parts: its p-values, and the place that decides it.

    All of its parts have to hold, each at the whole level; one fails at the level over their number.
    """
    weakest = max(results, key=lambda result: result.support)
    failing = min(results, key=lambda result: result.oppose)
    support, oppose = weakest.support, min(1.0, failing.oppose * len(results))
    shown = failing if oppose < support else weakest
    assert shown.place is not None
    decides = shown.point_results[shown.place]
    every = [result for one in results for result in one.point_results]
    rest: frozenset[Cell] = frozenset().union(*(result.cells for result in every)) - decides.cells

    def holds() -> Array | None:
        if any(one.quantifier != "all" for one in results):
            return None
        return combine_by_repeat(every, np.logical_and)

    return replace(decides, support_at=lambda: support, oppose_at=lambda: oppose, holds_at=holds, decided_on=rest)


def combine(
    compared: Comparisons, results: Sequence[PointResult], part: Part, test: str, absent: int | None = None
) -> PartResult:
    """The outcome of a part from the results at its points.

    `absent`: number of further points of which nothing is known; None: as declared.
    """
    quantifier, alpha = compared.quantifier, part.alpha
    absent = compared.absent if absent is None else absent
    m, indices = len(results) + absent, range(len(results))
    needed = needed_of(compared, m)
    enough = [has_enough_repeats(one, part) for one in results]
    # Of the k points that support it most clearly, and of the m - k + 1 that oppose it most clearly, the last; of
    # several that are alike, the first.
    tie = -1 if needed == m else 1
    supports = [one.support if many else 1.0 for one, many in zip(results, enough, strict=True)]
    clearest = sorted(indices, key=lambda i: (supports[i], results[i].support, tie * i))
    deciding_support = clearest[min(needed, len(results)) - 1]
    support = partial_conjunction(supports, needed, m)

    @cache
    def opposing() -> tuple[int, float]:
        """The point that decides against the part, and the corrected p-value."""
        opposes = [one.oppose if many else 1.0 for one, many in zip(results, enough, strict=True)]
        index = sorted(indices, key=lambda i: (opposes[i], -tie * i))[min(m - needed, len(results) - 1)]
        return index, min(1.0, partial_conjunction(opposes, m - needed + 1, m) * part.parts)

    share: dict[str, object] = {"needed": needed, "looked_at": m} if quantifier == "share" else {}

    def conclude(outcome: Outcome, how: Found, place: int, p_value: float | None = None, **more: object) -> PartResult:
        return PartResult(
            outcome,
            tuple(results),
            place,
            {"found": how, **more, **share},
            part=part.index,
            test=test,
            correction=_correction(compared, m, needed, part.parts),
            quantifier=quantifier,
            needed=needed,
            p_value=None if p_value is None else 2 * p_value,
            support=support,
            oppose_at=lambda: opposing()[1],
            absent=absent,
            level=alpha,
            parts=part.parts,
        )

    if support <= alpha:
        return conclude("reproduced", "holds", deciding_support, support)
    deciding_oppose, oppose = opposing()
    if oppose <= alpha:
        return conclude("violated", "fails", deciding_oppose, oppose)
    if absent and quantifier == "all" and max(supports) <= alpha:
        return conclude("inconclusive", "partly", deciding_support, absent=absent)
    decides = results[deciding_support]
    if not enough[deciding_support]:
        return conclude("inconclusive", "few", deciding_support, repeats=decides.looked_at, fewest=part.fewest)
    undecided = conclude("inconclusive", "undecided", deciding_support)
    level = alpha / (m - needed + 1) / decides.corrected_by
    return replace(undecided, reason_fields_at=lambda: _outlook(decides.effect, level))


def needed_of(compared: Comparisons, points: int) -> int:
    """At how many of so many points a part has to hold."""
    return {"all": points, "some": 1}.get(compared.quantifier, compared.needed)


def has_enough_repeats(result: PointResult, part: Part) -> bool:
    """Whether a point rests on as many repeats as a part asks for, or on no repeats at all."""
    return result.looked_at >= part.fewest or result.effect.of_records


def _correction(compared: Comparisons, points: int, needed: int, parts: int) -> str:
    """How p-values are corrected for several points, in words."""
    if compared.quantifier == "all":
        return f"every one of {points} points at alpha/2; Bonferroni over {points * parts} to oppose"
    if compared.quantifier == "some":
        return f"Bonferroni over {points} points to support; every one of {points} points to oppose"
    opposing = points - needed + 1
    return (
        f"partial conjunction: {needed} of {points} points at alpha/2 over {opposing}; to oppose, {opposing} of them "
        f"at alpha/2 over {needed * parts}"
    )


def _outlook(effect: MeanEstimate, level: float) -> dict[str, object]:
    """Fields of a reason that say what more repeats would do, and what the present ones could have shown."""
    if isinstance(effect, SequentialEstimate):
        return {"repeats": effect.n, "enough": effect.project_repeats(level, FAR) or None}
    needed, smallest = repeats_needed(effect, level), detectable_effect(effect, level)
    enough = needed if needed and needed <= FAR else None
    return {"enough": enough, "detectable": smallest, "fewest": None if smallest is None else effect.n}


def _compare_counts(compared: Counts, look: Look, part: Part) -> PartResult:
    """Whether counts are the printed ones: they are the same in every run, or the claim fails."""
    points, counts = [], []
    for name, printed in compared.equals.items():
        values = look.samples.table.counts(compared.arm, name)
        shown = tuple(float(value) for value in values[:COUNTS_SHOWN])
        counts.append(Counted(name=name, printed=printed, found=shown, several=len(values) > COUNTS_SHOWN))
        right = counts[-1].is_right
        farthest = float(values[np.abs(values - printed).argmax()])
        points.append(
            Point(
                expectation=part.index,
                left=farthest,
                right=printed,
                effect=0.0 - abs(farthest - printed),
                low=None,
                high=None,
                p_support=0.0 if right else 1.0,
                p_oppose=1.0 if right else 0.0,
                repeats=1,
            )
        )
    worst = min(range(len(points)), key=lambda i: points[i].effect)
    outcome: Outcome = "reproduced" if all(count.is_right for count in counts) else "violated"
    return PartResult(
        outcome,
        place=worst,
        reason_fields={"found": "counted", "point": worst, "counts": tuple(counts)},
        part=part.index,
        test="exact count",
        correction="none",
        exact_points=tuple(points),
    )
