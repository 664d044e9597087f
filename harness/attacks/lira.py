"""The likelihood ratio attack, LiRA (Carlini et al. 2022 Algorithm 1; thudi2022 and tramer2025 Section 5.3)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import scipy
from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted
from harness.attacks.pool import Pool
from harness.attacks.pooled import THRESHOLD, PooledAttack, confidence, moments_by_record
from harness.attacks.target import Target
from harness.metrics.answers import Outputs

FEWEST_FOR_RECORDS = 64
"""Models of a pool below which `auto` pools the variance (Carlini et al. 2022, Section VI-B)."""
SMALLEST = 1e-12
"""Variances are at least this: records of which every model is as sure."""


@ATTACKS.register
class Lira(PooledAttack):
    """Is the target's confidence in a record that of models trained on it, or of models that were not?"""

    kind: Literal["lira"] = "lira"
    online: bool = True
    """True: likelihood ratio of both; False: how far above models not trained on the record, a one-sided test."""
    variance: Literal["auto", "record", "pooled", "global"] = "auto"
    """`record`: each record's own variance; `pooled`: the mean of these; `auto`: one of the two, the records' own from
    64 models on. `global`: the authors' one variance of the confidences of all records on a side, which holds also how
    records differ from each other."""
    level: float = Field(default=0.05, gt=0, lt=1)
    """Offline: a record is called a member if at most this chance gave a model not trained on it such confidence."""
    summary: ClassVar[str] = "likelihood ratio on each record (LiRA)"

    def refuses(self, pool_count: int) -> str | None:
        if self.variance == "record" and pool_count < 4:
            return f"a record's own variance needs two models with it and two without, a pool of 4; found {pool_count}"
        return None

    def fit_records(self, pool: Pool, seed: int) -> Fitted:
        """Means and variances of the confidence, with and without each record."""
        confidences = [confidence(self.attacked_outputs(outputs)) for outputs in pool.candidates]
        mean_in, var_in, mean_out, var_out = moments_by_record(confidences, pool)
        if self.variance == "pooled" or (self.variance == "auto" and len(pool) < FEWEST_FOR_RECORDS):
            var_in, var_out = (np.full_like(var, _mean(var)) for var in (var_in, var_out))
        elif self.variance == "global":
            seen, inside = np.stack(confidences), pool.masks[:, : len(mean_in)]
            var_in, var_out = (np.full_like(mean_in, seen[side].var()) for side in (inside, ~inside))
        return {
            "mean_in": mean_in,
            "mean_out": mean_out,
            "std_in": np.sqrt(np.maximum(var_in, SMALLEST)),
            "std_out": np.sqrt(np.maximum(var_out, SMALLEST)),
        }

    def scores(self, attacked: Outputs, target: Target, fitted: Fitted, at: Array) -> Array:
        """Log of the likelihood ratio, or standard deviations above the models without the record."""
        confidences, of = (
            confidence(attacked),
            {name: values[at] for name, values in fitted.items() if name != THRESHOLD},
        )
        outside: Array = (confidences - of["mean_out"]) / of["std_out"]
        if not self.online:
            return outside
        inside = (confidences - of["mean_in"]) / of["std_in"]
        ratio: Array = (outside**2 - inside**2) / 2 + np.log(of["std_out"] / of["std_in"])
        return ratio

    def decide(self, scores: Array) -> Array:
        """By a ratio above 1, or a p-value at the level."""
        threshold = 0.0 if self.online else float(scipy.stats.norm.isf(self.level))
        decisions: Array = scores > threshold
        return decisions


def _mean(variances: Array) -> float:
    """Of those that are known; 1 where none is, as in a pool of two models."""
    known = variances[np.isfinite(variances)]
    return float(known.mean()) if len(known) else 1.0
