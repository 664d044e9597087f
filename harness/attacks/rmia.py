"""The robust membership inference attack, RMIA (Zarifzadeh, Liu and Shokri 2024, Section 3)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted
from harness.attacks.pool import Pool
from harness.attacks.pooled import PooledAttack, moments_by_record, probability
from harness.attacks.target import Target
from harness.metrics.answers import Outputs

Signal = Literal["softmax", "soft-margin", "taylor", "soft-margin-taylor"]
LOWEST = -700.0
"""Log-probabilities are at least this where a polynomial is taken of them: no probability of double precision is 0."""


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
    signal: Signal = "softmax"
    """What p is: the `softmax` probability of a record's class; with `soft-margin`, `margin` is taken off the class's
    own logit; with `taylor`, a polynomial stands for the exponential function; `soft-margin-taylor` is both, which the
    authors' code takes."""
    temperature: float = Field(default=1.0, gt=0)
    """Logits are divided by it; the authors' code takes 2. A model that is sure of every record is less so with it."""
    margin: float = Field(default=0.6, ge=0)
    """The soft margin, taken off after the division."""
    order: int = Field(default=4, ge=2)
    """Degree of the Taylor polynomial, an even number, since odd ones are negative for small logits; the authors' code
    has the powers up to 3 where its order is 4."""
    added_later: ClassVar[dict[str, Any]] = {
        **PooledAttack.added_later,
        "signal": "softmax",
        "temperature": 1.0,
        "margin": 0.6,
        "order": 4,
    }
    summary: ClassVar[str] = "pairwise likelihood ratios (RMIA)"

    @model_validator(mode="after")
    def _order_is_even(self) -> Self:
        if self.order % 2:
            raise ValueError(f"order is {self.order}; a polynomial that is nowhere negative has an even one")
        return self

    def likelihood(self, outputs: Outputs) -> Array:
        """What p is of each record, (n,), in [0, 1]."""
        if self.signal == "softmax" and self.temperature == 1:
            return probability(outputs)
        margin = self.margin if self.signal.startswith("soft-margin") else 0.0
        if self.signal.endswith("taylor"):
            return taylor_likelihood(outputs, self.temperature, margin, self.order)
        return softmax_likelihood(outputs, self.temperature, margin)

    def fit_records(self, pool: Pool, seed: int) -> Fitted:
        """p(x) of the attacked records and p(z) of the test records."""
        mean_in, _, mean_out, _ = moments_by_record(
            [self.likelihood(self.attacked_outputs(outputs)) for outputs in pool.candidates], pool
        )
        others = np.mean([self.likelihood(model.test) for model in pool], axis=0)
        if self.online:
            return {"candidates": (mean_in + mean_out) / 2, "population": others}
        without = {"candidates": mean_out, "population": others}
        return {name: ((1 + self.a) * p + 1 - self.a) / 2 for name, p in without.items()}

    def scores(self, attacked: Outputs, target: Target, fitted: Fitted, at: Array) -> Array:
        """Share of the population that it is favoured over, in [0, 1]."""
        own = self.likelihood(attacked) / fitted["candidates"][at]
        others = np.sort(self.likelihood(target.test) / fitted["population"])
        shares: Array = np.searchsorted(others, own / self.gamma, side="right") / len(others)
        return shares

    def decide(self, scores: Array) -> Array:
        decisions: Array = scores > self.beta
        return decisions


def softmax_likelihood(outputs: Outputs, temperature: float, margin: float = 0.0) -> Array:
    """Softmax of logits over a temperature, of each record's class, (n,), less a margin on that class's own logit.

    The logits need not be known, since all of them may be moved by one number. No digits are lost near 1, where the
    other classes are summed by themselves.
    """
    logp = outputs.log_probabilities.astype(np.float64)
    own = np.take_along_axis(logp, outputs.labels[:, None], axis=1)
    with np.errstate(invalid="ignore"):
        behind = np.where(np.isneginf(logp), -np.inf, (logp - own) / temperature)
    np.put_along_axis(behind, outputs.labels[:, None], -np.inf, axis=1)
    likelihoods: Array = np.exp(-np.logaddexp(0.0, margin + np.logaddexp.reduce(behind, axis=1)))
    return likelihoods


def taylor_likelihood(outputs: Outputs, temperature: float, margin: float, order: int) -> Array:
    """The same with a Taylor polynomial of an even degree in place of the exponential function, (n,).

    A polynomial depends on by how much all logits are moved, which log-probabilities do not say: here a record's logits
    have mean 0 over the classes. That is this project's choice; the authors' code takes them as the model gives them.
    """
    logits = np.maximum(outputs.log_probabilities.astype(np.float64), LOWEST)
    logits = (logits - logits.mean(axis=1, keepdims=True)) / temperature
    weights = _taylor(logits, order)
    own = _taylor(np.take_along_axis(logits, outputs.labels[:, None], axis=1) - margin, order)
    np.put_along_axis(weights, outputs.labels[:, None], own, axis=1)
    likelihoods: Array = own[:, 0] / weights.sum(axis=1)
    return likelihoods


def _taylor(values: Array, order: int) -> Array:
    """1 + x + x^2 / 2 + ... up to x^order / order!, of each value."""
    total = np.ones_like(values)
    for power in range(order, 0, -1):
        total = 1 + values / power * total
    return total
