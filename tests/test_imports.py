"""Dependencies point one way, in no circle, and TensorFlow stays behind the training boundary."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "harness"
ORDER = [
    "addresses arrays entry_points errors escaping files git imports inference parquet_pages processes reference_engine streams",
    "bounds coordinates hashing ids links offered paths progress reading_bounds",
    "identity npz parquet",
    "config formulas",
    "metrics privacy defences",
    "data",
    "training",
    "attacks auditing",
    "claims",
    "theory controls",
    "experiment",
    "results",
    "spec",
    "verdicts",
    "execution",
    "tracking",
    "pipeline",
    "report",
    "plugins testing",
    "commands",
    "extensions",
]
"""Floors of the house, the lowest first: a package imports from floors below its own, or from itself."""
FLOOR = {name: number for number, names in enumerate(ORDER) for name in names.split()}


def part_of(module: str) -> str:
    return module.split(".")[1]


def imported(path: Path, with_types: bool = False) -> set[str]:
    """Modules that a file imports, wherever in it; what only type checkers see counts `with_types`."""
    tree = ast.parse(path.read_text())
    for node in () if with_types else ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def modules() -> dict[str, Path]:
    result = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        result[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return result


def test_imports_point_downwards() -> None:
    wrong = []
    for name, path in modules().items():
        if name in ("harness", "harness.__main__"):
            continue
        for other in imported(path):
            if other.startswith("harness.") and part_of(other) != part_of(name):
                assert part_of(other) in FLOOR, other
                if FLOOR[part_of(other)] >= FLOOR[part_of(name)]:
                    wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_the_core_imports_no_extension() -> None:
    """Nowhere in a file, and not for types either."""
    core = {name: path for name, path in modules().items() if not name.startswith("harness.extensions")}
    wrong = [
        f"{name} imports {other}"
        for name, path in core.items()
        for other in imported(path, with_types=True)
        if f"{other}.".startswith("harness.extensions.")
    ]
    assert len(core) > 100
    assert wrong == []


def test_no_extension_imports_another() -> None:
    wrong, extensions = list[str](), set[str]()
    for name, path in modules().items():
        if name.startswith("harness.extensions."):
            own = name.split(".")[2]
            extensions.add(own)
            others = imported(path, with_types=True)
            wrong += [
                f"{name} imports {other}"
                for other in others
                if other.startswith("harness.extensions.") and other.split(".")[2] != own
            ]
    assert {"audit", "bundle", "cluster", "sharing", "survey"} <= extensions
    assert wrong == []


def test_there_is_no_circle_of_modules() -> None:
    """Also within a package; importing a package's `__init__` counts as importing what that imports."""
    known = modules()
    graph = {name: {o for o in imported(path) if o in known and o != name} for name, path in known.items()}
    for name, others in graph.items():
        if "\nimport_all(__name__, __path__)" in known[name].read_text():
            others |= {o for o in known if o.rpartition(".")[0] == name}
    # A package's own modules import each other by name; that its `__init__` lists them makes no circle.
    for name, others in graph.items():
        others -= {o for o in others if name.startswith(f"{o}.")}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join((*way[way.index(name) :], name))
        if name not in done:
            for other in graph[name]:
                visit(other, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_only_engines_import_tensorflow() -> None:
    users = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(name.split(".")[0] in ("tensorflow", "tensorflow_privacy", "keras") for name in imported(path))
    ]
    allowed = ("training/ghost_clipping/", "training/engines/tf_privacy.py", "training/runtime.py")
    assert users
    assert all(user.startswith(allowed) for user in users)


def test_checking_and_the_command_line_start_without_tensorflow() -> None:
    code = (
        "import sys, harness.commands.app, harness.pipeline.compute, harness.report.build, harness.verdicts.check;"
        "sys.exit(any(m.split('.')[0] in ('tensorflow', 'mlflow') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_inference_needs_nothing_else_of_the_harness() -> None:
    """It may be taken out and used alone: importing it imports no other module of ours, nor pandas."""
    code = (
        "import sys, harness.inference;"
        "others = [m for m in sys.modules if m.startswith('harness.') and not m.startswith('harness.inference')];"
        "sys.exit(str(others) if others or 'pandas' in sys.modules else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_modules_are_read_at_a_sitting() -> None:
    long = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {name: lines for name, lines in long.items() if lines > 350} == {}


def test_lines_of_templates_fit_a_screen() -> None:
    long = [
        f"{path.name}:{n}"
        for path in PACKAGE.rglob("templates/*.html")
        for n, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > 160
    ]
    assert long == []
