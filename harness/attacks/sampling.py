"""The sampling attack on labels (rahimian2021 Section 4.1, Algorithm 1)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted, ScoringAttack
from harness.attacks.perturbed import Perturbation, label_counts
from harness.attacks.pool import Pool
from harness.attacks.target import AttackResult, Target
from harness.hashing import generator
from harness.metrics.answers import Answers
from harness.metrics.membership import auc, best_threshold
from harness.metrics.metric import measure_queried, metrics_of
from harness.metrics.queried import Queried


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, int | float) else value


@ATTACKS.register
class Sampling(ScoringAttack):
    """Member iff copies of the record with small random changes mostly keep one label; a target is asked for labels.

    The shares of labels among a record's copies stand for its posterior, and the largest share is the score, as in
    LRN-Free. Of several scales that is taken which has the highest AUC on a shadow model; the threshold for decisions
    is the best one there. Shadow models are the adversary's own: no defence stands in front of them.
    """

    kind: Literal["sampling"] = "sampling"
    queries: int = Field(default=100, ge=1)
    """Copies of each record that the target is asked about, N."""
    by: Perturbation
    """`flip`: each bit of binary records is flipped with a probability; `gaussian`: noise is added to every number."""
    scale: Annotated[
        tuple[float, ...],
        Field(min_length=1),
        BeforeValidator(_one_or_many, json_schema_input_type=float | tuple[float, ...]),
    ]
    """p: the probability, or the standard deviation; of several the best on the shadow model."""
    fitting_queries: int = Field(default=100, ge=1)
    """Copies of each record that a shadow model is asked about for each scale."""
    points: int | None = Field(default=None, ge=1)
    """Attack the first so many members, and non-members, alone, and as many of the shadow model's; None: all."""
    pool: str = "shadows"
    """The pool of shadow models, declared under `experiment.pools`; the paper has one."""
    access: ClassVar[Literal["posteriors", "labels"]] = "labels"
    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "labels of perturbed copies (sampling attack)"

    @model_validator(mode="after")
    def _in_range(self) -> Sampling:
        for p in self.scale:
            if not p >= 0 or (self.by == "flip" and p > 1) or not np.isfinite(p):
                right = "a probability, from 0 to 1" if self.by == "flip" else "a finite number of at least 0"
                raise ValueError(f"scale is {p:g}; with by: {self.by} it is {right}")
        if len(set(self.scale)) != len(self.scale):
            raise ValueError("scale names a value twice")
        return self

    @property
    def measures(self) -> tuple[str, ...]:
        return (*metrics_of("attack"), *metrics_of("queried"))

    @property
    def shadow_pool(self) -> str | None:
        return self.pool

    def fitting(self) -> Self:
        """How often the target is asked is decided later."""
        return self.model_copy(update={"queries": 1})

    def fitting_seconds(self, records: int) -> float:
        return 5e-6 * records * self.fitting_queries * len(self.scale)

    def fit(self, pool: Pool, seed: int) -> Fitted:
        """Each scale's AUC on the shadow models (scales,), the best of them, and the best threshold at that."""
        by_scale: list[tuple[float, float]] = []
        for scale in self.scale:
            rng = generator(seed, "perturbations", scale)
            sides: tuple[list[Array], list[Array]] = ([], [])
            for shadow in pool:
                for side, features in zip(sides, shadow.features(), strict=True):
                    counts = label_counts(
                        shadow.oracle, features[: self.points], self.fitting_queries, self.by, scale, rng
                    )
                    side.append(counts.max(axis=1) / self.fitting_queries)
            inside, outside = (np.concatenate(side) for side in sides)
            by_scale.append((auc(inside, outside).value, best_threshold(inside, outside)))
        best = int(np.argmax([area for area, _ in by_scale]))
        return {
            "scale_aucs": np.array([area for area, _ in by_scale]),
            "scale": np.array(self.scale[best]),
            "threshold": np.array(by_scale[best][1]),
        }

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        scale, rng = float(fitted["scale"]), generator(target.seed, "perturbations")
        before = target.oracle.queries
        inside, outside = (
            label_counts(target.oracle, features[: self.points], self.queries, self.by, scale, rng).max(axis=1)
            / self.queries
            for features in target.features()
        )
        threshold = float(fitted["threshold"])
        kept = self.pack_answers(Answers(inside, outside, inside >= threshold, outside >= threshold))
        asked = Queried(scale, target.oracle.queries - before, inside, outside)
        return AttackResult(kept.arrays, {**kept.metrics, **measure_queried(asked)})
