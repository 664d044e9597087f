"""Attacks on single records that learn from a pool of models with recorded halves (Carlini et al. 2022)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from harness.arrays import Array
from harness.attacks.attack import Fitted, ScoringAttack
from harness.attacks.pool import Pool
from harness.attacks.target import AttackResult, Target
from harness.errors import HarnessError
from harness.metrics.answers import Answers, Outputs
from harness.metrics.membership import best_threshold
from harness.metrics.metric import measure_answers
from harness.metrics.value import Value, mean_of


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


def log_probability(outputs: Outputs) -> Array:
    """Log of the probability of each record's own class, (n,): its cross-entropy with the sign changed."""
    logp = outputs.log_probabilities.astype(np.float64)
    own: Array = np.take_along_axis(logp, outputs.labels[:, None], axis=1)[:, 0]
    return own


def probability(outputs: Outputs) -> Array:
    """Probability of each record's own class, (n,)."""
    probabilities: Array = np.exp(log_probability(outputs))
    return probabilities


THRESHOLD = "threshold"
"""What is learnt by it, beside what is learnt of each record."""
THRESHOLD_MODELS = 16
"""Models of a pool that are attacked, at most, to find a threshold."""


def _every_record_on_both_sides(pool: Pool, attacked: int) -> bool:
    if not pool:
        return False
    counts = pool.masks[:, :attacked].sum(axis=0)
    return bool(np.all((counts > 0) & (counts < len(pool))))


class PooledAttack(ScoringAttack):
    """Base of attacks that compare a target with models that were, and were not, trained on the record."""

    pool: str = "halves"
    """The pool of shadow models on halves of the candidate records, declared under `experiment.pools`."""
    points: int | None = Field(default=None, ge=2)
    """Attack so many candidate records together (thudi2022: 1,000); None: all."""
    blocks: Literal["first", "all"] = "first"
    """Which candidate records `points` are: the `first` ones alone, or `all` disjoint blocks of so many, each of which
    is attacked by itself. A metric is then the mean over blocks: the same number on average, with less variance."""
    threshold: Literal["own", "pool"] = "own"
    """Whom it calls members: `own`, by the attack's published rule; `pool`, from the score on that tells members of the
    pool's models best, each model attacked by what the others say."""
    added_later: ClassVar[dict[str, Any]] = {"threshold": "own", "blocks": "first"}
    needs_halves: ClassVar[bool] = True

    @model_validator(mode="after")
    def _blocks_have_a_size(self) -> Self:
        if self.blocks == "all" and self.points is None:
            raise ValueError("blocks is all, and points, the records of a block, is not given; say points: 1000")
        return self

    @property
    def shadow_pool(self) -> str | None:
        return self.pool

    def count_attacked(self, candidates: int) -> int:
        """How many of so many candidate records are attacked, in their order; whole blocks alone.

        Raises HarnessError where `blocks` is all and there is none.
        """
        if self.points is None:
            return candidates
        if self.blocks == "first":
            return min(self.points, candidates)
        if candidates < self.points:
            raise HarnessError(
                f"attack {self.plugin_name()}: blocks of {self.points} records of {candidates} candidate records; "
                f"points is at most {candidates}"
            )
        return candidates // self.points * self.points

    def attacked_outputs(self, outputs: Outputs) -> Outputs:
        """Of outputs on all candidate records, those on the attacked ones."""
        return outputs.take(slice(self.count_attacked(len(outputs))))

    def fit(self, pool: Pool, seed: int) -> Fitted:
        """What it learns of each record from the pool, and its threshold where the pool gives that."""
        fitted = self.fit_records(pool, seed)
        if self.threshold == "own":
            return fitted
        return {**fitted, THRESHOLD: np.array(self.threshold_of(pool, seed))}

    def threshold_of(self, pool: Pool, seed: int) -> float:
        """The score at which TPR - FPR is largest over models of the pool, up to `THRESHOLD_MODELS` of them, each as a
        target of the attack that learns from all the others. Raises HarnessError where a pool is too small for that."""
        inside, outside = [], []
        attacked = self.count_attacked(len(pool.candidates[0]))
        for asked in np.unique(np.linspace(0, len(pool) - 1, min(len(pool), THRESHOLD_MODELS)).round().astype(int)):
            others = pool.without(asked)
            if not _every_record_on_both_sides(others, attacked):
                continue
            answers = self.answers(pool[asked], self.fit_records(others, seed))
            inside.append(answers.member_scores)
            outside.append(answers.nonmember_scores)
        if not inside:
            raise HarnessError(
                f"attack {self.plugin_name()}: threshold is pool, but of {len(pool)} models without any one of them "
                "some record is in all the others, or in none; raise the pool's count"
            )
        return best_threshold(np.concatenate(inside), np.concatenate(outside))

    @abstractmethod
    def fit_records(self, pool: Pool, seed: int) -> Fitted:
        """What the attack learns of each record from the pool."""

    @abstractmethod
    def scores(self, attacked: Outputs, target: Target, fitted: Fitted, at: Array) -> Array:
        """Score of each attacked record, (k,); `at` are their places among the candidate records."""

    @abstractmethod
    def decide(self, scores: Array) -> Array:
        """Whom it calls members, (k,) bool."""

    def answers(self, target: Target, fitted: Fitted) -> Answers:
        """Scores and decisions on the attacked records, of each side in the order of their places."""
        attacked = self.count_attacked(len(target.members) + len(target.nonmembers))
        scores: list[Array] = []
        for outputs, at in zip((target.members, target.nonmembers), target.places, strict=True):
            kept = np.flatnonzero(at < attacked)
            if not len(kept):
                raise HarnessError(
                    f"attack {self.plugin_name()}: of the first {attacked} candidate records none is a "
                    f"{'member' if not scores else 'non-member'}; raise points"
                )
            scores.append(self.scores(outputs.take(kept), target, fitted, at[kept]))
        if THRESHOLD in fitted:
            return Answers(scores[0], scores[1], *(side >= fitted[THRESHOLD] for side in scores))
        return Answers(scores[0], scores[1], self.decide(scores[0]), self.decide(scores[1]))

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        """Keep scores and decisions, and what they are worth; with `blocks: all`, in the mean over blocks."""
        answers = self.answers(target, fitted)
        result = self.pack_answers(answers)
        return result if self.blocks == "first" else AttackResult(result.arrays, self.worth(answers, target))

    def worth(self, answers: Answers, target: Target) -> dict[str, Value]:
        """What scores and decisions are worth, in the mean over blocks where `blocks` is all."""
        if self.blocks == "first":
            return super().worth(answers, target)
        by_block = [measure_answers(block) for block in self._split_into_blocks(answers, target)]
        return {name: mean_of([of[name] for of in by_block]) for name in by_block[0]}

    def _split_into_blocks(self, answers: Answers, target: Target) -> list[Answers]:
        """Answers on the records of each block. Raises HarnessError where one has no members, or nobody else."""
        assert self.points is not None
        count = self.count_attacked(len(target.members) + len(target.nonmembers)) // self.points
        inside, outside = (at[at < count * self.points] // self.points for at in target.places)
        blocks = [answers.take(inside == block, outside == block) for block in range(count)]
        for place, block in enumerate(blocks):
            if not (len(block.member_scores) and len(block.nonmember_scores)):
                side = "non-member" if len(block.member_scores) else "member"
                raise HarnessError(
                    f"attack {self.plugin_name()}: of the {self.points} records of block {place} none is a {side}; "
                    "raise points"
                )
        return blocks


def moments_by_record(values: Sequence[Array], pool: Pool) -> tuple[Array, Array, Array, Array]:
    """Mean and variance of a number over a pool's models that were trained on a record, and over those that were not.

    `values` has (k,) a model, for the first k candidate records. Gives mean and variance in, mean and variance out,
    (k,) each, the variances without bias; not-a-number where fewer than two models are on that side.
    """
    value, inside = np.stack(values), pool.masks[:, : len(values[0])]
    moments = []
    for side in (inside, ~inside):
        count = side.sum(axis=0)
        mean = np.where(side, value, 0.0).sum(axis=0) / np.maximum(count, 1)
        squares = np.where(side, (value - mean) ** 2, 0.0).sum(axis=0)
        moments += [mean, np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)]
    return moments[0], moments[1], moments[2], moments[3]
