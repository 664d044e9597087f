"""The likelihood ratio attack, LiRA (Carlini et al. 2022 Algorithm 1; thudi2022 and tramer2025 Section 5.3)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy
from pydantic import Field, model_validator

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted
from harness.attacks.pool import Pool
from harness.attacks.pooled import THRESHOLD, PooledAttack, confidence, log_probability, moments_by_record, probability
from harness.attacks.target import Target
from harness.metrics.answers import Outputs

FEWEST_FOR_RECORDS = 64
"""Models of a pool below which `auto` pools the variance (Carlini et al. 2022, Section VI-B)."""
LARGEST_LOSS = 1000.0
"""The loss at the hundredth percentile of every record, where attack R interpolates."""
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
    statistic: Literal["logit", "loss", "probability"] = "logit"
    """Which number of an answer is compared: the logit-scaled confidence, the record's log-probability, which is its
    loss with the sign changed, or its probability (Carlini et al. 2022, Section VI-A)."""
    calibration: Literal["likelihood", "mean", "percentile"] = "likelihood"
    """`likelihood`: by two Gaussians, or one offline. `mean`: a mean is taken off and nothing divided: offline that of
    the models not trained on the record (Watson et al. 2022), online the middle of both sides' (Sablayrolles et al.
    2019). `percentile`, offline and of the loss alone: which percentile of the losses of the models not trained on the
    record the target's is, interpolated, between 0 and 1,000 (attack R of Ye et al. 2022, as code of theirs has it)."""
    level: float = Field(default=0.05, gt=0, lt=1)
    """Offline: a record is called a member if at most this chance gave a model not trained on it such confidence."""
    summary: ClassVar[str] = "likelihood ratio on each record (LiRA)"
    added_later: ClassVar[dict[str, Any]] = {
        **PooledAttack.added_later,
        "statistic": "logit",
        "calibration": "likelihood",
    }

    @model_validator(mode="after")
    def _percentile_is_of_losses_offline(self) -> Self:
        if self.calibration == "percentile" and (self.online or self.statistic != "loss"):
            raise ValueError(
                "calibration percentile is of losses of models without a record: online: false and statistic: loss"
            )
        return self

    def refuses(self, pool_count: int) -> str | None:
        if self.variance == "record" and pool_count < 4:
            return f"a record's own variance needs two models with it and two without, a pool of 4; found {pool_count}"
        return None

    def fit_records(self, pool: Pool, seed: int) -> Fitted:
        """Means and variances of the confidence, with and without each record."""
        confidences = [self.number_of(self.attacked_outputs(outputs)) for outputs in pool.candidates]
        if self.calibration == "percentile":
            seen = np.stack(confidences)
            # Models trained on the record come last, as what is not known.
            return {"losses": np.sort(-np.where(pool.masks[:, : seen.shape[1]], np.nan, seen), axis=0).T}
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

    def number_of(self, outputs: Outputs) -> Array:
        """The statistic of each answer, (n,): the larger, the surer is the model of the record's own class."""
        if self.statistic == "logit":
            return confidence(outputs)
        return probability(outputs) if self.statistic == "probability" else log_probability(outputs)

    def scores(self, attacked: Outputs, target: Target, fitted: Fitted, at: Array) -> Array:
        """Log of the likelihood ratio, or standard deviations above the models without the record; by `mean`, how far
        above a mean; by `percentile`, 1 less that of the loss, in [0, 1].
        """
        confidences = self.number_of(attacked)
        of = {name: values[at] for name, values in fitted.items() if name != THRESHOLD}
        if self.calibration == "percentile":
            return 1 - percentiles(-confidences, of["losses"])
        if self.calibration == "mean":
            usual = (of["mean_in"] + of["mean_out"]) / 2 if self.online else of["mean_out"]
            above: Array = confidences - usual
            return above
        outside: Array = (confidences - of["mean_out"]) / of["std_out"]
        if not self.online:
            return outside
        inside = (confidences - of["mean_in"]) / of["std_in"]
        ratio: Array = (outside**2 - inside**2) / 2 + np.log(of["std_out"] / of["std_in"])
        return ratio

    def decide(self, scores: Array) -> Array:
        """By a ratio above 1, a p-value at the level, a number above the mean, or a loss below a percentile."""
        threshold = 0.0 if self.online or self.calibration == "mean" else float(scipy.stats.norm.isf(self.level))
        if self.calibration == "percentile":
            threshold = 1 - self.level
        decisions: Array = scores > threshold
        return decisions


def percentiles(losses: Array, among: Array) -> Array:
    """Which percentile each loss is of its own row of others, (n,) in [0, 1].

    `among`, (n, models), has each row in rising order and ends it with NaN where fewer are known. The k known ones,
    with 0 before and 1,000 after them, stand at 0, 1/(k + 1) and so on up to 1, and lines between them are straight.
    """
    known = (~np.isnan(among)).sum(axis=1)
    ends = np.zeros((len(among), 1))
    steps = np.concatenate(
        [ends, np.where(np.isnan(among), LARGEST_LOSS, np.minimum(among, LARGEST_LOSS)), ends + LARGEST_LOSS], axis=1
    )
    above = np.clip((steps <= losses[:, None]).sum(axis=1), 1, known + 1)
    rows = np.arange(len(losses))
    low, high = steps[rows, above - 1], steps[rows, above]
    between = np.clip((losses - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    found: Array = (above - 1 + between) / (known + 1)
    return found


def _mean(variances: Array) -> float:
    """Of those that are known; 1 where none is, as in a pool of two models."""
    known = variances[np.isfinite(variances)]
    return float(known.mean()) if len(known) else 1.0
