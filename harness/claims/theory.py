"""Claims about the bounds themselves, checked on a dense grid of their domain.

A grid can refute a statement for good but supports it only where it looked; the verdict says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.arrays import Array
from harness.bounds import BOUNDS
from harness.claims.expectation import (
    BoundGap,
    BoundsOrdered,
    BoundValid,
    BoundValues,
    Range,
    TheoryExpectation,
)
from harness.claims.verdict import Outcome

ROUNDING = 1e-9
"""Differences below this are rounding, not findings (the formulas are accurate to about 1e-15)."""


@dataclass(frozen=True)
class TheoryFinding:
    """Outcome, reason, the worst margin found (positive: as claimed) and where."""

    outcome: Outcome
    reason: str
    worst: float
    counterexample: dict[str, float] | None
    test: str


def optimal_advantage(epsilon: Array, delta: Array) -> Array:
    """Largest TPR - FPR of any test between neighbours under (epsilon, delta)-DP.

    The trade-off region of Kairouz, Oh and Viswanath (2015) is TPR <= e^eps FPR + delta and
    1 - FPR <= e^eps (1 - TPR) + delta. TPR - FPR is largest at a vertex of it: (0, delta), (1 - delta, 1),
    or where the two lines meet. Nothing of the papers' bounds is used.
    """
    eps, dlt = np.broadcast_arrays(np.asarray(epsilon, float), np.asarray(delta, float))
    with np.errstate(invalid="ignore", divide="ignore"):
        fpr = (1 - dlt) * -np.expm1(-eps) / (2 * np.sinh(eps))
        meeting = np.expm1(eps) * fpr + dlt
    return np.asarray(np.maximum(np.where(eps == 0, dlt, meeting), dlt))


def _values(span: Range) -> Array:
    return np.array([span.low]) if span.low == span.high else np.linspace(span.low, span.high, span.points)


def _grid(epsilon: Range, delta: Range) -> tuple[Array, Array]:
    eps, dlt = np.meshgrid(_values(epsilon), _values(delta), indexing="ij")
    return eps.ravel(), dlt.ravel()


def _report(margin: Array, eps: Array, dlt: Array, holds: str, fails: str, extra: dict[str, Array]) -> TheoryFinding:
    worst = int(np.argmin(margin))
    test = f"evaluated at {len(margin)} grid points (a grid refutes for good, supports only where it looked)"
    if margin[worst] >= -ROUNDING:
        return TheoryFinding(
            "reproduced", f"{holds} at all {len(margin)} grid points", max(0.0, float(margin[worst])), None, test
        )
    share = float(np.mean(margin < -ROUNDING))
    at = {"epsilon": float(eps[worst]), "delta": float(dlt[worst])} | {k: float(v[worst]) for k, v in extra.items()}
    shown = ", ".join(f"{k} = {v:.6g}" for k, v in at.items())
    reason = f"{fails} at {share:.1%} of {len(margin)} grid points, most at {shown}"
    return TheoryFinding("violated", reason, float(margin[worst]), at, test)


def judge_theory(expectation: TheoryExpectation) -> TheoryFinding:
    """Judge one theory expectation."""
    if isinstance(expectation, BoundValid):
        return _valid(expectation)
    if isinstance(expectation, BoundsOrdered):
        return _ordered(expectation)
    if isinstance(expectation, BoundGap):
        return _gap(expectation)
    return _at_points(expectation)


def _valid(e: BoundValid) -> TheoryFinding:
    eps, dlt = _grid(e.epsilon, e.delta)
    bound, best = BOUNDS[e.bound].advantage(eps, dlt), optimal_advantage(eps, dlt)
    margin = -np.abs(bound - best) if e.tight else bound - best
    word = "equals" if e.tight else "is at least"
    return _report(
        margin, eps, dlt, f"the bound {word} the exact optimum", f"it is false that the bound {word} the exact optimum",
        {"bound": bound, "optimum": best},
    )  # fmt: skip


def _ordered(e: BoundsOrdered) -> TheoryFinding:
    eps, dlt = _grid(e.epsilon, e.delta)
    with np.errstate(over="ignore"):
        lower = BOUNDS[e.lower].raw(eps, dlt)
        uppers = {name: BOUNDS[name].raw(eps, dlt) for name in e.upper}
    worst = min(uppers, key=lambda name: float((uppers[name] - lower).min()))
    margin = uppers[worst] - lower
    return _report(
        margin, eps, dlt, "the order holds", f"{e.lower} exceeds {worst}", {e.lower: lower, worst: uppers[worst]}
    )


def _gap(e: BoundGap) -> TheoryFinding:
    eps = _values(e.epsilon)
    dlt = np.full_like(eps, e.delta)
    gap = BOUNDS[e.larger].raw(eps, dlt) - BOUNDS[e.smaller].raw(eps, dlt)
    margin = e.tolerance - np.abs(gap - e.value)
    found = f"the gap runs from {gap.min():.4f} to {gap.max():.4f} (largest at epsilon {eps[gap.argmax()]:.3g})"
    return _report(margin, eps, dlt, found, f"{found}; outside {e.value:g} ± {e.tolerance:g}", {"gap": gap})


def _at_points(e: BoundValues) -> TheoryFinding:
    eps = np.array([p.epsilon for p in e.points])
    dlt = np.full_like(eps, e.delta)
    value = BOUNDS[e.bound].advantage(eps, dlt)
    margin = np.minimum(value - [p.low for p in e.points], np.array([p.high for p in e.points]) - value)
    shown = ", ".join(f"{v:.4g} at {x:g}" for x, v in zip(eps, value, strict=True))
    return _report(
        margin, eps, dlt, f"the bound is {shown}, as stated,", f"the bound is {shown}; off", {"bound": value}
    )
