"""The other readings of a spec: the same experiment with one choice that the paper leaves open made differently."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from harness.claims.verdict import value_text
from harness.errors import HarnessError
from harness.experiment.experiment import set_at
from harness.spec.definitions import read_all_definitions
from harness.spec.document import Document
from harness.spec.model import Spec
from harness.spec.surface import core
from harness.theory.term import DEFINITIONS


@dataclass(frozen=True)
class Reading:
    """One alternative of one ambiguity; every other choice stays as the spec makes it."""

    index: int
    """Of the choice in `ambiguities`."""
    choice: str
    field: str
    value: object
    spec: Spec
    """Named `<spec>/readings/<field>-<value>`."""
    raw: Document
    """As a file would say it."""

    @property
    def text(self) -> str:
        """`field = value`, as a reader of the verdict sees it."""
        return f"{self.field.removeprefix('experiment.')} = {value_text(self.value)}"


@dataclass(frozen=True)
class SentenceReading:
    """Another reading of a claim's sentence, on the same measurements."""

    value: str
    """What it reads otherwise."""
    choice: str = "what the sentence means"
    field: str = "the sentence"

    @property
    def text(self) -> str:
        """As a reader of the verdict sees it."""
        return f"of {self.field} by which {self.value}"


@dataclass(frozen=True)
class ToleranceReading:
    """A claim with half of each tolerance that is ours, on the same measurements."""

    value: str = "half"
    choice: str = "how near is near"
    field: str = "tolerance"

    @property
    def text(self) -> str:
        """As a reader of the verdict sees it."""
        return f"{self.field} = {self.value}"


AnyReading = Reading | SentenceReading | ToleranceReading


def with_field(document: Document, field: str, value: object, name: str) -> tuple[Spec, Document]:
    """The spec with another value at a dotted path, and its document. Raises HarnessError for an invalid value."""
    data = copy.deepcopy(document.data)
    set_at(data, field, value)
    try:
        raw = Document(data, document.places, document.files)
        changed = core(raw)
        own = {DEFINITIONS: read_all_definitions(changed, _message)}
        return Spec.model_validate({**changed.data, "id": name}, by_alias=True, by_name=False, context=own), raw
    except ValidationError as error:
        raise HarnessError(f"{value!r} cannot stand at {field}: {_message(document, error.errors()[0])}") from None


def _message(_: Document, fault: ErrorDetails) -> str:
    return fault["msg"].removeprefix("Value error, ")


def readings(spec: Spec, document: Document, field: str = "") -> list[Reading]:
    """One reading for each alternative of each ambiguity that names its field, in the spec's order.

    Args:
        field: what the field's path ends in; readings of other fields are left out.

    Raises HarnessError for an alternative that is not a valid value of its field.
    """
    alternatives: list[Reading] = []
    taken: set[str] = set()
    for index, ambiguity in enumerate(spec.ambiguities):
        if ambiguity.field is None:
            continue
        for value in ambiguity.alternatives:
            last = spec.canonical_field(ambiguity.field).rpartition(".")[2]
            shown = re.sub(r"[^a-z0-9.]+", "-", f"{last}-{value_text(value)}".lower()).strip("-")[:60]
            name = f"{spec.id}/readings/{shown}"
            if name in taken:
                name = f"{name}-{len(taken)}"
            taken.add(name)
            if ambiguity.field.endswith(field):
                changed, raw = with_field(document, ambiguity.field, value, name)
                alternatives.append(Reading(index, ambiguity.choice, ambiguity.field, value, changed, raw))
    return alternatives
