"""Since when claims have their forms: every claim has one, by whatever name its kind goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.claims.expectation import CLAIM_KINDS
from harness.report.forms import FILE, forms_of, read_forms
from harness.spec.document import load_document
from tests.conftest import REPO, committed_specs

SPEC = "claims:\n  - id: a\n    expect: {{kind: {kind}, of: {{metric: auc}}, axis: p}}\n"


def test_every_claim_of_every_spec_has_a_form() -> None:
    loaded = committed_specs()
    claims = {f"{one.spec.id}#{claim.id}" for one in loaded for claim in one.spec.claims}
    without = sorted(claims - read_forms(REPO / "specs" / FILE, loaded).keys())
    assert without == [], "commit the claims, then derive: python -m tests.golden.forms"


KINDS = {cls.hashed_kind: name for name, cls in CLAIM_KINDS if cls.hashed_kind is not None}
"""Of claims: by the name that is hashed, the name in specs."""


@pytest.mark.parametrize("hashed", sorted(KINDS))
def test_a_claim_keeps_its_form_where_its_kind_is_called_otherwise(tmp_path: Path, hashed: str) -> None:
    forms = []
    for kind in (hashed, KINDS[hashed], "compare"):
        path = tmp_path / f"{kind}.yaml"
        path.write_text(SPEC.format(kind=kind))
        forms.append(forms_of(load_document(path))["a"])
    assert forms[0] == forms[1] != forms[2]
