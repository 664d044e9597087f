"""What metrics are where there is nothing to measure: scores that say nothing of membership, models that guess.

Metrics of an attack's scores are computed, by the metric's own function, on scores that are drawn without a look at
membership: as many members and others, in as many blocks, as many calls. So maxima over thresholds are maxima here too,
and a metric of a plug-in needs no formula of its own. The others are listed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from harness.arrays import Array
from harness.hashing import generator
from harness.metrics import METRICS
from harness.metrics.answers import Answers

WITHOUT_SIGNAL: dict[str, float | str] = {
    # An attribute is guessed alike, whatever it is.
    "value_advantage": 0.0,
    # Rates on members are those on others.
    "tpr_of_most_vulnerable": "fpr_of_most_vulnerable",
    "loss_calibrated_tpr": "loss_calibrated_fpr",
    "loss_pooled_tpr": "loss_calibrated_fpr",
    "epsilon_of_most_vulnerable": 0.0,
    "share_nearly_always_caught": 0.0,
    "separation": 0.0,
    "separation_of_top_tenth": 0.0,
    "hardness_separation": 0.0,
    # Records are alike: none is called more often, lost more on, or caught more often than another.
    "between_point_share": 0.0,
    "between_inlier_share": 0.0,
    "loss_fpr_of_most_called": "loss_calibrated_fpr",
    "fpr_of_most_called": "loss_calibrated_fpr",
    "median_point_tpr": "mean_point_tpr",
    # A record's own threshold does what the common one does.
    "calibrated_fpr_of_most_called": "loss_fpr_of_most_called",
    "loss_calibrated_fpr": 0.5,
}
"""By metric that is not computed from an attack's scores on one model: its value where there is no signal, or the
metric of the same answers that it then equals. A plug-in adds those of its metrics here."""
FALLING: frozenset[str] = frozenset({"accuracy_loss_test", "accuracy_loss_nonmembers", "fpr"}) | {
    f"loss_{name}" for name in ("train", "test", "nonmembers")
}
"""Metrics that are smaller where there is more of what they tell of: of learning, of a sure call."""
OF_CALLS = ("tpr", "fpr", "advantage", "attack_accuracy")
"""Metrics that follow from the numbers of members and of others that an attack calls members."""
MOST_DRAWN = 2_000_000
"""Scores that are drawn of one number of records; at least `FEWEST_ENTRIES` times as many as there are."""
FEWEST_ENTRIES, MOST_ENTRIES = 100, 1_000


@dataclass(frozen=True)
class Attacked:
    """How many records an attack is asked about at once."""

    members: int
    others: int
    blocks: int = 1
    """How many times that: a number is the mean over blocks."""


@dataclass(frozen=True, eq=False)
class Null:
    """Values of a metric where scores say nothing, and their record-sampling errors, (entries,) each."""

    values: Array
    errors: Array


def entries_of(attacked: Attacked) -> int:
    """How many answers that say nothing are drawn for so many records: an even number, since they come in pairs."""
    wanted = MOST_DRAWN // (attacked.members + attacked.others)
    return min(MOST_ENTRIES, max(FEWEST_ENTRIES, wanted // 2 * 2))


@cache
def null_of_scores(metric: str, members: int, others: int, two_valued: float | None = None) -> Null:
    """The values of a metric of scope `attack` on answers that say nothing.

    The entries of several metrics go together: entry i is of the same answers in all. They come in pairs, of scores and
    of their mirror images, so the mean AUC over all is one half and not near it: a test of many repeats would tell the
    difference.

    Args:
        metric: its name.
        members: number of members attacked.
        others: number of non-members attacked.
        two_valued: None for scores without ties; else the share of the records that have the higher of two scores.
    """
    function, values = METRICS[metric].function, []
    for entry in range(entries_of(Attacked(members, others))):
        rng = generator(0, "scores that say nothing", members, others, entry // 2)
        scores = rng.random(members + others)
        scores = 1 - scores if entry % 2 else scores
        called = scores > 1 - (0.5 if two_valued is None else two_valued)
        if two_valued is not None:
            scores = called.astype(np.float64)
        values.append(function(Answers(scores[:members], scores[members:], called[:members], called[members:])))
    return Null(np.array([v.value for v in values]), np.array([v.stderr for v in values]))


def null_of_calls(metric: str, attacked: Attacked, calls: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Values and errors, (n,) each, of a metric in `OF_CALLS` where so large a share of the records (n,) is called a
    member without a look at membership.

    The members among those called follow a hypergeometric distribution.
    """
    m, n = attacked.members * attacked.blocks, attacked.others * attacked.blocks
    called = np.clip(np.rint(calls * (m + n)), 0, m + n).astype(np.int64)
    hits = rng.hypergeometric(m, n, called)
    tpr, fpr = hits / m, (called - hits) / n
    of_tpr, of_fpr = np.sqrt(tpr * (1 - tpr) / m), np.sqrt(fpr * (1 - fpr) / n)
    both = np.hypot(of_tpr, of_fpr)
    return {
        "tpr": (tpr, of_tpr),
        "fpr": (fpr, of_fpr),
        "advantage": (tpr - fpr, both),
        "attack_accuracy": ((1 + tpr - fpr) / 2, both / 2),
    }[metric]


def null_of_runs(metric: str, members: int, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """The number of members exposed in every one, or in some, of so many runs by scores that say nothing, and its
    error."""
    rate = METRICS[metric].coordinates["fpr"]
    chance = rate**runs if "every" in metric else 1 - (1 - rate) ** runs
    count = int(rng.binomial(members, chance))
    return float(count), math.sqrt(max(count, 1) * max(members - count, 1) / members)


MOST_FREQUENT: dict[str, float] = {
    "adult": 37_155 / 48_842,
    "compas": 3_363 / 6_172,
    "location30": 308 / 5_010,
    "mnist": 7_877 / 70_000,
    "fashion-mnist": 0.1,
    "cifar10": 0.1,
    "cifar100": 0.01,
    "ch-mnist": 0.125,
    "ch-mnist-substitute": 0.125,
    "purchase100-substitute": 0.01,
    "texas100": 3_046 / 67_330,
    "texas100-substitute": 3_046 / 67_330,
    "mixture": 0.05,
}
"""By data set: the share of its most frequent class, which is how often a model is right that always says it. Of data
sets that are not listed it is not known."""
