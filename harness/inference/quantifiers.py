"""Hypotheses at several points combined to one: at all of them, at some, or at least at k of m."""

from __future__ import annotations

from collections.abc import Sequence


def partial_conjunction(p_values: Sequence[float], needed: int, hypotheses: int) -> float:
    """The p-value of H0: fewer than `needed` of so many hypotheses are false (Benjamini and Heller 2008).

    It is the `needed`-th smallest p-value times hypotheses - needed + 1, at most 1: where one is needed, Bonferroni's;
    where all are, the largest (an intersection-union test). Hypotheses that have no p-value count as 1.
    """
    if needed > len(p_values):
        return 1.0
    return min(1.0, sorted(p_values)[needed - 1] * (hypotheses - needed + 1))
