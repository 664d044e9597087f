"""Formulas that a spec defines for itself, read in their order; each fault is one line with file and line."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.spec.document import Document, locate
from harness.theory.definition import Definition
from harness.theory.elementary import ELEMENTARY
from harness.theory.term import read_definitions


def without_consequences(faults: list[ErrorDetails]) -> list[ErrorDetails]:
    """Faults without those of a list that is only too short because its entries have faults of their own."""
    places = [fault["loc"] for fault in faults]

    def is_consequence(fault: ErrorDetails) -> bool:
        size = len(fault["loc"])
        return fault["type"] == "too_short" and any(p[:size] == fault["loc"] for p in places if len(p) > size)

    return [fault for fault in faults if not is_consequence(fault)]


def read_all_definitions(document: Document, explain: Callable[[Document, ErrorDetails], str]) -> dict[str, Definition]:
    """The definitions of a spec, each of which may use those before it. Raises HarnessError with file and line."""
    written, known = document.data.get("define", {}), dict[str, Definition]()
    if not isinstance(written, dict):
        raise HarnessError(f"{locate(document, ('define',))}: define: a mapping of names to formulas is expected")
    for name, one in written.items():
        if name in ELEMENTARY or str(name) in FORMULAS:
            sort = "a function" if name in ELEMENTARY else "a registered formula"
            place = locate(document, ("define", name))
            raise HarnessError(f"{place}: define.{name}: is the name of {sort}; call yours otherwise")
        try:
            known |= read_definitions({name: one}, known)
        except ValidationError as error:
            lines = []
            for fault in error.errors():
                fault["loc"] = ("define", name, *fault["loc"])
                lines.append(explain(document, fault))
            raise HarnessError(*lines) from None
    return known
