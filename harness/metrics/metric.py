"""What a metric is, and the registry that a decorator puts it into.

What a metric is a function of is its `scope`, by which it is known when and for whom it is measured:

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
MODEL_SCOPES: tuple[Scope, ...] = ("model", "epochs", "baseline")
"""Scopes of metrics that no attack is needed for."""


@dataclass(frozen=True)
class Metric:
    """A number that is measured, by the name that specs use."""

    name: str
    function: Callable[..., Value]
    text: str
    """What it is, in a few words."""
    scope: Scope
    low: float
    high: float
    """Its range; infinite where it has no bound."""
    coordinates: Mapping[str, float] = field(default_factory=dict)
    """Parameters of formulas that it fixes, such as `fpr`."""
    never_above: tuple[str, ...] = ()
    """Of a metric that is on average not too low: metrics of the same answers that on average are not too high, the
    sharpest first. Together they bracket the number that is meant."""
    from_metric: tuple[str, float, float] | None = None
    """Another metric of the same answers, a factor and a summand, which give it in tables that lack it."""
    of_decisions: bool = False
    """Whether it depends on which scores the attack calls members, and not on the scores alone."""


METRICS: dict[str, Metric] = {}


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
    """Decorator: register a function under a name that specs may use.

    Raises ValueError for a name held already, and for a scope that there is none of.
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
    """Names of the metrics of a scope, in the order in which they were registered."""
    return tuple(m.name for m in METRICS.values() if m.scope == scope)


def depends_on_decisions(name: str) -> bool:
    """Whether a metric depends on which scores an attack calls members; False for one that only an attack knows."""
    return name in METRICS and METRICS[name].of_decisions


def derived_from(name: str) -> list[tuple[str, float, float]]:
    """Metrics that follow from this one where they were not measured, each with its factor and summand."""
    own = [(m.name, m.from_metric) for m in METRICS.values() if m.from_metric is not None]
    return [(metric, factor, summand) for metric, (source, factor, summand) in own if source == name]


def source_of(name: str) -> str:
    """What has to be measured for a metric to be known: itself, or the one that it follows from."""
    source = METRICS[name].from_metric if name in METRICS else None
    return name if source is None else source[0]


def measure_answers(answers: Answers) -> dict[str, Value]:
    """Every metric of an attack's answers on one model."""
    return _measure_all("attack", answers)


def measure_model(outputs: ModelOutputs) -> dict[str, Value]:
    """Every metric of a model itself."""
    return _measure_all("model", outputs)


def measure_epochs(accuracies: Array, n: int) -> dict[str, Value]:
    """Every metric of a model's accuracies on `n` test records after each epoch, (epochs,)."""
    return _measure_all("epochs", accuracies, n)


def measure_points(points: Points) -> dict[str, Value]:
    """Every metric of what an attack does to each record over many models."""
    return _measure_all("per_record", points)


def measure_queried(queried: Queried) -> dict[str, Value]:
    """Every metric of what an attack has asked about changed copies."""
    return _measure_all("queried", queried)


def measure_against_baseline(own: Mapping[str, Value], baseline: Mapping[str, Value]) -> dict[str, Value]:
    """Every metric of a model beside the one without noise, from both models' own metrics; those that exist."""
    return {
        name: value for name, value in _measure_all("baseline", own, baseline).items() if value.value == value.value
    }


def measure_runs(runs: Sequence[Run]) -> dict[str, Value]:
    """Every metric of an attack on the same records in several runs."""
    return _measure_all("runs", runs)


def module_of(metric: Metric) -> str:
    """The module whose function a metric is."""
    return str(getattr(metric.function, "func", metric.function).__module__)


def modules() -> tuple[str, ...]:
    """The modules whose code decides what is measured of answers and models."""
    defining = {module_of(m) for m in METRICS.values()}
    return tuple(sorted(defining | {"harness.metrics.answers", "harness.metrics.value"}))


def _measure_all(scope: Scope, *arguments: object) -> dict[str, Value]:
    return {name: METRICS[name].function(*arguments) for name in metrics_of(scope)}
