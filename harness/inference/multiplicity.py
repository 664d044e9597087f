"""Many hypotheses together: one level for all of them, or a share of wrong ones among those that are rejected."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given (Holm 1979): at or below alpha just where the step-down test rejects."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def e_bh(e_values: Sequence[float], hypotheses: int, rate: float = 0.05) -> list[bool]:
    """Which of the e-values are discoveries, of so many hypotheses, whatever the dependence between them.

    Wang and Ramdas (2022): the k largest, for the largest k of which the least is at least hypotheses / (rate k). The
    expected share of wrong ones among them is at most `rate`.
    """
    order = sorted(range(len(e_values)), key=lambda i: -e_values[i])
    enough = [k for k, i in enumerate(order, 1) if e_values[i] * k >= hypotheses / rate]
    chosen = set(order[: max(enough, default=0)])
    return [i in chosen for i in range(len(e_values))]
