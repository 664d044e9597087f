"""The examples in docstrings of what is computed from numbers are so."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.conftest import REPO

PACKAGES = ("data", "execution", "formulas", "metrics", "privacy", "theory", "training")
"""Those of `harness.inference`, of which every public function has one, are in tests/inference."""
MODULES = [
    ".".join(path.relative_to(REPO).with_suffix("").parts)
    for package in PACKAGES
    for path in sorted((REPO / "harness" / package).rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_packages_of_formulas_and_accountants_have_examples() -> None:
    assert {name.split(".")[1] for name in MODULES} >= {"formulas", "metrics", "privacy", "theory"}
