"""What fields of a configuration mean, taken from the strings below them when somebody asks.

Pydantic reads them as each class is made, which costs every command a third of a second; only the schema and the
documentation show them.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

if TYPE_CHECKING:
    from pydantic_core.core_schema import ModelSchema


@cache
def field_descriptions(cls: type[BaseModel]) -> dict[str, str]:
    """By field, inherited ones included: its `Field(description=...)`, or the string that stands below it."""
    strings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel and inspect.get_annotations(base):
            strings |= _strings_below_fields(base)
    given = {name: info.description for name, info in cls.model_fields.items() if info.description}
    return {name: text for name, text in {**strings, **given}.items() if name in cls.model_fields}


@cache
def _strings_below_fields(cls: type[BaseModel]) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError, SyntaxError):  # a class that no file holds
        return {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


class DescribedSchema(GenerateJsonSchema):
    """JSON Schema in which each property says what its field means."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """The schema of one model, with descriptions."""
        written = super().model_schema(schema)
        cls: type[BaseModel] = schema["cls"]
        for name, text in field_descriptions(cls).items():
            info = cls.model_fields[name]
            for key in (info.alias, name):
                if key in written.get("properties", {}):
                    written["properties"][key].setdefault("description", text)
                    break
        return written
