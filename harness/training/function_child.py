"""The program that runs a training function of the user's own: started by `function_process.py`, imported by nobody.

It needs NumPy and no part of the harness, so that any interpreter can run it, such as one that has PyTorch. Usage:
`python -I -B function_child.py FILE FUNCTION`. Requests come on standard input and answers leave on what was standard
output, each as eight bytes of length and an archive of arrays (`.npz`), of which `say` is JSON; whatever the function
prints goes to standard error.
"""

from __future__ import annotations

import importlib.util
import inspect
import io
import json
import os
import signal
import struct
import sys
import threading
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import numpy as np

POLL_S = 1.0
"""How often it is looked whether the process is still wanted."""
FEW = 8
"""Records on which a model is asked twice."""
Say = dict[str, Any]
Arrays = dict[str, Any]

NAMED = ("n_classes", "seed", "epochs", "batch_size", "learning_rate", "optimizer", "noise_multiplier", "l2_norm_clip")


class Fault(Exception):
    """What is wrong with what the user's code says, in one line."""


def read(stream: IO[bytes]) -> tuple[Say, Arrays] | None:
    """The next request, what it says and its arrays; None at the end."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    content = io.BytesIO(stream.read(struct.unpack("<q", head)[0]))
    with np.load(content, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(bytes(arrays.pop("say"))), arrays


def write(stream: IO[bytes], say: Say, arrays: Arrays) -> None:
    """Answer with what is said and arrays."""
    content = io.BytesIO()
    np.savez(content, say=np.frombuffer(json.dumps(say).encode(), np.uint8), **arrays)
    stream.write(struct.pack("<q", len(content.getvalue())) + content.getvalue())
    stream.flush()


def load(path: Path, name: str) -> Any:
    """The module of the file, as a module of its own name whose folder can be imported from."""
    packages = [i for i, entry in enumerate(sys.path) if "-packages" in Path(entry).name]
    sys.path.insert(min(packages, default=len(sys.path)), str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Fault("cannot be loaded as a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not callable(getattr(module, name, None)):
        raise Fault(f"has no function {name}")
    return module


def settings_for(function: Any, name: str, settings: Say) -> Say:
    """The settings that the function takes."""
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return settings
    if any(one.kind is one.VAR_KEYWORD for one in taken):
        return settings
    named = [one for one in taken if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    own = named[2:] if all(one.kind is one.POSITIONAL_OR_KEYWORD for one in named[:2]) else named
    unknown = [one.name for one in own if one.name not in settings and one.default is one.empty]
    if unknown:
        raise Fault(f"{name} asks for {unknown[0]}; beside records and labels it is given {', '.join(NAMED)}")
    return {one.name: settings[one.name] for one in own if one.name in settings}


def version_fault(packages: dict[str, str]) -> str | None:
    """The first package that is not there in the version that is named, in words; None: all are."""
    for name, begins in packages.items():
        try:
            found = version(name)
        except PackageNotFoundError:
            return f"needs {name} {begins}, which {sys.executable} does not have"
        if found != begins and not found.startswith(begins.rstrip(".") + "."):
            return f"needs {name} {begins}, and {sys.executable} has {found}"
    return None


def as_weights(model: Any, name: str) -> list[Any]:
    """The arrays that a function returned, of a file that has a function `predict`."""
    arrays = list(model) if isinstance(model, (list, tuple)) else []
    if not arrays or not all(isinstance(one, np.ndarray) and one.dtype.kind in "biuf" for one in arrays):
        what = type(model).__name__
        raise Fault(f"{name} gives {what}; since the file has a function predict, a list of NumPy arrays is right")
    return arrays


def asked(function: Any, *given: Any) -> Any:
    """What a function answers. Raises Fault that says what it was given where that is of a type it cannot take."""
    try:
        return function(*given)
    except TypeError as error:
        raise Fault(f"TypeError: {' '.join(str(error).split())} (it is asked with NumPy arrays)") from None


class Server:
    """A training function, and the models that it returned."""

    def __init__(self, module: Any, name: str) -> None:
        self.function, self.name = getattr(module, name), name
        self.predict = getattr(module, "predict", None)
        self.kept: dict[int, Any] = {}

    def train(self, say: Say, arrays: Arrays) -> Arrays:
        """The arrays of a model; none of one that is kept."""
        settings = settings_for(self.function, self.name, say["settings"])
        if say["settings"]["noise_multiplier"] > 0 and "noise_multiplier" not in settings:
            raise Fault(f"{self.name} takes no noise_multiplier, and the spec has models with noise")
        records = arrays["records"]
        model = self.function(records, arrays["labels"], **settings)
        if self.predict is not None:
            weights = {f"w{i}": one for i, one in enumerate(as_weights(model, self.name))}
            self.check_twice(say, {**weights, "records": records[:FEW]})
            return weights
        if not callable(getattr(model, "predict_proba", None)) and not callable(model):
            what = type(model).__name__
            raise Fault(
                f"{self.name} gives {what}; a function of records, or a model with predict_proba, is right; or a list "
                "of arrays, where the file has a function predict(arrays, records)"
            )
        self.kept = {say["key"]: model}
        self.check_twice(say, {"records": records[:FEW]})
        return {}

    def check_twice(self, say: Say, arrays: Arrays) -> None:
        """Raise Fault where a model answers otherwise when it is asked again."""
        first, again = (
            np.asarray(self.ask({**say, "n_classes": say["settings"]["n_classes"]}, arrays)["answers"])
            for _ in range(2)
        )
        if first.dtype.kind in "biuf" and not np.array_equal(first, again, equal_nan=True):
            raise Fault("answers otherwise when it is asked again; a network may need eval() before it answers")

    def ask(self, say: Say, arrays: Arrays) -> Arrays:
        """What a model answers for records."""
        records = arrays["records"]
        if self.predict is not None:
            weights = [arrays[f"w{i}"] for i in range(len(arrays) - 1)]
            return {"answers": asked(self.predict, weights, records)}
        if say["key"] not in self.kept:
            raise Fault(
                "a model is asked about further records after it was trained, for which the file needs a function "
                "predict(arrays, records), and the training function has to return the arrays"
            )
        model = self.kept[say["key"]]
        if not hasattr(model, "predict_proba"):
            return {"answers": asked(model, records)}
        answers = np.asarray(model.predict_proba(records))
        classes = getattr(model, "classes_", None)
        if classes is None or answers.ndim != 2 or len(classes) == say["n_classes"]:
            return {"answers": answers}
        whole = np.zeros((len(answers), say["n_classes"]))  # classes that it never saw have no column
        whole[:, np.asarray(classes, dtype=int)] = answers
        return {"answers": whole}


def end_with_parent(parent: int) -> None:
    """End this process when the one that started it is gone: a training may take hours before it reads again."""
    while os.getppid() == parent:
        time.sleep(POLL_S)
    os._exit(1)


def main() -> None:
    """Answer one request after another until there are no more."""
    path, name = Path(sys.argv[1]), sys.argv[2]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the run's, which ends whoever started this
    threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115  (open as long as the process)
    server: Server | None = None
    while (request := read(requests)) is not None:
        say, arrays = request
        try:
            if server is None:
                if (fault := version_fault(say["packages"])) is not None:
                    raise Fault(fault)
                server = Server(load(path, name), name)
            told = server.train(say, arrays) if say["do"] == "train" else server.ask(say, arrays)
            given = {key: np.asarray(value) for key, value in told.items()}
            wrong = [one.dtype for one in given.values() if one.dtype.kind not in "biuf"]
            if wrong:
                raise Fault(f"answers with {wrong[0]}; numbers are right")
            write(answers, {}, given)
        except Fault as fault:
            write(answers, {"fault": str(fault)}, {})
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                os._exit(130)
            text = " ".join(str(error).split()) or "no message"
            where = traceback.extract_tb(error.__traceback__)
            own = [one for one in where if Path(one.filename) == path]
            line = f", line {own[-1].lineno}" if own else ""
            write(answers, {"fault": f"{type(error).__name__}: {text}{line}", "traceback": traceback.format_exc()}, {})


if __name__ == "__main__":
    main()
