"""The sides of a theory inequality: numbers, variables, functions, named formulas, operations, sums and optima.

A term is written as a mapping, or as a formula is (`harness.theory.written`), whose text is read and never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag, ValidationInfo

from harness.config import Config
from harness.formulas import FORMULAS
from harness.formulas.formula import describe_unknown_formula
from harness.theory.along import Integral, Largest, Smallest, Sum
from harness.theory.definition import Defined, Definition
from harness.theory.leaves import Constant, Named, Variable
from harness.theory.operations import Applied, Minus, Plus, Power, Ratio, Times
from harness.theory.written import read_term

# The key that tells a sort of term where a spec writes a mapping.
KINDS: dict[str, type[Config]] = {
    "value": Constant,
    "variable": Variable,
    "formula": Named,
    "plus": Plus,
    "minus": Minus,
    "times": Times,
    "ratio": Ratio,
    "power": Power,
    "function": Applied,
    "sum": Sum,
    "largest": Largest,
    "smallest": Smallest,
    "integral": Integral,
    "defined": Defined,
}


def _sort(value: object) -> str | None:
    """The key of `KINDS` that a value is of; None where it is no term."""
    if isinstance(value, dict):
        return next((key for key in KINDS if key in value), None)
    return next((key for key, kind in KINDS.items() if isinstance(value, kind)), None)


DEFINITIONS = "definitions"
"""The key under which what validates a spec finds its definitions."""


def _full_form(value: object, info: ValidationInfo) -> object:
    """What a bare number, a text or a call of a definition stands for; a boolean, an integer to Python, stays."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"value": value}
    read = read_term(value) if isinstance(value, str) else value
    if isinstance(read, float):
        return {"value": read}
    if not (isinstance(read, dict) and "formula" in read):
        return read
    return _call_of_definition(read, (info.context or {}).get(DEFINITIONS, {}), isinstance(value, str))


def _call_of_definition(call: dict[str, Any], known: Mapping[str, Definition], is_text: bool) -> object:
    """A call as the mapping of a definition of the spec, else of a formula; arguments without names get theirs."""
    name, in_order = call["formula"], call.get("of", [])
    if not isinstance(name, str):
        return call
    definition = known.get(name) or known.get(str(name).replace("-", "_"))
    if definition is None and name not in FORMULAS:
        if not (is_text or known):
            return call  # the formula's own check says where
        there = f"; the spec defines: {', '.join(known)}" if known else ""
        raise ValueError(describe_unknown_formula(str(name)) + there)
    parameters = FORMULAS[name].parameters if definition is None else definition.of
    if len(in_order) > len(parameters):
        raise ValueError(f"{name} takes {len(parameters)} arguments ({', '.join(parameters)}), found {len(in_order)}")
    given = dict(zip(parameters, in_order, strict=False)) | dict(call.get("given", {}))
    if definition is None:
        return {**{key: value for key, value in call.items() if key != "of"}, "given": given}
    return {"defined": name, "definition": definition, "given": given}


SORTS = ", ".join(KINDS)
"""The keys of all sorts of terms, as an error message lists them."""
Mapped = Annotated[
    Annotated[Constant, Tag("value")]
    | Annotated[Variable, Tag("variable")]
    | Annotated[Named, Tag("formula")]
    | Annotated[Plus, Tag("plus")]
    | Annotated[Minus, Tag("minus")]
    | Annotated[Times, Tag("times")]
    | Annotated[Ratio, Tag("ratio")]
    | Annotated[Power, Tag("power")]
    | Annotated[Applied, Tag("function")]
    | Annotated[Sum, Tag("sum")]
    | Annotated[Largest, Tag("largest")]
    | Annotated[Smallest, Tag("smallest")]
    | Annotated[Integral, Tag("integral")]
    | Annotated[Defined, Tag("defined")],
    Discriminator(
        _sort,
        custom_error_type="term",
        custom_error_message=f"should be a number, a formula in text or a mapping with one of: {SORTS}",
    ),
]
# A side of an inequality: a bare number, a formula in text, or a mapping whose one key says what it is.
Term = Annotated[Mapped, BeforeValidator(_full_form, json_schema_input_type=float | str | Mapped)]
_MODELS: tuple[type[Config], ...] = (*KINDS.values(), Definition)
for _kind in _MODELS:
    _kind.model_rebuild(_types_namespace={"Term": Term, "Definition": Definition})


def definitions(term: Term) -> dict[str, str]:
    """The text and the source of every formula and definition that a term names, by its name."""
    return dict(sorted(term.meanings().items()))


def read_definitions(
    written: Mapping[str, object], before: Mapping[str, Definition] = MappingProxyType({})
) -> dict[str, Definition]:
    """Definitions as a spec writes them, each of which may call those before it, and those that were known `before`.

    Raises ValidationError of the first fault, and of a name that a function or a registered formula has.
    """
    known = dict(before)
    for name, one in written.items():
        context = {DEFINITIONS: dict(known)}
        known[name] = Definition.model_validate(one, by_alias=True, by_name=False, context=context)
    return known
