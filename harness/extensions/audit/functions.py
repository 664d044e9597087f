"""A training function of the user's own, from a file: loaded as Python itself would, and run in a process of its own.

In that process its file's folder can be imported from, after the standard library and before installed packages; the
file is a module by its own name, as functions and classes that are sent to other processes need; what it prints goes to
standard error; and where it ends the process, or is killed, the audit says so.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

from harness.arrays import Array
from harness.auditing.auditor import Trials
from harness.auditing.canaries import CanaryRecords
from harness.auditing.canary_search import Search, seek_canary
from harness.auditing.trials import Score, Train, fault, many_runs, one_at_a_time
from harness.errors import HarnessError
from harness.processes import SAFE_ENVIRONMENT, SAFE_PATH, environment, make_importable, set_variable, users_safe_path
from harness.progress import Progress
from harness.streams import send_stdout_to_stderr

ReportStep = Callable[[int], None]
"""What a task calls as each of its steps begins, with the step's number, from 1."""
EXIT_TIMEOUT_S = 5.0
"""What a process that has given its result gets to end by itself."""


class RemoteTraceback(Exception):
    """The traceback of an error in another process."""


@dataclass(frozen=True)
class Contract:
    """What is asked of a function of the user's."""

    name: str
    """What it is called in messages, such as `training function`."""
    takes: tuple[str, ...]
    """Its arguments, in words."""
    returns: str


TRAINING = Contract("training function", ("features", "labels", "a seed"), "a model")


@dataclass(frozen=True)
class _Result:
    value: object


@dataclass(frozen=True)
class _Fault:
    line: str
    whole: str


def named_function(where: str, contract: Contract = TRAINING) -> tuple[Path, str]:
    """File and name of a function given as `file.py:name`. Raises HarnessError for another form, or a missing file."""
    path, _, name = where.rpartition(":")
    if not path.endswith(".py") or not name.isidentifier():
        hint = f"; write it as {where}:FUNCTION" if where.endswith(".py") and Path(where).is_file() else ""
        raise HarnessError(
            f"audit: {where!r} is neither an engine nor a function{hint or '; write it as file.py:function'}"
        )
    if Path(path).is_dir():
        raise HarnessError(f"{path}: is a folder; a {contract.name} is named as file.py:function")
    if not Path(path).is_file():
        raise HarnessError(f"{path}: no such file; a {contract.name} is named as file.py:function")
    return Path(path), name


def trials_of_function(
    where: str,
    records: CanaryRecords,
    runs: int,
    seed: int,
    score: Score,
    progress: Progress | None = None,
    search: Search | None = None,
) -> Trials:
    """`many_runs` of the function that `file.py:name` names, in a process of its own; with `search`, of the canary that
    is sought before.

    Raises HarnessError, in one line that names the file, for what cannot be loaded, for a function that raises or gives
    what has no score, and for one that ends its process; with the traceback as its cause.
    """
    named_function(where)
    steps = runs + (search.trainings if search else 0)
    trials = run_in_process(where, _score_runs, (where, records, runs, seed, score, search), steps, "run", progress)
    assert isinstance(trials, Trials)
    return trials


def run_in_process(
    where: str,
    task: Callable[..., object],
    given: tuple[object, ...],
    steps: int,
    step: str,
    progress: Progress | None = None,
) -> object:
    """What `task(tell, *given)` returns in a process of its own, in which the file of `where` may be loaded.

    The task, a function of a module, calls `report_step` with the number of each of its `steps` as that begins;
    messages call one a `step`. Raises HarnessError, in one line that names `where`, for whatever is raised, and where
    the process ends.
    """
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    context = get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload([__name__])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(  # type: ignore[attr-defined]
        target=_run_in_child, args=(sender, users_safe_path(), where, task, given)
    )
    with _hide_main_module():
        process.start()
    sender.close()
    steps_begun, answer = 0, None
    try:
        with (progress or Progress(quiet=True)).cells("audit", steps) as bar:
            while answer is None:
                message = receiver.recv()
                if isinstance(message, int):
                    bar.advance(message - max(steps_begun, 1))
                    steps_begun = message
                else:
                    answer = message
    except EOFError:
        process.join()
        raise HarnessError(
            f"audit: {where}: {_describe_exit(process.exitcode)} {_progress_text(steps_begun, steps, step)}"
        ) from None
    finally:
        process.join(EXIT_TIMEOUT_S if answer is not None else 0)
        process.kill()
    if isinstance(answer, _Result):
        return answer.value
    raise HarnessError(answer.line) from RemoteTraceback(f"\n{answer.whole}")


@contextlib.contextmanager
def _hide_main_module() -> Iterator[None]:
    """Keep the process that is begun from running this program's main module anew, and from importing from here.

    Python starts it with `-c`, which puts the current folder first, before the standard library.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        with environment(SAFE_ENVIRONMENT):
            yield
    finally:
        sys.modules["__main__"] = main


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"its process was killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
    return f"it ended its process (exit code {code})"


def _progress_text(begun: int, steps: int, step: str) -> str:
    return f"in {step} {begun} of {steps}" if begun else "while its file was loaded"


def _run_in_child(
    parent: Connection, safe_path: str | None, where: str, task: Callable[..., object], given: tuple[object, ...]
) -> None:
    """Run the task in the child process and send back its result or its fault."""
    send_stdout_to_stderr()
    set_variable(SAFE_PATH, safe_path)
    sys.dont_write_bytecode = True
    try:
        parent.send(_Result(task(parent.send, *given)))
    except KeyboardInterrupt:
        os._exit(130)  # which would print a traceback of this process
    except Exception as error:
        reason = str(error).removeprefix("audit: ") if isinstance(error, HarnessError) else fault(error)
        parent.send(_Fault(f"audit: {where}: {reason}", traceback.format_exc()))


def _score_runs(
    report_step: ReportStep,
    where: str,
    records: CanaryRecords,
    runs: int,
    seed: int,
    score: Score,
    search: Search | None,
) -> Trials:
    path, name = named_function(where)
    train, begun = load_function(path, name), 0

    def train_and_tell(features: Array, labels: Array, at: int) -> object:
        nonlocal begun
        begun += 1
        report_step(begun)
        return train(features, labels, at)

    many = one_at_a_time(train_and_tell)
    initial = getattr(train, "initial", None)
    if initial is not None:
        many.initial = initial  # type: ignore[attr-defined]
    if search is not None:
        records = seek_canary(many, records, seed, search)
    return many_runs(many, records, runs, seed, score)


def load_attribute(path: Path, name: str) -> tuple[ModuleType, object]:
    """Load a file; the module that it is, and what it calls by that name, or None. Raises HarnessError where it cannot
    be loaded."""
    try:
        module = load_module(path)
    except BaseException as error:
        raise HarnessError(f"cannot be loaded: {fault(error, path)}") from error
    return module, getattr(module, name, None)


def load_function(path: Path, name: str, contract: Contract = TRAINING) -> Train:
    """Load a file and return the function of that name. Raises HarnessError where there is none, or it cannot be called
    as the contract asks."""
    module, function = load_attribute(path, name)
    if not callable(function):
        own = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
        raise HarnessError(f"no function {name!r} in it; there are: {', '.join(own) or 'none'}")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        sort = "is asynchronous" if inspect.iscoroutinefunction(function) else "yields"
        raise HarnessError(f"{name} {sort}; a {contract.name} returns {contract.returns}")
    _check_parameters(function, name, contract.takes)
    return function


def _check_parameters(function: Callable[..., object], name: str, takes: tuple[str, ...]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a function in C
        return
    try:
        signature.bind(*takes)
    except TypeError:
        words = " and ".join(filter(None, (", ".join(takes[:-1]), takes[-1])))
        raise HarnessError(f"{name}{signature} cannot be called with {words}") from None


def load_module(path: Path) -> ModuleType:
    """Run a file as the module that Python would make of it where it is imported by its name; one of a package, too.

    Its folder (a package's: the one above) stays on `sys.path`, behind the standard library. A file with the name of a
    module that is there already, such as `json.py`, is a module `own_json`, and takes nobody's place.
    """
    path = path.resolve()
    names, folder = [path.stem], path.parent
    make_importable(folder)
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        names.insert(0, folder.name)
        folder = folder.parent
    make_importable(folder)
    name = ".".join(names)
    if names[0] not in sys.modules and _is_at(name, path):
        return importlib.import_module(name)
    name = f"own_{path.stem.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_at(name: str, path: Path) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path
