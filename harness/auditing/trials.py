"""Run a training function with and without a canary, many times, and score what it left behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from harness.arrays import Array
from harness.auditing.auditor import Trials
from harness.auditing.canaries import CanaryRecords
from harness.errors import HarnessError
from harness.hashing import derive_seed
from harness.progress import Progress

Score = Literal["weights", "loss"]
Train = Callable[[Array, Array, int], Any]
"""From features (n, d), labels (n,) and a seed to a model."""
TrainMany = Callable[[Sequence[tuple[Array, Array, int]]], Sequence[Any]]
"""The same for several sets of records at once."""
AT_ONCE = 64


def one_at_a_time(train: Train) -> TrainMany:
    """A function that trains one model, as one that trains several. A fault in it becomes a HarnessError."""

    def many(jobs: Sequence[tuple[Array, Array, int]]) -> list[Any]:
        found = []
        for features, labels, seed in jobs:
            try:
                found.append(train(features, labels, seed))
            except HarnessError:
                raise
            except Exception as error:
                text = str(error).splitlines()[0] if str(error) else ""
                raise HarnessError(f"audit: the training function raised {type(error).__name__}: {text}") from error
        return found

    return many


def score_of(model: Any, records: CanaryRecords, score: Score) -> float:
    """How much a model looks as if it had seen the canary.

    `weights`: what a linear model's weights on the canary's column say for the canary's label; of arrays (kernel (d, k)
    first), a model with `coef_` (scikit-learn) or with `get_weights()` (Keras). `loss`: minus the loss of the canary,
    by `predict_proba` or `predict` (probabilities). Raises HarnessError where the model has neither.
    """
    return _by_weights(model, records) if score == "weights" else _by_loss(model, records)


def _by_weights(model: Any, records: CanaryRecords) -> float:
    if hasattr(model, "coef_"):
        coefficients = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
        kernel = coefficients.T if len(coefficients) > 1 else np.stack([-coefficients[0], coefficients[0]], axis=1)
    else:
        weights = model.get_weights() if hasattr(model, "get_weights") else model
        try:
            kernel = np.asarray(weights[0], dtype=np.float64)
        except (TypeError, ValueError, IndexError, KeyError):
            raise _no_score("weights", "is no list of arrays and has neither coef_ nor get_weights()", model) from None
    if kernel.ndim != 2 or len(kernel) <= records.column:
        raise _no_score(
            "weights", f"has first weights of shape {kernel.shape}, one row a column of features is right", model
        )
    row = kernel[records.column]
    return float(row[records.canary_label] - np.delete(row, records.canary_label).mean())


def _by_loss(model: Any, records: CanaryRecords) -> float:
    asked = records.canary[None]
    if hasattr(model, "predict_proba"):
        found = model.predict_proba(asked)
    elif hasattr(model, "predict"):
        found = model.predict(asked)
    else:
        raise _no_score("loss", "has neither predict_proba nor predict", model)
    p = np.asarray(found, dtype=np.float64).reshape(-1)
    chance = p[records.canary_label] if len(p) > 1 else (p[0] if records.canary_label == 1 else 1 - p[0])
    return float(np.log(max(chance, 1e-300))) if np.isfinite(chance) else float("nan")


def _no_score(score: str, what: str, model: Any) -> HarnessError:
    other = "loss" if score == "weights" else "weights"
    return HarnessError(f"audit: the model ({type(model).__name__}) {what}, so it has no score by {score}; try {other}")


@dataclass(frozen=True)
class _Run:
    inside: bool
    seed: int
    records: CanaryRecords
    start: Sequence[Array] | None = None

    def from_there(self, start: Sequence[Array]) -> _Run:
        return replace(self, start=start, records=self.records.against(start))

    def job(self) -> tuple[Array, Array, int]:
        chosen = self.records.with_canary() if self.inside else (self.records.features, self.records.labels)
        return (*chosen, self.seed)

    def score(self, model: Any, by: Score) -> float:
        before = 0.0 if self.start is None or by != "weights" else score_of(self.start, self.records, by)
        return score_of(model, self.records, by) - before


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
    from which weights a run starts; the canary's label is then the one they find least likely, and a score by weights
    is of what training changed. Raises HarnessError for fewer than four runs, a training
    function that raises, and a score that is not a number.
    """
    if runs < 4:
        raise HarnessError(f"audit: {runs} runs are too few; at least 4 are needed, and 1,000 say something")
    plan = [_Run(i % 2 == 0, derive_seed(seed, "audit", i), records) for i in range(runs)]
    initial = getattr(train, "initial", None)
    if initial is not None:
        plan = [run.from_there(initial(records.features.shape[1], run.seed)) for run in plan]
    found: dict[bool, list[float]] = {True: [], False: []}
    with (progress or Progress(quiet=True)).cells("audit", runs) as bar:
        for start in range(0, runs, AT_ONCE):
            some = plan[start : start + AT_ONCE]
            models = train([run.job() for run in some])
            if len(models) != len(some):
                raise HarnessError(f"audit: the training function gave {len(models)} models for {len(some)}")
            for run, model in zip(some, models, strict=True):
                found[run.inside].append(score(model) if callable(score) else run.score(model, score))
            bar.advance(len(some))
    return Trials(np.array(found[True]), np.array(found[False]))
