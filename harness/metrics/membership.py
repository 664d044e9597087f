"""Membership metrics from scores (higher: more likely a member) and decisions (True: member)."""

from __future__ import annotations

from functools import partial

import numpy as np

from harness.arrays import Array
from harness.metrics.answers import Answers
from harness.metrics.metric import metric
from harness.metrics.value import Value, share

FPR_LEVELS = {"5pct": 0.05, "2pct": 0.02, "1pct": 0.01, "0.1pct": 0.001}
"""False-positive rates at which true-positive rates are measured (jayaraman2019 Tables 5-7: 1%, 2% and 5%)."""


def rates(member_decisions: Array, nonmember_decisions: Array) -> tuple[float, float]:
    """(TPR, FPR): the shares of members and of non-members called members."""
    return float(np.mean(member_decisions)), float(np.mean(nonmember_decisions))


def advantage(member_decisions: Array, nonmember_decisions: Array) -> Value:
    """Membership advantage, TPR - FPR (humphries2020 Eq. (2)), with its binomial standard error."""
    hit, false = share(member_decisions), share(nonmember_decisions)
    return Value(hit.value - false.value, float(np.hypot(hit.stderr, false.stderr)), hit.n + false.n)


def auc(member_scores: Array, nonmember_scores: Array) -> Value:
    """Area under the ROC curve (Mann-Whitney, ties count half) with DeLong's standard error."""
    m, n = len(member_scores), len(nonmember_scores)
    below_strict, below_or_equal = (
        np.searchsorted(np.sort(nonmember_scores), member_scores, side=side) for side in ("left", "right")
    )
    placed_members = (below_strict + below_or_equal) / (2 * n)
    low, high = (np.searchsorted(np.sort(member_scores), nonmember_scores, side=s) for s in ("left", "right"))
    placed_nonmembers = 1 - (low + high) / (2 * m)
    variance = 0.0
    if m > 1 and n > 1:
        variance = placed_members.var(ddof=1) / m + placed_nonmembers.var(ddof=1) / n
    return Value(float(placed_members.mean()), float(np.sqrt(variance)), m + n)


def roc(member_scores: Array, nonmember_scores: Array) -> tuple[Array, Array]:
    """(FPR, TPR) at every distinct threshold, from (0, 0) to (1, 1)."""
    scores = np.concatenate([member_scores, nonmember_scores])
    is_member = np.concatenate([np.ones(len(member_scores)), np.zeros(len(nonmember_scores))])
    order = np.argsort(-scores, kind="stable")
    last_of_tie = np.append(np.diff(scores[order]) != 0, True)
    tpr = np.cumsum(is_member[order])[last_of_tie] / len(member_scores)
    fpr = np.cumsum(1 - is_member[order])[last_of_tie] / len(nonmember_scores)
    return np.append(0.0, fpr), np.append(0.0, tpr)


def tpr_at_fpr(member_scores: Array, nonmember_scores: Array, fpr: float) -> Value:
    """Largest TPR among thresholds whose FPR is at most `fpr` (no interpolation).

    Its standard error has two parts: the members', binomial, and that of the threshold, which the non-members
    set: half of what TPR changes between one standard error of the FPR below `fpr` and one above.
    """
    false, true = roc(member_scores, nonmember_scores)

    def best(at: float) -> float:
        return float(true[false <= at].max()) if at >= 0 else 0.0

    m, n = len(member_scores), len(nonmember_scores)
    tpr, spread = best(fpr), float(np.sqrt(fpr * (1 - fpr) / n))
    threshold = (best(fpr + spread) - best(max(0.0, fpr - spread))) / 2
    return Value(tpr, float(np.hypot(np.sqrt(tpr * (1 - tpr) / m), threshold)), m + n)


@metric("advantage", "membership advantage, TPR - FPR", of="answers", low=-1.0)
def _advantage(answers: Answers) -> Value:
    return advantage(answers.member_decisions, answers.nonmember_decisions)


@metric("tpr", "true-positive rate of the attack's decisions", of="answers")
def _tpr(answers: Answers) -> Value:
    return share(answers.member_decisions)


@metric("fpr", "false-positive rate of the attack's decisions", of="answers")
def _fpr(answers: Answers) -> Value:
    return share(answers.nonmember_decisions)


@metric("auc", "area under the ROC curve", of="answers")
def _auc(answers: Answers) -> Value:
    return auc(answers.member_scores, answers.nonmember_scores)


def _tpr_at(fpr: float, answers: Answers) -> Value:
    return tpr_at_fpr(answers.member_scores, answers.nonmember_scores, fpr)


for _name, _level in FPR_LEVELS.items():
    metric(
        f"tpr_at_{_name}_fpr", f"true-positive rate at a false-positive rate of {_level:g}", of="answers", fpr=_level
    )(partial(_tpr_at, _level))


SUREST = 0.01


@metric(
    "nonmember_precision_1pct",
    "share of non-members among the 1% of the records with the lowest scores: how sure a call of non-member can be",
    of="answers",
)
def _nonmember_precision(answers: Answers) -> Value:
    scores = np.concatenate([answers.member_scores, answers.nonmember_scores])
    of_others = np.arange(len(scores)) >= len(answers.member_scores)
    k = max(1, round(SUREST * len(scores)))
    threshold = np.sort(scores)[k - 1]
    return share(of_others[scores <= threshold])


def best_threshold(member_scores: Array, nonmember_scores: Array) -> float:
    """The score from which on to call a record a member so that TPR - FPR is largest; of several, the highest."""
    candidates = np.unique(np.concatenate([member_scores, nonmember_scores]))
    hit, false = (
        1 - np.searchsorted(np.sort(scores), candidates, side="left") / len(scores)
        for scores in (member_scores, nonmember_scores)
    )
    gained = hit - false
    return float(candidates[np.flatnonzero(gained >= gained.max() - 1e-12)[-1]])


def _accuracy(difference: Value) -> Value:
    return Value((1 + difference.value) / 2, difference.stderr / 2, difference.n)


@metric("attack_accuracy", "accuracy of the attack's decisions, members and non-members counting alike", of="answers")
def _attack_accuracy(answers: Answers) -> Value:
    return _accuracy(_advantage(answers))


@metric("best_attack_accuracy", "the same at the threshold that is best on the records themselves", of="answers")
def _best_attack_accuracy(answers: Answers) -> Value:
    threshold = best_threshold(answers.member_scores, answers.nonmember_scores)
    difference = advantage(answers.member_scores >= threshold, answers.nonmember_scores >= threshold)
    return _accuracy(difference if difference.value > 0 else Value(0.0, difference.stderr, difference.n))
