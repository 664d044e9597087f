"""Run a training function with and without a canary, many times, and score what it left behind."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harness.arrays import Array
from harness.auditing.auditor import Trials
from harness.auditing.canaries import CanaryRecords
from harness.errors import HarnessError
from harness.hashing import derive_seed
from harness.progress import Progress

Score = Literal["weights", "loss"]
Train = Callable[[Array, Array, int], object]
"""From features (n, d), labels (n,) and a seed to a model."""
TrainMany = Callable[[Sequence[tuple[Array, Array, int]]], Sequence[object]]
"""The same for several sets of records at once."""
AT_ONCE = 64
ROUGHLY = 0.01
"""How far what a model gives may be from probabilities: half precision, and rounding by the user."""
MOST_RUNS = 10_000_000
OWN = f"{Path(__file__).parents[1]}{os.sep}"
"""Where this package's files are."""


def one_at_a_time(train: Train) -> TrainMany:
    """A function that trains several models, from one that trains one, whose errors become HarnessErrors."""
    begun = 0

    def train_many(jobs: Sequence[tuple[Array, Array, int]]) -> list[object]:
        nonlocal begun
        models = []
        for features, labels, seed in jobs:
            begun += 1
            try:
                models.append(train(features, labels, seed))
            except HarnessError:
                raise
            except BaseException as error:  # sys.exit() too, which would end the audit without a word
                if isinstance(error, KeyboardInterrupt):
                    raise
                raise HarnessError(f"audit: run {begun}: the training function raised {fault(error)}") from error
        return models

    return train_many


def fault(error: BaseException, path: Path | None = None) -> str:
    """Describe an error in the user's code in one line: its type, message and place.

    `path`: the file whose line is given; default: that of the function that was called first.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    detail = f": {lines[0]}" if lines else ""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({_relative_path(error.filename)}:{error.lineno})"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(("<frozen", OWN))]
    folder = path.resolve().parent if path is not None else Path(frames[0].filename).parent if frames else None
    inside = [frame for frame in frames if folder is not None and Path(frame.filename).is_relative_to(folder)]
    if path is not None and not inside:
        return f"{type(error).__name__}{detail} ({path})"
    at = (inside or frames)[-1:]
    return f"{type(error).__name__}{detail}" + "".join(f" ({_relative_path(f.filename)}:{f.lineno})" for f in at)


def _relative_path(name: str) -> str:
    """A file's path relative to the current folder."""
    path = Path(name)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def score_of(model: object, records: CanaryRecords, score: Score) -> float:
    """How much a model looks as if it had seen the canary.

    `weights`: what a linear model's weights on the canary's column say for the canary's label; of arrays (kernel (d, k)
    first, or (d,) of two classes), a model with `coef_` (scikit-learn) or with `get_weights()` (Keras). `loss`: minus
    the loss of the canary, by `predict_proba` or `predict` (probabilities). Raises HarnessError where the model has
    neither, or what it gives is nothing of the sort.
    """
    if score == "weights":
        return _score_by_weights(kernel_of(model, records), records)
    return float(label_log_probabilities(model, records.canary[None], np.array([records.canary_label]))[0])


def score_change(model: object, start: object | None, records: CanaryRecords, score: Score) -> float:
    """`score_of` a model, less that of the weights that it started from, where these are known."""
    known = start is not None and (score == "weights" or hasattr(start, "predict_proba"))
    return score_of(model, records, score) - (score_of(start, records, score) if known else 0.0)


def kernel_of(model: Any, records: CanaryRecords) -> Array:
    """A linear model's weights (d, k), one column a class; one column for the second of two is made two."""
    weights: Array
    try:
        if hasattr(model, "coef_"):
            weights = np.atleast_2d(_numbers(model.coef_)).T
        elif isinstance(model, np.ndarray) and model.ndim == 2:
            weights = _numbers(model)
        else:
            weights = _numbers((model.get_weights() if hasattr(model, "get_weights") else model)[0])
    except Exception as error:
        raise _missing_score_error(
            "weights",
            f"is no list of arrays and has neither coef_ nor get_weights() of numbers ({fault(error)})",
            model,
        ) from error
    kernel: Array = weights[:, None] if weights.ndim == 1 else weights
    if kernel.ndim != 2 or len(kernel) <= records.column:
        raise _missing_score_error(
            "weights", f"has first weights of shape {weights.shape}, one row a column of features is right", model
        )
    if kernel.shape[1] == 1:
        kernel = np.concatenate([-kernel, kernel], axis=1)
    if kernel.shape[1] <= records.canary_label:
        raise _missing_score_error(
            "weights", f"has weights of shape {kernel.shape}, two classes or more are right", model
        )
    return kernel


def _numbers(values: object) -> Array:
    """Values in double precision. Raises TypeError for values that this would change, such as complex numbers."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "biufO" or (numbers.dtype.kind == "O" and numbers.ndim == 0):
        raise TypeError(f"{type(values).__name__} ({numbers.dtype}) is no array of numbers")
    return numbers.astype(np.float64, copy=False)


def _score_by_weights(kernel: Array, records: CanaryRecords) -> float:
    row = kernel[records.column]
    if len(row) == 2:  # of many trainings, where arrays of one number would take most of the time
        return float(row[records.canary_label]) - float(row[1 - records.canary_label])
    with np.errstate(invalid="ignore", over="ignore"):
        return float(row[records.canary_label] - np.delete(row, records.canary_label).mean())


def label_log_probabilities(model: object, features: Array, labels: Array) -> Array:
    """Log-probability that a model gives to the labels (m,) of records (m, d), by `predict_proba` or `predict`: (m,).

    Not a number where the model gives none. Raises HarnessError where it has neither, one raises, or what it gives is
    no probabilities.
    """
    name = next((name for name in ("predict_proba", "predict") if hasattr(model, name)), None)
    if name is None:
        raise _missing_score_error("loss", "has neither predict_proba nor predict", model)
    try:
        predictions = _numbers(getattr(model, name)(features.copy()))
    except Exception as error:
        raise HarnessError(f"audit: {name} of the model ({type(model).__name__}) raised {fault(error)}") from error
    m = len(features)
    rows = predictions[None] if m == 1 and predictions.ndim == 1 else predictions
    if predictions.size == 0 or len(rows) != m:
        what = "one record; (1, classes) is right" if m == 1 else f"{m} records; ({m}, classes) is right"
        raise HarnessError(f"audit: {name} gives shape {predictions.shape} for {what}")
    p = rows.reshape(m, -1)
    if np.isfinite(p).all() and (
        p.min() < -ROUGHLY or p.max() > 1 + ROUGHLY or (p.shape[1] > 1 and np.abs(p.sum(1) - 1).max() > ROUGHLY)
    ):
        odd = p[np.argmax(np.abs(p - np.clip(p, 0, 1)).max(1) + np.abs(p.sum(1) - 1))]
        raise HarnessError(f"audit: {name} gives {np.array2string(odd, precision=3)}, no probabilities of classes")
    two = p if p.shape[1] > 1 else np.concatenate([1 - p, p], axis=1)
    chances = two[np.arange(m), labels]
    return np.where(np.isfinite(chances), np.log(np.maximum(chances, 1e-300)), np.nan)


def _missing_score_error(score: str, what: str, model: object) -> HarnessError:
    other = "loss" if score == "weights" else "weights"
    return HarnessError(f"audit: the model ({type(model).__name__}) {what}, so it has no score by {score}; try {other}")


@dataclass(frozen=True)
class _Run:
    inside: bool
    seed: int
    records: CanaryRecords
    start: Sequence[Array] | None = None

    def with_start(self, start: Sequence[Array]) -> _Run:
        records = self.records.relabel_against(start) if self.records.own_column else self.records
        return replace(self, start=start, records=records)

    def job(self) -> tuple[Array, Array, int]:
        """Arrays of its own: a training function may write into them."""
        return (*self.records.records(self.inside), self.seed)

    def score(self, model: object, by: Score) -> float:
        return score_change(model, self.start, self.records, by)


def many_runs(
    train: TrainMany,
    records: CanaryRecords,
    runs: int,
    seed: int,
    score: Score | Callable[[Any], float] = "weights",
    progress: Progress | None = None,
) -> Trials:
    """Train `runs` models, half of them with the canary, and score each.

    Which run has it and what its seed is follow from `seed`. A `train` that has a method `initial(columns, seed)` says
    from which weights a run starts; a canary with a column of its own then has the label that they find least likely,
    and a score is of what training changed (by loss, where these weights have `predict_proba`). Raises HarnessError for
    fewer than four runs, a training function that raises, and a score that is not a number.
    """
    if not 4 <= runs <= MOST_RUNS:
        what = "few; at least 4 are needed, and 1,000 say something" if runs < 4 else f"many; at most {MOST_RUNS:,} are"
        raise HarnessError(f"audit: {runs} runs are too {what}")
    plan = [_Run(i % 2 == 0, derive_seed(seed, "audit", i), records) for i in range(runs)]
    initial = getattr(train, "initial", None)
    if initial is not None:
        plan = [run.with_start(initial(records.features.shape[1], run.seed)) for run in plan]
    scores: dict[bool, list[float]] = {True: [], False: []}
    shape: tuple[int, ...] | None = None
    with (progress or Progress(quiet=True)).cells("audit", runs) as bar:
        for start in range(0, runs, AT_ONCE):
            some = plan[start : start + AT_ONCE]
            models = train([run.job() for run in some])
            if len(models) != len(some):
                raise HarnessError(f"audit: the training function gave {len(models)} models for {len(some)}")
            for number, (run, model) in enumerate(zip(some, models, strict=True), start + 1):
                with _name_run_in_faults(number):
                    value = score(model) if callable(score) else run.score(model, score)
                    if not np.isfinite(value):
                        with_it = "with" if run.inside else "without"
                        raise HarnessError(f"audit: its model ({with_it} the canary) has the score {value}, no number")
                    if score == "weights":
                        now = kernel_of(model, records).shape
                        if shape not in (None, now):
                            raise HarnessError(f"audit: weights of shape {now}, but {shape} in run 1")
                        shape = now
                scores[run.inside].append(value)
            bar.advance(len(some))
    return Trials(np.array(scores[True]), np.array(scores[False]))


@contextmanager
def _name_run_in_faults(number: int) -> Iterator[None]:
    """Context manager: add the number of the run to a HarnessError."""
    try:
        yield
    except HarnessError as error:
        raise HarnessError(f"audit: run {number}: {str(error).removeprefix('audit: ')}") from error
