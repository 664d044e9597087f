"""The robust membership inference attack, RMIA (Zarifzadeh, Liu and Shokri 2024, Section 3)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted
from harness.attacks.pool import Pool
from harness.attacks.pooled import PooledAttack, moments_by_record, probability
from harness.attacks.target import Target
from harness.metrics.answers import Outputs


@ATTACKS.register
class Rmia(PooledAttack):
    """Against how many other records does the target favour this one, compared with the models of the pool?

    The ratio of a record x to one z of the population is (p(x | target) / p(x)) / (p(z | target) / p(z)); the score
    is the share of z for which it is at least `gamma`. The target's test records are the population.
    """

    kind: Literal["rmia"] = "rmia"
    online: bool = True
    """True: p(x) is the mean over models trained on x and not, half each; False: from those that were not, by `a`."""
    a: float = Field(default=0.3, ge=0, le=1)
    """Offline: models trained on x are taken to have p = a p_out + 1 - a, for x and z alike."""
    gamma: float = Field(default=2.0, ge=1)
    """How much more than z a record must be favoured."""
    beta: float = Field(default=0.5, ge=0, le=1)
    """A record is called a member if it is favoured over more than this share of the population."""
    summary: ClassVar[str] = "pairwise likelihood ratios (RMIA)"

    def fit_records(self, pool: Pool, seed: int) -> Fitted:
        """p(x) of the attacked records and p(z) of the test records."""
        mean_in, _, mean_out, _ = moments_by_record(
            [probability(self.attacked_outputs(outputs)) for outputs in pool.candidates], pool
        )
        others = np.mean([probability(model.test) for model in pool], axis=0)
        if self.online:
            return {"candidates": (mean_in + mean_out) / 2, "population": others}
        without = {"candidates": mean_out, "population": others}
        return {name: ((1 + self.a) * p + 1 - self.a) / 2 for name, p in without.items()}

    def scores(self, attacked: Outputs, target: Target, fitted: Fitted, at: Array) -> Array:
        """Share of the population that it is favoured over, in [0, 1]."""
        own = probability(attacked) / fitted["candidates"][at]
        others = np.sort(probability(target.test) / fitted["population"])
        shares: Array = np.searchsorted(others, own / self.gamma, side="right") / len(others)
        return shares

    def decide(self, scores: Array) -> Array:
        decisions: Array = scores > self.beta
        return decisions
