"""Metrics of an attack that asks about changed copies of a record: what it asked and saw (rahimian2021 Section 4.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.arrays import Array
from harness.metrics.metric import metric
from harness.metrics.value import Value, average


@dataclass(frozen=True)
class Queried:
    """The record of an attack's questions: how much copies were changed, how many were asked about, what stayed."""

    perturbation: float
    """Chance of a flipped bit, or standard deviation of the noise."""
    queries: int
    """Records that the target was asked about in all, copies counted one by one."""
    member_stability: Array
    """(m,) share of a member's copies that are answered with its most frequent label."""
    nonmember_stability: Array
    """(n,) the same of non-members."""


@metric("perturbation", "how much copies of a record were changed", scope="queried", high=math.inf)
def _perturbation(queried: Queried) -> Value:
    return Value(queried.perturbation, 0.0, 1)


@metric("queries_per_record", "questions that the target was asked about a record", scope="queried", high=math.inf)
def _queries(queried: Queried) -> Value:
    records = len(queried.member_stability) + len(queried.nonmember_stability)
    return Value(queried.queries / records, 0.0, records)


@metric("member_stability", "share of a member's copies that keep its most frequent label", scope="queried")
def _members(queried: Queried) -> Value:
    return average(np.asarray(queried.member_stability, dtype=np.float64))


@metric("nonmember_stability", "share of a non-member's copies that keep its most frequent label", scope="queried")
def _nonmembers(queried: Queried) -> Value:
    return average(np.asarray(queried.nonmember_stability, dtype=np.float64))
