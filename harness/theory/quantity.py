"""Named quantities that claims about theory speak of: bounds, accounting formulas, exact optima of mechanisms.

A quantity is a function with a formula and a source. `formula` quantities work on balls and can be proved
about over a whole continuous domain; `computed` ones (linear programs, enumerations, searches) give a float at a
point, and claims about them are checked on a grid that says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Quantity:
    """A function of named parameters."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    defaults: dict[str, float]
    formula: str
    """As a reader would write it."""
    source: str
    exact: bool
    """True where it can be evaluated in ball arithmetic."""


QUANTITIES: dict[str, Quantity] = {}


def quantity(name: str, formula: str, source: str, exact: bool = True) -> Callable[[F], F]:
    """Decorator: register a function under a name that specs may use. Raises ValueError for a name held already."""

    def register(function: F) -> F:
        if name in QUANTITIES:
            raise ValueError(f"quantity {name!r} is registered twice")
        parameters = inspect.signature(function).parameters
        defaults = {p.name: p.default for p in parameters.values() if p.default is not inspect.Parameter.empty}
        QUANTITIES[name] = Quantity(name, function, tuple(parameters), defaults, formula, source, exact)
        return function

    return register


def whole(name: str, value: float, low: int, high: int) -> int:
    """`value` as an integer. Raises ValueError where it is none, or not within [low, high]."""
    if value != int(value) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}, found {value:g}")
    return int(value)


def computed(name: str, formula: str, source: str) -> Callable[[F], F]:
    """Decorator: register a function of floats that is searched for or summed up rather than evaluated on balls."""
    return quantity(name, formula, source, exact=False)
