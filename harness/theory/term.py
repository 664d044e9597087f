"""The sides of a theory inequality: numbers, variables, named formulas, four operations. No text is evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Discriminator, Tag, model_validator

from harness.claims.expression import Bracketed, Expression, HasTree, Name, chain, numeral
from harness.config import Config
from harness.formulas import FORMULAS
from harness.formulas.formula import describe_unknown_formula
from harness.privacy import formulas as _computed  # noqa: F401  (registers what accountants compute)

LIFT = ""
"""The key under which an evaluation finds what turns a constant into its own sort of number."""


class _Leaf(Config, HasTree):
    """A term that has no parts."""

    def variables(self) -> set[str]:
        """The variables that the term uses."""
        return set()

    def is_exact(self) -> bool:
        """Whether the term can be evaluated in ball arithmetic."""
        return True

    def names(self) -> set[str]:
        """The formulas that the term names."""
        return set()


class Constant(_Leaf):
    """A number, also written bare."""

    value: float

    def tree(self) -> Expression:
        return numeral(self.value)

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The number, of the sort that `LIFT` turns it into where there is one."""
        lift = at.get(LIFT)
        return self.value if lift is None else lift(self.value)


class Variable(_Leaf):
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

    def names(self) -> set[str]:
        """The formula, and those that its parameters name."""
        return {self.formula}.union(*(t.names() for t in self._parameters.values()))

    def is_exact(self) -> bool:
        """Whether the formula and its parameters can be evaluated in ball arithmetic."""
        return FORMULAS[self.formula].exact and all(t.is_exact() for t in self._parameters.values())

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The formula's value at a point, of the sort that its parameters are."""
        return FORMULAS[self.formula].function(**{n: t.evaluate(at) for n, t in self._parameters.items()})


class _Operation(Config, HasTree):
    """Two terms and the operation on them."""

    sign: ClassVar[str]
    operate: ClassVar[Callable[[Any, Any], Any]]

    def _terms(self) -> tuple[Term, Term]:
        return next(iter(self.__dict__.values()))  # type: ignore[no-any-return]

    def tree(self) -> Expression:
        left, right = self._terms()
        return Bracketed(brackets="()", inside=chain(self.sign, left.tree(), right.tree()))

    def variables(self) -> set[str]:
        """The variables that either term uses."""
        left, right = self._terms()
        return left.variables() | right.variables()

    def is_exact(self) -> bool:
        """Whether both terms can be evaluated in ball arithmetic."""
        return all(t.is_exact() for t in self._terms())

    def names(self) -> set[str]:
        """The formulas that either term names."""
        left, right = self._terms()
        return left.names() | right.names()

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The result of the operation on the values of both terms at a point."""
        left, right = self._terms()
        return type(self).operate(left.evaluate(at), right.evaluate(at))


class Plus(_Operation):
    """The sum of two terms."""

    plus: tuple[Term, Term]
    sign, operate = "+", operator.add


class Minus(_Operation):
    """The first term less the second."""

    minus: tuple[Term, Term]
    sign, operate = "-", operator.sub


class Times(_Operation):
    """The product of two terms."""

    times: tuple[Term, Term]
    sign, operate = "*", operator.mul


class Ratio(_Operation):
    """The first term over the second."""

    ratio: tuple[Term, Term]
    sign, operate = "/", operator.truediv


# The key that tells a sort of term where a spec writes a mapping.
KINDS: dict[str, type[Config]] = {
    "value": Constant,
    "variable": Variable,
    "formula": Named,
    "plus": Plus,
    "minus": Minus,
    "times": Times,
    "ratio": Ratio,
}


def _sort(value: object) -> str | None:
    """The key of `KINDS` that a value is of; None where it is no term."""
    if isinstance(value, dict):
        return next((key for key in KINDS if key in value), None)
    return next((key for key, kind in KINDS.items() if isinstance(value, kind)), None)


def _bare_text(value: object) -> object:
    """A bare number as the mapping that it stands for; booleans, which are integers to Python, stay what they are."""
    return {"value": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


SORTS = ", ".join(KINDS)
"""The keys of all sorts of terms, as an error message lists them."""
Mapped = Annotated[
    Annotated[Constant, Tag("value")]
    | Annotated[Variable, Tag("variable")]
    | Annotated[Named, Tag("formula")]
    | Annotated[Plus, Tag("plus")]
    | Annotated[Minus, Tag("minus")]
    | Annotated[Times, Tag("times")]
    | Annotated[Ratio, Tag("ratio")],
    Discriminator(
        _sort,
        custom_error_type="term",
        custom_error_message=f"should be a number or a mapping with one of: {SORTS}",
    ),
]
# A side of an inequality: a bare number, or a mapping whose one key says what it is.
Term = Annotated[Mapped, BeforeValidator(_bare_text, json_schema_input_type=float | Mapped)]
for _kind in KINDS.values():
    _kind.model_rebuild()


def definitions(term: Term) -> dict[str, str]:
    """The text and the source of every formula that a term names, by its name."""
    return {name: f"{FORMULAS[name].text} [{FORMULAS[name].source}]" for name in sorted(term.names())}
