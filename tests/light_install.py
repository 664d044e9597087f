"""Tests on the light install, and on Pythons without the reference engine: what needs a package that is not installed is
skipped and says which."""

from __future__ import annotations

import importlib.util
import re
from subprocess import CompletedProcess

import pytest

from harness import reference_engine
from harness.commands.app import TRAINING_PACKAGES

REFUSAL = re.compile(r"(?m)^harness: this needs (\S+): pip install 'mi-dp-harness\[train\]'")
NO_REFERENCE = re.compile(re.escape(reference_engine.MISSING))


def is_missing(package: str) -> bool:
    """Whether a package of the extra `train` is not installed here."""
    name = package.partition(".")[0].replace("_", "-")
    if name not in TRAINING_PACKAGES:
        return False
    try:
        return importlib.util.find_spec(name.replace("-", "_")) is None
    except ImportError:
        return True


def missing_package(error: BaseException | None) -> str | None:
    """The package of the extra for want of which an error came about; None where that is not why."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and is_missing(str(error.name)):
            return str(error.name)
        error = error.__cause__ or error.__context__
    return None


def skip_if_refused(ran: CompletedProcess[str]) -> CompletedProcess[str]:
    """What a command did; skips the test where the command refused for want of a package that is not installed."""
    refusal = REFUSAL.search(ran.stderr)
    if ran.returncode == 2 and refusal is not None and is_missing(refusal[1]):
        pytest.skip(f"needs {refusal[1]}")
    if NO_REFERENCE.search(ran.stdout + ran.stderr) and is_missing(reference_engine.PACKAGE):
        pytest.skip(f"needs {reference_engine.PACKAGE}")
    return ran
