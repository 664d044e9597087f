"""The kit on the engines that there are, on training functions, and on ones that break a contract."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.errors import TrainingError
from harness.testing import NonConformance, check_engine, check_training_function
from harness.training.engine import AfterEpoch, Job
from harness.training.engines.fast import Fast
from harness.training.function_process import BELOW
from harness.training.model import Weights
from tests.conftest import REPO
from tests.training.test_function import SOFTMAX


def test_the_fast_engine() -> None:
    check_engine(Fast())


class Restless(Fast):
    """Draws from a clock of its own."""

    def train_stack(self, jobs: Sequence[Job], after_epoch: AfterEpoch | None = None) -> list[Weights]:
        return [[w + np.random.default_rng().normal() for w in one] for one in super().train_stack(jobs)]


class Noiseless(Fast):
    """Leaves the noise out."""

    def train_stack(self, jobs: Sequence[Job], after_epoch: AfterEpoch | None = None) -> list[Weights]:
        return super().train_stack([Job(**{**vars(job), "noise_multiplier": 0.0}) for job in jobs])


class Stacker(Fast):
    """Gives the models of a stack in another order."""

    def train_stack(self, jobs: Sequence[Job], after_epoch: AfterEpoch | None = None) -> list[Weights]:
        return super().train_stack(jobs)[::-1]


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        (Restless(), "fast: the same seed gives another model"),
        (Noiseless(), "fast: a noise multiplier of 20 changes nothing"),
        (Stacker(), "fast: a model of a stack is .* off from the same one trained by itself"),
    ],
)
def test_an_engine_that_breaks_the_contract_is_told(engine: Fast, says: str) -> None:
    with pytest.raises(NonConformance, match=says):
        check_engine(engine)


HEAD = "import numpy as np\ndef train(records, labels, n_classes, *, seed, noise_multiplier=0.0):\n"
FUNCTIONS = {
    "the same seed gives another model": "    w = np.random.rand(records.shape[1], n_classes)\n",
    "other labels give the same answers": "    w = np.zeros((records.shape[1], n_classes))\n",
    "a noise multiplier of 20 changes nothing": "    w = np.stack([records[labels == k].mean(0) for k in range(n_classes)], 1)\n",
    "another seed gives the same noise": (
        "    w = np.stack([records[labels == k].mean(0) for k in range(n_classes)], 1)\n"
        "    w[0] *= 1 + noise_multiplier\n"
    ),
    "answers with 2 classes where labels lack one of 3": (
        "    w = np.stack([records[labels == k].mean(0) for k in np.unique(labels)], 1)\n"
        "    w = w + noise_multiplier * np.random.default_rng(seed).normal(size=w.shape)\n"
    ),
}


@pytest.mark.parametrize("says", FUNCTIONS)
def test_a_training_function_that_breaks_the_contract_is_told(
    says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BELOW, str(tmp_path))
    (tmp_path / "mine.py").write_text(HEAD + FUNCTIONS[says] + "    return lambda x: x @ w\n")
    with pytest.raises(NonConformance, match=says):
        check_training_function(str(tmp_path / "mine.py:train"))


def test_training_functions_that_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BELOW, f"{tmp_path}:{REPO}")
    (tmp_path / "mine.py").write_text(SOFTMAX)
    check_training_function(str(tmp_path / "mine.py:train"))
    check_training_function(str(REPO / "examples/training/forest.py:train_forest"))
    (tmp_path / "mine.py").write_text(HEAD + "    return None\n")
    with pytest.raises(TrainingError, match="train gives NoneType"):
        check_training_function(str(tmp_path / "mine.py:train"))
