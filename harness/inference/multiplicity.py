"""Tests of many hypotheses at one level for all, or with a bounded share of wrong ones among the rejected."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """The adjusted p-values of Holm (1979), in the order given: at or below alpha where the step-down test rejects.

    The chance that a true hypothesis is rejected is at most alpha, whatever the dependence between the p-values.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def e_bh(e_values: Sequence[float], hypotheses: int, rate: float = 0.05) -> list[bool]:
    """Whether each e-value is a discovery, among so many hypotheses, whatever the dependence between them.

    By Wang and Ramdas (2022) those are the k largest, for the largest k of which the least is at least
    hypotheses / (rate k). The expected share of wrong ones among them is at most `rate`.

    Args:
        e_values: those of the hypotheses of which one is known; the others' are not large.
        hypotheses: how many there are, at least as many as e-values.
        rate: the false discovery rate, between 0 and 1.

    Returns:
        Whether each e-value is a discovery, in the order given.

    >>> e_bh([100.0, 45.0, 39.0], 3)
    [True, True, True]
    >>> e_bh([121.0, 61.0, 39.0], 6)
    [True, True, False]
    """
    order = sorted(range(len(e_values)), key=lambda i: -e_values[i])
    enough = [k for k, i in enumerate(order, 1) if e_values[i] * k >= hypotheses / rate]
    chosen = set(order[: max(enough, default=0)])
    return [i in chosen for i in range(len(e_values))]
