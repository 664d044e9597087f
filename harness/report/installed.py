"""What a verdict rests on besides files of the project: the harness, packages of plug-ins, and versions of packages."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from pathlib import Path

import harness
from harness.attacks.attack import ATTACKS
from harness.claims.expectation import CLAIM_KINDS
from harness.data.dataset import DATASETS
from harness.data.split import SPLITS
from harness.defences import DEFENCES
from harness.formulas import FORMULAS
from harness.metrics import METRICS
from harness.metrics.metric import module_of
from harness.training.engine import ENGINES
from harness.training.layer import LAYERS
from harness.training.model import MODELS

REGISTRIES = (ATTACKS, CLAIM_KINDS, DATASETS, DEFENCES, ENGINES, LAYERS, MODELS, SPLITS)
HARNESS = "mi-dp-harness"
DESCRIPTIONS = ("METADATA", "entry_points.txt")
"""What tells Python that a package is there, and which plug-ins it has."""


@dataclass(frozen=True)
class PluginPackage:
    """An installed package whose plug-ins a spec uses."""

    name: str
    version: str
    modules: tuple[str, ...]
    """Those that register plug-ins."""
    files: dict[str, bytes]
    """Its source and what describes it, by path in a folder that Python searches."""

    @property
    def sha256(self) -> str:
        """Hash of its source files, with their paths."""
        digest = hashlib.sha256()
        for path, content in sorted(self.files.items()):
            if path.endswith(".py"):
                digest.update(f"{path}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()

    def in_json(self) -> dict[str, object]:
        """What names it."""
        named = {"package": self.name, "version": self.version, "sha256": self.sha256}
        return {**named, "modules": list(self.modules)}


def code_files() -> dict[str, Path]:
    """The files of the package that runs, by their path below the folder that has it."""
    package = Path(harness.__file__).resolve().parent
    paths = (path for path in sorted(package.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(package.parent).as_posix(): path for path in paths}


def describe_installation(code: str, packages: Iterable[PluginPackage]) -> dict[str, object]:
    """The harness, Python and the plug-ins by name, version and hash.

    Args:
        code: the harness' version, and its commit where it is known.
    """
    digest = hashlib.sha256()
    for path, file in code_files().items():
        content = file.read_bytes()
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    plugins = [package.in_json() for package in packages]
    return {"harness": code, "sha256": digest.hexdigest(), "python": platform.python_version(), "plugins": plugins}


def plugin_packages_of(content: object) -> list[PluginPackage]:
    """The packages of plug-ins of which something is named in a spec's content."""
    modules = {_top(module) for module in _modules_named(set(_texts(content)))}
    packages: dict[str, tuple[Distribution, list[str]]] = {}
    for entry in entry_points(group="harness.plugins"):
        if entry.dist is not None and _top(entry.module) in modules:
            packages.setdefault(entry.dist.name, (entry.dist, []))[1].append(entry.module)
    return [_package(dist, tuple(sorted(names))) for _, (dist, names) in sorted(packages.items())]


def pinned_versions(packages: Iterable[PluginPackage]) -> list[str]:
    """`name==version` of everything installed that the harness without its extras and these packages need."""
    there: dict[str, str] = {}
    waiting = [HARNESS, *(package.name for package in packages)]
    own = {_normalize(name) for name in waiting}
    while waiting:
        name = _normalize(waiting.pop())
        if name in there:
            continue
        try:
            needed = distribution(name)
        except PackageNotFoundError:
            continue
        there[name] = needed.version
        for requirement in needed.requires or ():
            named = re.match(r"[\w.-]+", requirement)
            if named is not None and not re.search(r"\bextra\b", requirement.partition(";")[2]):
                waiting.append(named[0])
    return [f"{name}=={version}" for name, version in sorted(there.items()) if name not in own]


def _normalize(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _package(dist: Distribution, modules: tuple[str, ...]) -> PluginPackage:
    folder = f"{re.sub(r'[-_.]+', '_', dist.name)}-{dist.version}.dist-info"
    described = {f"{folder}/{name}": text.encode() for name in DESCRIPTIONS if (text := dist.read_text(name))}
    if f"{folder}/METADATA" not in described:  # of a folder that is installed for development
        described[f"{folder}/METADATA"] = (
            f"Metadata-Version: 2.1\nName: {dist.name}\nVersion: {dist.version}\n".encode()
        )
    source = {path: file.read_bytes() for name in {_top(one) for one in modules} for path, file in _sources(name)}
    return PluginPackage(dist.name, dist.version, modules, {**source, **described})


def _sources(name: str) -> Iterator[tuple[str, Path]]:
    """The Python files of a module or package, by their path below the folder that has it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return
    file = Path(spec.origin)
    if not spec.submodule_search_locations:
        yield file.name, file
        return
    for path in sorted(file.parent.rglob("*.py")):
        yield path.relative_to(file.parent.parent).as_posix(), path


def _modules_named(words: set[str]) -> Iterator[str]:
    """The modules of everything registered that one of these words names."""
    for registry in REGISTRIES:
        yield from (cls.__module__ for name, cls in registry if name in words)
    yield from (formula.function.__module__ for name, formula in FORMULAS.items() if name in words)
    yield from (module_of(metric) for name, metric in METRICS.items() if name in words)


def _texts(content: object) -> Iterator[str]:
    """Every text in nested mappings and lists, keys included."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for key, value in content.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _texts(value)


def _top(module: str) -> str:
    return module.partition(".")[0]
