"""docs/audit-model.md is what was typed; the PyTorch example is audited where PyTorch is, and its contract elsewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tests.conftest import REPO, run_cli
from tests.test_walkthroughs import masked, walk  # noqa: F401  (a fixture)

pytestmark = pytest.mark.integration
EXAMPLES = REPO / "examples"
TORCH = EXAMPLES / "audit_torch_model.py"
STAND_IN = """\
import numpy as np
from sklearn.linear_model import LogisticRegression

def train(features, labels, seed):
    assert features.dtype == np.float32 and labels.dtype == np.int64
    model = LogisticRegression(C=100.0, max_iter=30).fit(features, labels)
    return model.decision_function

def predict(features):
    with np.load("members.npz") as members:
        return train(members["features"], members["labels"], 0)(features)
"""


@pytest.mark.slow
def test_the_page_comes_out_as_it_says(walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    (tmp_path / "bin").mkdir()
    for command, module in (("harness", "-m harness"), ("python", "")):
        path = tmp_path / "bin" / command
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        path.chmod(0o755)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(REPO))
    played = list(walk.play((REPO / "docs" / "audit-model.md").read_text(), tmp_path))
    assert len(played) == 2
    for block, came in played:
        assert masked(came) == masked(block.text)
        assert "TPR at FPR" in came
    assert (tmp_path / "with-models" / "audit.html").is_file()


def save_digits(root: Path) -> None:
    """As the example does, few of them."""
    features, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))[:360]
    for name, places in zip(("members", "nonmembers", "reference"), np.array_split(order, 3), strict=True):
        part = (features[places] / 16).astype(np.float32), labels[places].astype(np.int64)
        np.savez(root / f"{name}.npz", features=part[0], labels=part[1])


def torch_command() -> list[str]:
    """What the page says to type for PyTorch."""
    lines = (REPO / "docs" / "audit-model.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("harness audit examples/audit_torch_model.py")]
    return shlex.split(line)[1:]


def test_arrays_and_logits_are_audited_as_the_pytorch_example_gives_them(tmp_path: Path) -> None:
    """The same command on a stand-in of NumPy: float32 in, logits out, a function that predicts from `train`."""
    save_digits(tmp_path)
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    command = [word.replace("examples/audit_torch_model.py", "stand_in.py") for word in torch_command()]
    ran = run_cli(tmp_path, *command, "--models", "12", "-q", "--json")
    assert ran.returncode == 0, ran.stderr
    numbers = json.loads(ran.stdout)
    assert numbers["records"] == {
        "members": 120, "nonmembers": 120, "reference": 120, "classes": [str(digit) for digit in range(10)],
        "repeated": {"members": 0, "nonmembers": 0, "reference": 0}, "classes_of_few": 0,
    }  # fmt: skip
    areas = {one["attack"]: one["auc"] for one in numbers["attacks"]}
    assert list(areas) == ["blind", "loss", "quantile", "lira", "rmia"]
    assert areas["loss"]["low"] > 0.5
    assert areas["lira"]["value"] > areas["blind"]["value"]
    assert (tmp_path / "stand-in-predict-audit" / "audit.html").is_file()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_the_pytorch_example(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    subprocess.run([sys.executable, str(TORCH)], cwd=tmp_path, env=environment, check=True)
    command = [word.replace("examples/", f"{EXAMPLES}/") for word in torch_command()]
    ran = run_cli(tmp_path, *command, "-q")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_the_keras_example(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(EXAMPLES / "audit_keras_model.py")], cwd=tmp_path, check=True, timeout=300)
    lines = (EXAMPLES / "audit_keras_model.py").read_text().split('"""')[1].replace("\\\n", " ").splitlines()
    (line,) = [line for line in lines if line.strip().startswith("harness audit")]
    ran = run_cli(tmp_path, *shlex.split(line.replace("examples/", f"{EXAMPLES}/"))[1:], "--out", "audit", "-q")
    assert ran.returncode == 0, ran.stderr
    assert "RMIA" in ran.stdout
    assert (tmp_path / "audit/audit.html").is_file()
