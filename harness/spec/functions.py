"""What a spec has to know of a training function of the user's own: read in its file, of which nothing is run."""

from __future__ import annotations

import ast
import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from harness.bounds import read_text
from harness.errors import HarnessError
from harness.reading_bounds import check_place
from harness.spec.document import Document, Fields, Keys, locate
from harness.training.models.function import ARGUMENTS, NOISE, PREDICT, CodeOfFunction, FunctionModel

if TYPE_CHECKING:
    from harness.spec.model import Spec

CODE = "code_of_file"
"""The field of a model that is read in the file itself."""
OF_TRAINING = ("engine", "epochs_measured", "early_stopping")
"""Fields of a training that are nobody's arguments; the last two are the engine's to refuse."""
OF_NOISE = ("training.epochs", "training.batch_size", "training.sampling", "training.clipping")
"""Fields that noise is calibrated for, whoever takes them."""


def complete_functions(document: Document) -> None:
    """Let each arm's model know the code of its function. Raises HarnessError, with file and line of the spec, for a
    file that cannot be had, is no Python, or has no such function."""
    experiment = document.data.get("experiment")
    arms = experiment.get("arms") if isinstance(experiment, dict) else None
    for name, arm in arms.items() if isinstance(arms, dict) else ():
        model = arm.get("model") if isinstance(arm, dict) else None
        if isinstance(model, dict) and model.get("kind") == "function":
            keys: Keys = ("experiment", "arms", name, "model")
            arm["model"] = _with_code(document, model, keys)
    whole = {name: arm for name, arm in arms.items() if isinstance(arm, dict) and "model" in arm} if arms else {}
    if whole:
        _check_taken(document, whole)


def _with_code(document: Document, model: Fields, keys: Keys) -> Fields:
    if CODE in model:
        raise HarnessError(f"{locate(document, (*keys, CODE))}: {CODE}: is read in the file itself; remove it")
    try:
        declared = FunctionModel.model_validate(model)
    except ValidationError:
        return model  # the model of the spec says where
    folder = document.place((*keys, "path"))[0].parent
    try:
        code = code_of_function(folder, declared.path, declared.arguments)
    except HarnessError as error:
        where = ".".join(map(str, document.keys_in_file((*keys, "path"))))
        raise HarnessError(f"{locate(document, (*keys, 'path'))}: {where}: {error}") from None
    known = {**model, CODE: dict(code)}
    if declared.python is not None:  # not resolved: a link to an interpreter is how an environment is told
        known["python"] = str((folder / declared.python).absolute())
    return known


def _check_taken(document: Document, arms: Mapping[str, Fields]) -> None:
    """Raises HarnessError for what a spec gives a function that does not take it: noise, an argument, a field of its
    training, or a field that an axis varies. It would be left out in silence."""
    functions = {name: arm for name, arm in arms.items() if isinstance(arm["model"], dict) and CODE in arm["model"]}
    axes = document.data["experiment"].get("axes", {})
    varied = {str(axis["field"]): ("experiment", "axes", name) for name, axis in axes.items()}
    for name, arm in functions.items():
        model = arm["model"]
        takes, where = model[CODE]["takes"], ("experiment", "arms", name)
        if takes is None:
            continue
        privacy, training = arm.get("privacy"), arm.get("training")
        written = privacy.get("epsilons", ()) if isinstance(privacy, dict) else ()
        noisy = [one for one in written if isinstance(one, int | float) and math.isfinite(one)]
        if noisy and NOISE not in takes:
            raise _refusal(
                document,
                (*where, "model", "path"),
                f"{model['path']} takes no {NOISE}, and privacy.epsilons has "
                f"{noisy[0]:g}; let it take one, or give epsilons: [.inf]",
            )
        given = model.get("arguments") or {}
        asked: dict[str, Keys] = {f"model.arguments.{one}": (*where, "model", "arguments", one) for one in given}
        if len(functions) == len(arms) and isinstance(training, dict):  # else another arm's engine may need it
            asked |= {f"training.{one}": (*where, "training", one) for one in training if one not in OF_TRAINING}
        for field, keys in {**asked, **varied}.items():
            group, _, last = field.rpartition(".")
            of_noise = noisy and field in OF_NOISE
            if group in ("training", "model.arguments") and last not in takes and not of_noise:
                raise _refusal(document, keys, f"{model['path']} does not take {last}; it takes {_listed(takes)}")


def _listed(takes: Sequence[str]) -> str:
    return ", ".join(["records and labels", *takes])


def _refusal(document: Document, keys: Keys, why: str) -> HarnessError:
    return HarnessError(f"{locate(document, keys)}: {'.'.join(map(str, document.keys_in_file(keys)))}: {why}")


def code_of_function(folder: Path, declared: str, arguments: Collection[str] = ()) -> CodeOfFunction:
    """The code of a training function named as `mine.py:train`, relative to a folder, told from its source.

    `arguments`: what a spec gives it by name beside what every training has. Raises HarnessError in one line without a
    place.
    """
    file, _, name = declared.rpartition(":")
    path = folder / file
    check_place(path)
    if not path.is_file():
        raise HarnessError(f"{path.name}: no such file beside the spec; write FILE.py:FUNCTION, relative to the spec")
    sources = dict(_sources(path))
    tree = sources[path][1]
    defined = dict(_defined(tree))
    if name not in defined:
        there = ", ".join(one for one, node in defined.items() if isinstance(node, ast.FunctionDef)) or "no function"
        raise HarnessError(f"{path.name} defines no {name}; it defines {there}")
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(f"{source.relative_to(path.parent).as_posix()}\0{sources[source][0]}\0".encode())
    node = defined[name]
    takes = _taken_by_name(node, path.name, arguments) if isinstance(node, ast.FunctionDef) else None
    return CodeOfFunction(
        declared=declared,
        path=str(path.absolute()),
        files=tuple(str(source.absolute()) for source in sorted(sources)),
        sha256=digest.hexdigest(),
        takes=takes,
        predicts=PREDICT in defined,
    )


def files_of_functions(spec: Spec) -> tuple[Path, ...]:
    """The files of the training functions of a spec, with what these import from their own folders."""
    trained = spec.own_experiment
    models = [variant.setup.model for variant in trained.variants()] if trained is not None else []
    codes = [model.code_of_file for model in models if isinstance(model, FunctionModel)]
    return tuple(sorted({Path(file) for code in codes if code is not None for file in code.files}))


def _taken_by_name(node: ast.FunctionDef, file: str, arguments: Collection[str]) -> tuple[str, ...] | None:
    """What a function takes by name; None: anything. Raises HarnessError for one that cannot be called as training
    functions are."""
    args = node.args
    positional = [one.arg for one in (*args.posonlyargs, *args.args)]
    if len(positional) < 2 and args.vararg is None:
        raise HarnessError(
            f"{file}, line {node.lineno}: {node.name} takes {len(positional)} arguments in order; "
            "a training function takes records and labels first"
        )
    given = {one.arg for one, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None}
    without_default = positional[2 : len(positional) - len(args.defaults)]
    if unknown := sorted({*without_default, *given} - {*ARGUMENTS, *arguments}):
        raise HarnessError(
            f"{file}, line {node.lineno}: {node.name} asks for {unknown[0]}; give it by model.arguments, or let it be "
            f"one of {', '.join(ARGUMENTS)}"
        )
    named = (*positional[2:], *(one.arg for one in args.kwonlyargs))
    return None if args.kwarg is not None else named


def _defined(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Names that a module defines at its top, or imports there."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((one.asname or one.name.partition(".")[0], node) for one in node.names)
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node) for target in node.targets if isinstance(target, ast.Name))


def _sources(path: Path) -> Iterator[tuple[Path, tuple[str, ast.Module]]]:
    """A file and every file of its folder that it imports, with text and tree."""
    waiting, seen = [path], {path}
    while waiting:
        source = waiting.pop()
        check_place(source)
        try:
            text = read_text(source)
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise HarnessError(f"{source.name}{line}: is no Python: {reason}") from None
        except OSError as error:
            raise HarnessError(f"{source.name}: cannot be read: {error.strerror}") from None
        yield source, (text, tree)
        for module in _imported(tree):
            top = path.parent / module
            for found in (top.with_suffix(".py"), *(sorted(top.rglob("*.py")) if top.is_dir() else ())):
                if found.is_file() and found not in seen:
                    seen.add(found)
                    waiting.append(found)


def _imported(tree: ast.Module) -> set[str]:
    """The first names of the modules that a module imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.partition(".")[0])
    return names
