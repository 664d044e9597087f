"""Which fields a spec has at a place, for messages about one that it has not."""

from __future__ import annotations

import types
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel

from harness.config import Plugin
from harness.experiment.experiment import Experiment
from harness.experiment.results import TRAINED
from harness.spec.document import Keys
from harness.spec.model import Spec


def known_fields(loc: Keys) -> list[str]:
    """Field names of the model at a location, found by walking the annotations."""
    types_here: list[object] = [Spec]
    for part in loc:
        following: list[object] = []
        for candidate in types_here:
            following += _step(candidate, part)
        types_here = following or types_here
    names: list[str] = []
    for candidate in types_here:
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            names += [info.alias or name for name, info in candidate.model_fields.items()]
    return sorted(set(names) - {"id"} if types_here == [Spec] else set(names))


def _step(candidate: object, part: str | int) -> list[object]:
    if isinstance(candidate, _Values):
        return candidate.members
    if isinstance(candidate, type) and issubclass(candidate, BaseModel):
        if issubclass(candidate, Plugin) and part == candidate.plugin_name():
            return [candidate]
        for name, info in candidate.model_fields.items():
            if part in (name, info.alias):
                return _members(info.annotation)
        kind = candidate.model_fields.get("kind")
        if (part == TRAINED and candidate is Experiment) or (kind is not None and kind.default == part):
            return [candidate]
    return []


def _members(annotation: object) -> list[object]:
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

    def __init__(self, members: list[object]) -> None:
        self.members = members
