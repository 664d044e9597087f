"""Numbers of an attack with intervals that hold for few records, and differences between two attacks on the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from harness.arrays import Array
from harness.metrics.answers import Answers
from harness.metrics.exposure import exposed_members, threshold_at
from harness.metrics.membership import auc, placements
from harness.metrics.value import rate_at_least, rate_at_most


@dataclass(frozen=True)
class Interval:
    """A number and a confidence interval for it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """An attack beside the blind one on the same records: the difference of a number."""

    auc: Interval
    rates: tuple[Interval, ...]
    """Of true-positive rates, in the order of the false-positive rates that are asked for."""


@dataclass(frozen=True)
class RateAt:
    """True-positive rate at the threshold that non-members set for a false-positive rate."""

    asked: float
    """False-positive rate that is asked for."""
    visible: bool
    """Whether that is at least one of the non-members; if not, the threshold is above them all."""
    threshold: float
    """Members score above it."""
    caught: int
    """Members above the threshold."""
    tpr: Interval
    raised: int
    """Non-members above the threshold."""
    fpr: Interval


def rate_interval(hits: int, n: int, level: float) -> Interval:
    """A rate with its Clopper-Pearson interval, two-sided."""
    one_sided = (1 + level) / 2
    return Interval(hits / n, rate_at_least(hits, n, one_sided), rate_at_most(hits, n, one_sided))


def rate_at(answers: Answers, fpr: float, level: float) -> RateAt:
    """TPR at the lowest threshold above which at most a share `fpr` of the non-members lie.

    The interval of the TPR is of new members at this threshold. That of the FPR holds although the threshold is one of
    the non-members' scores: the rate above an order statistic of n has the beta distribution that the upper end of
    Clopper and Pearson is a quantile of, and one that is above the lower end's.
    """
    inside, outside = answers.member_scores, answers.nonmember_scores
    caught = int(exposed_members(inside, outside, fpr).sum())
    threshold = threshold_at(outside, fpr)
    raised = int((outside > threshold).sum())
    visible = fpr * len(outside) >= 1 - 1e-9
    of_members, of_others = rate_interval(caught, len(inside), level), rate_interval(raised, len(outside), level)
    return RateAt(fpr, visible, threshold, caught, of_members, raised, of_others)


def advantage_interval(answers: Answers, level: float) -> Interval:
    """TPR - FPR of the decisions, between the ends of both rates' Clopper-Pearson intervals.

    Each rate has an interval at (1 + level) / 2, so that both hold at once at `level`.
    """
    inside, outside = answers.member_decisions, answers.nonmember_decisions
    return _rate_difference(int(inside.sum()), len(inside), int(outside.sum()), len(outside), level)


def share_difference(first: Array, second: Array, level: float) -> Interval:
    """Share of True in `first` less that in `second`, decisions on the same records (n,): from those that differ."""
    n = len(first)
    return _rate_difference(int((first & ~second).sum()), n, int((second & ~first).sum()), n, level)


def _rate_difference(hits: int, n: int, other_hits: int, other_n: int, level: float) -> Interval:
    a, b = (rate_interval(k, m, (1 + level) / 2) for k, m in ((hits, n), (other_hits, other_n)))
    return Interval(a.value - b.value, a.low - b.high, a.high - b.low)


def auc_interval(answers: Answers, level: float) -> Interval:
    """AUC with DeLong's interval.

    Where all members are above all non-members, or all below, DeLong's has no width. A record of each side makes a
    pair; k disjoint pairs that are all ordered alike have a chance of AUC^k, which gives the other end.
    """
    area = auc(answers.member_scores, answers.nonmember_scores)
    if area.stderr > 0:
        reach = _quantile(level) * area.stderr
        return Interval(area.value, max(0.0, area.value - reach), min(1.0, area.value + reach))
    pairs = min(len(answers.member_scores), len(answers.nonmember_scores))
    end = ((1 - level) / 2) ** (1 / pairs)
    if area.value == 1:
        return Interval(1.0, end, 1.0)
    return Interval(0.0, 0.0, 1 - end) if area.value == 0 else Interval(area.value, 1 - end, end)


def auc_difference(first: Answers, second: Answers, level: float) -> Interval:
    """AUC of `first` less that of `second`, on the same records, by DeLong, DeLong and Clarke-Pearson (1988).

    Where that has no width, as between two attacks that tell all apart, the ends of both intervals bound it.
    """
    (inside, outside), (other_inside, other_outside) = (
        placements(one.member_scores, one.nonmember_scores) for one in (first, second)
    )
    of_members, of_others = inside - other_inside, outside - other_outside
    value = float(of_members.mean())
    stderr = math.sqrt(of_members.var(ddof=1) / len(of_members) + of_others.var(ddof=1) / len(of_others))
    if stderr > 0:
        reach = _quantile(level) * stderr
        return Interval(value, max(-1.0, value - reach), min(1.0, value + reach))
    a, b = (auc_interval(answers, (1 + level) / 2) for answers in (first, second))
    return Interval(value, a.low - b.high, a.high - b.low)


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)
