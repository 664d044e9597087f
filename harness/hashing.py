"""Content hashes and derived seeds: the same declaration always names the same result.

`fingerprint` hashes a JSON value canonically. `derive_seed` turns a root seed and a path of
coordinates into an independent 63-bit seed, so that no result depends on the order or the number
of workers. `code_fingerprint` hashes what modules do, not how they are commented.
"""

from __future__ import annotations

import ast
import hashlib
import json
from functools import cache
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.imports import parse_module

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=True, ensure_ascii=False)


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces; floats in their shortest exact form."""
    return _CANONICAL.encode(value)


def fingerprint(value: Any) -> str:
    """SHA-256 (64 hexadecimal digits) of a JSON value in canonical form."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def derive_seed(root: int, *coordinates: object) -> int:
    """A seed in [0, 2**63) determined by `root` and the coordinates, and by nothing else."""
    digest = hashlib.sha256(canonical_json([root, *coordinates]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(root: int, *coordinates: object) -> np.random.Generator:
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
    waiting = [tree]
    while waiting:  # over statements alone: `ast.walk` goes through all expressions, which hold none of these
        node = waiting.pop()
        if isinstance(node, holders) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
        for block in ("body", "handlers", "cases", "orelse", "finalbody"):
            waiting += getattr(node, block, ())
    return tree


@cache
def _module_fingerprint(name: str) -> str:
    return hashlib.sha256(ast.dump(_without_docstrings(parse_module(name))).encode()).hexdigest()


def code_fingerprint(*modules: str) -> str:
    """Hash of what the named modules do: comments, docstrings and layout do not count.

    It is part of the key of a piece in the store, so a changed algorithm never answers with what an earlier one made.
    """
    return fingerprint([[name, _module_fingerprint(name)] for name in sorted(set(modules))])[:16]
