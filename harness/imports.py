"""Which modules a module's code rests on, read from its source: nothing is imported or run, but by `import_all`.

`closure` follows imports wherever they stand in a file, functions included, but for what only type checkers see. A
name that a package's `__init__` takes from a module (`from harness.metrics import Value`) leads to that module, and a
package that is imported itself (`from harness.data import datasets`, which registers them) leads nowhere: which of the
modules that it lists, or has `import_all` import, is used is decided by a name in a spec. Whoever asks for a closure
names those that are.
"""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

OWN = __name__.partition(".")[0]
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements hold statements."""


@cache
def closure(*modules: str, packages: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The modules and all that they import, directly or not, of this package or of their own one, sorted.

    `packages`: follow only what lies in these (default: all). Raises ModuleNotFoundError for a module without source.
    """
    names: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += [m for m in imports_of(name) if not packages or lies_in(m, packages)]
    return tuple(sorted(names))


def import_all(package: str, path: Iterable[str]) -> None:
    """Import the modules of a package, sorted by name: what they register is known once the package is imported."""
    for module in pkgutil.iter_modules(path, f"{package}."):
        importlib.import_module(module.name)


def lies_in(module: str, packages: tuple[str, ...]) -> bool:
    """Whether a module is one of the packages, or below one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@cache
def imports_of(module: str) -> tuple[str, ...]:
    """The modules that a module's code imports itself, of this package or of its own one."""
    names: set[str] = set()
    for node in _imports(module):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            base = _absolute(module, node)
            names |= {_defining_module(base, alias.name) for alias in node.names}
    own = {OWN, module.partition(".")[0]}
    return tuple(sorted(m for m in names - {module} if m.partition(".")[0] in own and source(m) and not _lists(m)))


@cache
def _lists(module: str) -> bool:
    """Whether a module is the `__init__` of a package that does nothing but import."""
    path = source(module)
    if path is None or path.name != "__init__.py":
        return False
    quiet = (ast.Import, ast.ImportFrom, ast.Expr)
    names = [node for node in parse_module(module).body if not isinstance(node, quiet)]
    return all(isinstance(node, ast.Assign | ast.AnnAssign) and "__all__" in ast.unparse(node) for node in names)


def _defining_module(base: str, name: str) -> str:
    """The module that `from base import name` leads to."""
    if source(f"{base}.{name}") is not None:
        return f"{base}.{name}"
    path = source(base)
    if path is None or path.name != "__init__.py":
        return base
    for node in _imports(base):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _defining_module(_absolute(base, node), alias.name)
    return base


@cache
def _imports(module: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The import statements of a module that are carried out when it runs."""
    statements: list[ast.Import | ast.ImportFrom] = []
    waiting: list[ast.AST] = [parse_module(module)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            statements.append(node)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting += node.orelse
        else:  # of expressions, which import nothing, a module mostly consists
            waiting += [below for block in _BLOCKS for below in getattr(node, block, ())]
    return tuple(statements)


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """The module that an import names, which may be relative to where it stands."""
    if not node.level:
        return node.module or ""
    path = source(module)
    up = node.level - (path is not None and path.name == "__init__.py")
    parts = module.split(".")
    return ".".join([*parts[: len(parts) - up], *([node.module] if node.module else [])])


@cache
def source(module: str) -> Path | None:
    """The file of a module or of a package's `__init__`; None where there is none."""
    top, *rest = module.split(".")
    root = _root(top)
    if root is None:
        return None
    if not rest:
        return root
    if root.name != "__init__.py":
        return None
    path = root.parent.joinpath(*rest)
    for candidate in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _root(top: str) -> Path | None:
    """The file of a module that lies in no package. Finding it runs nothing."""
    if top == OWN:
        return Path(__file__).with_name("__init__.py")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a module without a specification, such as __main__
        return None
    path = Path(spec.origin) if spec is not None and spec.origin is not None else None
    return path if path is not None and path.suffix == ".py" and path.is_file() else None


def parse_module(module: str) -> ast.Module:
    """A module's syntax tree. Raises ModuleNotFoundError where it has no source file."""
    path = source(module)
    if path is None:
        raise ModuleNotFoundError(f"no source file for module {module}")
    return ast.parse(path.read_text(encoding="utf-8"))
