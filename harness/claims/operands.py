"""What the two sides of a claim may be: something measured, a formula, the value of an axis, a number.

A measured side may name several metrics, arms and attacks: the claim is then made for each. A side that leaves
something out means what the left side says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from harness.arrays import Array
from harness.claims.expression import (
    Expression,
    HasTree,
    Name,
    Numeral,
    aside,
    chain,
    level,
    listing,
    names,
    numeral,
    phrase,
)
from harness.config import Config, one_or_many
from harness.coordinates import Level, Place, place
from harness.formulas import FORMULAS
from harness.metrics import METRICS
from harness.metrics.metric import MODEL_SCOPES

Relation = Literal["<", "<=", ">", ">="]
Quantifier = Literal["all", "some"]
PointQuantifier = Literal["all", "some", "share"]
"""At how many of the points looked at something has to hold; a `share` of them is for tables, and for so many of
several claims."""
OWNER_SET = "owner_set"
"""What a split may draw anew in each repeat, such as one cluster of each class: a claim may be of some such set."""
Real = Annotated[float, Field(ge=-1e12, le=1e12)]
"""A number that can be added and multiplied without running out of range; neither infinite nor not-a-number."""
Width = Annotated[float, Field(gt=0, le=1e12)]


Several = Annotated[tuple[str, ...], BeforeValidator(one_or_many(str), json_schema_input_type=str | tuple[str, ...])]
"""One name, or a list of names."""
NAMED = ("metric", "arm", "attack")
"""What a claim may be made for several of, besides the values of axes."""


class Chosen(Config, HasTree):
    """The place on an axis that is chosen by another metric: in each repeat anew, or once for all."""

    axis: str = "epsilon"
    """The axis; its least value is taken of which the metric is as it has to be, of epsilon its least finite one. Where
    there is none, the claim stays open."""
    metric: str
    """Of the model itself, such as `accuracy_loss_nonmembers`."""
    arm: str | None = Field(default=None, exclude_if=lambda arm: arm is None)
    """The arm whose models choose, such as one of shadow models; default: the arm that is measured."""
    repeats: Annotated[int, Field(ge=1)] | None = Field(default=None, exclude_if=lambda repeats: repeats is None)
    """Of the other arm: by the mean over its first so many repeats one place is chosen, for all; default: in each
    repeat anew."""
    at_most: Real | None = None
    at_least: Real | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> Chosen:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("give one of at_most and at_least")
        if self.repeats is not None and self.arm is None:
            raise ValueError(
                "repeats: the arm that is measured would choose where to measure it; name another arm to choose, too"
            )
        return self

    def admissible_mask(self, values: Array) -> Array:
        """Which values of the metric (n,) are as they have to be: (n,) bool."""
        admissible: Array = values <= self.at_most if self.at_most is not None else values >= self.at_least
        return admissible

    @property
    def bound(self) -> str:
        """What the metric has to be, in words."""
        return f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"

    def tree(self) -> Expression:
        of = None if self.arm is None else phrase("of", Name(name=self.arm))
        mean = None if self.repeats is None else aside("mean of", Numeral(number=self.repeats), "repeats")
        word, bound = ("at least", self.at_least) if self.at_most is None else ("at most", self.at_most)
        what = phrase("the least", Name(name=self.axis), "where", Name(name=self.metric), of, mean)
        return phrase(what, f"is {word}", None if bound is None else numeral(bound))


@dataclass(frozen=True)
class MetricSeries(HasTree):
    """One metric of one arm, and of one attack where it is an attack's, over the axes that are left open."""

    metric: str
    arm: str
    attack: str = ""
    minus: str | None = None
    at: Place = ()
    """Axes that are fixed."""
    times: float = 1.0
    mean_over: tuple[str, ...] = ()
    chosen: Chosen | None = None

    @property
    def closed_axes(self) -> frozenset[str]:
        """Axes along which it does not vary, though what it is of does."""
        return frozenset(
            {name for name, _ in self.at} | {*self.mean_over} | ({self.chosen.axis} if self.chosen else set())
        )

    def tree(self) -> Expression:
        of = names([self.arm, *([self.attack] if self.attack else [])])
        of += [chain("=", Name(name=name), level(value, "∞")) for name, value in self.at]
        of += [self.chosen.tree()] if self.chosen else []
        tree: Expression = Name(name=self.metric, minus=self.minus, of=tuple(of))
        if self.mean_over:
            tree = phrase("mean over", listing(names(self.mean_over)), "of", tree)
        return tree if self.times == 1 else chain("*", numeral(self.times), tree)


class MetricOperand(Config):
    """Means over repeats of a metric, or of several."""

    metric: Several = ()
    """Columns of the measurements, such as `advantage`, `auc`, `accuracy_train`."""
    arm: Several = ()
    """Arms of the experiment; default: its only one."""
    attack: Several = ()
    """Attacks of the spec; none for a metric of the model itself or of the split."""
    minus: str | None = None
    """Subtract this metric of the same arm and attack, repeat by repeat."""
    at: dict[str, Level] = {}
    """Axes that are fixed here, with the value; others are as at each grid point of the claim."""
    epsilon: Annotated[float, Field(gt=0)] | None = None
    """The same for the axis epsilon."""
    times: Width = 1.0
    """A factor, for claims about ratios."""
    mean_over: Several = ()
    """Axes over which the mean is taken, repeat by repeat."""
    chosen: Chosen | None = Field(default=None, exclude_if=lambda chosen: chosen is None)
    """The axis whose value another metric chooses in each repeat, such as the least epsilon that keeps accuracy."""

    def inherit(self, left: MetricOperand) -> MetricOperand:
        """This side with what it leaves out taken from the left one."""
        inherited: dict[str, object] = {"arm": self.arm or left.arm, "mean_over": self.mean_over or left.mean_over}
        if not self.arm:
            inherited["chosen"] = self.chosen or left.chosen
        if not self.metric:
            inherited |= {"metric": left.metric, "minus": self.minus or left.minus, "times": self.times * left.times}
        of_model = all(m in METRICS and METRICS[m].scope in MODEL_SCOPES for m in self.metric or left.metric)
        inherited["attack"] = self.attack or (() if of_model else left.attack)
        inherited["at"] = {**left.fixed_axes, **self.fixed_axes}
        inherited["epsilon"] = None
        return self.model_copy(update=inherited)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that it needs: its own, what is subtracted, and what chooses."""
        others = (self.minus, self.chosen.metric if self.chosen is not None else None)
        return (*self.metric, *(metric for metric in others if metric is not None))

    @property
    def fixed_axes(self) -> dict[str, Level]:
        """Axes that are fixed, epsilon among them."""
        return self.at if self.epsilon is None else {**self.at, "epsilon": self.epsilon}

    def expand(self, but: frozenset[str] = frozenset()) -> Iterator[MetricOperand]:
        """One for each metric, arm and attack that it names, but for what is in `but`."""
        none: list[tuple[str, ...]] = [()]
        axes = [[value] if name in but else [(v,) for v in value] for name, value in self._named_fields()]
        for chosen in product(*(a or none for a in axes)):
            yield self.model_copy(update=dict(zip(NAMED, chosen, strict=True)))

    def _named_fields(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        return ((name, getattr(self, name)) for name in NAMED)

    def narrow_like(self, left: MetricOperand, chosen: MetricOperand) -> MetricOperand:
        """This side where what it has in common with `left` is narrowed to what `chosen` has of it."""
        same = {name: getattr(chosen, name) for name, value in self._named_fields() if value == getattr(left, name)}
        return self.model_copy(update=same)

    @property
    def curve(self) -> MetricSeries:
        """Of a side that names one metric, one arm and at most one attack."""
        (metric,), (arm,) = self.metric, self.arm
        attack = self.attack[0] if self.attack else ""
        return MetricSeries(
            metric, arm, attack, self.minus, place(self.fixed_axes), self.times, self.mean_over, self.chosen
        )


class FormulaValue(Config, HasTree):
    """A formula, such as a theoretical bound, at each grid point.

    Its parameters are coordinates of what is measured: epsilon and delta, the prior (the share of members among the
    records attacked), the false-positive rate that the metric fixes, axes of the same name; or given.
    """

    formula: str
    """A registered formula."""
    given: dict[str, Real] = {}
    """Values of parameters."""
    times: Real = Field(default=1.0, exclude_if=lambda times: times == 1.0)
    """A factor, such as -1 for a bound on how far below zero something may be."""

    def tree(self) -> Expression:
        given = [chain("=", Name(name=name), numeral(value)) for name, value in self.given.items()]
        parameters = FORMULAS[self.formula].parameters if self.formula in FORMULAS else ()
        tree = Name(name=self.formula, of=(*names(p for p in parameters if p not in self.given), *given))
        return tree if self.times == 1 else chain("*", numeral(self.times), tree)


class AxisValue(Config, HasTree):
    """The value of an axis at each grid point."""

    axis: str

    def tree(self) -> Expression:
        return Name(name=self.axis)


class Number(Config, HasTree):
    """A constant."""

    value: Real

    def tree(self) -> Expression:
        return numeral(self.value)


def _sort(value: object) -> str:
    keys = value if isinstance(value, dict) else type(value).model_fields if isinstance(value, Config) else {}
    return next((key for key in ("formula", "axis", "value") if key in keys), "measured")


Operand = Annotated[
    Annotated[MetricOperand, Tag("measured")]
    | Annotated[FormulaValue, Tag("formula")]
    | Annotated[AxisValue, Tag("axis")]
    | Annotated[Number, Tag("value")],
    Discriminator(_sort),
]
