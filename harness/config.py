"""Frozen pydantic base for everything a spec can say, and the registry that plug-ins join.

A dataset, split, model, engine, attack or bound is one class in one file: its fields are what the
spec's YAML may say, its methods are what it does. `Registry.register` is the single registration;
other packages register theirs by naming a module under the entry-point group `harness.plugins`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import entry_points
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Generic, TypeVar, Union

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from harness.entry_points import MEND, fault_of_value, package_name
from harness.errors import HarnessError
from harness.hashing import code_fingerprint
from harness.identity import canonical, without_defaults
from harness.imports import closure, parse_module


def _refuse_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


def _without_booleans(schema: Any, own: type) -> Any:
    """A schema in which `true` and `false` are no numbers; pydantic takes them for 1 and 0.

    Schemas of other configurations in it are so already.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(_without_booleans(one, own) for one in schema)
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") in ("int", "float"):
        return core_schema.no_info_before_validator_function(_refuse_boolean, schema)
    of = schema.get("cls")
    is_ours = isinstance(of, type) and of is not own and issubclass(of, Config)
    is_wrapped = schema.get("type") == "function-before" and schema["function"]["function"] is _refuse_boolean
    if is_ours or is_wrapped:
        return schema
    return {key: value if key == "metadata" else _without_booleans(value, own) for key, value in schema.items()}


class Config(BaseModel):
    """Base of all configuration: frozen, and an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, serialize_by_alias=True)
    hashed_as: ClassVar[dict[str, str]] = {}
    """Fields that specs call by another name than before, and what names hash for it (`harness.identity`)."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: CoreSchema = _without_booleans(handler(source), cls)
        return schema

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        made = handler(schema)
        properties = handler.resolve_ref_schema(made).get("properties", {})
        for name, text in cls.describe_fields().items():
            alias = cls.model_fields[name].alias
            if (found := properties.get(alias, properties.get(name))) is not None:
                found["description"] = text
        return made

    @classmethod
    def describe_fields(cls) -> dict[str, str]:
        """The docstring of each field that has one, by the field's name in Python.

        It is that of the class which declares the field last. They are read from the source when they are asked for:
        pydantic's `use_attribute_docstrings` reads them as each class is made, which is a quarter of the time that it
        takes to import what a command needs.
        """
        described: dict[str, str] = {}
        for one in reversed(cls.__mro__):
            declared = dict.fromkeys(inspect.get_annotations(one), "")
            described |= declared | (_docstrings_of_fields(one) if declared else {})
        return {name: described[name] for name in cls.model_fields if described.get(name)}


@cache
def _docstrings_of_fields(cls: type) -> dict[str, str]:
    """The docstring below each annotated name of a class' body; none where the class has no source file."""
    try:
        tree = parse_module(cls.__module__)
    except (ModuleNotFoundError, SyntaxError):
        return {}
    body: list[ast.stmt] = tree.body
    for name in cls.__qualname__.split("."):
        if name != "<locals>":
            holders = (ast.ClassDef, ast.FunctionDef)
            found = [node for node in body if isinstance(node, holders) and node.name == name]
            body = found[-1].body if found else []
    return {
        node.target.id: inspect.cleandoc(below.value.value)
        for node, below in pairwise(body)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


def one_or_many(*kinds: type) -> Callable[[object], object]:
    """Lets a spec write a single value of these kinds where a list is meant."""
    return lambda value: [value] if isinstance(value, kinds) else value


class Plugin(Config):
    """A configuration that also knows how to do its work.

    Subclasses declare `kind: Literal["name"] = "name"`.
    """

    summary: ClassVar[str] = ""
    also_decided_by: ClassVar[tuple[str, ...]] = ()
    """Modules, besides its own and what that imports of its package, whose code decides what it does."""
    added_later: ClassVar[dict[str, object]] = {}
    """Fields, as they are hashed, that came after results had been named: at these values they stay out of a name."""
    hashed_kind: ClassVar[str | None] = None
    """What names hash for its `kind`, where specs call it by another name than before. It is not inherited."""

    @classmethod
    def plugin_name(cls) -> str:
        """The value of `kind` that selects this class in a spec."""
        return str(cls.model_fields["kind"].default)

    @property
    def code(self) -> str:
        """Hash of the code that decides what it does, part of its results' names."""
        classes = [c for c in type(self).__mro__ if issubclass(c, Plugin) and c is not Plugin]
        own = (closure(c.__module__, packages=(c.__module__.rpartition(".")[0],)) for c in classes)
        return code_fingerprint(*(module for modules in own for module in modules), *self.also_decided_by)

    def content(self) -> dict[str, object]:
        """What is hashed into a cell's name: every field, defaults included (but see `added_later`)."""
        return without_defaults(canonical(self), self.added_later)


P = TypeVar("P", bound=Plugin)


class Registry(Generic[P]):
    """The known plug-ins of one sort, by the `kind` that a spec writes."""

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self._classes: dict[str, type[P]] = {}

    def register(self, cls: type[P]) -> type[P]:
        """Class decorator: make `cls` available to specs under its `kind`.

        Raises ValueError where another class already holds that name.
        """
        name = cls.plugin_name()
        held = self._classes.get(name)
        if held is not None and held is not cls:
            both = " and ".join(f"{c.__module__}.{c.__qualname__}" for c in (held, cls))
            raise ValueError(f"{self.noun} {name!r} is registered twice: {both}")
        self._classes[name] = cls
        return cls

    def __iter__(self) -> Iterator[tuple[str, type[P]]]:
        return iter(sorted(self._classes.items()))

    def __getitem__(self, name: str) -> type[P]:
        return self._classes[name]

    def names(self) -> list[str]:
        return sorted(self._classes)

    def union(self, base: type | None = None) -> object:
        """The pydantic type that accepts any registered class, or any that derives from `base`, told apart by
        `kind`."""
        every = (self._classes[name] for name in self.names())
        classes = tuple(one for one in every if base is None or issubclass(one, base))
        if len(classes) == 1:
            return classes[0]
        return Annotated[Union[classes], Field(discriminator="kind")]  # noqa: UP007


_loaded = False


def load_external_plugins() -> None:
    """Import the modules that other installed packages name under `harness.plugins`, once.

    Raises HarnessError for an entry that names no module, and for a module that cannot be imported, such as one that
    registers a name that is taken.
    """
    global _loaded
    if not _loaded:
        _loaded = True
        for entry in entry_points(group="harness.plugins"):
            if (fault := fault_of_value(entry)) is not None:
                raise HarnessError(fault)
            try:
                entry.load()
            except Exception as error:
                package = f" of the package {package_name(entry.dist)}" if entry.dist is not None else ""
                reason = " ".join(str(error).split()) or type(error).__name__
                what = f"the plug-in {entry.value}{package} cannot be loaded: {reason}"
                raise HarnessError(f"{what}; {MEND}") from error
