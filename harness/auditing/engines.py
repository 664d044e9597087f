"""An engine of this package as the training function of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import harness.training.engines  # noqa: F401  (registers them)
from harness.arrays import Array
from harness.errors import HarnessError
from harness.formulas.gaussian import exact_noise_multiplier
from harness.hashing import generator
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.training.engine import ENGINES, Job
from harness.training.forward import initial_weights
from harness.training.model import Weights
from harness.training.models.logistic import Logistic
from harness.training.settings import Training

LEARNING_RATE = 1e-3
"""So small that the canary's gradient is clipped at every step: what it leaves does not depend on how much that is."""


@dataclass(frozen=True)
class Question:
    """DP-SGD on a linear model, and what is claimed of it."""

    epsilon: float
    delta: float = 1e-5
    records: int = 64
    batch_size: int = 64
    epochs: int = 10
    accountant: str = "pld"

    def noise_multiplier(self) -> float:
        """Noise that the accountant asks for, for Poisson sampling and add/remove-one neighbours."""
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
            noise = float(np.sqrt(question.epochs)) * exact_noise_multiplier(question.epsilon, question.delta)
        else:
            run = Run(question.records, question.batch_size, question.epochs, question.delta)
            accountant = ACCOUNTANTS[question.accountant]
            noise = accountant.calibrate(question.epsilon, run, "add-remove-one", "poisson")
    except (ValueError, ArithmeticError):
        noise = float("nan")
    if not 0 < noise < float("inf"):
        raise HarnessError(
            f"audit: no noise multiplier can be found for epsilon {question.epsilon:g} at delta {question.delta:g}"
        )
    return noise


class EngineTraining:
    """Training of logistic regression by an engine, as a training function; its initial weights are no secret."""

    def __init__(self, name: str, question: Question, **changed: object) -> None:
        """`changed` are fields of the engine's settings. Raises HarnessError for an unknown engine."""
        if name not in ENGINES.names():
            raise HarnessError(f"audit: unknown engine {name!r}; known: {', '.join(ENGINES.names())}")
        self.engine, self.training = ENGINES[name](), question.training(name, **changed)
        self.sigma = question.noise_multiplier()

    def __call__(self, jobs: Sequence[tuple[Array, Array, int]]) -> list[Weights]:
        return self.engine.train_stack([Job(Logistic(), self.training, self.sigma, x, y, 2, s) for x, y, s in jobs])

    def initial(self, columns: int, seed: int) -> Weights:
        """Weights before the first step of the run with this seed."""
        return initial_weights(Logistic(), columns, 2, generator(seed, "weights"))
