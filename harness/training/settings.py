"""The settings of an optimisation in a spec.

The module has no arithmetic, so that a new field renames no cell that does not use it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from harness.config import Config
from harness.identity import canonical, without_defaults

# What a spec may write for an update rule, for how batches are drawn, for what is clipped, for when test accuracy is
# measured.
Optimizer = Literal["adam", "sgd", "momentum"]
Sampling = Literal["shuffle", "poisson"]
Clipping = Literal["per-example", "batch"]
EpochsMeasured = Literal["last", "each"]

ADDED_LATER: dict[str, Any] = {
    "momentum": 0.9,
    "clipping": "per-example",
    "epochs_measured": "last",
    "early_stopping": None,
}
"""Fields that came after cells had been named: at these values they stay out of a cell's name and seed."""

# Fields that came after specs had been accepted: at their values of `ADDED_LATER` they stay out of a spec's dump too.
NOT_DUMPED = ("epochs_measured", "early_stopping")


class EarlyStopping(Config):
    """Training ends when records that the model is not trained on say that it no longer improves.

    They are the arm's test records, of a shadow model those that it is not trained on. Noise is calibrated for all
    `epochs`: whoever stops earlier has spent less.
    """

    watch: Literal["loss", "accuracy"] = "loss"
    """What has to improve."""
    patience: int = Field(default=5, ge=1)
    """Epochs without improvement after which training ends."""
    keep: Literal["best", "last"] = "best"
    """The weights after the best epoch, or after the last one."""


class Training(Config):
    """The optimisation of a model (humphries2020 Section 4.1 unless a spec says otherwise)."""

    engine: str = "tf-privacy"
    """The engine that trains: a registered name."""
    optimizer: Optimizer = "adam"
    """Update rule fed with the noisy mean gradient."""
    learning_rate: float = Field(default=0.01, gt=0)
    """Step size."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the velocity; for `optimizer: momentum` alone."""
    batch_size: int = Field(default=200, gt=0)
    """Records a step (the expected number under `sampling: poisson`); a last incomplete batch is left out."""
    epochs: int = Field(default=100, gt=0)
    """Passes over the training set."""
    l2_norm_clip: float = Field(default=1.0, gt=0)
    """Clipping norm of each record's gradient (unused without noise)."""
    clipping: Clipping = "per-example"
    """`per-example`, or `batch`: the mean gradient of a batch is clipped as one (jayaraman2019 Figure 1)."""
    sampling: Sampling = "shuffle"
    """`shuffle`: batches are cut from a fresh permutation each epoch; `poisson`: a coin a record and batch."""

    epochs_measured: EpochsMeasured = "last"
    """`each`: the accuracy on test records after each epoch is measured too, for `best_accuracy_test`."""

    early_stopping: EarlyStopping | None = None
    """When training ends before its last epoch; null: never."""

    @model_validator(mode="after")
    def _check_consistency(self) -> Training:
        if self.early_stopping is not None and self.early_stopping.patience >= self.epochs:
            raise ValueError(
                f"early_stopping: with a patience of {self.early_stopping.patience} no training of {self.epochs} "
                "epochs can end early; a patience below the epochs would"
            )
        if self.clipping == "batch" and self.sampling == "poisson":
            raise ValueError("clipping: batch needs batches of one size; use sampling: shuffle")
        return self

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields but for those that came after specs had been accepted, so that their names stay as they were."""
        fields: dict[str, Any] = dump(self)
        return {k: v for k, v in fields.items() if k not in NOT_DUMPED or v != ADDED_LATER[k]}

    def without_noise(self) -> Training:
        """The training of models without noise, which clip nothing: how they would does not name them."""
        return self.model_copy(update={"clipping": type(self).model_fields["clipping"].default})

    def content(self) -> dict[str, Any]:
        """The fields that are hashed into a cell's name."""
        return without_defaults(canonical(self), ADDED_LATER)
