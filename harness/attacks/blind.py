"""The blind baseline: what records tell of their membership without any model (Das, Zhang and Tramèr 2024).

Where members and non-members are not drawn alike, a classifier that never sees the target tells them apart. What an
attack on the target reaches beyond that is what the target gives away; the rest is the split's.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from threadpoolctl import threadpool_limits

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted, ScoringAttack
from harness.attacks.target import AttackResult, Target
from harness.hashing import derive_seed
from harness.metrics.answers import Answers

TREES: dict[str, Any] = {"learning_rate": 0.05, "max_leaf_nodes": 15, "early_stopping": False}
"""Few and small steps, since a classifier that learns memberships by heart says nothing of others."""


@ATTACKS.register
class Blind(ScoringAttack):
    """Members and non-members are told apart by their features and labels alone, each by a classifier of the others.

    Records are put into `folds`; those of one are scored by a classifier that has learnt from the rest, memberships
    included: it knows the two populations better than an adversary would.
    """

    kind: Literal["blind"] = "blind"
    classifier: Literal["boosting", "linear"] = "boosting"
    """Gradient-boosted trees, or logistic regression (for many features, such as pixels)."""
    folds: int = Field(default=5, ge=2)
    """Parts of the records."""
    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "membership told from the records alone, without the model"

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        """Log-odds of membership by a classifier of the other folds; a member where they exceed those of the share."""
        inside, outside = target.features()
        m, n = len(inside), len(outside)
        labels = np.concatenate([target.members.labels, target.nonmembers.labels])
        scores = self.scores(np.concatenate([inside, outside]), labels, np.arange(m + n) < m)
        decided = scores > np.log(m / n)
        return self.pack_answers(Answers(scores[:m], scores[m:], decided[:m], decided[m:]))

    def scores(self, features: Array, labels: Array, members: Array) -> Array:
        """Log-odds of membership, (n,), of records (n, d) with labels (n,) and memberships (n,) bool."""
        from sklearn.model_selection import StratifiedKFold

        classes = np.eye(int(labels.max()) + 1, dtype=np.float32)[labels]
        seen = np.concatenate([features, classes], axis=1)
        seed = derive_seed(0, "blind", len(members), int(members.sum())) % (1 << 31)
        log_odds = np.empty(len(members))
        for rest, held in StratifiedKFold(self.folds, shuffle=True, random_state=seed).split(seen, members):
            with threadpool_limits(limits=1):
                model = self._classifier(seed).fit(seen[rest], members[rest])
                log_odds[held] = model.decision_function(seen[held])
        return log_odds

    def _classifier(self, seed: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression

        if self.classifier == "linear":
            return LogisticRegression(max_iter=500)
        return HistGradientBoostingClassifier(**TREES, random_state=seed)
