"""Formulas, and the registry that a decorator puts them into.

`formula` registers a function that works on balls, about which a claim can be proved over a whole continuous domain.
`computed` registers a linear program, an enumeration or a search, which gives a float at a point: a claim about it is
checked on a grid.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from harness.arrays import Array
from harness.errors import HarnessError

Adjacency = Literal["add-remove-one", "replace-one"]
"""The neighbouring relations that a guarantee may be of."""
Bounded = Literal["advantage", "accuracy", "positive accuracy", "negative accuracy", "TPR"]
"""The quantities that a formula may bound. A bound on TPR has the false-positive rate among its parameters."""
LARGEST_EPSILON = 1e4
"""The epsilon that stands for infinity, at which formulas themselves have no value."""
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Formula:
    """A formula is a function of named parameters, with where it stands and what it is proved for."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    defaults: dict[str, float]
    text: str
    """The formula as a reader would write it."""
    source: str
    exact: bool
    """Whether the function can be evaluated in ball arithmetic."""
    bounds: Bounded | None = None
    """The quantity that the formula is an upper bound on; None where it is no upper bound."""
    adjacency: Adjacency | None = None
    """The neighbouring relation that the bound is proved for."""
    assumptions: tuple[str, ...] = ()
    pure_only: bool = False
    """Whether the proof needs delta = 0."""

    def value(self, given: Mapping[str, float]) -> float:
        """The formula's value at a point, whose epsilon may be infinite.

        A bound is clipped to [0, 1], where one above 1 says nothing. Numbers that are no parameters of the formula are
        ignored.

        Raises HarnessError where a parameter is missing or the value cannot be computed.
        """
        missing = [p for p in self.parameters if p not in given and p not in self.defaults]
        if missing:
            raise HarnessError(f"formula {self.name} needs {', '.join(missing)}")
        known = {p: float(given[p]) for p in self.parameters if p in given}
        if np.isinf(known.get("epsilon", 0.0)):
            known["epsilon"] = LARGEST_EPSILON
        try:
            with np.errstate(all="ignore"):
                unclipped = float(self.function(**known))
        except (ArithmeticError, ValueError, TypeError) as error:
            at = ", ".join(f"{name} = {value:g}" for name, value in known.items())
            raise HarnessError(f"formula {self.name} cannot be computed at {at}: {error}") from None
        if self.bounds is None:
            return unclipped
        # A bound that is not a number, such as infinity over infinity at a large epsilon, promises nothing.
        return 1.0 if np.isnan(unclipped) else float(min(1.0, max(0.0, unclipped)))

    def curve(self, epsilon: ArrayLike, **given: float) -> Array:
        """The formula's `value` at each epsilon, (k,). Raises HarnessError as `value` does."""
        return np.array([self.value({"epsilon": float(e), **given}) for e in np.ravel(epsilon)])


FORMULAS: dict[str, Formula] = {}
"""The registered formulas by the name that a spec writes."""


def formula(
    name: str,
    text: str,
    source: str,
    *,
    exact: bool = True,
    bounds: Bounded | None = None,
    adjacency: Adjacency | None = None,
    assumptions: tuple[str, ...] = (),
    pure_only: bool = False,
) -> Callable[[F], F]:
    """The decorator that registers a function under a name that specs may use.

    Raises ValueError where the name is held already.
    """

    def register(function: F) -> F:
        if name in FORMULAS:
            raise ValueError(f"formula {name!r} is registered twice")
        parameters = inspect.signature(function).parameters
        defaults = {p.name: p.default for p in parameters.values() if p.default is not inspect.Parameter.empty}
        FORMULAS[name] = Formula(
            name, function, tuple(parameters), defaults, text, source, exact, bounds, adjacency, assumptions, pure_only
        )
        return function

    return register


def computed(name: str, text: str, source: str, *, bounds: Bounded | None = None) -> Callable[[F], F]:
    """The decorator that registers a function of floats which is searched for or summed up, not evaluated on balls.

    Raises ValueError where the name is held already.
    """
    return formula(name, text, source, exact=False, bounds=bounds)


def formula_named(name: str) -> Formula:
    """The formula of that name. Raises HarnessError, with the nearest names, where no formula has it."""
    if name not in FORMULAS:
        raise HarnessError(describe_unknown_formula(name))
    return FORMULAS[name]


def describe_unknown_formula(name: str) -> str:
    """The sentence that tells a user of a name which no formula has, with the nearest names or all of them."""
    close = difflib.get_close_matches(name, FORMULAS, n=3)
    return f"unknown formula {name!r}; " + (
        f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(sorted(FORMULAS))}"
    )


def whole_number(name: str, value: float, low: int, high: int) -> int:
    """`value` as an integer. Raises ValueError where it is no whole number, or not within [low, high].

    >>> whole_number("k", 3.0, 1, 10)
    3
    """
    if value != int(value) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}, found {value:g}")
    return int(value)
