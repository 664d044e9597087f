"""Combinations of hypotheses at several points to one: at all of them, at some, or at least at k of m."""

from __future__ import annotations

from collections.abc import Sequence


def partial_conjunction(p_values: Sequence[float], needed: int, hypotheses: int) -> float:
    """The p-value of H0: fewer than `needed` of so many hypotheses are false (Benjamini and Heller 2008).

    It is the `needed`-th smallest p-value times hypotheses - needed + 1, at most 1: where one is needed, Bonferroni's;
    where all are, the largest (an intersection-union test). It is valid whatever the dependence between the p-values.

    Args:
        p_values: those of the hypotheses of which one is known; the others count as 1.
        needed: from 1 to `hypotheses`.
        hypotheses: how many there are.

    Raises:
        ValueError: if `needed` is not from 1 to `hypotheses`, or there are more p-values than hypotheses.

    >>> [round(partial_conjunction([0.001, 0.01, 0.4], needed, 3), 4) for needed in (1, 2, 3)]
    [0.003, 0.02, 0.4]
    >>> partial_conjunction([0.001, 0.01], 3, 3)
    1.0
    """
    if not 1 <= needed <= hypotheses or len(p_values) > hypotheses:
        raise ValueError(f"{needed} needed of {hypotheses} hypotheses with {len(p_values)} p-values")
    if needed > len(p_values):
        return 1.0
    return min(1.0, sorted(p_values)[needed - 1] * (hypotheses - needed + 1))
