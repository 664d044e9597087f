"""A measured number with the uncertainty that its finite sample of records gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.arrays import Array


@dataclass(frozen=True)
class Value:
    """One measured number, the standard error that the finite sample of records gives it, and that sample's size."""

    value: float
    stderr: float
    n: int


def share(decisions: Array) -> Value:
    """The share of True in decisions (n,), with its binomial standard error.

    >>> share(np.array([True, True, True, False]))
    Value(value=0.75, stderr=0.21650635094610965, n=4)
    """
    p, n = float(np.mean(decisions)), len(decisions)
    return Value(p, float(np.sqrt(p * (1 - p) / n)), n)


def average(values: Array) -> Value:
    """The mean of values (n,), with its standard error."""
    spread = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return Value(float(values.mean()), spread, len(values))


def mean_of(values: Sequence[Value]) -> Value:
    """The mean of numbers that are measured on records of their own, with its standard error and all the records."""
    of, errors = np.array([v.value for v in values]), np.array([v.stderr for v in values])
    return Value(float(of.mean()), float(np.sqrt(np.sum(errors**2)) / len(values)), sum(v.n for v in values))


def rate_at_least(hits: int, n: int, level: float) -> float:
    """The one-sided lower confidence bound of Clopper and Pearson on a rate of `hits` in `n`, at that level.

    >>> round(rate_at_least(9, 10, 0.975), 4), round(rate_at_most(9, 10, 0.975), 4)
    (0.555, 0.9975)
    """
    return 0.0 if hits == 0 else float(special.betaincinv(hits, n - hits + 1, 1 - level))


def rate_at_most(hits: int, n: int, level: float) -> float:
    """The one-sided upper confidence bound of Clopper and Pearson on a rate of `hits` in `n`, at that level."""
    return 1.0 if hits == n else float(special.betaincinv(hits + 1, n - hits, level))
