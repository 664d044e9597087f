"""The contract of a metric."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from harness.arrays import Array
from harness.hashing import generator
from harness.metrics import METRICS, Answers, ModelOutputs, Outputs, Value
from harness.metrics.metric import Metric
from harness.testing.nonconformance import NonConformance, require

RECORDS = (3000, 2000)
"""Members and non-members on which a standard error is compared with the bootstrap."""
RESAMPLES = 120
ERROR_FACTOR = 2.5
"""Times the bootstrap's standard deviation, and one over it, that an error may be: metrics at few false positives have
errors of which both are rough."""
LINE = 0.5


def check_metric(name: str) -> None:
    """Whether a metric of an attack's answers, or of a model, keeps the contract: its range, its errors, and that it is
    the same when it is measured again. Cases are attacks, and models, of every sort, one with a single member too.

    Raises NonConformance; also for a metric of another scope, which takes what only its own experiment gives.
    """
    require(name in METRICS, f"no metric is called {name!r}; is the module with its @metric imported?")
    metric = METRICS[name]
    cases = {"attack": _answers, "model": _outputs}
    if metric.scope not in cases:
        raise NonConformance(f"{name}: its scope is {metric.scope}; scopes that can be checked are {', '.join(cases)}")
    require(metric.text.strip(), f"{name}: says in no words what it is")
    require(metric.low < metric.high, f"{name}: its range is empty, [{metric.low:g}, {metric.high:g}]")
    for words, given in cases[metric.scope]():
        value, again = metric.function(given), metric.function(given)
        require(isinstance(value, Value), f"{name}: gives {type(value).__name__}, and should give a Value")
        same = math.isnan(value.value) or np.array_equal(
            [value.value, value.stderr], [again.value, again.stderr], equal_nan=True
        )
        require(same, f"{name}: measured twice of {words} it is {value.value:g} and {again.value:g}")
        if math.isnan(value.value):
            continue
        inside = metric.low - 1e-12 <= value.value <= metric.high + 1e-12
        require(
            inside, f"{name}: of {words} it is {value.value:g}, outside its range [{metric.low:g}, {metric.high:g}]"
        )
        error = f"{name}: of {words} its standard error is {value.stderr:g}; it is at least 0, or not a number"
        require(not value.stderr < 0, error)
        require(value.n >= 0, f"{name}: of {words} it is of {value.n} records")
    if metric.scope == "attack":
        _check_error(metric)


def _check_error(metric: Metric) -> None:
    """Whether the standard error is about what drawing records again gives: within a factor of `ERROR_FACTOR`."""
    rng, (members, nonmembers) = generator(0, "conformance", "error"), RECORDS
    inside, outside = rng.normal(size=members) + 1, rng.normal(size=nonmembers)
    answers = Answers(inside, outside, inside > LINE, outside > LINE)
    value = metric.function(answers)
    again = [rng.integers(0, k, (RESAMPLES, k)) for k in RECORDS]
    drawn = [metric.function(answers.take(m, n)).value for m, n in zip(*again, strict=True)]
    spread = float(np.std(drawn))
    if not (math.isfinite(spread) and spread > 1e-9):  # nothing to tell: it is the same whatever is drawn
        return
    factor = value.stderr / spread
    require(
        1 / ERROR_FACTOR <= factor <= ERROR_FACTOR,
        f"{metric.name}: its standard error is {value.stderr:.3g}, and {RESAMPLES} bootstrap samples of "
        f"{members} members and {nonmembers} non-members have a standard deviation of {spread:.3g}; "
        "`jackknife` gives the error of a metric that is a smooth function of means",
    )


def _answers() -> Iterator[tuple[str, Answers]]:
    """Answers of attacks that know nothing, something, everything, and of such as give all records one score."""
    for words, m, n, shift, spread in (
        ("an attack that says nothing", 60, 60, 0.0, 1.0),
        ("an attack that tells some", 60, 40, 1.0, 1.0),
        ("an attack that tells all", 40, 60, 50.0, 1.0),
        ("an attack that has it the wrong way round", 40, 40, -50.0, 1.0),
        ("one score for all records", 30, 50, 0.0, 0.0),
        ("one member", 1, 20, 1.0, 1.0),
    ):
        rng = generator(0, "conformance", words)
        inside, outside = (spread * rng.normal(size=k) + s for k, s in ((m, shift), (n, 0.0)))
        for threshold, called in (
            (0.5 * shift, "its own threshold"),
            (1e9, "nobody called"),
            (-1e9, "everybody called"),
        ):
            yield f"{words}, {called}", Answers(inside, outside, inside > threshold, outside > threshold)


def _outputs() -> Iterator[tuple[str, ModelOutputs]]:
    """Outputs of models that are sure, that guess, and that are sure of the wrong class."""
    for words, lean in (("a model that guesses", 0.0), ("a sure model", 8.0), ("a model that is always wrong", -8.0)):
        rng = generator(0, "conformance", words)
        yield words, ModelOutputs(*(_of_records(rng, k, lean) for k in (40, 30, 50)))


def _of_records(rng: np.random.Generator, n: int, lean: float) -> Outputs:
    labels: Array = rng.integers(0, 3, n)
    logits = rng.normal(size=(n, 3)) + lean * np.eye(3)[labels]
    return Outputs((logits - np.logaddexp.reduce(logits, axis=1)[:, None]).astype(np.float32), labels)
