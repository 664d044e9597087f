"""The canonical form, version 1: from what specs and code say to what is hashed into a name.

Numbers are committed under names, and random choices derive from them:

| name         | of                          | hashed                                                              |
| ------------ | --------------------------- | ------------------------------------------------------------------- |
| `spec`       | a spec                      | the whole spec, defaults filled in                                  |
| `experiment` | a table of measurements     | its experiment and attacks under the profile                        |
| `data`       | a data set                  | its canonical table; of a generator, what its class declares        |
| `work`       | a row, a point of a curve   | `split_of`, `training_of`, ... below, and the work that it needs    |
| seed         | the random choices of a piece | the same, without what `NOT_COORDINATES` lists; root is the spec's |

What is hashed is JSON (`harness.hashing.canonical_json`) that says everything by the names of version 1:

- A configuration (`harness.config.Config`) is written by the names that a spec gives its fields, all of them, defaults
  included. A field of another name in Python has the spec's name as its `alias`.
- A name that specs have changed since (a field, or the `kind` of a plug-in) is written as version 1 knew it:
  `hashed_as` and `hashed_kind` of the class map the one to the other, also in paths such as an axis's `field`.
- A field that came later stays out at the value that says what was so before it: `added_later` of a plug-in.
- Keys and roles of pieces of work are the literals of this module.

So names of fields, classes, functions and modules may change without a number losing its name, and a spec's language
may. Values are content: another number, or another word that a field may hold, is another name. The form is written
and never read: pieces carry the configurations themselves (`harness.execution.plan.Piece.settings`). Code is no part
of these names. `code` beside them says which code measured.

`tests/test_identity.py` recomputes every committed name. Nothing here may change but by a version 2 beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from harness.hashing import derive_seed, fingerprint

VERSION = 1
Kind = Literal["split", "train", "fit", "evaluate"]
"""Of pieces of work."""
KINDS: tuple[Kind, ...] = ("split", "train", "fit", "evaluate")
"""In an order that respects what each needs."""
Role = Literal["target", "shadow", "half"]
"""Of trained models."""
VERSIONS = ("code", "packages", "metrics")
"""What of a description says by which version of the code the work is done: it is in no name of work."""
THRESHOLD_FROM = "threshold_from"
"""The field of an attack that says where its threshold comes from."""
NOT_COORDINATES = (*VERSIONS, "data", "engine", "defence")
"""What names a piece without choosing its random numbers: a changed version repeats the same draws, and an attack asks
the same questions whatever defends the target; and wherever its threshold comes from (`THRESHOLD_FROM`)."""


def canonical(config: BaseModel, exclude: set[str] | None = None) -> dict[str, Any]:
    """A configuration and those in it as JSON, by the names of version 1; without the fields (Python's) of `exclude`.

    Raises ValueError where two fields of a class are hashed by one name.
    """
    content = _by_hashed_names(config, config.model_dump(mode="json", by_alias=True, exclude=exclude))
    assert isinstance(content, dict)
    return content


def without_defaults(content: dict[str, object], added_later: Mapping[str, object]) -> dict[str, object]:
    """Content without the fields that came later, where they have the values given for them."""
    return {k: v for k, v in content.items() if k not in added_later or v != added_later[k]}


def canonical_path(config: object, path: str) -> str:
    """A dotted path below a configuration by the names of version 1; parts that lead nowhere are as they are."""
    names = []
    for part in path.split("."):
        if isinstance(config, BaseModel):
            names.append(_hashed_as(type(config)).get(part, part))
            config = getattr(config, spec_fields(type(config)).get(part, part), None)
        else:
            names.append(part)
            config = config.get(part) if isinstance(config, Mapping) else None
    return ".".join(names)


def spec_fields(cls: type[BaseModel]) -> dict[str, str]:
    """By the name that specs write, the name of the field in Python."""
    return {str(info.alias or name): name for name, info in cls.model_fields.items()}


def _hashed_as(cls: type[BaseModel]) -> dict[str, str]:
    """Names of fields that specs have changed since version 1, and what they were; those of base classes too."""
    old_names: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        old_names |= vars(base).get("hashed_as", {})
    return old_names


def _by_hashed_names(value: object, dumped: object) -> object:
    """What has been dumped of a value, by the names of version 1."""
    if isinstance(value, BaseModel) and isinstance(dumped, dict):
        cls = type(value)
        fields, renamed = spec_fields(cls), _hashed_as(cls)
        content: dict[str, object] = {}
        for key, item in dumped.items():
            name = renamed.get(str(key), str(key))
            if name in content:
                raise ValueError(f"{cls.__name__}: two fields are hashed by the name {name!r}")
            content[name] = _by_hashed_names(getattr(value, fields[key]), item) if key in fields else item
        if (kind := vars(cls).get("hashed_kind")) is not None:
            content["kind"] = kind
        return content
    if isinstance(value, Mapping) and isinstance(dumped, dict):
        pairs = zip(value.values(), dumped.items(), strict=True)
        return {key: _by_hashed_names(own, item) for own, (key, item) in pairs}
    if isinstance(value, tuple | list) and isinstance(dumped, list):
        return [_by_hashed_names(own, item) for own, item in zip(value, dumped, strict=True)]
    return dumped


# --- pieces of work: all arguments are content, by the names of version 1 ---


def split_of(
    seed: int,
    dataset: dict[str, object],
    data: str,
    preprocessing: dict[str, object],
    sizes: dict[str, object],
    split: dict[str, object],
    repeat: int,
) -> dict[str, object]:
    """Describes the drawing of records; `data` names the data, `seed` is the root of all that stands on them."""
    return {
        "seed": seed,
        "dataset": dataset,
        "data": data,
        "preprocessing": preprocessing,
        "sizes": sizes,
        "split": split,
        "repeat": repeat,
    }


def training_of(
    role: Role,
    index: int | None,
    model: dict[str, object],
    training: dict[str, object],
    noise_multiplier: float,
    repeat: int | None,
) -> dict[str, object]:
    """Describes the training of one model: `index` counts those of a pool, a target has none.

    `repeat` is given where repeats share their records, which would tell them apart.
    """
    again = {} if repeat is None else {"repeat": repeat}
    return {
        "role": role,
        "index": index,
        "model": model,
        "training": training,
        "noise_multiplier": noise_multiplier,
        **again,
    }


def fitting_of(attack: dict[str, object]) -> dict[str, object]:
    """Describes what an attack learns from shadow models."""
    return {"attack": attack}


def evaluation_of(attack: dict[str, object] | None, defence: dict[str, object] | None = None) -> dict[str, object]:
    """Describes an attack on a target, with what defends it; no attack: the target's own metrics."""
    return {"attack": attack, **({} if defence is None else {"defence": defence})}


def work_name(kind: Kind, description: dict[str, object], needs: Iterable[str]) -> str:
    """Names what is done (16 hexadecimal digits), on the work that it needs, whichever version of the code does it."""
    done = {k: v for k, v in description.items() if k not in VERSIONS}
    return fingerprint([kind, done, list(needs)])[:16]


def runs_name(work: Iterable[str]) -> str:
    """Names what several evaluations say together."""
    return fingerprint(["runs", list(work)])[:16]


def curve_name(curve: str, arm: str, work: str) -> str:
    """Names a curve of an attack on one model."""
    return f"{curve} {arm} {work}"


def experiment_name(content: dict[str, object]) -> str:
    """Names what measurements follow from: `harness.spec.resolve.content`."""
    return fingerprint(content)


# --- seeds ---


def coordinates(description: dict[str, object], needs: Sequence[list[object]]) -> list[object]:
    """What a piece's seed derives from: its description without versions, and the coordinates of what it needs."""
    return [_coordinates_of(description), list(needs)]


def _coordinates_of(value: object, of_attack: bool = False) -> object:
    if isinstance(value, dict):
        left_out = (*NOT_COORDINATES, THRESHOLD_FROM) if of_attack else NOT_COORDINATES
        return {k: _coordinates_of(v, k == "attack") for k, v in value.items() if k not in left_out}
    return value


def seed_of(root: int, kind: Kind, where: list[object]) -> int:
    """Seed of a piece's own random choices, from the seed of the split that it stands on and its coordinates."""
    return derive_seed(root, kind, where)


def split_coordinates(description: dict[str, Any]) -> list[Any]:
    """What the random choices of a split derive from, after its seed; purposes are added to them.

    A split whose roles are swapped (`turned`) has the records that the same one leaves when they are not.
    """
    where = {k: description[k] for k in ("dataset", "split", "sizes", "repeat")}
    where["split"] = {k: v for k, v in where["split"].items() if k != "turned"}
    return ["split", where]
