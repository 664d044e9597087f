"""`specs/forms.json`: since when each claim has its present form, and whether anything of it was measured before.

`python -m tests.golden.forms` derives it from the history once; a claim whose form is another than there has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.bounds import read_text
from harness.claims.expectation import CLAIM_KINDS
from harness.config import Config
from harness.errors import HarnessError
from harness.hashing import fingerprint
from harness.spec.document import Document, Fields
from harness.spec.load import Loaded

FILE = "forms.json"


class Form(Config):
    """Of one claim."""

    form: str
    """Hash of its inequality as the spec's file writes it, kinds by the names of version 1 (`harness.identity`)."""
    since: str
    """Commit and day from which it has been so."""
    measured: str | None
    """Commit and day of the first committed measurements of its spec; none: there are none."""
    before: bool
    """Whether the form was committed before those."""

    @property
    def text(self) -> str:
        """In words."""
        since = _day(self.since)
        if self.measured is None:
            return f"In its present form since {since}; it needs no measurements of a model."
        order = "before" if self.before else "not before"
        return f"In its present form since {since}, {order} the first committed measurements ({_day(self.measured)})."

    @property
    def commits(self) -> str:
        """The commits that the words are about."""
        return f"form {self.since}" + ("" if self.measured is None else f", first measurements {self.measured}")


def _day(commit: str) -> str:
    """The day of `<commit> (<day>)`."""
    return commit.partition(" (")[2].removesuffix(")") or commit


def forms_of(document: Document) -> dict[str, str]:
    """The hash of each claim's inequality as written, with kinds by their names of version 1."""
    claims = document.data.get("claims") or {}
    items: Iterable[tuple[str, Fields | None]] = (
        claims.items() if isinstance(claims, dict) else ((str(claim.get("id")), claim) for claim in claims)
    )
    kinds = {name: old for name, cls in CLAIM_KINDS if (old := vars(cls).get("hashed_kind")) is not None}
    return {
        name: fingerprint(_with_kinds(claim["expect"], kinds))[:16]
        for name, claim in items
        if claim and "expect" in claim
    }


def _with_kinds(form: object, names: Mapping[str, str]) -> object:
    """The text of a form with kinds replaced by these names."""
    if isinstance(form, dict):
        return {
            key: names.get(value, value) if key == "kind" and isinstance(value, str) else _with_kinds(value, names)
            for key, value in form.items()
        }
    return [_with_kinds(item, names) for item in form] if isinstance(form, list) else form


def read_forms(path: Path, loaded: Iterable[Loaded]) -> Mapping[str, Form]:
    """The forms of those claims whose present form is the file's. Raises HarnessError for a malformed file."""
    if not path.is_file():
        return {}
    try:
        known = {name: Form.model_validate(form) for name, form in json.loads(read_text(path)).items()}
    except (ValueError, AttributeError) as error:
        raise HarnessError(f"{path}: not a list of forms: {str(error).splitlines()[0]}") from None
    now = {f"{one.spec.id}#{name}": form for one in loaded for name, form in forms_of(one.raw).items()}
    return {name: form for name, form in known.items() if now.get(name) == form.form}
