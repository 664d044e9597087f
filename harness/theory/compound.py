"""What every term of a theory inequality is made of: variables, exactness, meanings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from harness.claims.expression import HasTree
from harness.config import Config

if TYPE_CHECKING:
    from harness.theory.term import Term

LIFT = ""
"""The key under which an evaluation finds what turns a constant into its own sort of number."""


class Leaf(Config, HasTree):
    """A term that has no parts."""

    def variables(self) -> set[str]:
        """The variables that the term uses."""
        return set()

    def is_exact(self) -> bool:
        """Whether the term can be evaluated in ball arithmetic."""
        return True

    def meanings(self) -> dict[str, str]:
        """The text and the source of every formula and definition that the term names, by its name."""
        return {}


class Compound(Config, HasTree):
    """A term that is made of others, of which it has all the variables and all the names."""

    def _terms(self) -> Sequence[Term]:
        raise NotImplementedError

    def variables(self) -> set[str]:
        """The variables that its terms use."""
        return {v for term in self._terms() for v in term.variables()}

    def is_exact(self) -> bool:
        """Whether its terms can be evaluated in ball arithmetic."""
        return all(t.is_exact() for t in self._terms())

    def meanings(self) -> dict[str, str]:
        """What its terms name."""
        return meanings_of(self._terms())


def meanings_of(terms: Iterable[Term]) -> dict[str, str]:
    """What several terms name."""
    return {name: text for term in terms for name, text in term.meanings().items()}
