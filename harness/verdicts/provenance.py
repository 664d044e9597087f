"""What verdicts follow from besides their evidence: spec, data, code, packages, seed and machine."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

from harness.claims.expectation import ClaimKind
from harness.claims.verdict import Provenance
from harness.formulas import FORMULAS
from harness.hashing import code_fingerprint
from harness.imports import closure
from harness.metrics import METRICS
from harness.metrics.metric import module_of
from harness.spec.profile import Scaled

PACKAGES = ("tensorflow", "tensorflow-privacy", "dp-accounting", "numpy", "scipy", "scikit-learn", "pandas")
JUDGE = "harness.verdicts.check"
"""The module that judges a spec's claims."""


@cache
def hardware() -> str:
    """Processor and operating system, as far as they are known."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{name}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def installed_versions(names: Iterable[str]) -> dict[str, str]:
    """Versions of those packages that are installed; without TensorFlow, for example, where one only judges."""
    return {name: known for name in names if (known := _installed_version(name)) is not None}


@cache
def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def provenance_of(scaled: Scaled, spec_sha256: str, table: pd.DataFrame | None) -> Provenance:
    """By what all verdicts of a spec can be traced, but for the code that judges each."""
    spec, trained = scaled.spec, scaled.spec.own_experiment
    known = table.attrs if table is not None and spec.experiment is not None else {}
    commits = known.get("commits", {})
    return Provenance(
        spec_sha256=spec_sha256,
        data_sha256=str(known.get("data_sha256", "")),
        measured_by=tuple(f"code {code} (commit {commits[code][:12]})" for code in sorted(commits)),
        packages=installed_versions(PACKAGES),
        seed=None if trained is None else trained.seed,
        hardware=str(known.get("hardware", "")),
        mlflow="" if trained is None else f"experiment {spec.paper}, parent run {spec.id} ({scaled.profile})",
    )


def judging_code(parts: Sequence[ClaimKind]) -> str:
    """Hash of the code that judges these parts: the judge, their kinds, formulas and metrics, with all that they
    import."""
    modules = {JUDGE, *(type(part).__module__ for part in parts)}
    for part in parts:
        modules |= {FORMULAS[name].function.__module__ for name in part.formula_names()}
        named = (METRICS.get(name) for operand in part.operands() for name in operand.metrics)
        modules |= {module_of(metric) for metric in named if metric is not None}
    return code_fingerprint(*closure(*sorted(modules)))
