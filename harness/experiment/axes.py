"""Axes: a field and the values that it takes, or an epsilon that follows from a formula's value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import scipy
from pydantic import BeforeValidator, Field, field_validator, model_validator

from harness.config import Config, one_or_many
from harness.coordinates import Level
from harness.errors import PrivacyError
from harness.formulas import FORMULAS
from harness.formulas.formula import describe_unknown_formula
from harness.identity import canonical, canonical_path

RESERVED = frozenset(
    [
        "spec",
        "arm",
        "delta",
        "accountant",
        "noise_multiplier",
        "repeat",
        "attack",
        "metric",
        "value",
        "stderr",
        "n",
        "cell",
        "work",
        "code",
        "epsilon",
        "prior",
    ]
)
"""Names that columns of the measurements, or coordinates of every cell, have already."""


class Axis(Config):
    """A field that takes several values, one after another."""

    field: str
    """Dotted path below the arm, or below the attack."""
    values: tuple[Level, ...] = Field(min_length=1)
    """What it is set to."""

    def content(self, varied: Config) -> dict[str, object]:
        """What is hashed of it, as JSON; `varied` is an arm or an attack that has the field."""
        return {**canonical(self), "field": canonical_path(varied, self.field)}

    @field_validator("values")
    @classmethod
    def _check_distinct(cls, value: tuple[Level, ...]) -> tuple[Level, ...]:
        if len(set(value)) != len(value):
            raise ValueError("names a value twice")
        if any(isinstance(v, float) and not math.isfinite(v) for v in value):
            raise ValueError("a value is infinite or no number; the values of an axis are finite")
        return value


class FromAxis(Config):
    """The value of an axis."""

    axis: str


class AtPoint(Config):
    """The formula's own value at a point."""

    at: dict[str, float]


class Derived(Config):
    """Epsilons at which a formula takes given values, for each arm and place on the other axes."""

    axis: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")] = "level"
    """Name of the axis whose values are those of the formula; claims speak of it in place of epsilon."""
    solve: str
    """A registered formula that rises, or falls, with epsilon. Its other parameters are delta, the prior, axes of the
    same name, or given."""
    equals: Annotated[
        tuple[float, ...] | AtPoint,
        BeforeValidator(one_or_many(int, float), json_schema_input_type=float | tuple[float, ...] | AtPoint),
    ]
    """Its values; or `{at: {...}}`, its value where its parameters are these."""
    given: dict[str, float | FromAxis] = {}

    @model_validator(mode="after")
    def _check_parameters(self) -> Derived:
        if self.solve not in FORMULAS:
            raise ValueError(describe_unknown_formula(self.solve))
        parameters = FORMULAS[self.solve].parameters
        if "epsilon" not in parameters:
            raise ValueError(f"formula {self.solve} has no parameter epsilon to solve for")
        for name in self.given:
            if name not in parameters:
                raise ValueError(f"{self.solve} has no parameter {name!r}; it has: {', '.join(parameters)}")
        if self.axis in RESERVED:
            raise ValueError(f"the name {self.axis!r} is taken")
        return self

    def levels(self, known: Mapping[str, float]) -> tuple[float, ...]:
        """The values that the formula has to take; `known` are coordinates of the arm."""
        if not isinstance(self.equals, AtPoint):
            return self.equals
        return (FORMULAS[self.solve].value({**known, **self._given_values(self.equals.at), **self.equals.at}),)

    def _given_values(self, known: Mapping[str, float]) -> dict[str, float]:
        return {
            name: value if isinstance(value, float) else float(known[value.axis])
            for name, value in self.given.items()
            if isinstance(value, float) or value.axis in known
        }

    def epsilon(self, level: float, known: Mapping[str, float]) -> float:
        """The epsilon at which the formula has this value; `known` are coordinates of the place.

        Raises PrivacyError where there is none between 1e-6 and 1e6.
        """
        formula, given = FORMULAS[self.solve], {**known, **self._given_values(known)}

        def excess(log_epsilon: float) -> float:
            return formula.value({**given, "epsilon": math.exp(log_epsilon)}) - level

        low, high = math.log(1e-6), math.log(1e6)
        if excess(low) * excess(high) > 0:
            shown = ", ".join(f"{k} = {v:g}" for k, v in given.items() if k in formula.parameters)
            raise PrivacyError(
                f"epsilons: {self.solve} is {level:g} at no epsilon between 1e-6 and 1e6 ({shown}); it goes from "
                f"{excess(low) + level:g} to {excess(high) + level:g}"
            )
        root = float(scipy.optimize.brentq(excess, low, high, xtol=1e-13))
        return float(f"{math.exp(root):.12g}")
