"""Which faults the tests of the judge see: operators and constants of its modules changed one at a time.

`python -m benchmarks.mutants` draws faults (by a seed), puts each into a copy of the package and runs the tests of
these modules there, in processes that have the libraries loaded already. It prints the faults that no test saw, and
writes benchmarks/mutants.json; a run of some modules, or of lines that changed since a commit, is kept there beside
the last of all modules, as *drawn again*. A fault that changes nothing that can be observed is *equivalent*; the known
ones are in benchmarks/equivalent.json with the reason, and count neither way.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "mutants.json"
MODULES = (
    "harness/claims/allocation.py",
    "harness/claims/combine.py",
    "harness/claims/contrasts.py",
    "harness/claims/design.py",
    "harness/claims/evidence.py",
    "harness/claims/grid.py",
    "harness/claims/judgement.py",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "harness/claims/kinds").glob("*.py")),
    "harness/claims/results.py",
    "harness/claims/samples.py",
    "harness/claims/series.py",
    "harness/claims/table_index.py",
    "harness/claims/testing.py",
    "harness/claims/whole.py",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "harness/inference").glob("[a-z]*.py")),
    "harness/metrics/answers.py",
    "harness/metrics/exposure.py",
    "harness/metrics/membership.py",
    "harness/metrics/model.py",
    "harness/metrics/value.py",
    "harness/verdicts/multiplicity.py",
    "harness/verdicts/points.py",
    "harness/verdicts/measured.py",
    "harness/verdicts/partial.py",
    "harness/verdicts/publish.py",
)
TESTS = (
    "tests/claims",
    "tests/inference",
    "tests/metrics",
    "tests/verdicts/test_basis.py",
    "tests/verdicts/test_multiplicity.py",
    "tests/verdicts/test_measured.py",
    "tests/verdicts/test_partial.py",
    "tests/verdicts/test_publish.py",
)
OF_CLAIMS = ("harness/claims/", "harness/inference/", "harness/verdicts/")
LONG = (
    "run_until_decided",
    "a_run_of_so_many_minutes",
    "was_stopped",
    "rare_as_promised",
    "rarely_as_promised",
    "settles_the_half",
    "bounds_nothing",
    "exclude_each_other",
    "papers_figures",
    "sequences_of_looks",
    "told_from_it",
    "either_is_wrong",
)
"""Tests that train, run commands, or simulate for seconds: the others have to see a fault without them."""
COMMITTED = ("committed_claim", "committed_verdict", "come_back_from_a_file", "without_trees", "tree_on_a_line")
"""Tests that read the committed verdicts, which the copy of the project does not have."""
TIMES_LONGER = 3.0
"""Than without a fault: after this a test run counts as having seen the fault, for it does not end."""
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
CONFIGURATION = {"frozen", "strict", "compare", "repr"}
"""Keywords whose values change nothing that is judged."""
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
EQUIVALENT: dict[str, str] = json.loads((Path(__file__).parent / "equivalent.json").read_text())


@dataclass(frozen=True)
class Fault:
    """One change of one module."""

    module: str
    line: int
    what: str
    source: str
    """Of the whole module, changed."""
    before: str
    """The line as it was."""

    @property
    def name(self) -> str:
        """Without the line's number, so that it keeps its meaning when lines are added."""
        return f"{self.module}: {self.before}: {self.what}"


def faults(module: str) -> Iterator[Fault]:
    """Every single change of a module's operators, constants and choices of the larger or smaller."""
    text = (ROOT / module).read_text()
    lines = text.splitlines()
    tree = ast.parse(text)
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    documentation |= {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in CONFIGURATION
    }
    for index, node in enumerate(ast.walk(tree)):
        for what, changed in _changes(node, documentation):
            mutant = copy.deepcopy(tree)
            at = list(ast.walk(mutant))[index]
            changed(at)
            line = getattr(node, "lineno", 0)
            yield Fault(module, line, what, ast.unparse(ast.fix_missing_locations(mutant)), lines[line - 1].strip())


def _changes(node: ast.AST, documentation: set[int]) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in OPERATORS:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
            return
        new = OPERATORS[type(node.op)]
        yield f"{type(node.op).__name__} -> {new.__name__}", lambda at: setattr(at, "op", new())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
        new = OPERATORS[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} -> {new.__name__}", lambda at: setattr(at, "ops", [new()])
    elif isinstance(node, ast.Constant) and id(node) not in documentation and type(node.value) in (int, float):
        value = node.value
        yield f"{value} -> {value + 1}", lambda at: setattr(at, "value", value + 1)
    elif isinstance(node, ast.Constant) and id(node) not in documentation and isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", lambda at: setattr(at, "value", not at.value)
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield f"{node.id} -> {NAMES[node.id]}", lambda at: setattr(at, "id", NAMES[at.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield f"{node.attr} -> {NAMES[node.attr]}", lambda at: setattr(at, "attr", NAMES[at.attr])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "-x -> x", lambda at: setattr(at, "op", ast.UAdd())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not x -> x", lambda at: (setattr(at, "op", ast.UAdd()), setattr(at, "operand", _truth(at.operand)))


def _truth(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("bool", ast.Load()), [node], [])


def seen(fault: Fault | None, home: Path, seconds: float = math.inf) -> bool:
    """Whether a test fails, in a forked process, with the fault in the copy of the project at `home`."""
    if fault is not None:
        (home / fault.module).write_text(fault.source)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(home)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.path.insert(0, str(home))
        sys.dont_write_bytecode = True
        import pytest
        from hypothesis import settings

        settings.register_profile("mutants", max_examples=30, deadline=None, database=None)
        settings.load_profile("mutants")
        names = " and ".join(f"not {name}" for name in (*LONG, *COMMITTED))
        arguments = ["-x", "-q", "-m", "not slow", "-k", names, "-p", "no:cacheprovider", "-p", "no:xdist"]
        for files in filter(None, _nearest(fault.module if fault is not None else "")):
            if pytest.main(arguments + files) not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                os._exit(1)
        os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1] or 1
    if fault is not None:
        shutil.copy(ROOT / fault.module, home / fault.module)
    return status != 0


def _nearest(module: str) -> tuple[list[str], list[str]]:
    """The files of tests that import a module or are named like it, which see a fault sooner, and the others.

    Without those of metrics, which know nothing of claims, where the module is of claims.
    """
    chosen = [name for name in TESTS if name != "tests/metrics" or not module.startswith(OF_CLAIMS)]
    files = [
        str(file)
        for name in chosen
        for file in ([Path(name)] if name.endswith(".py") else Path(name).glob("test_*.py"))
    ]
    dotted, stem = module.removesuffix(".py").replace("/", "."), Path(module).stem

    package = dotted.rpartition(".")[0]

    def far(name: str) -> tuple[bool, bool, bool, str]:
        text = Path(name).read_text()
        return stem not in Path(name).stem, dotted not in text, package not in text, name

    ordered = sorted(files, key=far)
    near = [name for name in ordered if not all(far(name)[:2])] or ordered
    return near, [name for name in ordered if name not in near]


def main() -> None:
    """Draw, try, print and keep what no test saw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, help="of the harness (default: the judge's and metrics)")
    parser.add_argument("--draw", type=int, default=300, help="faults to try (default 300)")
    parser.add_argument("--since", help="a commit: faults of lines alone that changed since")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no more are tried")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="those alone that the last run did not see")
    arguments = parser.parse_args()
    import numpy as np

    every = [fault for module in arguments.modules for fault in faults(module)]
    every = [fault for fault in every if fault.name not in EQUIVALENT]
    if arguments.since is not None:
        changed = {module: changed_lines(module, arguments.since) for module in arguments.modules}
        every = [fault for fault in every if fault.line in changed[fault.module]]
    rng = np.random.default_rng(arguments.seed)
    drawn = [every[i] for i in rng.permutation(len(every))[: arguments.draw]]
    last = json.loads(RESULTS.read_text())
    whole = tuple(arguments.modules) == MODULES and arguments.since is None
    before = last if whole else last.get("drawn again", {})
    if arguments.again:
        unseen = set(before["not seen"])
        drawn = [fault for fault in every if fault.name in unseen]
    _preload()
    with tempfile.TemporaryDirectory() as folder:
        survivors, tried = _tried(drawn, Path(folder), arguments.processes, 60 * arguments.minutes)
    if arguments.again:
        tried = before["tried"] - sum(name in EQUIVALENT for name in before["not seen"])
    console = Console(width=160)
    console.print(f"{tried} of {len(every)} faults tried, {tried - len(survivors)} seen, {len(survivors)} not")
    numbers = {
        "faults": len(every),
        "tried": tried,
        "seen": tried - len(survivors),
        "not seen": [fault.name for fault in survivors],
    }
    if whole:
        kept = numbers | {"equivalent": EQUIVALENT}
    else:
        of = {"modules": list(arguments.modules), "lines changed since": arguments.since}
        kept = last | {"equivalent": EQUIVALENT, "drawn again": of | numbers}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


def changed_lines(module: str, commit: str) -> set[int]:
    """Numbers of the lines of a module that a commit does not have."""
    diff = subprocess.run(["git", "diff", "-U0", commit, "--", module], cwd=ROOT, capture_output=True, check=True)
    hunks = re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", diff.stdout.decode(), re.MULTILINE)
    return {line for start, many in hunks for line in range(int(start), int(start) + int(many or 1))}


def _preload() -> None:
    """What every forked process would import; nothing of the harness itself."""
    import hypothesis  # noqa: F401
    import pandas  # noqa: F401
    import pydantic  # noqa: F401
    import ruamel.yaml  # noqa: F401
    import scipy.optimize
    import scipy.stats  # noqa: F401
    import sklearn.datasets  # noqa: F401
    import ville  # noqa: F401


def _tried(drawn: list[Fault], folder: Path, processes: int, seconds: float) -> tuple[list[Fault], int]:
    """The faults that no test saw, and how many were tried in time. Each of several processes has a copy of the
    project."""
    readers, end = [], time.monotonic() + seconds
    for number in range(processes):
        home = folder / str(number)
        for name in ("harness", "tests", "benchmarks", "specs", "pyproject.toml", "params.yaml"):
            source = ROOT / name
            copying = shutil.copytree if source.is_dir() else shutil.copy
            (home).mkdir(exist_ok=True)
            copying(source, home / name)
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(read)
            start = time.monotonic()
            if seen(None, home):
                os.write(write, b"x")
                os._exit(1)
            longest = TIMES_LONGER * (time.monotonic() - start)
            for place in range(number, len(drawn), processes):
                late = time.monotonic() > end
                os.write(write, b"-" if late else b"1" if seen(drawn[place], home, longest) else b"0")
            os._exit(0)
        os.close(write)
        readers.append(read)
    survivors, tried = [], 0
    for place in track(range(len(drawn)), description="faults", console=Console(stderr=True)):
        answer = os.read(readers[place % processes], 1)
        if answer in (b"", b"x"):
            raise SystemExit("the tests fail without any fault")
        tried += answer != b"-"
        if answer == b"0":
            fault = drawn[place]
            survivors.append(fault)
            print(f"{fault.module}:{fault.line}: {fault.what}: {fault.before}", flush=True)
    return survivors, tried


if __name__ == "__main__":
    main()
