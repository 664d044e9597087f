"""The claim language: typed inequalities over measurements and over bounds. No text is ever evaluated.

Quantifiers: `for: all` means at every epsilon of `at` (and for every attack named); `for: some` means
at one of them at least. `at` defaults to the experiment's whole finite grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from harness.config import Config
from harness.theory.checks import TheoryExpectation

Relation = Literal["<", "<=", ">", ">="]
Quantifier = Literal["all", "some"]
Real = Annotated[float, Field(ge=-1e12, le=1e12)]
"""A number that can be added and multiplied without running out of range; neither infinite nor not-a-number."""
Width = Annotated[float, Field(gt=0, le=1e12)]
EpsilonList = tuple[Annotated[float, Field(gt=0)], ...]


class Measured(Config):
    """A metric's mean over repeats, for one arm (and one attack, where the metric is an attack's)."""

    metric: str
    """A column of the measurements, such as `advantage`, `auc`, `accuracy_train`."""
    arm: str
    """An arm of the experiment."""
    attack: str | None = None
    """An attack of the spec; none for a metric of the model itself or of the split."""
    minus: str | None = None
    """Subtract this metric of the same arm and attack, repeat by repeat."""
    epsilon: Annotated[float, Field(gt=0)] | None = None
    """Always at this epsilon; default: at each grid point of the claim."""
    times: Width = 1.0
    """A factor, for claims about ratios."""

    def text(self) -> str:
        where = self.arm if self.attack is None else f"{self.arm}, {self.attack}"
        where += "" if self.epsilon is None else f", epsilon = {self.epsilon:g}"
        name = self.metric if self.minus is None else f"{self.metric} - {self.minus}"
        return f"{name}({where})" if self.times == 1 else f"{self.times:g} * {name}({where})"


class BoundValue(Config):
    """A theoretical bound at the epsilon of the grid point and the experiment's delta."""

    bound: str
    """A registered bound."""

    def text(self) -> str:
        return f"bound({self.bound})"


class Number(Config):
    """A constant."""

    value: Real

    def text(self) -> str:
        return f"{self.value:g}"


Operand = Measured | BoundValue | Number


class Compare(Config):
    """left RELATION right + margin, at the grid points of `at`."""

    kind: Literal["compare"] = "compare"
    left: Measured
    relation: Relation
    right: Operand
    margin: Real = 0.0
    """Added to the right side."""
    quantifier: Quantifier = Field(default="all", alias="for")
    at: EpsilonList | None = None
    """Epsilons to look at; default: the finite grid."""

    @classmethod
    def of(cls, left: Measured, relation: Relation, right: Operand, margin: float = 0.0) -> Compare:
        """A comparison at one grid point."""
        return cls.model_validate({"left": left, "relation": relation, "right": right, "margin": margin})

    def text(self) -> str:
        shift = f" + {self.margin:g}" if self.margin > 0 else f" - {-self.margin:g}" if self.margin else ""
        return f"{self.left.text()} {self.relation} {self.right.text()}{shift}{_points(self.quantifier, self.at)}"


class Order(Config):
    """A chain of operands, each above (or below) the next by more than `margin`, at every grid point of `at`."""

    kind: Literal["order"] = "order"
    of: tuple[Measured, ...] = Field(min_length=2)
    direction: Literal["falling", "rising"]
    """`falling`: the first operand is the largest."""
    margin: Real = 0.0
    at: EpsilonList | None = None
    """Epsilons to look at; default: the finite grid."""

    def text(self) -> str:
        sign = ">" if self.direction == "falling" else "<"
        shift = f" (by more than {self.margin:g})" if self.margin else ""
        return f" {sign} ".join(o.text() for o in self.of) + shift + _points("all", self.at)

    def comparisons(self, grid: Sequence[float]) -> list[tuple[Compare, float]]:
        """The inequalities that make it up, each with its grid point."""
        falling = self.direction == "falling"
        pairs = [(a, b) if falling else (b, a) for a, b in pairwise(self.of)]
        compared = [Compare.of(above, ">", below, self.margin) for above, below in pairs]
        return [(one, epsilon) for epsilon in grid for one in compared]


class Monotone(Config):
    """A metric rises (falls) from each grid point of `at` to the next, by more than `margin`.

    A negative margin allows so much movement the other way.
    """

    kind: Literal["monotone"] = "monotone"
    of: Measured
    direction: Literal["rising", "falling"]
    margin: Real = 0.0
    at: EpsilonList | None = None
    """Epsilons to look at; default: the finite grid."""

    def text(self) -> str:
        shift = f" (by more than {self.margin:g} a step)" if self.margin else ""
        return f"{self.of.text()} is {self.direction} in epsilon{shift}{_points('all', self.at)}"

    def comparisons(self, grid: Sequence[float]) -> list[tuple[Compare, float]]:
        """The inequalities that make it up, each with its later grid point."""
        found = []
        for before, after in pairwise(grid):
            later, earlier = (self.of.model_copy(update={"epsilon": e}) for e in (after, before))
            above, below = (later, earlier) if self.direction == "rising" else (earlier, later)
            found.append((Compare.of(above, ">", below, self.margin), after))
        return found


class Close(Config):
    """|left - right| < tolerance, tested as equivalence (two one-sided tests)."""

    kind: Literal["close"] = "close"
    left: Measured
    right: Operand
    tolerance: Width
    quantifier: Quantifier = Field(default="all", alias="for")
    at: EpsilonList | None = None
    """Epsilons to look at; default: the finite grid."""

    def text(self) -> str:
        tail = _points(self.quantifier, self.at)
        return f"|{self.left.text()} - {self.right.text()}| < {self.tolerance:g}{tail}"


class TableRow(Config):
    """A row of a printed table: one metric at several epsilons."""

    of: Measured
    values: dict[Annotated[float, Field(gt=0)], Real] = Field(min_length=1)
    """Printed value at each epsilon, such as `{0.1: 0.02, 1: 0.05}`."""
    tolerance: Width | None = None
    """Of this row's entries; default: the table's."""


class Table(Config):
    """Every entry of a printed table is met within a tolerance, each tested as equivalence."""

    kind: Literal["table"] = "table"
    rows: tuple[TableRow, ...] = Field(min_length=1)
    tolerance: Width

    @property
    def at(self) -> EpsilonList:
        """Every epsilon that the table has an entry for."""
        return tuple(sorted({epsilon for row in self.rows for epsilon in row.values}))

    def text(self) -> str:
        rows = []
        for row in self.rows:
            entries = ", ".join(f"{value:g} at {epsilon:g}" for epsilon, value in row.values.items())
            rows.append(f"{row.of.text()} = {entries} (+- {row.tolerance or self.tolerance:g})")
        return "; ".join(rows)

    def entries(self, epsilons: Sequence[float]) -> list[tuple[Close, float]]:
        """One equivalence for each entry at one of `epsilons`, with its epsilon."""
        return [
            (Close(left=row.of, right=Number(value=value), tolerance=row.tolerance or self.tolerance), epsilon)
            for row in self.rows
            for epsilon, value in row.values.items()
            if epsilon in epsilons
        ]


class Count(Config):
    """Counts of the data and of the split equal the printed ones in every repeat."""

    kind: Literal["count"] = "count"
    arm: str
    equals: dict[str, int]
    """Printed value of each count, such as `owner_set: 15784`."""

    def text(self) -> str:
        return ", ".join(f"{name}({self.arm}) = {value}" for name, value in self.equals.items())


class Correlation(Config):
    """Pearson correlation of two metrics over the epsilon grid, one coefficient a repeat, above `above`."""

    kind: Literal["correlation"] = "correlation"
    left: Measured
    right: Measured
    above: float = Field(default=0.0, gt=-1, lt=1)
    at: EpsilonList | None = None

    def text(self) -> str:
        return f"corr over epsilon of {self.left.text()} and {self.right.text()} > {self.above:g}"


class Either(Config):
    """At every grid point of `at`, one of several comparisons holds at least: none fails together with the others."""

    kind: Literal["either"] = "either"
    of: tuple[Compare, ...] = Field(min_length=2)
    """Their own `for` and `at` do not count."""
    at: EpsilonList | None = None
    """Epsilons to look at; default: the finite grid."""

    def text(self) -> str:
        bare = [c.model_copy(update={"at": None}).text().removesuffix(_points(c.quantifier, None)) for c in self.of]
        return " or ".join(bare) + _points("all", self.at)


class Collapse(Config):
    """Over the noise multiplier, a metric of several arms follows one monotone curve.

    Each arm's value at each of its noise multipliers has to lie between another arm's values at the next smaller and
    the next larger one (where there are both), or within `tolerance` of that range. Nothing is interpolated.
    """

    kind: Literal["collapse"] = "collapse"
    metric: str
    attack: str | None = None
    arms: tuple[str, ...] = Field(min_length=2)
    tolerance: Width
    at: EpsilonList | None = None
    """Nominal epsilons to look at; default: the finite grid."""

    def operands(self) -> list[Measured]:
        """The metric of each arm."""
        return [Measured(metric=self.metric, arm=arm, attack=self.attack) for arm in self.arms]

    def text(self) -> str:
        of = self.metric if self.attack is None else f"{self.metric} ({self.attack})"
        arms = ", ".join(self.arms)
        return f"{of} of {arms}: between each other's values at neighbouring noise multipliers, +- {self.tolerance:g}"


TrainingExpectation = Either | Collapse | Compare | Close | Count | Correlation | Order | Monotone | Table
Expectation = Annotated[TrainingExpectation | TheoryExpectation, Field(discriminator="kind")]


def _points(quantifier: Quantifier, at: EpsilonList | None) -> str:
    word = "every" if quantifier == "all" else "some"
    if at is None:
        return f" for {word} epsilon"
    listed = ", ".join(f"{e:g}" for e in at)
    return f" for {word} epsilon in {{{listed}}}" if len(at) > 1 else f" at epsilon = {listed}"


def measured_operands(expectation: Expectation) -> list[Measured]:
    """Every measured operand of an expectation, for checks that its names exist."""
    if isinstance(expectation, Table):
        return [row.of for row in expectation.rows]
    if isinstance(expectation, Collapse):
        return expectation.operands()
    if isinstance(expectation, Either):
        return [operand for one in expectation.of for operand in measured_operands(one)]
    sides = [getattr(expectation, name, None) for name in ("left", "right")]
    of = expectation.of if isinstance(expectation, Order | Monotone) else ()
    return [side for side in (*sides, *(of if isinstance(of, tuple) else (of,))) if isinstance(side, Measured)]


def bounds_named(expectation: Expectation) -> list[str]:
    """Every bound that an expectation names."""
    if isinstance(expectation, Either):
        return [bound for one in expectation.of for bound in bounds_named(one)]
    right = getattr(expectation, "right", None)
    return [right.bound] if isinstance(right, BoundValue) else []
