"""Membership by quantile regression: no shadow models (Bertran, Tang, Roth, Kearns, Morgenstern and Wu 2023)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from threadpoolctl import threadpool_limits

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted, ScoringAttack
from harness.attacks.blind import TREES
from harness.attacks.pooled import confidence
from harness.attacks.target import AttackResult, Target
from harness.errors import HarnessError
from harness.hashing import derive_seed, generator
from harness.metrics.answers import Answers

SMALLEST = 1e-6


@ATTACKS.register
class QuantileRegression(ScoringAttack):
    """How far is the target's confidence above what it would be on a record like this one, had it not been trained on?

    From the target's confidence on half of the records that everybody knows not to be members (its test records),
    regressions predict, for each record, the median and the upper quantile of that confidence; a score is the distance
    from the median over that of the quantile. The other half says which score a share `level` of such records exceeds
    (as in Romano, Patterson and Candès 2019; boosted quantiles are too low): above it a record is called a member.
    """

    kind: Literal["quantile-regression"] = "quantile-regression"
    level: float = Field(default=0.05, gt=0, lt=0.5)
    """Chance that a record which is no member exceeds its quantile: the attack's false-positive rate."""
    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "confidence above its predicted quantile, without shadow models"

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        """Scores and decisions. Raises HarnessError where there are fewer test records than 1 / level."""
        known = confidence(target.test)
        if len(known) // 2 * self.level < 1:
            raise HarnessError(
                f"attack {self.plugin_name()}: level {self.level:g} is less than one of half of the {len(known)} test "
                "records, from which its threshold is learnt; raise level, or sizes.test"
            )
        order = generator(0, "quantile regression", len(known)).permutation(len(known))
        learnt, held = order[: (len(known) + 1) // 2], order[(len(known) + 1) // 2 :]
        features, labels = target.test_features(), target.test.labels
        inside, outside = target.features()
        median, upper = self.predict_quantiles(
            (features[learnt], labels[learnt]),
            known[learnt],
            (
                np.concatenate([features[held], inside, outside]),
                np.concatenate([labels[held], target.members.labels, target.nonmembers.labels]),
            ),
        )
        confidences = np.concatenate([known[held], confidence(target.members), confidence(target.nonmembers)])
        scores = (confidences - median) / np.maximum(upper - median, SMALLEST)
        k, m = len(held), len(held) + len(inside)
        # Of k + 1 records drawn alike, each is as likely to be the one that is asked about.
        allowed = int(np.floor(self.level * (k + 1) + 1e-9))
        threshold = np.sort(scores[:k])[k - allowed]
        inner, outer = scores[k:m], scores[m:]
        return self.pack_answers(Answers(inner, outer, inner > threshold, outer > threshold))

    def predict_quantiles(
        self, known: tuple[Array, Array], confidences: Array, asked: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Median and upper quantile of the confidence on the records asked about, (k,) each.

        Records are features and labels; `confidences` are those of the known ones.
        """
        from sklearn.ensemble import HistGradientBoostingRegressor

        classes = int(max(known[1].max(), asked[1].max())) + 1
        first, second = (
            np.concatenate([features, np.eye(classes, dtype=np.float32)[labels]], axis=1)
            for features, labels in (known, asked)
        )
        seed = derive_seed(0, "quantile regression", len(confidences)) % (1 << 31)
        quantiles = []
        for quantile in (0.5, 1 - self.level):
            model = HistGradientBoostingRegressor(**TREES, loss="quantile", quantile=quantile, random_state=seed)
            with threadpool_limits(limits=1):
                quantiles.append(model.fit(first, confidences).predict(second))
        return quantiles[0], quantiles[1]
