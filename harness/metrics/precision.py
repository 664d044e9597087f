"""Positive accuracy (precision) of an attack over thresholds, as thudi2022 measures it, and honestly.

Thresholds accept the top i * 2.5% of scores, i = 1 to 40 (thudi2022 Section 5.3). The last accepts everything, so the
best precision is never below the share of members, whatever the scores; and a maximum over forty is above what one
threshold gives. Two numbers beside it say by how much: the best precision of the same scores with memberships shuffled,
and the precision on one half of the records at the threshold that is best on the other.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from harness.arrays import Array
from harness.hashing import generator
from harness.metrics.answers import Answers
from harness.metrics.metric import metric
from harness.metrics.value import Value

# The thresholds of thudi2022 Section 5.3, and how many orders a maximum over them is averaged over.
THRESHOLDS = 40
SHUFFLES = 1000


def precisions(scores: Array, members: Array) -> Array:
    """The precision among the top i/40 of records by score, (40,); of tied scores the earlier record is taken first."""
    order = np.argsort(-scores, kind="stable")
    accepted = accepted_of(len(scores))
    precision: Array = np.cumsum(members[order])[accepted - 1] / accepted
    return precision


def accepted_of(n: int) -> Array:
    """The number of `n` records that each threshold accepts, (40,): at least one, at last all.

    >>> accepted_of(100)[:4].tolist(), int(accepted_of(100)[-1])
    ([3, 5, 8, 10], 100)
    """
    accepted: Array = np.maximum(1, np.ceil(np.arange(1, THRESHOLDS + 1) * n / THRESHOLDS - 1e-9).astype(int))
    return accepted


def best_precision(scores: Array, members: Array) -> Value:
    """The largest precision over the thresholds, with the binomial error of that threshold."""
    precision = precisions(scores, members)
    best = int(np.argmax(precision))
    accepted = int(accepted_of(len(scores))[best])
    return Value(
        float(precision[best]), float(np.sqrt(precision[best] * (1 - precision[best]) / accepted)), len(scores)
    )


@cache
def shuffled_best_precision(n: int, m: int) -> Value:
    """The mean of the best precision over 1,000 orders of `n` records, `m` of them members.

    It is what a maximum over thresholds gives where scores say nothing.
    """
    rng, accepted = generator(0, "shuffled best precision", n, m), accepted_of(n)
    members = np.arange(n) < m
    best = [(np.cumsum(rng.permutation(members))[accepted - 1] / accepted).max() for _ in range(SHUFFLES)]
    return Value(float(np.mean(best)), float(np.std(best, ddof=1) / np.sqrt(SHUFFLES)), n)


def held_out_precision(scores: Array, members: Array) -> Value:
    """The precision on one half of the records at the threshold that is best on the other, the mean of both ways.

    The threshold is a score. Halves are drawn by the number of records and of members alone; where no record of a half
    passes, its share of members counts, as of an attack that says nothing.
    """
    rng = generator(0, "held out precision", len(scores), int(members.sum()))
    first = np.zeros(len(scores), dtype=bool)
    first[rng.permutation(len(scores))[: len(scores) // 2]] = True
    shares, errors = [], []
    for chosen, judged in ((first, ~first), (~first, first)):
        ranked = np.sort(scores[chosen])[::-1]
        best = int(np.argmax(precisions(scores[chosen], members[chosen])))
        passed = members[judged][scores[judged] >= ranked[accepted_of(len(ranked))[best] - 1]]
        share = float(passed.mean() if len(passed) else members[judged].mean())
        shares.append(share)
        errors.append(np.sqrt(share * (1 - share) / max(1, len(passed))))
    return Value(float(np.mean(shares)), float(np.hypot(*errors) / 2), len(scores))


def _shuffle_together(answers: Answers) -> tuple[Array, Array]:
    """The scores and memberships, shuffled once so that ties are not told by the order of the two groups."""
    scores = np.concatenate([answers.member_scores, answers.nonmember_scores])
    members = np.concatenate([np.ones(len(answers.member_scores)), np.zeros(len(answers.nonmember_scores))])
    order = generator(0, "ties", len(scores)).permutation(len(scores))
    return scores[order], members[order]


@metric(
    "share_of_members",
    "share of members among the records attacked: the precision of always saying member",
    scope="attack",
)
def _share(answers: Answers) -> Value:
    m, n = len(answers.member_scores), len(answers.nonmember_scores)
    return Value(m / (m + n), 0.0, m + n)


@metric("best_precision", "largest precision over forty quantile thresholds, on the same records", scope="attack")
def _measure_best_precision(answers: Answers) -> Value:
    return best_precision(*_shuffle_together(answers))


@metric(
    "shuffled_best_precision", "the same with memberships shuffled: what the maximum gives by itself", scope="attack"
)
def _shuffled_precision(answers: Answers) -> Value:
    m, n = len(answers.member_scores), len(answers.nonmember_scores)
    return shuffled_best_precision(m + n, m)


@metric("held_out_precision", "precision at the threshold that is best on other records", scope="attack")
def _held_out(answers: Answers) -> Value:
    return held_out_precision(*_shuffle_together(answers))


@metric(
    "best_precision_gain",
    "largest precision over forty thresholds, less the share of members",
    scope="attack",
    low=-1.0,
)
def _gain(answers: Answers) -> Value:
    best = _measure_best_precision(answers)
    return Value(best.value - _share(answers).value, best.stderr, best.n)


@metric(
    "held_out_precision_gain",
    "precision at a threshold of other records, less the share of members",
    scope="attack",
    low=-1.0,
)
def _held_out_gain(answers: Answers) -> Value:
    held_out = _held_out(answers)
    return Value(held_out.value - _share(answers).value, held_out.stderr, held_out.n)
