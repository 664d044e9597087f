"""The JSON Schema of specs, generated from the models, for editors to complete and check with."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from harness.experiment.axes import Axis
from harness.spec.model import Spec
from harness.spec.surface import CONTENT, LISTED, SHARED

PATH = "specs/schema.json"
SCALARS = {"number", "integer", "string", "boolean"}
NO_AXIS = {"kind", "seed", "repeats", "resample", "label", "extends"}
"""Fields that no axis varies."""


def json_schema() -> dict[str, Any]:
    """Schema of a spec file: the model's, as files say it.

    An experiment gives what its arms share, an arm what it differs in; `extends` stands for another file, or another
    arm; a field's value may be an axis.
    """
    schema = Spec.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Harness spec"
    for name in ("id", "attack_axes"):
        schema["properties"].pop(name)
    schema["properties"]["extends"] = {
        "type": "string",
        "description": "A YAML file, relative to this one, whose fields this one completes or replaces.",
    }
    for name in LISTED:
        _by_name_too(schema["properties"][name])
    defs = schema["$defs"]
    experiment, arm = defs["Experiment"], defs["Arm"]
    experiment["properties"].pop("axes")
    defs["ResultsFile"]["properties"].pop(CONTENT)
    defs.pop("ResultsContent")
    _allow_lists(defs["ResultsFile"]["properties"])
    for name in SHARED:
        experiment["properties"][name] = copy.deepcopy(arm["properties"][name])
    arm["properties"]["extends"] = {"type": "string", "description": "Another arm, which this one differs from."}
    # A null removes an entry that the extended file, or the experiment, has.
    for owner, name in ((schema, "attacks"), (experiment, "arms"), (experiment, "pools"), (arm, "pools")):
        _allow_null(owner["properties"][name])
    # A file that extends another may leave out anything the other gives, at any depth.
    for node in (schema, *defs.values()):
        node.pop("required", None)
        if "const" in node.get("properties", {}).get("kind", {}):
            node["required"] = ["kind"]
    for name in ("dataset", "split", "model"):
        arm["properties"][name] = _difference_schema(arm["properties"][name], defs)
    defs["AxisHere"] = _axis()
    for node in _varied_definitions(schema):
        for name, value in node.get("properties", {}).items():
            if name not in NO_AXIS and value.get("type") in SCALARS:
                kept = {key: value.pop(key) for key in list(value) if key not in ("description", "default", "title")}
                value["anyOf"] = [kept, {"$ref": "#/$defs/AxisHere"}]
            elif name not in NO_AXIS and any(one.get("type") in SCALARS for one in value.get("anyOf", ())):
                value["anyOf"] = [*value["anyOf"], {"$ref": "#/$defs/AxisHere"}]
    return schema


def _allow_lists(results: dict[str, Any]) -> None:
    """What a file of results names may be a list of names, an axis its values, a metric its range, or nothing."""
    for name in ("arms", "axes", "attacks", "metrics"):
        for pattern, entry in results[name]["patternProperties"].items():
            forms = [entry, {"type": "null"}, *([{"type": "array"}] if name in ("axes", "metrics") else [])]
            results[name]["patternProperties"][pattern] = {"anyOf": forms}
        names = {"type": "array", "items": {"type": "string"}}
        kept = {key: results[name].pop(key) for key in list(results[name]) if key not in ("description", "title")}
        results[name]["anyOf"] = [kept, names]


def _by_name_too(listed: dict[str, object]) -> None:
    """A list that may be given as a mapping of names to its entries, so that a file can change what it extends."""
    item = listed.pop("items")
    array = {key: listed.pop(key) for key in list(listed) if key in ("type", "minItems")}
    named = {"type": "object", "additionalProperties": {"anyOf": [item, {"type": "null"}]}}
    listed["anyOf"] = [{**array, "items": item}, named]


def _allow_null(owner: dict[str, Any]) -> None:
    for pattern, value in owner["patternProperties"].items():
        owner["patternProperties"][pattern] = {"anyOf": [value, {"type": "null"}]}


def _difference_schema(plugin: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """A plug-in, or some of its fields without its `kind`: those in which an arm differs."""
    members = [defs[name] for name in _references({k: v for k, v in plugin.items() if k != "discriminator"})]
    fields: dict[str, object] = {}
    for member in members:
        for name, value in member["properties"].items():
            if name != "kind":
                fields.setdefault(name, copy.deepcopy(value))
    return {"anyOf": [plugin, {"type": "object", "properties": fields, "additionalProperties": False}]}


def _axis() -> dict[str, object]:
    values = copy.deepcopy(Axis.model_json_schema()["properties"]["values"])
    return {
        "type": "object",
        "description": "An axis: the field takes these values one after another; claims call it by its name.",
        "properties": {"axis": {"type": "string"}, "values": values},
        "required": ["axis", "values"],
        "additionalProperties": False,
    }


def _varied_definitions(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every definition of which an axis may vary a field: those of experiments and of attacks."""
    defs = schema["$defs"]
    waiting = [{"$ref": "#/$defs/Experiment"}, schema["properties"]["attacks"]]
    seen: set[str] = set()
    while waiting:
        for name in _references(waiting.pop()):
            if name not in seen and name not in ("Arm", "Derived", "Axis", "FromAxis", "AtPoint"):
                seen.add(name)
                yield defs[name]
                waiting.append(defs[name])


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].rsplit("/", 1)[1]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def schema_text() -> str:
    """The committed file's content."""
    return json.dumps(json_schema(), indent=1, sort_keys=True) + "\n"
