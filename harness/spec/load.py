"""From files to checked specs; every error names file, line and field."""

from __future__ import annotations

import difflib
import types
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from harness.config import Plugin
from harness.errors import HarnessError
from harness.hashing import fingerprint
from harness.paths import Project
from harness.spec.document import Document, Keys, load_document
from harness.spec.model import Spec
from harness.spec.readings import readings

NOT_SPECS = ("papers.yaml",)


@dataclass(frozen=True)
class Loaded:
    """A spec, its document (for line numbers) and its content hash."""

    spec: Spec
    document: Document

    @cached_property
    def sha256(self) -> str:
        """Hash of the spec's full content, defaults filled in."""
        return fingerprint(self.spec.model_dump(mode="json", by_alias=True))


def spec_paths(project: Project) -> list[Path]:
    """Every spec under `specs/`. Files whose name starts with `_` are only extended, never run."""
    found = sorted(project.specs.rglob("*.yaml"))
    return [p for p in found if p.name not in NOT_SPECS and not p.name.startswith("_")]


def resolve_names(project: Project, names: list[str]) -> list[Path]:
    """Paths for what a user typed: ids (`paper/figure`), papers, files; all specs for nothing.

    Raises HarnessError for a name that fits no spec.
    """
    every = spec_paths(project)
    if not names:
        return every
    chosen: list[Path] = []
    for name in names:
        as_file = Path(name)
        if as_file.suffix in (".yaml", ".yml"):
            chosen.append(as_file if as_file.exists() else project.root / name)
            continue
        exact = project.specs / f"{name}.yaml"
        below = [p for p in every if p.is_relative_to(project.specs / name)]
        if not exact.is_file() and not below:
            ids = [spec_id(project, p) for p in every]
            close = difflib.get_close_matches(name, ids, n=1)
            hint = f"; did you mean {close[0]}?" if close else f"; known: {', '.join(ids)}"
            raise HarnessError(f"no spec {name!r}{hint}")
        chosen += [exact] if exact.is_file() else below
    return list(dict.fromkeys(chosen))


def spec_id(project: Project, path: Path) -> str:
    """`<paper>/<figure>` for a file under `specs/`, else the file's stem."""
    path = path.resolve()
    root = project.specs.resolve()
    return path.relative_to(root).with_suffix("").as_posix() if path.is_relative_to(root) else path.stem


def load_spec(project: Project, path: Path) -> Loaded:
    """Load and check one spec. Raises HarnessError with every fault on a line of its own."""
    document = load_document(path)
    data = dict(document.data)
    if "id" in data:
        raise HarnessError(f"{_at(document, ('id',))}: id: is set from the file's name; remove it")
    try:
        spec = Spec.model_validate({**data, "id": spec_id(project, path)})
    except ValidationError as error:
        lines = [_explain(document, fault) for fault in error.errors()]
        raise HarnessError("\n".join(dict.fromkeys(lines))) from None
    for index, unstated in enumerate(spec.unstated):
        _check_unstated(document, spec, index, unstated.field, unstated.chosen)
    try:
        readings(spec)
    except HarnessError as error:
        raise HarnessError(f"{_at(document, ('unstated',))}: unstated.alternatives: {error}") from None
    return Loaded(spec, document)


def load_specs(project: Project, names: list[str]) -> list[Loaded]:
    """Load every named spec (all for none). Raises HarnessError listing the faults of all of them."""
    loaded, faults = [], []
    for path in resolve_names(project, names):
        try:
            loaded.append(load_spec(project, path))
        except HarnessError as error:
            faults.append(str(error))
    if faults:
        raise HarnessError("\n".join(faults))
    return loaded


def _check_unstated(document: Document, spec: Spec, index: int, field: str | None, chosen: Any) -> None:
    if field is None:
        return
    value: Any = spec
    for part in field.split("."):
        known = type(value).model_fields if isinstance(value, BaseModel) else value if isinstance(value, dict) else {}
        if part not in known:
            place = _at(document, ("unstated", index, "field"))
            raise HarnessError(f"{place}: unstated.field: the spec has no field {field!r}")
        value = getattr(value, part) if isinstance(value, BaseModel) else value[part]
    value = to_jsonable_python(value)
    if value != chosen:
        place = _at(document, ("unstated", index, "chosen"))
        raise HarnessError(f"{place}: unstated.chosen: says {chosen!r} but {field} is {value!r}")


def _at(document: Document, keys: Keys) -> str:
    path, line = document.place(keys)
    try:
        shown = path.relative_to(Path.cwd())
    except ValueError:
        shown = path
    return f"{shown}:{line}"


def _real_keys(document: Document, loc: tuple[Any, ...]) -> Keys:
    """Pydantic's location without the union tags that are not keys of the YAML."""
    keys: Keys = ()
    for position, part in enumerate(loc):
        if (*keys, part) in document.places or position == len(loc) - 1:
            keys = (*keys, part)
    return keys


def _explain(document: Document, fault: Any) -> str:
    loc = tuple(fault["loc"])
    keys = _real_keys(document, loc)
    dotted = ".".join(map(str, keys)) or "spec"
    kind, message = fault["type"], fault["msg"]
    if kind == "extra_forbidden":
        known = _known_fields(loc[:-1])
        close = difflib.get_close_matches(str(loc[-1]), known, n=1)
        message = "unknown field" + (f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}")
    elif kind == "missing":
        message = "is missing; it has to be given"
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        context = fault.get("ctx", {})
        tags = str(context.get("expected_tags", "")).replace("'", "")
        given = f"unknown kind {context['tag']!r}" if "tag" in context else "field 'kind' is missing"
        message = f"{given}; known: {tags}"
        if "tag" in context and (*keys, "kind") in document.places:
            keys = (*keys, "kind")
    else:
        message = message.removeprefix("Value error, ")
        if kind not in ("value_error",) and not isinstance(fault.get("input"), dict | list):
            message = f"{message[0].lower()}{message[1:]}, found {fault.get('input')!r}"
    return f"{_at(document, keys)}: {dotted}: {message}"


def _known_fields(loc: tuple[Any, ...]) -> list[str]:
    """Field names of the model at a location, found by walking the annotations."""
    types_here: list[Any] = [Spec]
    for part in loc:
        following: list[Any] = []
        for candidate in types_here:
            following += _step(candidate, part)
        types_here = following or types_here
    names: list[str] = []
    for candidate in types_here:
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            names += [info.alias or name for name, info in candidate.model_fields.items()]
    return sorted(set(names) - {"id"} if types_here == [Spec] else set(names))


def _step(candidate: Any, part: Any) -> list[Any]:
    if isinstance(candidate, _Values):
        return candidate.members
    if isinstance(candidate, type) and issubclass(candidate, BaseModel):
        if issubclass(candidate, Plugin) and part == candidate.plugin_name():
            return [candidate]
        for name, info in candidate.model_fields.items():
            if part in (name, info.alias):
                return _members(info.annotation)
        kind = candidate.model_fields.get("kind")
        return [candidate] if kind is not None and kind.default == part else []
    return []


def _members(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [m for a in get_args(annotation) for m in _members(a)]
    if origin is dict:
        return [_Values(_members(get_args(annotation)[1]))]
    if origin in (tuple, list):
        return [_Values(_members(get_args(annotation)[0]))]
    return [annotation]


class _Values:
    """Stands for the members of a dict or sequence; any key leads to them."""

    def __init__(self, members: list[Any]) -> None:
        self.members = members
