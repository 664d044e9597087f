"""A model that a function of the user's own trains: any library, any architecture."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import (
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from harness.config import Config
from harness.training.layer import Layer
from harness.training.model import MODELS, Model

ARGUMENTS = (
    "n_classes",
    "seed",
    "epochs",
    "batch_size",
    "learning_rate",
    "optimizer",
    "noise_multiplier",
    "l2_norm_clip",
)
"""What a training function may ask for by name, beside records and labels."""
NOISE = "noise_multiplier"
PREDICT = "predict"
"""The function of the file, if it has one, that answers for the arrays which the training function returned."""


Argument = bool | int | float | str
"""What a spec may give a function."""


class CodeOfFunction(Config):
    """What the loader reads in the file itself. Where the files lie on this machine is in no JSON: it names nothing."""

    declared: str
    """The function as the spec names it, which this is the code of."""
    path: str
    """Of the file on this machine."""
    files: tuple[str, ...]
    """The same, with what it imports from its own folder."""
    sha256: str
    """Of the file and of what it imports from its own folder."""
    takes: tuple[str, ...] | None
    """What the function takes by name; None: anything."""
    predicts: bool
    """Whether the file has a function `predict`, so that models are kept as arrays."""

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        return _without_places(dump(self), info, "path", "files")


def _without_places(fields: dict[str, Any], info: SerializationInfo, *names: str) -> dict[str, Any]:
    """Fields without those that say where something lies on this machine, unless they stay in this process."""
    return fields if info.mode == "python" else {key: value for key, value in fields.items() if key not in names}


@MODELS.register
class FunctionModel(Model):
    """Whatever `path`, such as `mine.py:train`, returns; trained by the engine `function`."""

    kind: Literal["function"] = "function"
    path: str = Field(pattern=r"^.+\.py:[A-Za-z_][A-Za-z0-9_]*$")
    """The file, relative to the spec's, and the function in it that trains: `mine.py:train`."""
    arguments: dict[str, Argument] = {}
    """What the function is given by name beside what every training has, such as `{dropout: 0.5}`; an axis may vary
    one."""
    answers: Literal["probabilities", "logits"] = "probabilities"
    """What its models say of each class of a record."""
    python: str | None = None
    """The interpreter that runs it, relative to the spec's file, such as `torch-env/bin/python`; default: this one."""
    packages: dict[str, str] = {}
    """Packages that it computes with and the beginnings of their versions, `{torch: "2.5"}`: another version is refused
    when a model is trained."""
    code_of_file: CodeOfFunction | None = None
    engine: ClassVar[str | None] = "function"
    summary: ClassVar[str] = "model trained by a function of one's own"

    @model_validator(mode="after")
    def _check_plain(self) -> FunctionModel:
        if self.l2:
            raise ValueError("l2: is the function's business; leave it out")
        return self

    @model_validator(mode="after")
    def _check_code(self) -> FunctionModel:
        if self.code_of_file is not None and self.code_of_file.declared != self.path:
            raise ValueError("path: is one function; an axis cannot vary it. Arms can: each may name its own")
        if known := [name for name in self.arguments if name in ARGUMENTS]:
            raise ValueError(f"arguments.{known[0]}: is given by every training; write it under training")
        return self

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        return _without_places(dump(self), info, "python")

    @property
    def function(self) -> str:
        """The name of the function in its file."""
        return self.path.rpartition(":")[2]

    def layers(self, n_classes: int) -> tuple[Layer, ...]:
        """None that anybody but the function knows. Raises ValueError: an engine that needs them cannot train it."""
        raise ValueError("a model of a function has layers that its function alone knows")

    def content(self) -> dict[str, object]:
        """What results follow from: the function's name and code, wherever the file lies, and how it is read."""
        code = None if self.code_of_file is None else self.code_of_file.sha256
        named = {"function": self.function, "code": code, "arguments": dict(self.arguments)}
        return {"kind": "function", **named, "answers": self.answers, "packages": dict(self.packages)}
