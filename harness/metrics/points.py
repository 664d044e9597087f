"""Metrics of what an attack does to each record over many models, which an average hides (tramer2025 Figures 2 to 4).

Selection and measurement are kept apart wherever records are picked: they are picked by one half of the models, and
what is said of them is measured on the other half, both ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from harness.arrays import Array
from harness.metrics.metric import metric
from harness.metrics.value import Value, average, rate_at_least, rate_at_most

# The share of models in which a record is caught nearly always, and the share of records that are moved most.
NEARLY_ALWAYS = 0.9
TENTH = 0.1


def two_halves(models: int) -> tuple[Array, Array]:
    """The halves of the models, (m,) bool each: every other pair of models, and the rest.

    Models 2j and 2j + 1 are trained on complementary halves of the records, so pairs stay together.

    >>> [half.astype(int).tolist() for half in two_halves(6)]
    [[1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0]]
    """
    first = np.arange(models) // 2 % 2 == 0
    return first, ~first


@dataclass(frozen=True)
class Points:
    """The state of `n` records under `m` models, of which 2j and 2j + 1 were trained on complementary halves.

    `delta` is that of the epsilon which rates on the most vulnerable records bound from below.
    """

    confidences: Array
    """(m, n), log p / (1 - p) of the record's own class."""
    inside: Array
    """(m, n) bool: the model was trained on the record."""
    caught: Array
    """(m, n) bool: the attack calls it a member, at the false-positive rate at which it is run."""
    caught_within: Array
    """(m, n) bool: the same where the attack has learnt from models of the same of the two `halves()` alone. Records
    are picked by this: learnt from all, one that is by chance higher where it is in would pick itself."""
    top: float = 0.001
    """Share of records that count as the most vulnerable."""
    delta: float = 0.0

    @cached_property
    def losses(self) -> Array:
        """The cross-entropy of each record under each model, (m, n)."""
        losses: Array = np.logaddexp(0.0, -self.confidences)
        return losses

    @property
    def count(self) -> int:
        """The number of records."""
        return int(self.inside.shape[1])

    def halves(self) -> tuple[Array, Array]:
        """The halves of the models, (m,) bool each, as `two_halves` has them."""
        return two_halves(len(self.inside))

    def rate(self, caught: Array, models: Array, inside: bool) -> Array:
        """The share of the models (m,) trained on a record, or not, in which it is caught: (n,)."""
        return self.mean(caught, models, inside)

    def mean(self, values: Array, models: Array, inside: bool) -> Array:
        """The mean of values (m, n) over the models (m,) trained on a record, or not: (n,); 0 where there is none."""
        side = self.inside[models] == inside
        means: Array = np.where(side, values[models], 0.0).sum(axis=0) / np.maximum(1, side.sum(axis=0))
        return means

    def spread(self, values: Array, models: Array, inside: bool) -> Array:
        """The unbiased variance of values (m, n) over the models (m,) trained on a record, or not: (n,)."""
        side = self.inside[models] == inside
        squares = np.where(side, (values[models] - self.mean(values, models, inside)) ** 2, 0.0).sum(axis=0)
        variances: Array = squares / np.maximum(1, side.sum(axis=0) - 1)
        return variances

    def separation(self, models: Array) -> Array:
        """The distance of a record's mean confidences with and without it, in pooled standard deviations: (n,)."""
        apart = self.mean(self.confidences, models, True) - self.mean(self.confidences, models, False)
        both = [self.spread(self.confidences, models, side) for side in (True, False)]
        separations: Array = apart / np.sqrt(np.maximum(sum(both) / 2, 1e-12))
        return separations

    def pick_records(self, share: float, by: Callable[[Array], Array]) -> tuple[tuple[Array, Array], ...]:
        """The records (k,) of which `by` is largest on one half of the models, with the other half; both ways round."""
        first, second = self.halves()
        k = max(1, round(share * self.count))
        ways = ((first, second), (second, first))
        return tuple((np.argsort(-by(chosen), kind="stable")[:k], rest) for chosen, rest in ways)


def _vulnerable_records(points: Points) -> tuple[tuple[Array, Array], ...]:
    """The records that are caught most often, and of those caught as often the ones whose confidences are far apart."""

    def vulnerability_of(models: Array) -> Array:
        apart = points.separation(models)
        vulnerability: Array = (
            points.rate(points.caught_within, models, True) + 1e-6 * scipy.stats.rankdata(apart) / points.count
        )
        return vulnerability

    return points.pick_records(points.top, vulnerability_of)


def _of_vulnerable(points: Points, inside: bool) -> tuple[int, int]:
    """The number of times that the most vulnerable were caught, and that they were members, or were not."""
    caught = tried = 0
    for chosen, models in _vulnerable_records(points):
        side = points.inside[models][:, chosen] == inside
        caught += int((points.caught[models][:, chosen] & side).sum())
        tried += int(side.sum())
    return caught, tried


def _rate(points: Points, inside: bool) -> Value:
    caught, tried = _of_vulnerable(points, inside)
    p = caught / tried
    return Value(p, float(np.sqrt(p * (1 - p) / tried)), tried)


def _every_model(points: Points) -> Array:
    return np.ones(len(points.inside), dtype=bool)


@metric(
    "tpr_of_most_vulnerable",
    "true-positive rate on the records that other models find most vulnerable",
    scope="per_record",
)
def _tpr_of_most_vulnerable(points: Points) -> Value:
    return _rate(points, True)


@metric("fpr_of_most_vulnerable", "false-positive rate on these records", scope="per_record")
def _fpr_of_most_vulnerable(points: Points) -> Value:
    return _rate(points, False)


@metric(
    "epsilon_of_most_vulnerable",
    "lower bound (95%, Clopper-Pearson) on epsilon from both rates on these records",
    scope="per_record",
    high=math.inf,
)
def _epsilon_of_most_vulnerable(points: Points) -> Value:
    (hits, m), (false, n) = _of_vulnerable(points, True), _of_vulnerable(points, False)
    tpr, fpr = rate_at_least(hits, m, 0.975), rate_at_most(false, n, 0.975)
    return Value(math.log(max(1.0, (tpr - points.delta) / fpr)), 0.0, m + n)


@metric(
    "median_point_tpr", "true-positive rate on the median record, over all models trained on it", scope="per_record"
)
def _median_point_tpr(points: Points) -> Value:
    return Value(float(np.median(points.rate(points.caught, _every_model(points), True))), 0.0, points.count)


@metric(
    "share_nearly_always_caught",
    f"share of records caught in {NEARLY_ALWAYS:.0%} of the models trained on them",
    scope="per_record",
)
def _share_nearly_always_caught(points: Points) -> Value:
    return average((points.rate(points.caught, _every_model(points), True) >= NEARLY_ALWAYS).astype(np.float64))


@metric("mean_point_tpr", "true-positive rate, the mean over records and models", scope="per_record")
def _mean_point_tpr(points: Points) -> Value:
    return average(points.rate(points.caught, _every_model(points), True))


@metric(
    "between_point_share",
    "share of the variance of losses, in models not trained on them, that is between records",
    scope="per_record",
    low=-1.0,
)
def _between_point_share(points: Points) -> Value:
    every = np.ones(points.count, dtype=bool)
    return Value(_share_between(points, _every_model(points), every), 0.0, points.count)


def _share_between(points: Points, models: Array, records: Array) -> float:
    """The share of the variance of losses that is between records.

    Counted are the records (n,) bool, in those of the models (m,) bool that are not trained on them.
    """
    means, within = points.mean(points.losses, models, False), points.spread(points.losses, models, False)
    tried = (~points.inside[models]).sum(axis=0)
    # Means over few models vary by themselves, which is no variance between records: so much is taken off.
    between = float(means[records].var(ddof=1) - (within / tried)[records].mean())
    return between / (between + float(within[records].mean()))


@metric(
    "between_inlier_share",
    "the same of the records alone that training moves by less than one standard deviation, as the other models find",
    scope="per_record",
    low=-1.0,
)
def _between_inlier_share(points: Points) -> Value:
    shares, counts = [], []
    for chosen_by, models in (points.halves(), points.halves()[::-1]):
        inliers = np.abs(points.separation(chosen_by)) < 1
        if inliers.sum() > 1:
            shares.append(_share_between(points, models, inliers))
            counts.append(int(inliers.sum()))
    return Value(float(np.mean(shares)) if shares else math.nan, 0.0, sum(counts))


@metric(
    "hardness_separation",
    "rank correlation of a record's loss in models without it with how far training on it moves it",
    scope="per_record",
    low=-1.0,
)
def _hardness_separation(points: Points) -> Value:
    first, second = points.halves()
    correlations = []
    for hard, apart in ((first, second), (second, first)):
        ranks = [
            scipy.stats.rankdata(points.mean(points.losses, hard, False)),
            scipy.stats.rankdata(points.separation(apart)),
        ]
        correlations.append(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
    return Value(float(np.mean(correlations)), 1 / math.sqrt(points.count), points.count)


@metric(
    "separation",
    "how far training on a record moves its confidence, in standard deviations",
    scope="per_record",
    low=-math.inf,
    high=math.inf,
)
def _separation(points: Points) -> Value:
    return average(np.mean([points.separation(half) for half in points.halves()], axis=0))


@metric(
    "separation_of_top_tenth",
    "the same of the tenth of the records that other models find moved most",
    scope="per_record",
    low=-math.inf,
    high=math.inf,
)
def _separation_of_top_tenth(points: Points) -> Value:
    return average(
        np.concatenate([points.separation(rest)[k] for k, rest in points.pick_records(TENTH, points.separation)])
    )
