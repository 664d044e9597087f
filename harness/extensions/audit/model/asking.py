"""The functions of a user, asked in a process of their own: what a model says of records, and models like it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.auditing.trials import ROUGHLY, fault
from harness.errors import HarnessError
from harness.extensions.audit.functions import (
    TRAINING,
    Contract,
    ReportStep,
    load_attribute,
    load_function,
    named_function,
    run_in_process,
)
from harness.extensions.audit.model.columns import label_text
from harness.extensions.audit.model.question import Question
from harness.extensions.audit.model.records import take_rows
from harness.progress import Progress

PREDICTION = Contract("prediction function", ("features",), "probabilities of classes")
ASKED_TWICE = 100
"""Records of which the model is asked a second time, in another order."""

Features = pd.DataFrame | Array


@dataclass(frozen=True)
class ModelAnswer:
    """What a model says of records."""

    log_probabilities: Array
    """(n, classes); minus infinity where a probability is 0."""
    changes: float = 0.0
    """Largest difference between two answers about one record, as probabilities."""
    classes: tuple[str, ...] = ()
    """The labels of its columns, where the model names them: by `classes_`, or by the columns of a data frame."""


@dataclass(frozen=True)
class Job:
    """One model of a pool."""

    inside: Array
    """(n,) bool: the candidate records that it is trained on."""
    seed: int
    copies: Array | None = None
    """(n,) how often it is trained on each of them; None: once."""

    @property
    def rows(self) -> Array:
        """Places of the records that it is trained on, those that are repeated as often as they are."""
        chosen = np.flatnonzero(self.inside)
        return chosen if self.copies is None else np.repeat(chosen, self.copies[chosen])


def ask_model(question: Question, features: Features) -> ModelAnswer:
    """The answers of the audited model on all records. Raises HarnessError for an answer of another form."""
    named_function(question.predict, PREDICTION)
    given = (question.predict, features, question.logits)
    answer = run_in_process(question.predict, _ask, given, 2, "call")
    assert isinstance(answer, ModelAnswer)
    return answer


def train_pool(
    question: Question, features: Features, labels: Array, classes: tuple[str, ...], jobs: list[Job], progress: Progress
) -> list[Array]:
    """Log-probabilities, (n, classes), of each model of a pool on all records.

    Raises HarnessError where the training function fails, or gives what cannot be asked.
    """
    assert question.train is not None
    given = (question.train, features, labels, classes, jobs, question.logits)
    answers = run_in_process(question.train, _train_and_ask, given, len(jobs), "model", progress)
    assert isinstance(answers, list)
    return answers


# --- in that process


def _ask(report_step: ReportStep, where: str, features: Features, logits: bool) -> ModelAnswer:
    path, name = named_function(where, PREDICTION)
    predict, classes = _load_predictor(path, name)
    report_step(1)
    answer = _call(name, predict, features.copy())
    logp = log_probabilities(answer, len(features), logits, name)
    _check_sort(answer, logits, name)
    report_step(2)
    asked = np.arange(len(features))[::-1][:ASKED_TWICE]
    again = log_probabilities(_call(name, predict, take_rows(features, asked)), len(asked), logits, name)
    if again.shape[1] != logp.shape[1]:
        raise HarnessError(f"{name} gives {logp.shape[1]} classes, and {again.shape[1]} for other records")
    return ModelAnswer(
        logp, float(np.abs(np.exp(again) - np.exp(logp[asked])).max()), classes or _columns_named(answer)
    )


def _load_predictor(path: Path, name: str) -> tuple[Callable[..., object], tuple[str, ...]]:
    """The function of that name, or `predict_proba` of the model that has it, with its classes; else no classes."""
    _, given = load_attribute(path, name)
    predict = None if isinstance(given, type) else getattr(given, "predict_proba", None)
    if not callable(predict):
        return load_function(path, name, PREDICTION), ()
    return predict, tuple(label_text(value) for value in getattr(given, "classes_", ()))


def _columns_named(answer: object) -> tuple[str, ...]:
    """What a data frame calls its columns; nothing where it only numbers them."""
    if not isinstance(answer, pd.DataFrame) or isinstance(answer.columns, pd.RangeIndex):
        return ()
    return tuple(label_text(value) for value in answer.columns)


def _check_sort(answer: object, logits: bool, name: str) -> None:
    """Raises HarnessError for labels that are taken for probabilities, and for probabilities taken for logits."""
    values = np.asarray(answer)
    alone = values.ndim == 1 or values.shape[1] == 1
    if logits:
        inside = bool(((values >= 0) & (values <= 1)).all())
        if inside and (alone or np.abs(values.sum(axis=1) - 1).max() <= ROUGHLY):
            right = ", or give a column each class" if alone else ""
            raise HarnessError(
                f"{name} gives numbers from 0 to 1{'' if alone else ' that sum to one'} for every record: these are "
                f"probabilities; leave --logits out{right}"
            )
    elif alone and bool(((values == 0) | (values == 1)).all()):
        raise HarnessError(
            f"{name} gives 0 or 1 alone for every record: labels, as by predict; give probabilities, as by "
            "predict_proba, or for a model that is always sure a column each class"
        )


def _train_and_ask(
    report_step: ReportStep,
    where: str,
    features: Features,
    labels: Array,
    classes: tuple[str, ...],
    jobs: list[Job],
    logits: bool,
) -> list[Array]:
    path, name = named_function(where)
    train, answers = load_function(path, name, TRAINING), []
    for number, job in enumerate(jobs, 1):
        report_step(number)
        chosen = job.rows
        try:
            model = _call(name, train, take_rows(features, chosen), labels[chosen].copy(), job.seed)
            answers.append(_ask_trained(model, features, classes, logits))
        except HarnessError as error:
            raise HarnessError(f"model {number}: {error}") from error
    return answers


def _ask_trained(model: object, features: Features, classes: tuple[str, ...], logits: bool) -> Array:
    """By `predict_proba` where the model has it, else as the function that it is."""
    predict = getattr(model, "predict_proba", None)
    if predict is None and not callable(model):
        raise HarnessError(
            f"the training function gives {type(model).__name__}; a function that predicts, or a model with "
            "predict_proba, is right"
        )
    by_model = predict is not None
    what = "predict_proba" if by_model else "the function that it gives"
    answer = _call(what, predict if by_model else model, features.copy())  # type: ignore[arg-type]
    logp = log_probabilities(answer, len(features), logits and not by_model, what)
    own = [label_text(value) for value in getattr(model, "classes_", classes)]
    if by_model and own != list(classes) and len(own) == logp.shape[1] and set(own) <= set(classes):
        spread = np.full((len(logp), len(classes)), -np.inf)
        spread[:, [classes.index(value) for value in own]] = logp
        logp = spread
    if logp.shape[1] != len(classes):
        raise HarnessError(f"{what} gives {logp.shape[1]} classes; the model that is audited gives {len(classes)}")
    return logp


def _call(name: str, function: Callable[..., object], *arguments: object) -> object:
    """Raises HarnessError for whatever the function raises, `sys.exit` too."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise HarnessError(f"{name} raised {fault(error)}") from error


def log_probabilities(answer: object, n: int, logits: bool, name: str) -> Array:
    """From probabilities or logits, (n, classes), or of the second of two classes (n,), to their logarithms.

    Raises HarnessError for another shape, for what is no number, and for what does not sum to one.
    """
    values = _as_numbers(answer, name)
    wanted = f"({n}, classes), or ({n},) for the second of two classes, is right"
    if values.ndim not in (1, 2) or len(values) != n or not values.size:
        raise HarnessError(f"{name} gives shape {values.shape} for {n} records; {wanted}")
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise HarnessError(f"{name} gives {_first(values[row])} for record {row + 1}; finite numbers are right")
    alone, second = values.ndim == 1 or values.shape[1] == 1, values.reshape(-1)
    if alone:
        values = np.stack([np.zeros(n) if logits else 1 - second, second], axis=1)
    if logits:
        top = values - values.max(axis=1, keepdims=True)
        logp: Array = top - np.log(np.exp(top).sum(axis=1, keepdims=True))
        return logp
    sums = values.sum(axis=1)
    wrong = (values < -ROUGHLY).any(axis=1) | (values > 1 + ROUGHLY).any(axis=1) | (np.abs(sums - 1) > ROUGHLY)
    if wrong.any():
        row = int(np.argmax(wrong))
        if alone and bool((second == np.round(second)).all()):
            raise HarnessError(
                f"{name} gives {second[row]:g} for record {row + 1} and whole numbers alone: labels, as by predict; "
                "give probabilities of classes, as by predict_proba"
            )
        raise HarnessError(
            f"{name} gives {_first(values[row])} for record {row + 1}, which sums to {sums[row]:.3g}: no probabilities "
            "of classes; say --logits if these are logits"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.clip(values, 0.0, 1.0)))


def _as_numbers(answer: object, name: str) -> Array:
    try:
        values = np.asarray(answer)
    except Exception as error:
        raise HarnessError(
            f"{name} gives {type(answer).__name__}, which is no array ({fault(error)}); give one of NumPy, as by "
            "tensor.detach().cpu().numpy()"
        ) from error
    if values.dtype.kind not in "biuf":
        raise HarnessError(f"{name} gives {type(answer).__name__} ({values.dtype}); an array of numbers is right")
    return values.astype(np.float64)


def _first(row: Array) -> str:
    return np.array2string(np.atleast_1d(row)[:5], precision=3, separator=", ")
