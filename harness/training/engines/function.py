"""The engine of training functions of the user's own."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.training.engine import ENGINES, AfterEpoch, Engine, Job
from harness.training.function_process import train_by_function
from harness.training.model import Model, Weights
from harness.training.models.function import FunctionModel
from harness.training.settings import Training


def _whole(value: bool | int | float | str) -> bool | int | float | str:
    """A whole number as an integer: the values of an axis are floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


@ENGINES.register
class Function(Engine):
    """Whatever a function of the user's own does, in a process of its own."""

    kind: Literal["function"] = "function"
    modules: ClassVar[tuple[str, ...]] = ("harness.training.function_child", "harness.training.function_process")
    cuts_batches: ClassVar[bool] = False

    def modules_for(self, model: Model) -> tuple[str, ...]:
        return tuple(sorted({*self.modules, type(model).__module__}))

    def refuses(self, model: Model, training: Training) -> str | None:
        if not isinstance(model, FunctionModel):
            return "training.engine: function trains model: {kind: function, path: FILE.py:FUNCTION}"
        if model.code_of_file is None:
            return "model.path: is one function; an axis cannot vary it"
        if training.early_stopping is not None or training.epochs_measured == "each":
            return "engine function is not looked at between epochs; leave early_stopping and epochs_measured out"
        return None

    def train(self, job: Job, after_epoch: AfterEpoch | None = None) -> Weights:
        """The arrays that the function returned; of a function that returns a model, one number that stands for it in
        the function's process."""
        model = job.model
        assert isinstance(model, FunctionModel)
        settings = {
            "n_classes": job.n_classes,
            "seed": job.seed % 2**32,
            "epochs": job.training.epochs,
            "batch_size": job.training.batch_size,
            "learning_rate": job.training.learning_rate,
            "optimizer": job.training.optimizer,
            "noise_multiplier": float(job.noise_multiplier),
            "l2_norm_clip": job.training.l2_norm_clip,
            **{name: _whole(value) for name, value in model.arguments.items()},
        }
        records, labels = np.asarray(job.features, np.float32), np.asarray(job.labels, np.int64)
        return train_by_function(model, records, labels, job.seed, settings)
