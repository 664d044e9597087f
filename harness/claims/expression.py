"""What an inequality is made of: a tree of numbers, names, operations, words and domains, rendered by each reader.

Every kind of claim gives its tree. `text` is the plain rendering, the site has another in MathML, and `verdicts.json`
has the tree itself: a bare number is a number, a bare string a name, a bare list a row. No rendering is ever read back.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_serializer
from typing_extensions import TypeAliasType

from harness.config import Config

Spelling = Callable[[str], str]
"""How a reader writes a name or an operator, such as `epsilon` or `<=`."""


class HasTree(ABC):
    """What has a tree, and so a text."""

    @abstractmethod
    def tree(self) -> Expression:
        """It as a tree, which each reader renders its own way."""

    def text(self) -> str:
        """It as plain text."""
        return self.tree().text()


class _Bare(Config):
    """Written as the value of its first field, where no other says anything."""

    @model_serializer
    def _serialize(self) -> Any:
        fields = {
            n: getattr(self, n) for n, info in type(self).model_fields.items() if getattr(self, n) != info.default
        }
        return fields if len(fields) > 1 else next(iter(fields.values()))


class Numeral(_Bare):
    """A finite number, also written bare."""

    number: int | float
    percent: bool = False
    """Shown as a percentage: 0.9 is `90%`."""

    def text(self, spell: Spelling = str) -> str:
        """Whole numbers with all their digits, others with six."""
        if self.percent:
            return f"{self.number:.0%}"
        return str(self.number) if isinstance(self.number, int) else f"{self.number:g}"


class Name(_Bare):
    """The name of a metric, a formula, an axis, an arm, an attack: also written bare, where nothing is said of it."""

    name: str
    minus: str | None = None
    """What is subtracted from it, of the same."""
    of: tuple[Expression, ...] | None = None
    """What it is of, or its arguments, in round brackets."""

    def text(self, spell: Spelling = str) -> str:
        """`metric - other(arm, attack)`."""
        name = spell(self.name) if self.minus is None else f"{spell(self.name)} - {spell(self.minus)}"
        return name if self.of is None else f"{name}({_comma_list(self.of, spell)})"


class Words(Config):
    """Words between names and numbers."""

    words: str

    def text(self, spell: Spelling = str) -> str:
        return self.words


class Operation(Config):
    """Terms with an operator, a relation or a conjunction between each two; before a single one."""

    operator: str
    """`+`, `-`, `*`, `/`, `+-`, `<`, `<=`, `=`, `>=`, `>`, or a word such as `or`, `in`."""
    terms: tuple[Expression, ...] = Field(min_length=1)
    tight: bool = Field(default=False, exclude_if=lambda tight: not tight)
    """Without spaces in plain text, as in `delta=0`."""

    def text(self, spell: Spelling = str) -> str:
        space, sign = "" if self.tight else " ", spell(self.operator)
        first = f"{sign}{space}" if len(self.terms) == 1 else ""
        return first + f"{space}{sign}{space}".join(term.text(spell) for term in self.terms)


class Bracketed(Config):
    """Something in brackets."""

    brackets: Literal["()", "[]", "{}"]
    inside: Expression

    def text(self, spell: Spelling = str) -> str:
        left, right = self.brackets
        return f"{left}{self.inside.text(spell)}{right}"


class Absolute(Config):
    """An absolute value."""

    absolute: Expression

    def text(self, spell: Spelling = str) -> str:
        return f"|{self.absolute.text(spell)}|"


class Row(_Bare):
    """One after the other, also written as a bare list."""

    row: tuple[Expression, ...]
    separator: Literal["", ",", ";", ":"] = ""
    """What stands between each two, before the space."""

    def text(self, spell: Spelling = str) -> str:
        return f"{self.separator} ".join(part.text(spell) for part in self.row)


class DomainPart(Config):
    """For what an inequality is claimed: `for every epsilon in {0.1, 1}`, `at epsilon = 1`."""

    domain: Literal["for", "at"]
    over: tuple[Expression, ...]
    """Each variable or axis, with how much of it, and its values."""

    def text(self, spell: Spelling = str) -> str:
        return f"{self.domain} {self.of(spell)}"

    def of(self, spell: Spelling = str) -> str:
        """Without the word before it."""
        return _comma_list(self.over, spell)


KINDS: dict[str, type[Config]] = {
    "number": Numeral,
    "name": Name,
    "words": Words,
    "operator": Operation,
    "brackets": Bracketed,
    "absolute": Absolute,
    "row": Row,
    "domain": DomainPart,
}
"""Sorts of nodes, by the field that each has and no other."""


def _sort(value: object) -> str | None:
    if isinstance(value, dict):
        return next((key for key in KINDS if key in value), None)
    return next((key for key, kind in KINDS.items() if isinstance(value, kind)), None)


def _full_form(value: object) -> object:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, list):
        return {"row": value}
    return {"number": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


Node = Annotated[
    Annotated[Numeral, Tag("number")]
    | Annotated[Name, Tag("name")]
    | Annotated[Words, Tag("words")]
    | Annotated[Operation, Tag("operator")]
    | Annotated[Bracketed, Tag("brackets")]
    | Annotated[Absolute, Tag("absolute")]
    | Annotated[Row, Tag("row")]
    | Annotated[DomainPart, Tag("domain")],
    Discriminator(
        _sort,
        custom_error_type="expression",
        custom_error_message=f"should be a number, a name, a list or a mapping with one of: {', '.join(KINDS)}",
    ),
]
Expression = TypeAliasType(
    "Expression",
    Annotated[Node, BeforeValidator(_full_form, json_schema_input_type="float | str | tuple[Expression, ...] | Node")],
)
for _kind in KINDS.values():
    _kind.model_rebuild()


def _comma_list(parts: Iterable[Expression], spell: Spelling) -> str:
    return ", ".join(part.text(spell) for part in parts)


def numeral(value: float) -> Expression:
    """A number; one without end is a name, since JSON has no other way."""
    if math.isfinite(value):
        return Numeral(number=value)
    return Operation(operator="-", terms=(numeral(-value),), tight=True) if value < 0 else Name(name=f"{value:g}")


def level(value: object, infinity: str = "inf") -> Expression:
    """A value of an axis: a number, or the name of one."""
    if not isinstance(value, float):
        return Name(name=str(value))
    return Name(name=infinity) if math.isinf(value) else numeral(value)


def names(listed: Iterable[str]) -> list[Expression]:
    """Each as a name."""
    return [Name(name=name) for name in listed]


def phrase(*parts: Expression | str | None) -> Expression:
    """One after the other, with spaces between; strings are words, and what is None is left out."""
    row = tuple(Words(words=part) if isinstance(part, str) else part for part in parts if part is not None)
    return row[0] if len(row) == 1 else Row(row=row)


def over_axes(tree: Expression, axes: Sequence[str]) -> Expression:
    """An inequality that says `for every epsilon` where there is no such axis: of those that there are instead."""
    if not isinstance(tree, Row) or not isinstance(last := tree.row[-1], DomainPart):
        return tree
    (quantified, *more) = last.over
    if more or not isinstance(quantified, Row) or quantified.row[-1] != Name(name="epsilon"):
        return tree
    if not axes:
        return phrase(*tree.row[:-1])
    points = DomainPart(domain="for", over=(phrase(quantified.row[0], listing(names(axes))),))
    return phrase(*tree.row[:-1], points)


def listing(parts: Iterable[Expression], separator: Literal[",", ";", ":"] = ",") -> Expression:
    """One after the other, with a separator between; a single one is itself."""
    row = tuple(parts)
    return row[0] if len(row) == 1 else Row(row=row, separator=separator)


def chain(operator: str, *terms: Expression, tight: bool = False) -> Expression:
    """Terms with an operator between each two; a single one is itself."""
    return terms[0] if len(terms) == 1 else Operation(operator=operator, terms=terms, tight=tight)


def aside(*parts: Expression | str | None) -> Expression:
    """A `phrase` in round brackets."""
    return Bracketed(brackets="()", inside=phrase(*parts))


def width(value: float) -> Expression:
    """`+- 0.05`."""
    return Operation(operator="+-", terms=(numeral(value),))


def domains(expression: Expression) -> list[DomainPart]:
    """The domain parts of an inequality, outermost first."""
    if isinstance(expression, DomainPart):
        return [expression]
    return [part for inner in (expression.row if isinstance(expression, Row) else ()) for part in domains(inner)]
