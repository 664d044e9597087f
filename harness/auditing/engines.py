"""An engine of this package as the training function of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import harness.training.engines  # noqa: F401  (registers them)
from harness.arrays import Array
from harness.errors import HarnessError
from harness.formulas.formula import Adjacency
from harness.formulas.gaussian import exact_noise_multiplier
from harness.hashing import generator
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.training.engine import ENGINES, Job
from harness.training.forward import initial_weights, log_probabilities
from harness.training.model import Model, Weights
from harness.training.models.logistic import Logistic
from harness.training.models.mlp import Mlp
from harness.training.settings import Training

LEARNING_RATE = 1e-3
"""So small that the canary's gradient is clipped at every step: what it leaves does not depend on how much that is."""
NETWORK_LEARNING_RATE = 0.5
"""So large that a network learns: what training changes outweighs what initial weights make of the canary's loss."""


@dataclass(frozen=True)
class Question:
    """DP-SGD on a linear model, and what is claimed of it."""

    epsilon: float
    delta: float = 1e-5
    records: int = 64
    batch_size: int = 64
    epochs: int = 10
    accountant: str = "pld"
    adjacency: Adjacency = "add-remove-one"

    def noise_multiplier(self) -> float:
        """Noise that the accountant asks for, for Poisson sampling; exact where every batch is of all records."""
        if self.accountant not in ACCOUNTANTS:
            known = ", ".join(sorted(ACCOUNTANTS))
            raise HarnessError(f"audit: unknown accountant {self.accountant!r}; known: {known}")
        return _calibrate_noise(self)

    def training(self, engine: str, **changed: object) -> Training:
        """Plain steps of Poisson batches."""
        settings = {
            "engine": engine,
            "optimizer": "sgd",
            "learning_rate": LEARNING_RATE,
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "sampling": "poisson",
        }
        return Training.model_validate({**settings, **changed})


@cache
def _calibrate_noise(question: Question) -> float:
    """Raises HarnessError where there is no such noise within the reach of double precision."""
    try:
        if question.batch_size == question.records:  # Gaussian mechanisms on everything: the closed form
            sensitivity = 2 if question.adjacency == "replace-one" else 1
            steps = float(np.sqrt(question.epochs))
            noise = sensitivity * steps * exact_noise_multiplier(question.epsilon, question.delta)
        else:
            run = Run(question.records, question.batch_size, question.epochs, question.delta)
            accountant = ACCOUNTANTS[question.accountant]
            noise = accountant.calibrate(question.epsilon, run, question.adjacency, "poisson")
    except (ValueError, ArithmeticError):
        noise = float("nan")
    if not 0 < noise < float("inf"):
        raise HarnessError(
            f"audit: no noise multiplier can be found for epsilon {question.epsilon:g} at delta {question.delta:g}"
        )
    return noise


class EngineModel(list[Array]):
    """Weights that an engine trained, with the probabilities that they give."""

    def __init__(self, model: Model, weights: Weights) -> None:
        super().__init__(weights)
        self.model = model

    def predict_proba(self, features: Array) -> Array:
        """Of two classes, (n, 2)."""
        return np.exp(log_probabilities(self.model, self, features))


class EngineTraining:
    """Training by an engine, as a training function: of logistic regression, or of a network where it has layers.

    Initial weights are no secret.
    """

    def __init__(self, name: str, question: Question, hidden: tuple[int, ...] = (), **changed: object) -> None:
        """`hidden` are widths of layers, `changed` fields of the engine's settings.

        Raises HarnessError for an unknown engine.
        """
        if name not in ENGINES.names():
            raise HarnessError(f"audit: unknown engine {name!r}; known: {', '.join(ENGINES.names())}")
        self.model: Model = Mlp(hidden=hidden) if hidden else Logistic()
        rate = {"learning_rate": NETWORK_LEARNING_RATE} if hidden else {}
        self.engine, self.training = ENGINES[name](), question.training(name, **{**rate, **changed})
        if not self.engine.cuts_batches:
            raise HarnessError(f"audit: {name} is an engine of spec files alone; audit the function: FILE.py:FUNCTION")
        self.sigma = question.noise_multiplier()

    def __call__(self, jobs: Sequence[tuple[Array, Array, int]]) -> list[EngineModel]:
        stack = [Job(self.model, self.training, self.sigma, x, y, 2, s) for x, y, s in jobs]
        return [EngineModel(self.model, weights) for weights in self.engine.train_stack(stack)]

    def initial(self, columns: int, seed: int) -> EngineModel:
        """Weights before the first step of the run with this seed."""
        return EngineModel(self.model, initial_weights(self.model, columns, 2, generator(seed, "weights")))
