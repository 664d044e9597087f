"""The JSON Schema of specs, generated from the models, for editors to complete and check with."""

from __future__ import annotations

import json
from typing import Any

from harness.spec.model import Spec

PATH = "specs/schema.json"


def json_schema() -> dict[str, Any]:
    """Schema of a spec file: the model's, plus `extends` and less what a base or the loader supplies."""
    schema = Spec.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Harness spec"
    schema["properties"].pop("id")
    schema["properties"]["extends"] = {
        "type": "string",
        "description": "A YAML file, relative to this one, whose fields this one completes or replaces.",
    }
    # A null removes an entry that the extended file has.
    experiment = schema["$defs"]["Experiment"]
    for owner, name in ((schema, "attacks"), (experiment, "arms"), (experiment, "pools")):
        entries = owner["properties"][name]["patternProperties"]
        for pattern, value in entries.items():
            entries[pattern] = {"anyOf": [value, {"type": "null"}]}
    # A file that extends another may leave out anything the other gives, at any depth.
    for node in (schema, *schema["$defs"].values()):
        node.pop("required", None)
        if "const" in node.get("properties", {}).get("kind", {}):
            node["required"] = ["kind"]
    return schema


def schema_text() -> str:
    """The committed file's content."""
    return json.dumps(json_schema(), indent=1, sort_keys=True) + "\n"
