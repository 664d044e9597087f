"""Bounds on membership advantage as functions of epsilon and delta.

`advantage(epsilon, delta)` broadcasts over arrays and is clipped to [0, 1], where a bound above 1
says nothing; `raw` is the formula as printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.arrays import Array
from harness.errors import HarnessError
from harness.privacy.accounting import Adjacency

Formula = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Bound:
    """A bound: its formula and what it is proved for."""

    name: str
    raw: Formula
    formula: str
    source: str
    adjacency: Adjacency
    assumptions: tuple[str, ...]
    pure_only: bool = False
    """True where the proof needs delta = 0."""

    def advantage(self, epsilon: ArrayLike, delta: ArrayLike) -> Array:
        """Bound on membership advantage in [0, 1], for epsilon >= 0 and delta in [0, 1]."""
        eps, dlt = np.broadcast_arrays(np.asarray(epsilon, float), np.asarray(delta, float))
        with np.errstate(over="ignore", invalid="ignore"):
            value = np.where(np.isinf(eps), 1.0, self.raw(np.where(np.isinf(eps), 0.0, eps), dlt))
        return np.clip(value, 0.0, 1.0)


def _yeom(epsilon: Array, delta: Array) -> Array:
    return np.asarray(np.expm1(epsilon))


def _erlingsson(epsilon: Array, delta: Array) -> Array:
    # 1 - exp(-eps)(1 - delta), written so that small epsilon keeps its digits.
    return np.asarray(-np.expm1(-epsilon) + delta * np.exp(-epsilon))


def _humphries(epsilon: Array, delta: Array) -> Array:
    # (e^eps - 1 + 2 delta) / (e^eps + 1) = tanh(eps/2) + 2 delta / (e^eps + 1), free of overflow.
    return np.asarray(np.tanh(epsilon / 2) + 2 * delta * np.exp(-epsilon) / (1 + np.exp(-epsilon)))


IID = "members and non-members are independent draws from one population"

BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        Bound(
            "yeom", _yeom, "exp(eps) - 1", "Yeom et al. 2018; humphries2020 Theorem 2.1, Eq. (5)",
            "replace-one", (IID, "delta = 0"), pure_only=True,
        ),
        Bound(
            "erlingsson", _erlingsson, "1 - exp(-eps) (1 - delta)",
            "Erlingsson et al. 2019; humphries2020 Theorem 2.2, Eq. (6)", "replace-one", (IID,),
        ),
        Bound(
            "humphries", _humphries, "(exp(eps) - 1 + 2 delta) / (exp(eps) + 1)",
            "humphries2020 Theorem 3.1, Eq. (8)", "replace-one", (IID,),
        ),
    )
}  # fmt: skip


def evaluate(name: str, epsilon: ArrayLike, delta: ArrayLike) -> Array:
    """The named bound at epsilon and delta. Raises HarnessError for an unknown name."""
    if name not in BOUNDS:
        raise HarnessError(f"unknown bound {name!r}; known: {', '.join(sorted(BOUNDS))}")
    return BOUNDS[name].advantage(epsilon, delta)
