"""One significance level for all claims of a profile together."""

from __future__ import annotations

from collections.abc import Sequence

from harness.claims.verdict import Verdict


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given (Holm 1979): at or below alpha just where the step-down test rejects."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def corrected(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts with their p-values corrected over all claims on measurements that were judged.

    A claim that is inconclusive counts as one that was tested; proofs, computations and exact counts do not.
    """
    tested = [v for v in verdicts if v.p_value is not None or (v.verdict == "inconclusive" and v.points)]
    adjusted = holm([1.0 if v.p_value is None else v.p_value for v in tested])
    found = {id(v): p for v, p in zip(tested, adjusted, strict=True) if v.p_value is not None}
    return tuple(
        v.model_copy(update={"p_catalogue": found[id(v)], "claims_tested": len(tested)}) if id(v) in found else v
        for v in verdicts
    )
