"""Terms that have no parts of their own, and registered formulas."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from harness.claims.expression import Expression, HasTree, Name, chain, numeral
from harness.config import Config
from harness.formulas import FORMULAS
from harness.formulas.formula import describe_unknown_formula
from harness.privacy import formulas as _computed  # noqa: F401  (registers what accountants compute)
from harness.theory.compound import LIFT, Leaf, meanings_of

if TYPE_CHECKING:
    from harness.theory.term import Term


class Constant(Leaf):
    """A number, also written bare."""

    value: float

    def tree(self) -> Expression:
        return numeral(self.value)

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The number, of the sort that `LIFT` turns it into where there is one."""
        lift = at.get(LIFT)
        return self.value if lift is None else lift(self.value)


class Variable(Leaf):
    """A variable of the domain, by its name."""

    variable: str

    def tree(self) -> Expression:
        return Name(name=self.variable)

    def variables(self) -> set[str]:
        return {self.variable}

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The variable's value at a point, of whatever sort it is."""
        return at[self.variable]


class Named(Config, HasTree):
    """A registered formula. Parameters come from `given`, else from the domain's variables of the same name."""

    formula: str
    given: dict[str, Term] = {}
    """The value of each parameter: a number, `{variable: name}`, or another term."""

    @model_validator(mode="after")
    def _check_names(self) -> Named:
        if self.formula not in FORMULAS:
            raise ValueError(describe_unknown_formula(self.formula))
        known = FORMULAS[self.formula].parameters
        for name in self.given:
            if name not in known:
                raise ValueError(f"{self.formula} has no parameter {name!r}; it has: {', '.join(known)}")
        return self

    @cached_property
    def _parameters(self) -> dict[str, Term]:
        """The term of each parameter that is given or has no default."""
        terms: dict[str, Term] = {}
        of = FORMULAS[self.formula]
        for name in of.parameters:
            if name in self.given:
                terms[name] = self.given[name]
            elif name not in of.defaults:
                terms[name] = Variable(variable=name)
        return terms

    def tree(self) -> Expression:
        of = []
        for name, value in self._parameters.items():
            itself = isinstance(value, Variable) and value.variable == name
            of.append(value.tree() if itself else chain("=", Name(name=name), value.tree(), tight=True))
        return Name(name=self.formula, of=tuple(of))

    def variables(self) -> set[str]:
        """The variables that the formula's parameters use."""
        return {v for term in self._parameters.values() for v in term.variables()}

    def meanings(self) -> dict[str, str]:
        """What the formula is, and what its parameters name."""
        of = FORMULAS[self.formula]
        return {self.formula: f"{of.text} [{of.source}]"} | meanings_of(self._parameters.values())

    def is_exact(self) -> bool:
        """Whether the formula and its parameters can be evaluated in ball arithmetic."""
        return FORMULAS[self.formula].exact and all(t.is_exact() for t in self._parameters.values())

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The formula's value at a point, of the sort that its parameters are."""
        return FORMULAS[self.formula].function(**{n: t.evaluate(at) for n, t in self._parameters.items()})
