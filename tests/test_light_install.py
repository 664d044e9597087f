"""The suite on the light install: what needs TensorFlow is skipped, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.light_install import missing_package

BLOCKED = """
import importlib.metadata as metadata, sys
NAMES = ("tensorflow", "tensorflow_privacy", "keras")
known = metadata.version
def version(name):
    if name.replace("-", "_") in NAMES:
        raise metadata.PackageNotFoundError(name)
    return known(name)
metadata.version = version
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""
"""What Python imports as it starts: TensorFlow is not there, in no process of the tests."""
TESTS = """
import pytest
from tests.conftest import PARAMS, SMALL_SPEC, run_cli, run_process, write_cancer

@pytest.fixture
def root(tmp_path):
    (tmp_path / "specs/own").mkdir(parents=True)
    (tmp_path / "specs/own/cancer.yaml").write_text(SMALL_SPEC)
    (tmp_path / "params.yaml").write_text(PARAMS)
    write_cancer(tmp_path / "cancer.csv")
    return tmp_path

def test_skipped_here(root):
    assert run_cli(root, "run", "-q").returncode == 0

def test_skipped_in_a_process(root):
    assert run_process(root, "run", "-q", MLFLOW_TRACKING_URI="sqlite:///own.db").returncode == 0

def test_skipped_import():
    import tensorflow

def test_passes(root):
    assert run_cli(root, "judge").returncode == 0
    assert run_process(root, "plan", "-q").returncode == 0

def test_fails(root):
    assert run_cli(root, "judge", "nothing").returncode == 0
"""


@pytest.mark.integration
def test_without_tensorflow_tests_are_skipped_and_faults_are_still_faults(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKED)
    (tmp_path / "test_some.py").write_text(TESTS)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "tests.conftest", "-p", "no:cacheprovider", "test_some.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{REPO}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed, 3 skipped" in ran.stdout, ran.stdout
    assert "needs tensorflow" in ran.stdout


def test_a_package_that_is_installed_or_no_part_of_the_extra_is_not_missing() -> None:
    assert missing_package(ModuleNotFoundError("no", name="numpy")) is None
    assert missing_package(ModuleNotFoundError("no", name="nothing_of_the_kind")) is None
    assert missing_package(ValueError("tensorflow")) is None
