"""Standard output for what a program reads: whatever else is printed goes to standard error."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TextIO


@contextlib.contextmanager
def reserve_stdout() -> Iterator[TextIO]:
    """Redirect to standard error what Python, C or child processes print on standard output.

    Yields a stream, in UTF-8 whatever the locale, that alone still writes to standard output.
    """
    before = sys.stdout
    before.flush()
    kept = os.dup(1)
    own = None
    if before is sys.__stdout__:
        own = open(os.dup(kept), "w", encoding="utf-8")  # noqa: SIM115, PTH123 (it outlives this statement; it has no path)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield own or before
    finally:
        sys.stderr.flush()
        _flush_c()
        if own is not None:
            with contextlib.suppress(BrokenPipeError):
                own.close()
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def leave_out_of_stderr(pattern: str) -> Iterator[None]:
    """Context manager: lines that match a pattern from their beginnings do not reach standard error; the others do when
    it ends. For libraries in C++ that say what nobody asked, whatever level is set."""
    sys.stderr.flush()
    own = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(own, 2)
            os.close(own)
            held.seek(0)
            for line in held.read().decode(errors="replace").splitlines(keepends=True):
                if not re.match(pattern, line):
                    os.write(2, line.encode())


def import_quietly(name: str, pattern: str) -> None:
    """From now on, importing a module leaves lines that match a pattern out of standard error, whoever imports it."""
    if name not in sys.modules:
        sys.meta_path.insert(0, _QuietFinder(name, pattern))


class _QuietFinder(MetaPathFinder):
    """Finds one module as the others would, and lets it be executed in silence."""

    def __init__(self, name: str, pattern: str) -> None:
        self._name, self._pattern = name, pattern

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The module's spec, with a loader that executes it so; None for every other module."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_quietly(module: ModuleType) -> None:
                with leave_out_of_stderr(self._pattern):
                    execute(module)

            spec.loader.exec_module = execute_quietly  # type: ignore[method-assign]
        return spec


def send_stdout_to_stderr() -> None:
    """Redirect standard output to standard error for the rest of this process."""
    sys.stdout.flush()
    os.dup2(2, 1)
    sys.stdout = sys.stderr


def _flush_c() -> None:
    """Flush what C's `printf` has buffered, before standard output changes."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).fflush(None)
