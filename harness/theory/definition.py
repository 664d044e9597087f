"""Formulas that a spec defines for itself, by a name and of some parameters, and calls of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from harness.claims.expression import Expression, Name
from harness.config import Config
from harness.theory.compound import LIFT, Compound
from harness.theory.leaves import Variable

if TYPE_CHECKING:
    from harness.theory.term import Term


class Definition(Config):
    """A formula that a spec defines: a name for a term of some parameters."""

    of: tuple[str, ...] = ()
    """Its parameters, in the order in which a call gives them."""
    means: Term = Field(alias="is")
    """The term, over these alone."""
    where: str = ""
    """Where a paper has it."""

    @model_validator(mode="after")
    def _check_parameters(self) -> Definition:
        used = self.means.variables()
        if unknown := sorted(used - {*self.of}):
            raise ValueError(f"uses {', '.join(unknown)}, which `of` does not list")
        if idle := [name for name in self.of if name not in used]:
            raise ValueError(f"`of` lists {', '.join(idle)}, which the formula does not use")
        return self


class Defined(Compound):
    """A call of a definition. Parameters come from `given`, else from the domain's variables of the same name."""

    defined: str
    definition: Definition
    given: dict[str, Term] = {}

    @model_validator(mode="after")
    def _check_given(self) -> Defined:
        for name in self.given:
            if name not in self.definition.of:
                raise ValueError(f"{self.defined} has no parameter {name!r}; it has: {', '.join(self.definition.of)}")
        return self

    @cached_property
    def _parameters(self) -> dict[str, Term]:
        return {name: self.given.get(name, Variable(variable=name)) for name in self.definition.of}

    def _terms(self) -> tuple[Term, ...]:
        return tuple(self._parameters.values())

    def is_exact(self) -> bool:
        return self.definition.means.is_exact() and super().is_exact()

    def tree(self) -> Expression:
        return Name(name=self.defined, of=tuple(term.tree() for term in self._terms()))

    def meanings(self) -> dict[str, str]:
        """Its own text, and what that and its arguments name."""
        own = self.definition
        text = f"{self.defined}({', '.join(own.of)}) = {without_brackets(own.means.tree().text())}"
        source = f" [{own.where}]" if own.where else " [defined in the spec]"
        return {self.defined: text + source} | own.means.meanings() | super().meanings()

    def evaluate(self, at: Mapping[str, Any]) -> Any:
        """The definition's value at its arguments, which are all that it knows."""
        inner = {name: term.evaluate(at) for name, term in self._parameters.items()}
        return self.definition.means.evaluate({**inner, **({LIFT: at[LIFT]} if LIFT in at else {})})


def without_brackets(text: str) -> str:
    """A text without one pair of brackets around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text
