"""The attribute inference attack of Yeom et al. 2018 (jayaraman2019 Sections 3.2 and 4.1).

The adversary knows a record but for one attribute, and asks the model for its loss with each candidate value.

Two numbers go by the name of attribute advantage. Yeom et al. define the difference, between members and others, of
the rate of correct guesses: what training on a record adds. The code released with jayaraman2019 (of 2019) reports
the rate of guesses "high" among records whose value is high less that among records whose value is low, over
members and others together: what the model tells of any record, trained on or not. Both are measured.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, NonNegativeInt

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Attack, Fitted
from harness.attacks.target import AttackResult, Target
from harness.errors import AttacksError
from harness.hashing import generator
from harness.metrics.value import Value, average, share


@ATTACKS.register
class AttributeInference(Attack):
    """Guesses the value for which the model's loss fits best, of each of a few attributes chosen at random.

    A record's true value is "high" above the attribute's median over all records attacked, "low" else; of two values
    that an attribute takes, the larger is "high".
    """

    kind: Literal["attribute-inference"] = "attribute-inference"
    attributes: int = Field(default=5, ge=1)
    """Attributes attacked one at a time; metrics are means over them."""
    seed: int = Field(default=0, ge=0)
    """Chooses the attributes, among those that vary: the same for every target of a spec."""
    columns: tuple[NonNegativeInt, ...] | None = Field(
        default=None, min_length=1, exclude_if=lambda columns: columns is None
    )
    """Attributes by their number among the features that models see, from 0; None: as many as `attributes`, drawn."""
    rule: Literal["smallest-loss", "closest-to-training-loss", "density"] = "smallest-loss"
    """The guess has the smallest loss; or the one nearest to the target's mean training loss; or the largest product
    of the value's share among the records and a normal density, N(0, mean training loss), of the loss."""
    candidates: Literal["quantiles", "distinct-quantiles"] = "quantiles"
    """The two values tried: the 25% and 75% quantiles of all values, or of the distinct values; of an attribute that
    takes two values, `distinct-quantiles` tries these."""
    least_posterior: float = Field(default=0.0, ge=0, lt=1, exclude_if=lambda least: least == 0)
    """A posterior below this counts as this in a loss, so two values that both have less are a tie."""

    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "attribute inference (Yeom et al.)"

    @property
    def measures(self) -> tuple[str, ...]:
        return ("advantage", "correct_members", "correct_nonmembers", "value_advantage")

    def choose_columns(self, features: Array) -> Array:
        """Columns attacked, of features (n, d): those that are named, else drawn among those that vary.

        Raises AttacksError for one that is named and is not there, or does not vary.
        """
        if self.columns is not None:
            d = features.shape[1]
            if not all(0 <= column < d for column in self.columns):
                raise AttacksError(
                    f"{self.kind}: columns {list(self.columns)}: models see {d} features, numbered from 0 to {d - 1}"
                )
            named = np.array(self.columns)
            if not (features[:, named].min(axis=0) < features[:, named].max(axis=0)).all():
                raise AttacksError(
                    f"{self.kind}: columns {list(self.columns)}: one of them has the same value in every record; "
                    "name others"
                )
            return named
        varying = np.flatnonzero(features.min(axis=0) < features.max(axis=0))
        order = generator(self.seed, "attributes", features.shape[1]).permutation(features.shape[1])
        return order[np.isin(order, varying)][: self.attributes]

    def values_tried(self, column: Array) -> tuple[float, float]:
        """The low and the high candidate of one attribute's values (n,)."""
        pool = column if self.candidates == "quantiles" else np.unique(column)
        if self.candidates == "distinct-quantiles" and len(pool) == 2:
            return float(pool[0]), float(pool[1])
        low, high = np.quantile(pool, (0.25, 0.75))
        return float(low), float(high)

    @staticmethod
    def is_high(column: Array) -> Array:
        """Whether each of an attribute's values (n,) is high."""
        distinct: Array = np.unique(column)
        return column == distinct[1] if len(distinct) == 2 else column > np.quantile(column, 0.5)

    def guess_high(self, low: Array, high: Array, training_loss: float, share_high: float) -> Array:
        """Whether the guess is the high value, (n,), from the losses (n,) with either; a tie is a low guess."""
        guesses: Array
        if self.rule == "smallest-loss":
            guesses = high < low
        elif self.rule == "closest-to-training-loss":
            guesses = np.abs(high - training_loss) < np.abs(low - training_loss)
        else:
            spread = max(training_loss, 1e-12)
            prior = np.log(max(share_high, 1e-12)) - np.log(max(1 - share_high, 1e-12))
            guesses = prior + (low**2 - high**2) / (2 * spread**2) > 0
        return guesses

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        inside, outside = target.features()
        m, n = len(inside), len(outside)
        features = np.concatenate([inside, outside])
        labels = np.concatenate([target.members.labels, target.nonmembers.labels])
        training_loss = float(target.members.losses().mean())
        columns = self.choose_columns(features)
        if len(columns) == 0:
            raise AttacksError(f"{self.kind}: no attribute varies over the records")
        correct, values = np.zeros((len(columns), m + n)), []
        for i, column in enumerate(columns):
            truth = self.is_high(features[:, column])
            low, high = (
                self._losses(target, features, labels, column, value)
                for value in self.values_tried(features[:, column])
            )
            guess = self.guess_high(low, high, training_loss, float(truth.mean()))
            correct[i] = guess == truth
            on_high, on_low = share(guess[truth]), share(guess[~truth])
            values.append((on_high.value - on_low.value, np.hypot(on_high.stderr, on_low.stderr)))
        averages = correct.mean(axis=0)  # a record's attributes share its label, so records are what is drawn
        hit, other = (average(part) for part in (averages[:m], averages[m:]))
        metrics = {
            "advantage": Value(hit.value - other.value, float(np.hypot(hit.stderr, other.stderr)), m + n),
            "correct_members": hit,
            "correct_nonmembers": other,
        }
        worth, errors = (np.array(v) for v in zip(*values, strict=True))
        # Attributes are guessed from the same records: their errors are added as if they moved together.
        metrics["value_advantage"] = Value(float(worth.mean()), float(errors.mean()), m + n)
        return AttackResult({"attributes": columns.astype(np.int64)}, metrics)

    def _losses(self, target: Target, features: Array, labels: Array, column: int, value: float) -> Array:
        tried = features.copy()
        tried[:, column] = value
        losses = target.query(tried, labels).losses()
        return np.minimum(losses, -np.log(self.least_posterior)) if self.least_posterior else losses
