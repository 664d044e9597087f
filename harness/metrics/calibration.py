"""Metrics that tell whose false-positive rate it is: of one threshold for all records, or of each record's own.

A false-positive rate over all records says how often a non-member is called a member, not how often this one would be:
records whose score is high in every model are called by a common threshold whether they are members or not (Jälkö et
al. 2026). `pooled` rates are at a common threshold in each model, `calibrated` ones at a threshold of each record's
own. The loss attack's score is a record's confidence, log p / (1 - p) of its own class.
"""

from __future__ import annotations

import numpy as np
import scipy

from harness.arrays import Array
from harness.metrics.exposure import threshold_at
from harness.metrics.metric import metric
from harness.metrics.points import Points
from harness.metrics.value import Value

MOST_CALLED = 0.01
"""Share of the records that count as those called members most often."""


def exceedance(scores: Array, of_pool: Array, inside: Array) -> Array:
    """The chance of each record to score higher than `scores` (..., n) in one more model that is not trained on it.

    `of_pool` (models, n) are its scores in a pool, of which `inside` (models, n) says which were trained on it. Its k
    scores in models that were not are taken to be normal with a mean and a variance of the record's own: one more is
    then t-distributed with k - 1 degrees of freedom, sqrt(1 + 1/k) standard deviations wide. Where all k are the same
    their order alone speaks: 1 / (k + 1) above them, as one of k + 1 in any order, and 1 otherwise.

    >>> pool, inside = np.array([[1.0], [2.0], [3.0]]), np.zeros((3, 1), dtype=bool)
    >>> exceedance(np.array([2.0]), pool, inside).round(4).tolist()
    [0.5]
    """
    outside = ~inside
    k = outside.sum(axis=0)
    mean = np.where(outside, of_pool, 0.0).sum(axis=0) / k
    squares = np.where(outside, (of_pool - mean) ** 2, 0.0).sum(axis=0)
    spread = np.sqrt(squares / (k - 1) * (1 + 1 / k))
    flat = spread <= 1e-9 * np.maximum(1.0, np.abs(mean))
    by_normal = scipy.stats.t.sf((scores - mean) / np.where(flat, 1.0, spread), k - 1)
    return np.where(flat, np.where(scores > mean + 1e-9 * np.maximum(1.0, np.abs(mean)), 1 / (k + 1), 1.0), by_normal)


def pooled_mask(points: Points) -> Array:
    """The records that the loss attack calls members in each model, (m, n) bool.

    In each model it calls as large a share of the records outside it as LiRA calls over all models.
    """
    rate = _asked_fpr(points)
    thresholds = [
        threshold_at(scores[~inside], rate) for scores, inside in zip(points.confidences, points.inside, strict=True)
    ]
    mask: Array = points.confidences > np.array(thresholds)[:, None]
    return mask


def calibrated_mask(points: Points) -> Array:
    """The records that exceed a threshold of their own in each model, (m, n) bool, at the rate of LiRA's calls.

    The threshold is learnt on the other half of the models. A record that fewer than two models of a half are outside
    of is never called by the other half.
    """
    mask, rate = np.zeros_like(points.inside), _asked_fpr(points)
    for learnt_on, models in (points.halves(), points.halves()[::-1]):
        with np.errstate(invalid="ignore", divide="ignore"):
            chances = exceedance(points.confidences[models], points.confidences[learnt_on], points.inside[learnt_on])
        mask[models] = chances <= rate
    return mask


def _asked_fpr(points: Points) -> float:
    """The false-positive rate of LiRA's calls, over all records and models."""
    return float(points.caught[~points.inside].mean())


def _rate(points: Points, called: Array, inside: bool) -> Value:
    """The share of the pairs of a model and a record inside it, or outside, that are called, with a binomial error."""
    side = points.inside == inside
    n = int(side.sum())
    p = float(called[side].mean())
    return Value(p, float(np.sqrt(p * (1 - p) / n)), n)


def _fpr_of_most_called(points: Points, called: Array, picked_by: Array) -> Value:
    """The false-positive rate in one half of the models of the records that the other half calls most often.

    Calls in models that are trained on the record do not count, neither for picking it nor for the rate.
    """
    false = tried = 0
    for chosen, models in points.pick_records(MOST_CALLED, lambda half: points.rate(picked_by, half, False)):
        outside = ~points.inside[models][:, chosen]
        false += int((called[models][:, chosen] & outside).sum())
        tried += int(outside.sum())
    p = false / tried
    return Value(p, float(np.sqrt(p * (1 - p) / tried)), tried)


@metric(
    "fpr_of_most_called",
    "false-positive rate, at LiRA's threshold for all records, of the 1% of records that other models call most often",
    scope="per_record",
)
def _lira_fpr_of_most_called(points: Points) -> Value:
    return _fpr_of_most_called(points, points.caught, points.caught_within)


@metric(
    "loss_fpr_of_most_called",
    "false-positive rate, at one threshold on the loss, of the 1% of records that other models call most often",
    scope="per_record",
)
def _loss_fpr_of_most_called(points: Points) -> Value:
    called = pooled_mask(points)
    return _fpr_of_most_called(points, called, called)


@metric(
    "calibrated_fpr_of_most_called",
    "false-positive rate, at each record's own threshold on the loss, of the records of `loss_fpr_of_most_called`",
    scope="per_record",
)
def _calibrated_fpr_of_most_called(points: Points) -> Value:
    return _fpr_of_most_called(points, calibrated_mask(points), pooled_mask(points))


@metric("loss_pooled_tpr", "true-positive rate at one threshold on the loss for all records", scope="per_record")
def _loss_pooled_tpr(points: Points) -> Value:
    return _rate(points, pooled_mask(points), True)


@metric("loss_calibrated_tpr", "true-positive rate at each record's own threshold on the loss", scope="per_record")
def _loss_calibrated_tpr(points: Points) -> Value:
    return _rate(points, calibrated_mask(points), True)


@metric("loss_calibrated_fpr", "false-positive rate at each record's own threshold on the loss", scope="per_record")
def _loss_calibrated_fpr(points: Points) -> Value:
    return _rate(points, calibrated_mask(points), False)
