"""From files to checked specs; every error names file, line and field."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from harness.errors import HarnessError
from harness.experiment.experiment import with_fields
from harness.experiment.results import TRAINED
from harness.hashing import fingerprint
from harness.identity import spec_fields
from harness.ids import check_distinct_pages, check_id, check_own_file, id_of_own_file
from harness.paths import Project
from harness.spec.attacks import attack_variants
from harness.spec.counts import check_counts, check_domains
from harness.spec.declared import mark_seen
from harness.spec.definitions import read_all_definitions, without_consequences
from harness.spec.document import Document, Keys, from_here, load_document, locate
from harness.spec.fields import known_fields
from harness.spec.functions import CODE
from harness.spec.model import Spec
from harness.spec.plugin_packages import name_packages
from harness.spec.quotations import mark_compared
from harness.spec.readings import readings
from harness.spec.surface import CONTENT, SHARED, core
from harness.theory.term import DEFINITIONS

NOT_SPECS = ("papers.yaml", "findings.yaml", "pipeline.yaml")


@dataclass(frozen=True)
class Loaded:
    """A spec, its document (for line numbers) and its content hash."""

    spec: Spec
    document: Document
    """As the model reads it."""
    raw: Document
    """As the file says it."""
    claims: frozenset[str] | None = None
    """The claims that it is run for, and for nothing else; None: all of them, and its figure."""

    def for_claims(self, claims: Collection[str]) -> Loaded:
        """The same spec, to be run for some of its claims only."""
        kept = tuple(claim for claim in self.spec.claims if claim.id in claims)
        return replace(self, spec=self.spec.with_values(claims=kept, figure=()), claims=frozenset(claims))

    @cached_property
    def sha256(self) -> str:
        """Hash of the spec's full content, defaults filled in."""
        return fingerprint(self.spec.content())

    @cached_property
    def declared_sha256(self) -> str:
        """Hash of what the files say and of the claims it is run for; other defaults do not change it."""
        return fingerprint([self.raw.data, None if self.claims is None else sorted(self.claims)])


def spec_paths(project: Project) -> list[Path]:
    """Every spec under `specs/`. Files whose name starts with `_` are only extended, never run.

    Raises HarnessError for two whose pages would have one name.
    """
    every = sorted(project.specs.rglob("*.yaml"))
    paths = [p for p in every if p.name not in NOT_SPECS and not p.name.startswith("_")]
    ids = [(p.relative_to(project.specs).with_suffix("").as_posix(), p) for p in paths]
    check_distinct_pages(ids)
    return paths


def resolve_names(project: Project, names: list[str]) -> list[Path]:
    """The files of specs that a user names by id (`paper/figure`), paper or path; all specs where no name is given.

    Raises HarnessError for a name that fits no spec.
    """
    every = spec_paths(project)
    if not names:
        return every
    chosen: list[Path] = []
    for name in names:
        if Path(name).suffix.lower() in (".yaml", ".yml"):
            chosen.append(_file(project, name))
            continue
        exact = project.specs / f"{name}.yaml"
        below = [p for p in every if p.is_relative_to(project.specs / name)]
        is_id = bool(name) and not Path(name).is_absolute() and not {"", ".", ".."} & {*name.rstrip("/").split("/")}
        if not is_id or (not exact.is_file() and not below):
            raise HarnessError(f"no spec {name!r}{_hint(project, name, every)}")
        chosen += [exact] if exact.is_file() else below
    return list(dict.fromkeys(chosen))


def _file(project: Project, name: str) -> Path:
    """The file of that name in the current folder, else in the checkout, else the spec with that id."""
    here = Path(name)
    for path in (here, project.root / name):
        if os.path.lexists(path):
            return path
    spec = (project.specs / name).with_suffix(".yaml")
    if spec.is_file():
        raise HarnessError(f"{name}: no such file; did you mean the spec {spec_id(project, spec)}?")
    return here.absolute()


def _hint(project: Project, name: str, every: list[Path]) -> str:
    if not name.strip():
        return "; leave the argument out for all specs"
    path = Path(name)
    if path.name and path.with_name(f"{path.name}.yaml").is_file():
        return f"; did you mean the file {name}.yaml?"
    if path.is_file():
        return f"; {name} is a file, but a spec's ends in .yaml"
    ids = [spec_id(project, p) for p in every]
    close = difflib.get_close_matches(name.removeprefix("specs/"), ids, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(ids)}"


def spec_id(project: Project, path: Path) -> str:
    """`<paper>/<figure>` for a file under `specs/`, else the file's name in plain characters."""
    path, root = path.resolve(), project.specs.resolve()
    if not path.is_relative_to(root):
        return id_of_own_file(path.stem)
    return path.relative_to(root).with_suffix("").as_posix()


def _check_name(project: Project, path: Path) -> None:
    """Raise HarnessError for a file whose name cannot be, or give, an id."""
    if path.is_relative_to(project.specs.resolve()):
        check_id(spec_id(project, path), str(from_here(path)))
    else:
        check_own_file(path.stem, str(from_here(path)))


def load_spec(project: Project, path: Path, alternatives: bool = True) -> Loaded:
    """Load and check one spec, with the `alternatives` of its ambiguities unless these are False.

    Raises HarnessError with one line per fault.
    """
    raw = load_document(path)
    _check_name(project, raw.files[0])
    if "id" in raw.data:
        raise HarnessError(f"{locate(raw, ('id',))}: id: is set from the file's name; remove it")
    check_counts(raw)
    document = core(raw)
    try:
        own = {DEFINITIONS: read_all_definitions(document, _explain)}
        data = {**document.data, "id": spec_id(project, path)}
        spec = Spec.model_validate(data, by_alias=True, by_name=False, context=own)
    except ValidationError as error:
        lines = [_explain(document, fault) for fault in _of_all_arms(document, without_consequences(error.errors()))]
        raise HarnessError(*name_packages(project, dict.fromkeys(lines))) from None
    check_domains(document, spec.claims)
    _check_axes(document, spec)
    for index, ambiguity in enumerate(spec.ambiguities):
        _check_ambiguity(document, spec, index, ambiguity.field, ambiguity.chosen)
    try:
        if alternatives:
            readings(spec, raw)
    except HarnessError as error:
        raise HarnessError(f"{locate(document, ('ambiguities',))}: ambiguities.alternatives: {error}") from None
    return Loaded(mark_seen(project, mark_compared(project, spec), raw.files[0]), document, raw)


def load_specs(project: Project, names: list[str], alternatives: bool = True) -> list[Loaded]:
    """Load every named spec (all for none) as `load_spec` does. Raises HarnessError with the faults of all of them."""
    loaded, faults = [], list[str]()
    for path in resolve_names(project, names):
        try:
            loaded.append(load_spec(project, path, alternatives))
        except HarnessError as error:
            faults += error.lines
    if faults:
        raise HarnessError(*faults)
    by_id: dict[str, Path] = {}
    for one in loaded:
        path = one.raw.files[0]
        other = by_id.setdefault(one.spec.id, path)
        if other != path:
            raise HarnessError(f"{path}: has the name of {other}, so their results would mix; rename one of them")
    return loaded


def _check_ambiguity(document: Document, spec: Spec, index: int, field: str | None, chosen: object) -> None:
    if field is None:
        return
    settings = _values(spec, field)
    if not settings:
        place = locate(document, ("ambiguities", index, "field"))
        raise HarnessError(f"{place}: ambiguities.field: the spec has no field {field!r}")
    values = [to_jsonable_python(value) for value in settings]
    if chosen not in values and not any(_means(chosen, value) for value in settings):
        place = locate(document, ("ambiguities", index, "chosen"))
        shown = " or ".join(dict.fromkeys(repr(value) for value in values))
        raise HarnessError(f"{place}: ambiguities.chosen: says {chosen!r} but {field} is {shown}")


def _means(chosen: object, value: object) -> bool:
    """Whether a mapping as a spec writes it stands for this value."""
    if not (isinstance(chosen, dict) and isinstance(value, BaseModel)):
        return False
    try:
        return type(value).model_validate(chosen) == value
    except ValidationError:
        return False


def _values(spec: Spec, field: str) -> list[object]:
    """The values at a path of the file; one per arm for fields that arms inherit from the experiment."""
    parts = field.split(".")
    roots: list[object] = [spec]
    if parts[0] == "experiment" and len(parts) > 1 and parts[1] in SHARED and spec.own_experiment is not None:
        roots, parts = list(spec.own_experiment.arms.values()), parts[1:]
    values = []
    for value in roots:
        for part in parts:
            known = spec_fields(type(value)) if isinstance(value, BaseModel) else value
            if not isinstance(known, dict) or part not in known:
                break
            value = getattr(value, known[part]) if isinstance(value, BaseModel) else known[part]
        else:
            values.append(value)
    return values


def _check_axes(document: Document, spec: Spec) -> None:
    """Raises HarnessError for a value of an axis that its field cannot have, with its line."""
    faults = []
    experiment = spec.own_experiment
    for name, axis in experiment.axes.items() if experiment is not None else ():
        assert experiment is not None
        for index, value in enumerate(axis.values):
            for arm, setup in experiment.arms.items():
                try:
                    with_fields(setup, {axis.field: value})
                except ValueError as error:
                    keys = document.keys_in_file(("experiment", "axes", name, "values", index))
                    faults.append(f"{locate(document, keys)}: {'.'.join(map(str, keys))}: arm {arm!r}: {error}")
    for attack, axes in spec.attack_axes.items():
        for name, axis in axes.items():
            for index, value in enumerate(axis.values):
                try:
                    list(attack_variants(spec.attacks[attack], {name: axis.model_copy(update={"values": (value,)})}))
                except ValueError as error:
                    keys = document.keys_in_file(("attack_axes", attack, name, "values", index))
                    faults.append(f"{locate(document, keys)}: {'.'.join(map(str, keys))}: {error}")
    if faults:
        raise HarnessError(*faults)


def _real_keys(document: Document, loc: Keys) -> Keys:
    """Pydantic's location without the union tags that are no keys of the file."""
    keys: Keys = ()
    for part, *below in (loc[position:] for position in range(len(loc))):
        # a tag may be called as a field beside what it leads to, such as `value`
        is_tag = bool(below) and document.has((*keys, below[0])) and not isinstance(document.value((*keys, part)), dict)
        if not below or (document.has((*keys, part)) and not is_tag):
            keys = (*keys, part)
    return keys


def _of_all_arms(document: Document, faults: list[ErrorDetails]) -> list[ErrorDetails]:
    """The faults, with one fault of the experiment in place of the same fault in every arm."""
    experiment = document.data.get("experiment")
    arms = experiment.get("arms", {}) if isinstance(experiment, dict) else {}
    distinct, seen = [], set()
    for fault in faults:
        loc = _path_of(fault)
        if len(loc) == 3 and loc[:2] == ("experiment", "arms"):
            same = [f for f in faults if len(_path_of(f)) == 3 and f["msg"] == fault["msg"]]
            if len(same) == len(arms):
                if fault["msg"] in seen:
                    continue
                seen.add(fault["msg"])
                fault = {**fault, "loc": ("experiment",)}
        distinct.append(fault)
    return distinct


def _path_of(fault: ErrorDetails) -> Keys:
    """The location of a fault without the tag of the experiment's sort."""
    loc = tuple(fault["loc"])
    return loc[:1] + loc[2:] if loc[:2] in (("experiment", TRAINED), ("experiment", "table")) else loc


def _explain(document: Document, fault: ErrorDetails) -> str:
    loc = _path_of(fault)
    keys = _real_keys(document, loc)
    if not loc and (named := re.match(r"Value error, claim '([^']*)'", fault["msg"])):
        ids = [c.get("id") for c in document.data.get("claims", ()) if isinstance(c, dict)]
        if "declared twice" in fault["msg"]:
            keys = ("claims", len(ids) - 1 - ids[::-1].index(named[1]), "id")
        elif named[1] in ids:
            keys = ("claims", ids.index(named[1]), "expect")
    dotted = ".".join(map(str, document.keys_in_file(keys))) or "spec"
    kind, message = fault["type"], fault["msg"]
    if kind == "extra_forbidden":
        known = [name for name in known_fields(tuple(fault["loc"])[:-1]) if name != CODE]
        if loc[:-1] == ("experiment",):
            known = sorted({*known} - {CONTENT} if CONTENT in known else {*known, *SHARED} - {"axes"})
        elif loc[:-1] == ():
            known = sorted({*known} - {"attack_axes"})
        elif loc[0] == "claims":
            known = [name for name in known if name != "also_decided_by"]
        close = difflib.get_close_matches(str(loc[-1]), known, n=1)
        close = close or (known if len(known) == 1 else [])
        message = "unknown field" + (f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}")
    elif kind == "missing":
        message = "is missing; it has to be given"
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        context = fault.get("ctx", {})
        tags = str(context.get("expected_tags", "")).replace("'", "")
        given = f"unknown kind {context['tag']!r}" if "tag" in context else "field 'kind' is missing"
        message = f"{given}; known: {tags}"
        if "tag" in context and document.has((*keys, "kind")):
            keys = (*keys, "kind")
    else:
        message = message.removeprefix("Value error, ")
        if kind not in ("value_error",) and not isinstance(fault.get("input"), dict | list):
            message = f"{message[0].lower()}{message[1:]}, found {fault.get('input')!r}"
    return f"{locate(document, keys)}: {dotted}: {message}"
