"""Packages of plug-ins that `params.yaml` names, and what is said where a spec uses one that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from harness.errors import HarnessError
from harness.paths import Project
from harness.spec.profile import load_params

REQUIREMENTS = "requirements.txt"
"""Where a project lists what it needs installed, packages of plug-ins among it."""


def name_packages(project: Project, faults: Iterable[str]) -> list[str]:
    """Faults of a spec; those about a name that a package of the project adds name the package and how to get it."""
    try:
        packages = load_params(project).plugins
    except HarnessError:  # which is reported where profiles are read
        packages = {}
    lines = []
    for fault in faults:
        adding = [package for package, kinds in packages.items() if any(f"unknown {w}" in fault for w in _words(kinds))]
        lines.append("; ".join([fault, *(_describe_package(project, package) for package in adding)]))
    return lines


def _words(kinds: Iterable[str]) -> list[str]:
    """What follows "unknown" in a fault about one of these names."""
    return [f"{noun} {kind!r}" for noun in ("kind", "formula", "metric", "engine") for kind in kinds]


def _describe_package(project: Project, package: str) -> str:
    install = f"-r {REQUIREMENTS}" if (project.root / REQUIREMENTS).is_file() else package
    try:
        return (
            f"the package {package} {version(package)}, which adds it by params.yaml, is installed and does not add it"
        )
    except PackageNotFoundError:
        return f"the package {package}, which adds it, is not installed: pip install {install}"
