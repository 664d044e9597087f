"""Pythons on which TensorFlow Privacy does not run: its specs are not run and say so, all others are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.paths import Project
from tests.conftest import REPO, SMALL_SPEC, answers_in_turn

WITHOUT = """
import importlib.metadata as metadata, sys
known = metadata.version
def version(name):
    if name == "tensorflow-privacy":
        raise metadata.PackageNotFoundError(name)
    return known(name)
metadata.version = version
sys.modules["tensorflow_privacy"] = None
"""
"""What Python imports as it starts: TensorFlow is there, and TensorFlow Privacy is not."""
SAYS = (
    "it needs TensorFlow Privacy, the reference engine, which is not installed: pip install 'mi-dp-harness[reference]' "
    "on Python 3.11 (its last release runs on no later one)"
)


@pytest.mark.integration
def test_without_tensorflow_privacy_its_specs_are_not_run_and_others_are(
    make_project: Callable[..., Project], tmp_path: Path
) -> None:
    make_project(SMALL_SPEC, "own/fast")
    root = make_project(SMALL_SPEC.replace("engine: fast", "engine: tf-privacy"), "own/reference").root
    (root / "params.yaml").write_text("profile: full\nprofiles:\n  full: {own_seeds: true}\n")  # as the profile quick
    (root / "specs/declared.json").write_text("{}\n")
    (tmp_path / "start").mkdir()
    (tmp_path / "start/sitecustomize.py").write_text(WITHOUT)

    environment = {"PYTHONPATH": f"{tmp_path / 'start'}:{REPO}", "MLFLOW_TRACKING_URI": "sqlite:///own.db"}
    measuring = ("run", "-j", "1", "--stage", "attack")
    ran, judged, *answered, accepted = answers_in_turn(
        root, measuring, ("judge", "--json"), ("report",), ("status",), ("plan",), ("compare", "--update", "-q"),
        **environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert f"own/reference: not run: {SAYS}" in ran.stderr
    found = {one["id"]: one for one in json.loads(judged.stdout)}
    assert found["own/reference#biased-beats-iid"]["verdict"] == "not run"
    assert found["own/reference#biased-beats-iid"]["reason"] == SAYS
    assert found["own/fast#biased-beats-iid"]["verdict"] != "not run"
    assert [one.stderr for one in (*answered, accepted) if one.returncode] == []

    # An accepted verdict of a machine that has it is no fault of one that has not.
    baseline = root / "reports/full/baseline.json"
    content = json.loads(baseline.read_text())
    reference = content["specs"]["own/reference"]
    assert reference["verdicts"]["biased-beats-iid"] == "not run"
    reference["verdicts"]["biased-beats-iid"] = "inconclusive"
    baseline.write_text(json.dumps(content))
    (compared,) = answers_in_turn(root, ("compare", "-q"), **environment)
    assert f"own/reference#biased-beats-iid: not compared: {SAYS}" in compared.stdout
    assert "own/reference#biased-beats-iid: inconclusive accepted" not in compared.stdout


def test_what_it_needs_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    ran = subprocess.run(
        [sys.executable, "-m", "harness", "audit", "tf-privacy", "--runs", "8", "-q"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{REPO}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1] == f"harness: this n{SAYS.removeprefix('it n')}; or train with engine: fast"
