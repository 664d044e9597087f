"""LiRA with several queries a record (Carlini et al. 2022, Section VI-C)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted
from harness.attacks.lira import Lira
from harness.attacks.perturbed import Perturbation, perturb
from harness.attacks.pool import InOutModel, Pool
from harness.attacks.pooled import THRESHOLD
from harness.attacks.target import Target
from harness.hashing import generator
from harness.metrics.answers import Outputs

SEED = "copies_seed"


@ATTACKS.register
class LiraQueries(Lira):
    """LiRA that asks about a record and about copies of it with small random changes.

    The copies of a record are the same for every model. The confidences in them are taken to be independent normals, of
    means and variances of their own, so the score is the mean of their ratios.
    """

    kind: Literal["lira-queries"] = "lira-queries"  # type: ignore[assignment]
    queries: int = Field(default=8, ge=2)
    """Questions about a record: itself, and one less copies."""
    by: Perturbation = "gaussian"
    """`gaussian`: noise is added to every number; `flip`: each bit of binary records is flipped with a probability."""
    scale: float = Field(ge=0)
    """Standard deviation, or probability."""
    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "likelihood ratio on each record and changed copies of it"

    @model_validator(mode="after")
    def _in_range(self) -> LiraQueries:
        if not np.isfinite(self.scale) or (self.by == "flip" and self.scale > 1):
            right = "a probability, from 0 to 1" if self.by == "flip" else "a finite number of at least 0"
            raise ValueError(f"scale is {self.scale:g}; with by: {self.by} it is {right}")
        if self.calibration == "percentile":
            raise ValueError("calibration percentile is of one question a record; write kind: lira")
        return self

    def fit_records(self, pool: Pool, seed: int) -> Fitted:
        """What LiRA learns, of each query: (queries, k).

        Raises HarnessError for a pool whose models cannot be asked.
        """
        asked = [super().fit_records(pool, seed)]
        labels = self.attacked_outputs(pool.candidates[0]).labels
        masks = pool.masks[:, : len(labels)]
        for changed in self._copies(_candidate_features(pool[0])[: len(labels)], seed):
            of_copies = [
                InOutModel(model.query(changed, labels), model.test, mask)
                for model, mask in zip(pool, masks, strict=True)
            ]
            asked.append(super().fit_records(Pool(of_copies, pool.name), seed))
        stacked = {name: np.stack([one[name] for one in asked]) for name in asked[0]}
        return {**stacked, SEED: np.array(seed)}

    def scores(self, attacked: Outputs, target: Target, fitted: Fitted, at: Array) -> Array:
        """Mean over the queries of LiRA's scores, (k,); offline their sum over the root of how many there are."""
        of = [
            {name: values[q] for name, values in fitted.items() if name not in (SEED, THRESHOLD)}
            for q in range(self.queries)
        ]
        by_query = [super().scores(attacked, target, of[0], at)]
        candidates = _candidate_features(target)
        copies = self._copies(candidates[: self.count_attacked(len(candidates))], int(fitted[SEED]))
        for query, changed in enumerate(copies, 1):
            by_query.append(super().scores(target.query(changed[at], attacked.labels), target, of[query], at))
        total: Array = np.sum(by_query, axis=0)
        return total / (self.queries if self.online else np.sqrt(self.queries))

    def _copies(self, records: Array, seed: int) -> Iterator[Array]:
        """The same changed copies of all candidate records, (k, d), whoever is asked about them."""
        for copy in range(1, self.queries):
            yield perturb(records, self.by, self.scale, generator(seed, "copies", copy))


def _candidate_features(target: Target) -> Array:
    """Features of the candidate records (n, d), in their order."""
    sides, places = target.features(), target.places
    candidates = np.empty((sum(map(len, sides)), sides[0].shape[1]), dtype=np.float32)
    for features, where in zip(sides, places, strict=True):
        candidates[where] = features
    return candidates
