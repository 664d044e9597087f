"""Whether a part of a claim holds, asked of no more points than it takes to say so.

Controls ask this of a hundred tables a part, on most of which a few points already fail.
"""

from __future__ import annotations

from harness.claims.combine import has_enough_repeats, needed_of, result_at, result_of_whole, test_in_words
from harness.claims.contrasts import Comparisons, Node, RepeatNumber, WholeClaims
from harness.claims.results import Part, PointResult
from harness.claims.samples import NothingToTest
from harness.claims.testing import Look, compare_repeat_number
from harness.errors import HarnessError


class Support:
    """Whether a part comes out as "reproduced" at looks at several tables, as `judge_part` would have it.

    A part is supported where `needed` of its m points have p-values that are, times m - needed + 1, at most its level
    (Benjamini and Heller 2008). So it is not, as soon as more than m - needed of them fail. Points that failed on one
    table are the first to be looked at on the next, which changes no answer.
    """

    def __init__(self, compared: Comparisons, part: Part) -> None:
        self._compared, self._part = compared, part
        self._nodes = list(compared.of)
        points = len(compared.of) + compared.absent
        self._needed = needed_of(compared, points)
        self._may_fail = points - self._needed

    def is_found(self, look: Look) -> bool:
        """Whether it is supported at a look. What was not measured supports nothing."""
        words, failed, known = test_in_words(self._compared, look), [], False
        for node in self._nodes:
            try:
                result = _result_of(node, look, self._part, words)
            except HarnessError:
                return False
            known = known or result is not None
            if result is None or not self._is_met(result):
                failed.append(node)
            if len(failed) + self._compared.absent > self._may_fail:
                self._nodes.sort(key=lambda one: not any(one is other for other in failed))
                return False
        return known

    def _is_met(self, result: PointResult) -> bool:
        has_enough = has_enough_repeats(result, self._part)
        return has_enough and result.support * (self._may_fail + 1) <= self._part.alpha


def _result_of(node: Node, look: Look, part: Part, words: str) -> PointResult | None:
    """The result at one point; None where claims that are counted as one place leave nothing to test."""
    if isinstance(node, RepeatNumber):
        return compare_repeat_number(node, look, words)[0]
    if not isinstance(node, WholeClaims):
        return result_at(node, look, part)
    try:
        return result_of_whole(node, look, part)
    except NothingToTest:
        return None
