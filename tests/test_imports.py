"""Dependencies point one way, and TensorFlow stays behind the training boundary."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "harness"
# What each package may not import: whatever comes after it on the way from spec to report.
FORBIDDEN = {
    "data": ("attacks", "training", "claims", "execution", "report", "spec", "bounds", "privacy", "metrics"),
    "privacy": ("data", "attacks", "training", "claims", "execution", "report", "spec", "bounds"),
    "bounds": ("data", "attacks", "training", "claims", "execution", "report", "spec"),
    "metrics": ("data", "attacks", "training", "claims", "execution", "report", "spec"),
    "training": ("attacks", "claims", "execution", "report", "spec", "data"),
    "attacks": ("claims", "execution", "report", "spec", "training", "data"),
    "spec": ("execution", "report"),
    "execution": ("claims", "report"),
    "claims": ("execution", "report", "training", "attacks"),
}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_imports_point_one_way(package: str) -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in sorted((PACKAGE / package).rglob("*.py"))
        for name in imported(path)
        for other in FORBIDDEN[package]
        if name == f"harness.{other}" or name.startswith(f"harness.{other}.")
    ]
    assert wrong == []


def test_only_engines_import_tensorflow() -> None:
    users = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(name.split(".")[0] in ("tensorflow", "tensorflow_privacy", "keras") for name in imported(path))
    ]
    allowed = ("training/bookkeeping/", "training/engines/tf_privacy.py", "training/runtime.py")
    assert users
    assert all(user.startswith(allowed) for user in users)


def test_checking_and_the_command_line_start_without_tensorflow() -> None:
    code = (
        "import sys, harness.cli, harness.pipeline, harness.report.build, harness.spec.load, harness.claims.check;"
        "sys.exit(any(m.split('.')[0] in ('tensorflow', 'mlflow') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
