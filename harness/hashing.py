"""Content hashes and derived seeds: the same declaration always names the same result.

`fingerprint` hashes a JSON value canonically. `derive_seed` turns a root seed and a path of
coordinates into an independent 63-bit seed, so that no result depends on the order or the number
of workers. `code_fingerprint` hashes what modules do, not how they are commented.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from harness.arrays import Array


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces; floats in their shortest exact form."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=True, ensure_ascii=False)


def fingerprint(value: Any) -> str:
    """SHA-256 (64 hexadecimal digits) of a JSON value in canonical form."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def derive_seed(root: int, *coordinates: Any) -> int:
    """A seed in [0, 2**63) determined by `root` and the coordinates, and by nothing else."""
    digest = hashlib.sha256(canonical_json([root, *coordinates]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(root: int, *coordinates: Any) -> np.random.Generator:
    """NumPy generator (Philox) for one random choice, keyed by its coordinates."""
    return np.random.Generator(np.random.Philox(derive_seed(root, *coordinates)))


def digest_arrays(arrays: dict[str, Array]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of arrays, independent of the file format."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _without_docstrings(tree: ast.AST) -> ast.AST:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, holders) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return tree


@cache
def _module_fingerprint(name: str) -> str:
    return hashlib.sha256(ast.dump(_without_docstrings(_parsed(name))).encode()).hexdigest()


@cache
def own_modules(module: str, *packages: str) -> tuple[str, ...]:
    """The module and all modules that it imports, directly or not, of `packages` (default: the package it lies in).

    Packages such as `harness.attacks` are read whole, without running anything; their `__init__` does not count.
    """
    within = packages or (module.rpartition(".")[0],)
    found: dict[str, None] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = None
        waiting += [m for m in _imported(name) if any(m.startswith(f"{package}.") for package in within)]
    return tuple(sorted(found))


@cache
def _imported(module: str) -> tuple[str, ...]:
    """Names of the modules (not packages) that a module's code imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(_parsed(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    own = {"harness", module.partition(".")[0]}
    return tuple(sorted(name for name in names if name.partition(".")[0] in own and _is_module(name)))


@cache
def _is_module(name: str) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # an attribute of a module
        return False
    return spec is not None and spec.origin is not None and spec.submodule_search_locations is None


def _parsed(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise ModuleNotFoundError(f"no source file for module {module}")
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def code_fingerprint(*modules: str) -> str:
    """Hash of what the named modules do: comments, docstrings and layout do not count.

    It is part of a cell's name, so a changed algorithm never answers with a stale cell.
    """
    return fingerprint([[name, _module_fingerprint(name)] for name in sorted(set(modules))])[:16]
