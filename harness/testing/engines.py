"""The contracts of engines, and of training functions that a spec names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from harness.arrays import Array
from harness.hashing import generator
from harness.spec.functions import code_of_function
from harness.testing.nonconformance import check_configuration, require
from harness.training.engine import Engine, Job
from harness.training.engines.function import Function
from harness.training.inference import log_probabilities
from harness.training.model import Model
from harness.training.models.function import NOISE, FunctionModel
from harness.training.models.mlp import Mlp
from harness.training.settings import Training

RECORDS, FEATURES = 60, 5
MUCH = 20.0
"""Multiplier of noise that nobody overlooks."""
Answers = Callable[[Job], Array]


def check_engine(engine: Engine, same: float = 0.0) -> None:
    """Whether an engine keeps the contract: a job always gives the same weights and another seed gives others, whatever
    it is stacked with; labels decide them, and so does noise. Its noise and clipping themselves are audited by
    `harness audit ENGINE`.

    `same`: how far apart the weights of a stack and of single models may be. Raises NonConformance.
    """
    name, model = type(engine).plugin_name(), Mlp(hidden=(4,))
    check_configuration(engine)
    training = Training(engine=name, optimizer="sgd", learning_rate=0.1, batch_size=20, epochs=2)
    refusal = engine.refuses(model, training)
    require(refusal is None, f"{name}: refuses a network of {FEATURES}-4-3: {refusal}")
    job = _job(model, training, 3)
    shapes = [w.shape for w in engine.train(job)]
    expected = [(FEATURES, 4), (4,), (4, 3), (3,)]
    require(
        shapes == expected, f"{name}: weights are kernel and bias of each layer in turn, {expected}; found {shapes}"
    )
    _check_answers(name, lambda one: log_probabilities(model, engine.train(one), one.features), job, True)
    jobs = [replace(job, seed=seed) for seed in (3, 4, 5)]
    for one, stacked in zip(jobs, engine.train_stack(jobs), strict=True):
        apart = max(float(np.abs(a - b).max()) for a, b in zip(stacked, engine.train(one), strict=True))
        require(apart <= same, f"{name}: a model of a stack is {apart:.2g} off from the same one trained by itself")


def check_training_function(where: str, features: int = FEATURES, classes: int = 3, python: str | None = None) -> None:
    """Whether a function, named as `mine.py:train`, can train in a spec: it answers with one probability a class, for
    labels that lack a class too; a seed always gives the same model; and where it takes noise, that is felt.

    `python`: the interpreter that runs it, where it is another one. Raises NonConformance; TrainingError for a function
    that fails.
    """
    file, _, name = where.rpartition(":")
    named = f"{Path(file).name}:{name}"
    code = code_of_function(Path(file).absolute().parent, named)
    for answers in ("probabilities", "logits"):
        model = FunctionModel.model_validate(
            {"path": named, "python": python, "answers": answers, "code_of_file": dict(code)}
        )
        if _answers_with(model, features, classes):
            break
    job = _job(model, Training(engine="function", epochs=3, batch_size=20), classes, features)
    ask = partial(_ask_function, model)
    _check_answers(where, ask, job, code.takes is None or NOISE in code.takes)
    lacking = replace(job, labels=np.minimum(job.labels, classes - 2), n_classes=classes)
    shape = ask(lacking).shape
    require(
        shape == (RECORDS, classes),
        f"{where}: answers with {shape[1]} classes where labels lack one of {classes}; n_classes says how many",
    )


def _answers_with(model: FunctionModel, features: int, classes: int) -> bool:
    job = _job(model, Training(engine="function", epochs=1, batch_size=20), classes, features)
    try:
        _ask_function(model, job)
    except Exception as error:
        if model.answers == "logits" or "no probabilities" not in str(error):
            raise
        return False
    return True


def _ask_function(model: FunctionModel, job: Job) -> Array:
    return log_probabilities(model, Function().train(job), job.features)


def _job(model: Model, training: Training, classes: int, features: int = FEATURES) -> Job:
    rng = generator(0, "conformance", "engine")
    records = rng.normal(size=(RECORDS, features)).astype(np.float32)
    labels = np.arange(RECORDS) % classes
    records[:, 0] += 3 * labels
    return Job(model, training, 0.0, records, labels, classes, 7)


def _check_answers(name: str, ask: Answers, job: Job, takes_noise: bool) -> None:
    first = ask(job)
    require(np.array_equal(first, ask(job)), f"{name}: the same seed gives another model; draw from the seed alone")
    other = replace(job, labels=np.roll(job.labels, 1))
    require(not np.array_equal(first, ask(other)), f"{name}: other labels give the same answers")
    if takes_noise:
        noisy = ask(replace(job, noise_multiplier=MUCH))
        apart = np.abs(np.exp(noisy) - np.exp(first)).mean()
        require(apart > 1e-3, f"{name}: a noise multiplier of {MUCH:g} changes nothing")
        again = ask(replace(job, noise_multiplier=MUCH, seed=8))
        require(not np.array_equal(noisy, again), f"{name}: another seed gives the same noise")
