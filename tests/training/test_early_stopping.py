"""Training that ends early: when, with which weights, and whatever it is trained beside."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from harness.data.split import Records
from harness.execution.train_cell import _EpochMonitor, _observe_epoch
from harness.training.engine import ENGINES, Job
from harness.training.forward import log_probabilities
from harness.training.model import Weights
from harness.training.models import Logistic
from harness.training.settings import Training


def job(seed: int = 0, engine: str = "fast", **stopping: Any) -> Job:
    """Few records of much noise: a regression overfits after a few epochs."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(40, 30)).astype(np.float32)
    labels = (features[:, 0] + rng.normal(0, 2, 40) > 0).astype(np.int64)
    options = {"engine": engine, "learning_rate": 0.1, "batch_size": 10, "epochs": 20, "early_stopping": stopping}
    return Job(Logistic(), Training.model_validate(options), 0.0, features, labels, 2, seed)


def held_out(seed: int) -> Records:
    rng = np.random.default_rng(100 + seed)
    features = rng.normal(size=(60, 30)).astype(np.float32)
    return Records(features, (features[:, 0] + rng.normal(0, 2, 60) > 0).astype(np.int64))


def loss(todo: Job, weights: Weights, records: Records) -> float:
    logp = log_probabilities(todo.model, weights, records.features)
    return -float(np.take_along_axis(logp, records.labels[:, None], axis=1).mean())


def trained(*jobs: Job) -> list[tuple[_EpochMonitor, Weights]]:
    monitors = [_EpochMonitor(todo, held_out(todo.seed), keeps_accuracies=True) for todo in jobs]
    result = ENGINES[jobs[0].training.engine]().train_stack(jobs, partial(_observe_epoch, monitors))
    return [(monitor, monitor.weights or weights) for monitor, weights in zip(monitors, result, strict=True)]


@pytest.mark.parametrize("engine", ["fast", "tf-privacy"])
def test_training_ends_after_so_many_epochs_without_improvement_and_goes_back_to_the_best(engine: str) -> None:
    todo, seen = job(engine=engine, patience=3), []

    def look(stack: list[Weights]) -> bool:
        seen.append(loss(todo, stack[0], held_out(0)))
        return False

    ENGINES[engine]().train(todo, look)
    assert len(seen) == 20
    best = next(i for i in range(20) if seen[i] == min(seen[: i + 4]))
    ((monitor, weights),) = trained(todo)
    assert len(monitor.accuracies) == best + 1 + 3 < 20
    assert loss(todo, weights, held_out(0)) == pytest.approx(seen[best], abs=1e-6)
    ((monitor, weights),) = trained(job(engine=engine, patience=3, keep="last"))
    assert loss(todo, weights, held_out(0)) == pytest.approx(seen[best + 3], abs=1e-6)


def test_a_model_ends_when_it_would_alone_whatever_it_is_stacked_with() -> None:
    jobs = [job(seed, patience=2, watch="accuracy") for seed in range(4)]
    together = trained(*jobs)
    epochs = [len(monitor.accuracies) for monitor, _ in together]
    assert len(set(epochs)) > 1
    for todo, (monitor, weights) in zip(jobs, together, strict=True):
        ((alone, own),) = trained(todo)
        assert alone.accuracies == monitor.accuracies
        for one, other in zip(own, weights, strict=True):
            assert np.array_equal(one, other)


def test_a_patience_that_never_runs_out_is_refused() -> None:
    with pytest.raises(ValidationError, match="with a patience of 20 no training of 20 epochs can end early"):
        job(patience=20)


def test_where_nothing_ends_early_names_are_as_they_were() -> None:
    assert "early_stopping" not in Training().content()
    assert "early_stopping" not in Training().model_dump()
    assert Training.model_validate({"early_stopping": {}}).content()["early_stopping"]["patience"] == 5
