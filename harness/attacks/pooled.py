"""Attacks on single records that learn from a pool of models with recorded halves (Carlini et al. 2022)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import AttackResult, Fitted, HalfModel, ScoringAttack, Target
from harness.errors import HarnessError
from harness.metrics.answers import Answers, Outputs


def confidence(outputs: Outputs) -> Array:
    """Logit-scaled confidence log(p_y / (1 - p_y)) of each record, (n,), also where p_y rounds to 1.

    The sum over the other classes is taken of their log-probabilities, never as 1 - p_y (Carlini et al. 2022, Section
    IV-A, which found it the stable one of four ways).
    """
    logp = outputs.log_probabilities.astype(np.float64)
    own = np.take_along_axis(logp, outputs.labels[:, None], axis=1)[:, 0]
    others = logp.copy()
    np.put_along_axis(others, outputs.labels[:, None], -np.inf, axis=1)
    logits: Array = own - np.logaddexp.reduce(others, axis=1)
    return logits


def probability(outputs: Outputs) -> Array:
    """Probability of each record's own class, (n,)."""
    logp = outputs.log_probabilities.astype(np.float64)
    probabilities: Array = np.exp(np.take_along_axis(logp, outputs.labels[:, None], axis=1)[:, 0])
    return probabilities


class PooledAttack(ScoringAttack):
    """Base of attacks that compare a target with models that were, and were not, trained on the record."""

    pool: str = "halves"
    """The pool of shadow models on halves of the records at stake, declared under `experiment.pools`."""
    points: int | None = Field(default=None, ge=2)
    """Attack the first so many records at stake alone (thudi2022: 1,000); None: all."""
    needs_halves: ClassVar[bool] = True

    @property
    def shadow_pool(self) -> str | None:
        return self.pool

    def first(self, outputs: Outputs) -> Outputs:
        """Of outputs on all records at stake, those on the attacked ones."""
        return Outputs(outputs.log_probabilities[: self.points], outputs.labels[: self.points])

    @abstractmethod
    def scores(self, attacked: Outputs, target: Target, fitted: Fitted, at: Array) -> Array:
        """Score of each attacked record, (k,); `at` are their places among the records at stake."""

    @abstractmethod
    def decided(self, scores: Array) -> Array:
        """Whom it calls members, (k,) bool."""

    def answers(self, target: Target, fitted: Fitted) -> Answers:
        """Scores and decisions on the attacked records."""
        scores: list[Array] = []
        for outputs, at in zip((target.members, target.nonmembers), target.places, strict=True):
            kept = np.flatnonzero(at < (self.points or np.inf))
            if not len(kept):
                raise HarnessError(
                    f"attack {self.plugin_name()}: of the first {self.points} records at stake none is a "
                    f"{'member' if not scores else 'non-member'}; raise points"
                )
            attacked = Outputs(outputs.log_probabilities[kept], outputs.labels[kept])
            scores.append(self.scores(attacked, target, fitted, at[kept]))
        return Answers(scores[0], scores[1], self.decided(scores[0]), self.decided(scores[1]))

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        return self.kept(self.answers(target, fitted))


def of_each_record(values: Sequence[Array], models: Sequence[HalfModel]) -> tuple[Array, Array, Array, Array]:
    """Mean and variance of a number over the models that were trained on a record, and over those that were not.

    `values` has (k,) a model, for the first k records at stake. Gives mean and variance in, mean and variance out, (k,)
    each, the variances without bias; not-a-number where fewer than two models are on that side.
    """
    value, inside = np.stack(values), np.stack([m.trained_on[: len(values[0])] for m in models])
    moments = []
    for side in (inside, ~inside):
        count = side.sum(axis=0)
        mean = np.where(side, value, 0.0).sum(axis=0) / np.maximum(count, 1)
        squares = np.where(side, (value - mean) ** 2, 0.0).sum(axis=0)
        moments += [mean, np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)]
    return moments[0], moments[1], moments[2], moments[3]
