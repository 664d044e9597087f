"""Metrics, and the registry that a decorator puts them into.

A metric's `scope` is what it is a function of, by which it is known when and for whom it is measured:

- `attack`: an attack's scores and decisions on one model;
- `model`: a model's own outputs, without an attack;
- `epochs`: a model's accuracies on test records after each epoch (`training.epochs_measured: each`);
- `per_record`: rates of each record over the models of a pool;
- `queried`: what an attack has asked about changed copies of records;
- `baseline`: a model's metrics beside those of the same arm and repeat trained without noise;
- `runs`: the scores that an attack gives the same records in all repeats (`resample: training`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from harness.arrays import Array
from harness.metrics.answers import Answers, ModelOutputs, Run
from harness.metrics.value import Value

if TYPE_CHECKING:
    from harness.metrics.points import Points
    from harness.metrics.queried import Queried

Scope = Literal["attack", "model", "epochs", "per_record", "queried", "baseline", "runs"]
"""The sorts of things that a metric may be a function of."""
MODEL_SCOPES: tuple[Scope, ...] = ("model", "epochs", "baseline")
"""The scopes of metrics that no attack is needed for."""


@dataclass(frozen=True)
class Metric:
    """A number that is measured, by the name that specs use."""

    name: str
    function: Callable[..., Value]
    text: str
    """The metric in a few words."""
    scope: Scope
    low: float
    high: float
    """The upper end of the metric's range, as `low` is the lower one; infinite where there is no bound."""
    coordinates: Mapping[str, float] = field(default_factory=dict)
    """The parameters of formulas that the metric fixes, such as `fpr`."""
    never_above: tuple[str, ...] = ()
    """The metrics of the same answers that on average are not too high, the sharpest first, where this one is on
    average not too low. Together they bracket the number that is meant."""
    from_metric: tuple[str, float, float] | None = None
    """Another metric of the same answers, a factor and a summand, which give this one in tables that lack it."""
    of_decisions: bool = False
    """Whether the metric depends on which scores the attack calls members, and not on the scores alone."""


METRICS: dict[str, Metric] = {}
"""The registered metrics by the name that specs use."""


def metric(
    name: str,
    text: str,
    *,
    scope: Scope,
    low: float = 0.0,
    high: float = 1.0,
    never_above: tuple[str, ...] = (),
    from_metric: tuple[str, float, float] | None = None,
    of_decisions: bool = False,
    **coordinates: float,
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """The decorator that registers a function under a name that specs may use.

    Args:
        name: the metric's name.
        text: the metric in a few words.
        scope: what it is a function of, which decides the function's arguments.
        low: the lower end of its range.
        high: the upper end of its range.
        never_above: as in `Metric`.
        from_metric: as in `Metric`.
        of_decisions: as in `Metric`.
        coordinates: parameters of formulas that it fixes.

    Raises ValueError for a name that is held already, and for a scope that does not exist.
    """
    if scope not in get_args(Scope):
        raise ValueError(f"metric {name!r}: scope {scope!r} is none of {', '.join(get_args(Scope))}")

    def register(function: Callable[..., Value]) -> Callable[..., Value]:
        if name in METRICS:
            raise ValueError(f"metric {name!r} is registered twice")
        METRICS[name] = Metric(
            name, function, text, scope, low, high, coordinates, never_above, from_metric, of_decisions
        )
        return function

    return register


def metrics_of(scope: Scope) -> tuple[str, ...]:
    """The names of the metrics of a scope, in the order in which they were registered."""
    return tuple(m.name for m in METRICS.values() if m.scope == scope)


def depends_on_decisions(name: str) -> bool:
    """Whether a metric depends on which scores an attack calls members; False for one that only an attack knows."""
    return name in METRICS and METRICS[name].of_decisions


def derived_from(name: str) -> list[tuple[str, float, float]]:
    """The metrics that follow from this one where they were not measured, each with its factor and summand."""
    own = [(m.name, m.from_metric) for m in METRICS.values() if m.from_metric is not None]
    return [(metric, factor, summand) for metric, (source, factor, summand) in own if source == name]


def source_of(name: str) -> str:
    """The metric that has to be measured for a metric to be known: itself, or the one that it follows from."""
    source = METRICS[name].from_metric if name in METRICS else None
    return name if source is None else source[0]


def measure_answers(answers: Answers) -> dict[str, Value]:
    """Every metric of an attack's answers on one model, by name."""
    return _measure_all("attack", answers)


def measure_model(outputs: ModelOutputs) -> dict[str, Value]:
    """Every metric of a model itself, by name."""
    return _measure_all("model", outputs)


def measure_epochs(accuracies: Array, n: int) -> dict[str, Value]:
    """Every metric of a model's accuracies on `n` test records after each epoch, (epochs,)."""
    return _measure_all("epochs", accuracies, n)


def measure_points(points: Points) -> dict[str, Value]:
    """Every metric of what an attack does to each record over many models, by name."""
    return _measure_all("per_record", points)


def measure_queried(queried: Queried) -> dict[str, Value]:
    """Every metric of what an attack has asked about changed copies, by name."""
    return _measure_all("queried", queried)


def measure_against_baseline(own: Mapping[str, Value], baseline: Mapping[str, Value]) -> dict[str, Value]:
    """Every metric of a model beside the one without noise, from both models' own metrics; those that are numbers."""
    return {
        name: value for name, value in _measure_all("baseline", own, baseline).items() if value.value == value.value
    }


def measure_runs(runs: Sequence[Run]) -> dict[str, Value]:
    """Every metric of an attack on the same records in several runs, by name."""
    return _measure_all("runs", runs)


def module_of(metric: Metric) -> str:
    """The module whose function a metric is, which for a partial function is that of the function within."""
    return str(getattr(metric.function, "func", metric.function).__module__)


def modules() -> tuple[str, ...]:
    """The modules whose code decides what is measured of answers and models."""
    defining = {module_of(m) for m in METRICS.values()}
    return tuple(sorted(defining | {"harness.metrics.answers", "harness.metrics.value"}))


def _measure_all(scope: Scope, *arguments: object) -> dict[str, Value]:
    return {name: METRICS[name].function(*arguments) for name in metrics_of(scope)}
