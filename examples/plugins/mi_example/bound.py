"""A bound on membership advantage by way of the Kullback-Leibler divergence."""

from __future__ import annotations

from typing import Any

from harness.plugins import formula, numbers


@formula(
    "pinsker",
    "sqrt(eps (exp(eps) - 1) / 2)",
    "Pinsker's inequality; the divergence of an eps-DP mechanism is at most eps (exp(eps) - 1)",
    bounds="advantage",
    adjacency="replace-one",
    assumptions=("delta = 0",),
    pure_only=True,
)
def pinsker(epsilon: Any) -> Any:
    """Upper bound on the advantage; says nothing above 1."""
    return numbers.sqrt(epsilon * numbers.expm1(epsilon) / 2.0)
