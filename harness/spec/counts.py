"""Bounds of the counts that a spec or a profile asks for, looked at before anything is built of them.

`repeats: 1000000000` is refused where it stands, and so is a grid whose product is more than anybody would run. The
bounds lie far above what is run; HARNESS_MAX_COUNTS multiplies those of single fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from harness.bounds import COUNTS, PLACES, SPEC_VALUES
from harness.errors import HarnessError
from harness.spec.claim import Claim
from harness.spec.document import Document, Fields, Keys, locate

MOST: Mapping[str, int] = {
    **dict.fromkeys(("repeats", "max_repeats", "epochs", "attack_epochs", "patience"), 1_000_000),
    **dict.fromkeys(("members", "test", "nonmembers", "batch_size", "records"), 100_000_000),
    **dict.fromkeys(("count", "shadows", "points", "queries", "fitting_queries", "directions", "steps"), 100_000),
    **dict.fromkeys(("hidden", "units", "filters", "components", "clusters", "folds", "n_init"), 100_000),
    **dict.fromkeys(("attributes", "groups", "most_frequent", "m", "max_levels"), 100_000),
    **dict.fromkeys(("kernel", "size", "stride", "pooled"), 10_000),
}
"""By field: the largest value."""
MOST_ARMS = 1_000
READ = ("experiment", "attacks", "claims", "profiles")
"""What holds fields that ask for work."""
DOMAIN = "over"
"""What a formula's variables range over: their names may be those of fields."""


def check_counts(document: Document) -> None:
    """Raises HarnessError, with file, line and field, for a count above its bound, and for a grid of too many places.

    `document` is a spec, or `params.yaml`, as the file says it.
    """
    data = document.data
    for name in READ:
        for keys, field, value in _numbers(data.get(name), (name,), name):
            _check_count(document, keys, field, value)
    ambiguities = data.get("ambiguities")
    for number, one in enumerate(ambiguities if isinstance(ambiguities, list) else ()):
        if isinstance(one, dict) and isinstance(one.get("field"), str):
            varied = one["field"].rpartition(".")[2]
            for keys, _, value in _numbers(one.get("alternatives"), ("ambiguities", number, "alternatives"), varied):
                _check_count(document, keys, varied, value)
    experiment, attacks = data.get("experiment"), data.get("attacks")
    if isinstance(experiment, dict):
        _check_arms(document, experiment)
    for name, attack in attacks.items() if isinstance(attacks, dict) else ():
        _check_places(document, ("attacks", name), math.prod(_axis_lengths(attack)))


def check_domains(document: Document, claims: tuple[Claim, ...]) -> None:
    """Raises HarnessError for a formula that is to be computed at too many points."""
    for index, claim in enumerate(claims):
        for one in claim.theory:
            _check_places(document, ("claims", index, "expect"), one.computed_points())


def _numbers(node: object, keys: Keys, field: str) -> Iterator[tuple[Keys, str, int]]:
    """Every whole number below a node: its path, and the field that it is of, as the values of an axis are too."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == DOMAIN and isinstance(value, dict):
                inner = ((name, one) for name, one in value.items() if isinstance(one, dict))
                for name, one in inner:
                    yield from _numbers({k: v for k, v in one.items() if k == "points"}, (*keys, key, name), key)
            else:
                yield from _numbers(value, (*keys, key), field if key == "values" else str(key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _numbers(value, (*keys, index), field)
    elif isinstance(node, int) and not isinstance(node, bool):
        yield keys, field, node


def _check_count(document: Document, keys: Keys, field: str, value: int) -> None:
    limit = MOST[field] * COUNTS.limit if field in MOST else math.inf
    if value > limit:
        shown = ".".join(map(str, keys))
        raise HarnessError(
            f"{locate(document, keys)}: {shown}: {value:,} is more than {limit:,}, the bound of {field}; "
            f"set {COUNTS.variable} to multiply it"
        )


def _check_arms(document: Document, experiment: Fields) -> None:
    keys: Keys = ("experiment", "arms")
    arms = experiment.get("arms")
    shared = {name: value for name, value in experiment.items() if name != "arms"}
    number = len(arms) if isinstance(arms, dict) else 1
    if number > MOST_ARMS * COUNTS.limit:
        raise HarnessError(
            f"{locate(document, keys)}: experiment.arms: {number:,} arms, more than {MOST_ARMS * COUNTS.limit:,}; "
            f"set {COUNTS.variable} to multiply the bound"
        )
    SPEC_VALUES.check(number * _size(shared), f"{locate(document, keys)}: experiment.arms", " in all arms")
    privacy = experiment.get("privacy")
    epsilons = privacy.get("epsilons") if isinstance(privacy, dict) else None
    grid = len(epsilons) if isinstance(epsilons, list) else 1
    _check_places(document, ("experiment",), number * grid * math.prod(_axis_lengths(shared)))


def _check_places(document: Document, keys: Keys, number: int) -> None:
    PLACES.check(number, f"{locate(document, keys)}: {'.'.join(map(str, keys))}", " (the product of what varies)")


def _axis_lengths(node: object) -> Iterator[int]:
    """How many values each axis below a node has."""
    if isinstance(node, dict):
        if "axis" in node and isinstance(node.get("values"), list):
            yield len(node["values"])
        else:
            for value in node.values():
                yield from _axis_lengths(value)


def _size(node: object) -> int:
    """How many values a node comes to."""
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return 1 + sum(map(_size, inner))
