"""Domains of variables, and the value of a term at a point of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, SupportsFloat

import numpy as np
from pydantic import Field, model_validator

from harness.claims.expression import (
    Bracketed,
    DomainPart,
    Expression,
    HasTree,
    Name,
    Row,
    Words,
    chain,
    listing,
    numeral,
)
from harness.config import Config
from harness.errors import HarnessError
from harness.theory.compound import LIFT
from harness.theory.term import Term


class Interval(Config, HasTree):
    """Every real number from `low` to `high`; for computed formulas, `points` of them."""

    low: float
    high: float
    points: int = Field(default=21, ge=2)
    """The number of grid points where a proof over the interval is not possible."""
    spacing: Literal["linear", "log"] = "linear"
    """The spacing of the grid points."""

    @model_validator(mode="after")
    def _check_ends(self) -> Interval:
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            raise ValueError(f"low ({self.low:g}) must be below high ({self.high:g}), both finite")
        if self.spacing == "log" and self.low <= 0:
            raise ValueError(f"logarithmic spacing needs low above 0, found {self.low:g}")
        return self

    def grid(self) -> tuple[float, ...]:
        """The grid points, ascending, both ends among them."""
        space = np.geomspace if self.spacing == "log" else np.linspace
        return tuple(float(v) for v in space(self.low, self.high, self.points))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def tree(self) -> Expression:
        return Bracketed(brackets="[]", inside=listing([numeral(self.low), numeral(self.high)]))


class Values(Config, HasTree):
    """The numbers that are listed, and no others."""

    values: tuple[float, ...] = Field(min_length=1)

    def grid(self) -> tuple[float, ...]:
        """The numbers, in the order in which they are listed."""
        return self.values

    def __contains__(self, value: float) -> bool:
        return value in self.values

    def tree(self) -> Expression:
        more = [Words(words="...")] if len(self.values) > 8 else []
        return Bracketed(brackets="{}", inside=listing([*(numeral(v) for v in self.values[:8]), *more]))


Domain = dict[str, Interval | Values]
"""The values of each variable, by its name."""


def domain_part(domain: Domain, some: bool = False) -> DomainPart | None:
    """The domain of an inequality, all of it or `some` point of it, as a part of its tree; None without variables."""
    over = tuple(chain("in", Name(name=name), values.tree()) for name, values in domain.items())
    if some and over:
        over = (Row(row=(Words(words="some"), over[0])), *over[1:])
    return DomainPart(domain="for", over=over) if over else None


def point(at: Mapping[str, float]) -> str:
    """A point as text.

    >>> point({"epsilon": 1.0, "delta": 1e-5})
    'epsilon = 1, delta = 1e-05'
    """
    return ", ".join(f"{n} = {v:.6g}" for n, v in at.items())


def number(term: Term, at: Mapping[str, float]) -> float:
    """The value of a term at a point.

    Formulas are computed in high precision, so that far tails neither vanish nor cancel. Raises HarnessError where a
    computed one has no value.
    """
    if not term.is_exact():
        return compute_at(term.evaluate, at)
    from harness.theory.ball import Ball, in_high_precision

    lifted: dict[str, object] = {n: Ball.constant(v, 0) for n, v in at.items()}
    with in_high_precision():
        ball: Any = term.evaluate({**lifted, LIFT: lambda value: Ball.constant(value, 0)})
        return float(ball.value.mid())


def compute_at(function: Callable[[Mapping[str, float]], SupportsFloat], at: Mapping[str, float]) -> float:
    """The value of a function at a point. Raises HarnessError where it has none."""
    try:
        with np.errstate(all="ignore"):
            return float(function(at))
    except (ArithmeticError, ValueError, TypeError) as error:
        where = f" at {point(at)}" if at else ""
        raise HarnessError(f"cannot be computed{where}: {error}") from None


def check_names(used: set[str], domain: Domain) -> None:
    """Raise ValueError where `over` lacks a variable that is used, or has one that is not."""
    missing, unused = sorted(used - set(domain)), sorted(set(domain) - used)
    if missing:
        raise ValueError(f"no domain is given for {', '.join(missing)}; name it under `over`")
    if unused:
        raise ValueError(f"`over` names {', '.join(unused)}, which neither side uses")
