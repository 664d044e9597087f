"""The process in which a training function of the user's own runs, one for each function and worker."""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.errors import TrainingError
from harness.processes import SAFE_PATH, users_safe_path
from harness.training.model import Weights
from harness.training.models.function import FunctionModel

CHILD = Path(__file__).with_name("function_child.py")
BELOW = "HARNESS_FUNCTIONS_BELOW"
"""Names the folders below which training functions may be run, as PATH names folders."""
SUM = 1e-3
"""How far from 1 the probabilities of a record may sum."""
LEAST = float(np.finfo(np.float32).tiny)
"""What stands for a probability of 0, so that its logarithm is a number."""
END_S = 5.0
"""What a process whose input has ended gets to end by itself."""


def _check_trusted(name: str, file: Path) -> None:
    """Raises TrainingError for code of a folder that the user has not named: a spec of others would else run it."""
    named = [Path(one).expanduser() for one in os.environ.get(BELOW, "").split(os.pathsep) if one]
    if not any(file.resolve().is_relative_to(folder.resolve()) for folder in named):
        raise TrainingError(
            f"{name}: is code, which is run for no spec before you say whose: set {BELOW}={file.resolve().parent} if "
            "you trust that folder"
        )


class _FunctionProcess:
    """A process that trains by a function and answers for its models."""

    def __init__(self, model: FunctionModel) -> None:
        assert model.code_of_file is not None
        _check_trusted(model.path, Path(model.code_of_file.path))
        self.name, self._packages = model.path, dict(model.packages)
        command = [model.python or sys.executable, "-I", "-B", str(CHILD), model.code_of_file.path, model.function]
        variables = {name: value for name, value in os.environ.items() if name != SAFE_PATH}
        if (own := users_safe_path()) is not None:
            variables[SAFE_PATH] = own
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables)
        except OSError as error:
            raise TrainingError(f"{model.python}: cannot be started: {error.strerror}") from None

    def call(self, say: Mapping[str, object], arrays: Mapping[str, Array]) -> dict[str, Array]:
        """What the process answers. Raises TrainingError for what the function raises, and where its process ends."""
        content = io.BytesIO()
        said = np.frombuffer(json.dumps({**say, "packages": self._packages}).encode(), np.uint8)
        np.savez(content, say=said, **dict(arrays))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(struct.pack("<q", len(content.getvalue())) + content.getvalue())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        head = self._process.stdout.read(8)
        if len(head) < 8:
            raise self._ended()
        answer = self._process.stdout.read(struct.unpack("<q", head)[0])
        with np.load(io.BytesIO(answer), allow_pickle=False) as archive:
            given: dict[str, Array] = {name: archive[name] for name in archive.files}
        told: dict[str, Any] = json.loads(bytes(given.pop("say")))
        if "fault" in told:
            error = TrainingError(f"{self.name}: {told['fault']}")
            if "traceback" in told:
                error.add_note(told["traceback"])
            raise error
        return given

    def _ended(self) -> TrainingError:
        _processes.clear()  # the next training starts another one
        code = self._process.wait()
        if code < 0:
            name = signal.Signals(-code).name
            how = f"its process was killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
        else:
            how = f"it ended its process (exit code {code})"
        return TrainingError(f"{self.name}: {how}")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()


_processes: dict[tuple[str, str, str | None], _FunctionProcess] = {}
"""By code, function and interpreter."""


def _process_of(model: FunctionModel) -> _FunctionProcess:
    assert model.code_of_file is not None
    key = model.code_of_file.sha256, model.function, model.python
    if key not in _processes:
        _processes[key] = _FunctionProcess(model)
    return _processes[key]


def _close_all() -> None:
    for one in _processes.values():
        one.close()


atexit.register(_close_all)


def train_by_function(
    model: FunctionModel, records: Array, labels: Array, key: int, settings: Mapping[str, object]
) -> Weights:
    """The arrays that the function returned for `records` (n, d) float32 and `labels` (n,); of one that returns a
    model, `key` and the number of classes, by which it can be asked until the next one is trained.

    Raises TrainingError, in one line that names file and function, for whatever goes wrong in it.
    """
    say: dict[str, object] = {"do": "train", "key": key, "settings": dict(settings)}
    given = _process_of(model).call(say, {"records": records, "labels": labels})
    if not given:
        return [np.array([key, settings["n_classes"]], dtype=np.int64)]
    return [given[f"w{i}"] for i in range(len(given))]


def ask_function(model: FunctionModel, weights: Weights, features: Array) -> Array:
    """The log-probabilities of `features` (n, d) by a model of the function, (n, n_classes) float32.

    Raises TrainingError where the answer is not one number a record and class, or no probabilities.
    """
    assert model.code_of_file is not None
    if model.code_of_file.predicts:
        say: dict[str, object] = {"do": "ask"}
        arrays = {f"w{i}": one for i, one in enumerate(weights)}
    else:
        say, arrays = {"do": "ask", "key": int(weights[0][0]), "n_classes": int(weights[0][1])}, {}
    answers = _process_of(model).call(say, {**arrays, "records": np.asarray(features, np.float32)})["answers"]
    return read_answers(answers, len(features), model)


def read_answers(answers: Array, n: int, model: FunctionModel) -> Array:
    """Probabilities or logits (n, n_classes) as log-probabilities, float32. Raises TrainingError for anything else."""
    if answers.ndim != 2 or len(answers) != n or answers.shape[1] < 2:
        raise TrainingError(
            f"{model.path}: answers with shape {answers.shape} for {n} records; one row a record and "
            "one column a class are right"
        )
    numbers = answers.astype(np.float64)
    if np.isnan(numbers).any():
        raise TrainingError(f"{model.path}: answers with not-a-number; it may have diverged")
    if model.answers == "logits":
        if n and numbers.min() >= 0 and np.abs(numbers.sum(axis=1) - 1).max() <= SUM:
            raise TrainingError(
                f"{model.path}: answers with rows that sum to 1, as probabilities do; leave out answers: logits"
            )
        shifted = numbers - numbers.max(axis=1, keepdims=True)
        logp = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return logp.astype(np.float32)  # type: ignore[no-any-return]
    sums = numbers.sum(axis=1)
    if numbers.min(initial=0.0) < 0 or np.abs(sums - 1).max(initial=0.0) > SUM:
        worst = sums[np.abs(sums - 1).argmax()]
        what = f"that sum to {worst:.4g}" if numbers.min() >= 0 else f"down to {numbers.min():.4g}"
        raise TrainingError(
            f"{model.path}: answers with numbers {what}, which are no probabilities; if they are "
            "logits, write model: {..., answers: logits}"
        )
    return np.log(np.maximum(numbers, LEAST)).astype(np.float32)  # type: ignore[no-any-return]
