"""Membership metrics from scores (higher: more likely a member) and decisions (True: member)."""

from __future__ import annotations

from functools import partial

import numpy as np

from harness.arrays import Array
from harness.metrics.answers import Answers
from harness.metrics.metric import metric
from harness.metrics.value import Value, share

FPR_LEVELS = {"5pct": 0.05, "2pct": 0.02, "1pct": 0.01, "0.1pct": 0.001, "0.001pct": 1e-5, "0pct": 0.0}
"""False-positive rates at which true-positive rates are measured (jayaraman2019 Tables 5-7: 1%, 2% and 5%; carlini2022
Table I: 0.1% and 0.001%). At 0 no non-member is called a member."""


def rates(member_decisions: Array, nonmember_decisions: Array) -> tuple[float, float]:
    """The TPR and the FPR: the shares of members and of non-members called members."""
    return float(np.mean(member_decisions)), float(np.mean(nonmember_decisions))


def advantage(member_decisions: Array, nonmember_decisions: Array) -> Value:
    """The membership advantage, TPR - FPR (humphries2020 Eq. (2)), with its binomial standard error.

    >>> value = advantage(np.array([True, True, True, False]), np.array([True, False, False, False]))
    >>> value.value, round(value.stderr, 4), value.n
    (0.5, 0.3062, 8)
    """
    hit, false = share(member_decisions), share(nonmember_decisions)
    return Value(hit.value - false.value, float(np.hypot(hit.stderr, false.stderr)), hit.n + false.n)


def auc(member_scores: Array, nonmember_scores: Array) -> Value:
    """The area under the ROC curve (Mann-Whitney, ties count half) with DeLong's standard error.

    >>> round(auc(np.array([0.9, 0.8, 0.3]), np.array([0.4, 0.2])).value, 4)
    0.8333
    """
    of_members, of_others = placements(member_scores, nonmember_scores)
    m, n = len(of_members), len(of_others)
    variance = of_members.var(ddof=1) / m + of_others.var(ddof=1) / n if m > 1 and n > 1 else 0.0
    return Value(float(of_members.mean()), float(np.sqrt(variance)), m + n)


def placements(member_scores: Array, nonmember_scores: Array) -> tuple[Array, Array]:
    """The share of non-members below each member, (m,), and of members above each non-member, (n,); ties count half."""
    inside, outside = np.sort(member_scores), np.sort(nonmember_scores)
    below, up_to = (np.searchsorted(outside, member_scores, side=side) for side in ("left", "right"))
    under, to = (np.searchsorted(inside, nonmember_scores, side=side) for side in ("left", "right"))
    return (below + up_to) / (2 * len(outside)), 1 - (under + to) / (2 * len(inside))


def last_of_ties(ordered: Array) -> Array:
    """Whether each of the sorted scores is the last of those that equal it, (n,) bool.

    Scores are compared and not subtracted: infinities that are equal tie, and their difference is no number.
    """
    return np.append(ordered[1:] != ordered[:-1], True)


def roc(member_scores: Array, nonmember_scores: Array) -> tuple[Array, Array]:
    """The FPR and the TPR at every distinct threshold, from (0, 0) to (1, 1)."""
    scores = np.concatenate([member_scores, nonmember_scores])
    is_member = np.concatenate([np.ones(len(member_scores)), np.zeros(len(nonmember_scores))])
    order = np.argsort(-scores, kind="stable")
    last = last_of_ties(scores[order])
    tpr = np.cumsum(is_member[order])[last] / len(member_scores)
    fpr = np.cumsum(1 - is_member[order])[last] / len(nonmember_scores)
    return np.append(0.0, fpr), np.append(0.0, tpr)


def tpr_at_fpr(member_scores: Array, nonmember_scores: Array, fpr: float) -> Value:
    """The largest TPR among thresholds whose FPR is at most `fpr` (no interpolation).

    Its standard error has two parts: the members', binomial, and that of the threshold, which the non-members
    set: half of what TPR changes between one standard error of the FPR below `fpr` and one above. Where no
    non-member may pass, the threshold is the highest of their scores, whose standard deviation is estimated from the
    third highest.
    """
    false, true = roc(member_scores, nonmember_scores)

    def best_rate(at: float) -> float:
        return float(true[false <= at].max()) if at >= 0 else 0.0

    m, n = len(member_scores), len(nonmember_scores)
    tpr, spread = best_rate(fpr), float(np.sqrt(fpr * (1 - fpr) / n))
    if fpr * n >= 1 - 1e-9:
        threshold = (best_rate(fpr + spread) - best_rate(max(0.0, fpr - spread))) / 2
    else:
        threshold = SPREAD_OF_HIGHEST * (best_rate(2 / n) - tpr)
    return Value(tpr, float(np.hypot(np.sqrt(tpr * (1 - tpr) / m), threshold)), m + n)


SPREAD_OF_HIGHEST = np.pi / np.sqrt(6) / 1.5
"""The standard deviation of the highest of many values over the mean distance to the third highest, where tails are
exponential: the highest is then distributed as Gumbel's, with standard deviation pi / sqrt(6), and the distances to the
second and from it to the third are 1 and 1/2 on average."""


@metric("advantage", "membership advantage, TPR - FPR", scope="attack", low=-1.0, of_decisions=True)
def _advantage(answers: Answers) -> Value:
    return advantage(answers.member_decisions, answers.nonmember_decisions)


@metric("tpr", "true-positive rate of the attack's decisions", scope="attack", of_decisions=True)
def _tpr(answers: Answers) -> Value:
    return share(answers.member_decisions)


@metric("fpr", "false-positive rate of the attack's decisions", scope="attack", of_decisions=True)
def _fpr(answers: Answers) -> Value:
    return share(answers.nonmember_decisions)


@metric("auc", "area under the ROC curve", scope="attack")
def _auc(answers: Answers) -> Value:
    return auc(answers.member_scores, answers.nonmember_scores)


def _tpr_at(fpr: float, answers: Answers) -> Value:
    return tpr_at_fpr(answers.member_scores, answers.nonmember_scores, fpr)


for _name, _level in FPR_LEVELS.items():
    metric(
        f"tpr_at_{_name}_fpr", f"true-positive rate at a false-positive rate of {_level:g}", scope="attack", fpr=_level
    )(partial(_tpr_at, _level))


# The share of the records, those with the lowest scores, on which a call of non-member is surest.
SUREST = 0.01


@metric(
    "nonmember_precision_1pct",
    "share of non-members among the 1% of the records with the lowest scores: how sure a call of non-member can be",
    scope="attack",
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


@metric(
    "max_advantage",
    "largest advantage over all thresholds, on the records that choose the threshold: on average not too low",
    scope="attack",
    never_above=("held_out_advantage", "advantage"),
    from_metric=("best_attack_accuracy", 2.0, -1.0),
)
def _max_advantage(answers: Answers) -> Value:
    threshold = best_threshold(answers.member_scores, answers.nonmember_scores)
    return _at_least_none(answers.member_scores >= threshold, answers.nonmember_scores >= threshold)


@metric(
    "held_out_advantage",
    "advantage at the threshold that is best on the other half of the records: on average not above the largest",
    scope="attack",
    low=-1.0,
)
def _held_out_advantage(answers: Answers) -> Value:
    (inside, outside), halves = held_out_decisions(answers.member_scores, answers.nonmember_scores), (0, 1)
    sides = [(decisions, _halves(len(decisions))) for decisions in (inside, outside)]
    taken = [[decisions[side == half] for decisions, side in sides] for half in halves]
    of_half = [_advantage_of(*half) for half in taken if all(map(len, half))]  # one member leaves a half without any
    whole = advantage(inside, outside)
    # Each half's threshold comes from the other, so the two errors may go together: they add up.
    error = float(np.mean([v.stderr for v in of_half])) if of_half else whole.stderr
    return Value(whole.value, error, len(inside) + len(outside))


def held_out_decisions(member_scores: Array, nonmember_scores: Array) -> tuple[Array, Array]:
    """Whether each member (m,), and each non-member (n,), is called a member by a threshold that others choose.

    Records are divided into halves without a look at their scores. For each half that threshold is taken at which
    TPR - FPR is largest on the other, or one above all scores, where no threshold gains anything there.
    """
    m, scores = len(member_scores), np.concatenate([member_scores, nonmember_scores])
    half = np.concatenate([_halves(m), _halves(len(nonmember_scores))])
    order = np.argsort(-scores, kind="stable")
    is_member, ordered = order < m, scores[order]
    last = last_of_ties(ordered)
    decisions = np.zeros(len(scores), dtype=bool)
    for asked in (0, 1):
        learnt = half[order] != asked
        sides = [side & learnt for side in (is_member, ~is_member)]
        hit, false = (np.cumsum(side)[last] / max(1, side.sum()) for side in sides)
        gained = hit - false
        if gained.max() > SMALLEST_GAIN:
            threshold = ordered[last][np.flatnonzero(gained >= gained.max() - SMALLEST_GAIN)[0]]
            decisions |= (half == asked) & (scores >= threshold)
    return decisions[:m], decisions[m:]


SMALLEST_GAIN = 1e-12
"""Advantages that differ by less are the same but for rounding."""


def _halves(n: int) -> Array:
    """The half that each of `n` records is in, 0 or 1: (n,)."""
    # Seeded by the number alone: the halves do not look at scores, and are the same wherever they are asked for.
    halves: Array = np.random.default_rng(n).permutation(n) % 2
    return halves


def _advantage_of(member_decisions: Array, nonmember_decisions: Array) -> Value:
    """The advantage with a standard error that is not 0 where all decisions are alike.

    Each rate's error is taken with two more decisions of either kind (Agresti and Coull 1998).
    """
    value = advantage(member_decisions, nonmember_decisions)
    variances = []
    for decisions in (member_decisions, nonmember_decisions):
        n = len(decisions) + 4
        p = (decisions.sum() + 2) / n
        variances.append(p * (1 - p) / n)
    return Value(value.value, float(np.sqrt(sum(variances))), value.n)


def _at_least_none(member_decisions: Array, nonmember_decisions: Array) -> Value:
    """The advantage of decisions, at least 0, which is what calling nobody a member has."""
    value = _advantage_of(member_decisions, nonmember_decisions)
    return Value(max(0.0, value.value), value.stderr, value.n)


def _accuracy(difference: Value) -> Value:
    """The accuracy that an advantage comes to where members and non-members count alike."""
    return Value((1 + difference.value) / 2, difference.stderr / 2, difference.n)


@metric(
    "attack_accuracy",
    "accuracy of the attack's decisions, members and non-members counting alike",
    scope="attack",
    of_decisions=True,
)
def _attack_accuracy(answers: Answers) -> Value:
    return _accuracy(_advantage(answers))


@metric("best_attack_accuracy", "the same at the threshold that is best on the records themselves", scope="attack")
def _best_attack_accuracy(answers: Answers) -> Value:
    threshold = best_threshold(answers.member_scores, answers.nonmember_scores)
    difference = advantage(answers.member_scores >= threshold, answers.nonmember_scores >= threshold)
    return _accuracy(difference if difference.value > 0 else Value(0.0, difference.stderr, difference.n))
