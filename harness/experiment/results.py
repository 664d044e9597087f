"""Results from elsewhere: a file of results in the place of an experiment that is run, and how its columns are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from harness.config import Config
from harness.coordinates import Level
from harness.experiment.axes import RESERVED
from harness.experiment.experiment import Experiment
from harness.experiment.setup import Name
from harness.identity import canonical
from harness.metrics import METRICS
from harness.paths import portable_path

Format = Literal["tidy", "wide", "scores", "summary"]
ColumnName = Annotated[str, Field(min_length=1)]
MetricName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]*$")]
COLUMNS_OF: Mapping[Format, tuple[str, ...]] = {
    "tidy": ("arm", "attack", "repeat", "metric", "value"),
    "wide": ("arm", "attack", "repeat"),
    "scores": ("arm", "attack", "repeat", "member", "score", "decision"),
    "summary": ("arm", "attack", "metric", "mean", "spread", "n"),
}
"""What a column may hold besides axes, by format; of a wide file, metrics too."""
ONE_ARM = "results"
"""The arm of a file that names none."""


def _by_name(value: object) -> object:
    """A list of names as a mapping of them to nothing further."""
    return {str(name): {} for name in value} if isinstance(value, list | tuple) else value


class ResultsArm(Config):
    """One arm, as a file of results has it."""

    in_file: str | None = None
    """What stands for it in the column of arms; default: its name."""
    label: str | None = None
    """Name in figures; default: the arm's key."""


class ResultsAxis(Config):
    """An axis, as a file of results has it."""

    values: tuple[Level, ...] | None = None
    """Every value that there may be; default: those that the file has."""

    @model_validator(mode="before")
    @classmethod
    def _wrap_values(cls, value: object) -> object:
        return {"values": value} if isinstance(value, list | tuple) else value

    @field_validator("values", mode="before")
    @classmethod
    def _read_infinity(cls, value: object) -> object:
        """YAML writes infinity as `.inf`; `inf` and `infinity` are taken too, as for a number."""
        if not isinstance(value, list | tuple):
            return value
        return [math.inf if str(one).lower() in ("inf", "infinity") else one for one in value]


class ResultsMetric(Config):
    """A metric, as a file of results has it."""

    range: tuple[float, float] | None = None
    """The least and the greatest value that it can have. Without one, claims about it rest on a t-test alone."""
    in_file: str | None = None
    """What stands for it in the column of metrics of a `tidy` file or a `summary`; default: its name."""
    scope: Literal["attack", "model"] | None = None
    """Whether it is of an attack on a model or of the model itself; default: as the harness' own metric of that name,
    else of attacks where the experiment names some."""

    @model_validator(mode="before")
    @classmethod
    def _wrap_range(cls, value: object) -> object:
        return {"range": value} if isinstance(value, list | tuple) else value

    @field_validator("range")
    @classmethod
    def _check_order(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and not (math.isfinite(value[0]) and math.isfinite(value[1]) and value[0] < value[1]):
            raise ValueError(f"is [least, greatest], both finite, such as [0, 1]; found [{value[0]:g}, {value[1]:g}]")
        return value


class ResultsContent(Config):
    """What the loader reads in the file itself."""

    path: str
    """Of the file on this machine."""
    sha256: str
    levels: dict[str, dict[str, tuple[Level, ...]]]
    """By arm: the values of each axis that it has rows at."""
    repeats: int
    """The most that an arm has."""
    metrics: tuple[str, ...]
    """Those that it has, or that its scores give."""
    priors: dict[str, float] = {}
    """Of scores, by arm: the share of members."""


class ResultsFile(Config):
    """Results that somebody measured elsewhere, read from a file in the place of an experiment that is run."""

    kind: Literal["table"] = "table"
    path: Annotated[str, Field(min_length=1)]
    """The file, CSV or Parquet, relative to the spec's."""
    format: Format
    """What a row is: `tidy`, one number; `wide`, one repeat, a column each metric; `scores`, one record's score by an
    attack; `summary`, a mean with its standard deviation or error and the number of repeats."""
    columns: dict[str, ColumnName] = {}
    """By what it is (`arm`, `attack`, `repeat`, an axis, a metric, ...): the column of the file; default: of the same
    name."""
    arms: Annotated[dict[Name, ResultsArm], BeforeValidator(_by_name)] = Field(default={ONE_ARM: ResultsArm()})
    """Default: one, which all rows are of."""
    axes: Annotated[dict[Name, ResultsAxis], BeforeValidator(_by_name)] = {}
    attacks: Annotated[dict[Name, ResultsArm], BeforeValidator(_by_name)] = {}
    """Attacks that rows are of."""
    metrics: Annotated[dict[MetricName, ResultsMetric], BeforeValidator(_by_name)] = {}
    """Metrics and their ranges; of scores, those to compute of them (default: all that scores give)."""
    repeats: int | None = Field(default=None, ge=1)
    """How many there are to be; default: as many as the file has. Of a `summary` without a column `n`: of how many
    each mean is."""
    spread: Literal["std", "stderr"] = "std"
    """Of a `summary`: whether what follows the mean is the standard deviation of results or the standard error."""
    stopped_early: bool = False
    """Whether a run may lack the last values of an axis: a place then has the runs that got there."""
    paired: bool = False
    """Whether a repeat stands on the same records in all arms, so that arms are compared repeat by repeat."""
    whose: Literal["ours", "paper"] = "ours"
    """`paper`: the results are those that the paper's authors published."""
    source: str = ""
    """Where the file comes from, in words."""
    delta: float | None = Field(default=None, ge=0, lt=1)
    """For formulas; without it, claims give it."""
    prior: float | None = Field(default=None, gt=0, lt=1)
    """Share of members among the records attacked, for formulas; default: that of the scores."""
    separator: Annotated[str, Field(min_length=1, max_length=1)] = ","
    encoding: str = "utf-8"
    content_of_file: ResultsContent | None = None

    @field_validator("arms", "axes", "attacks", "metrics", mode="before")
    @classmethod
    def _none_is_default(cls, value: object) -> object:
        return {k: {} if v is None else v for k, v in value.items()} if isinstance(value, dict) else value

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, value: str) -> str:
        try:
            "".encode(value)
        except LookupError:
            raise ValueError(f"unknown encoding {value!r}; utf-8 is the usual one") from None
        return value

    @model_validator(mode="after")
    def _check_consistency(self) -> ResultsFile:
        if not self.arms:
            raise ValueError("arms: names none; leave it out where all rows are of one")
        self._check_axes()
        self._check_metrics()
        known = (*COLUMNS_OF[self.format], *self.axes, *(self.metrics if self.format == "wide" else ()))
        if self.format == "summary":
            known += (*self.metrics, *(f"{metric}_spread" for metric in self.metrics))
        for name in self.columns:
            if name not in known:
                raise ValueError(f"columns: {name!r} is nothing that a {self.format} file has; it has: {_list(known)}")
        if self.format == "scores" and not self.attacks:
            raise ValueError("attacks: scores are of an attack; name it, as in attacks: [loss]")
        if self.stopped_early and (self.format == "summary" or not self.axes):
            raise ValueError(
                "stopped_early: is of runs over an axis; a summary has no runs"
                if self.axes
                else "stopped_early: names no axis that runs go along; declare one, as in axes: [epoch]"
            )
        if self.paired and self.format == "summary":
            raise ValueError("paired: a summary has no repeats to pair; leave it out")
        return self

    def _check_axes(self) -> None:
        for name in self.axes:
            if name in RESERVED - {"epsilon"} or name in COLUMNS_OF[self.format]:
                raise ValueError(f"axes: an axis cannot be named {name!r}; that name is taken")

    def _check_metrics(self) -> None:
        if self.format != "scores" and not self.metrics:
            raise ValueError("metrics: names none; say which and their ranges, as in metrics: {accuracy: [0, 1]}")
        for name, one in self.metrics.items():
            known = METRICS.get(name)
            if self.format == "scores" and (known is None or known.scope != "attack"):
                raise ValueError(f"metrics: {name!r} is no metric of an attack's scores")
            if known is None or one.range is None:
                continue
            if tuple(one.range) != (known.low, known.high):
                ends = f"[{known.low:g}, {known.high:g}]"
                raise ValueError(f"metrics: {name} ranges over {ends} wherever it is measured; leave its range out")

    def column(self, name: str) -> str:
        """The column of the file that holds something."""
        return self.columns.get(name, name)

    def range_of(self, metric: str) -> tuple[float, float]:
        """The range of a metric; infinite where it has none."""
        known, declared = METRICS.get(metric), self.metrics.get(metric)
        if known is not None:
            return known.low, known.high
        return declared.range if declared is not None and declared.range is not None else (-math.inf, math.inf)

    def is_of_attacks(self, metric: str) -> bool:
        """Whether a metric is of attacks, and not of the models themselves."""
        known, declared = METRICS.get(metric), self.metrics.get(metric)
        if declared is not None and declared.scope is not None:
            return declared.scope == "attack"
        return known.scope == "attack" if known is not None else bool(self.attacks)

    # --- what an experiment that is run has, too

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of its axes, epsilon last."""
        return tuple(sorted(self.axes, key=lambda name: name == "epsilon"))

    def levels(self, arm: str) -> dict[str, tuple[Level, ...]]:
        """Values of the axes of an arm."""
        there = {} if self.content_of_file is None else self.content_of_file.levels.get(arm, {})
        declared = {name: axis.values or () for name, axis in self.axes.items()}
        return {name: there.get(name, declared[name]) for name in self.coordinates}

    @cached_property
    def numbers_given(self) -> tuple[str, ...]:
        """Which of delta and the prior are known."""
        of_scores = self.content_of_file is not None and bool(self.content_of_file.priors)
        there = {"delta": self.delta is not None, "prior": self.prior is not None or of_scores}
        return tuple(name for name, known in there.items() if known)

    def prior_of(self, arm: str) -> float | None:
        """Share of members among the records attacked; None where it is not known."""
        if self.prior is not None or self.content_of_file is None:
            return self.prior
        return self.content_of_file.priors.get(arm)

    @property
    def portable_path(self) -> str:
        """The file as results name it."""
        return portable_path(self.path)

    def content(self) -> dict[str, object]:
        """What measurements follow from, as JSON: the bytes of the file, wherever it lies, and how they are read."""
        sha256 = None if self.content_of_file is None else self.content_of_file.sha256
        return {**canonical(self, exclude={"path", "source", "content_of_file"}), "sha256": sha256}


TRAINED = "trained"
"""Stands for an experiment that is run where a kind is asked for; a spec writes none."""


def _kind_of_experiment(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return "table" if kind == "table" else TRAINED


AnyExperiment = Annotated[
    Annotated[Experiment, Tag(TRAINED)] | Annotated[ResultsFile, Tag("table")], Discriminator(_kind_of_experiment)
]
"""An experiment that is run, or a file of results from elsewhere."""


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names)
