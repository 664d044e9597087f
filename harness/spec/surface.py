"""From what a file says to what is meant: arms completed from the experiment, axes taken out of the fields they vary.

A spec's file says what an arm differs in, and writes an axis where the field stands that it varies
(`{axis: p, values: [...]}`). Here every arm becomes a whole experiment of its own, and axes get names; each place of
the result remembers file and line of what set it, and how a reader of the file would call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from harness.errors import HarnessError
from harness.experiment.experiment import Arm, Experiment, set_at
from harness.experiment.results import ResultsFile
from harness.experiment.setup import Setup
from harness.identity import spec_fields
from harness.results.cells import ResultsFault
from harness.results.rows import describe_results
from harness.spec.document import MOST_DEPTH, Document, Fields, Keys, locate, merge, without_nulls
from harness.spec.functions import complete_functions

SHARED = frozenset(spec_fields(Setup))
"""Fields that an experiment gives for all its arms, and an arm for itself."""
ONLY = "only"
"""The arm of an experiment that names none."""
LISTED = {"claims": "id", "ambiguities": None}
"""Lists that may be given by name instead, and the field that the name is."""
AXIS_KEYS = {"axis", "values"}
CONTENT = "content_of_file"
"""The field of a file of results that is read in the file itself."""


def core(document: Document) -> Document:
    """The document as the model of a spec reads it. Raises HarnessError with file and line."""
    completed = Document(dict(document.data), dict(document.places), document.files, dict(document.names))
    experiment = completed.data.get("experiment")
    if isinstance(experiment, dict) and "kind" in experiment:
        _complete_results(completed, experiment)
    elif isinstance(experiment, dict):
        _complete_arms(completed, experiment)
        complete_functions(completed)
    attacks = completed.data.get("attacks")
    if isinstance(attacks, dict):
        _attack_axes(completed, attacks)
    for name, key in LISTED.items():
        if isinstance(completed.data.get(name), dict):
            _list(completed, name, key)
    return completed


def _complete_results(document: Document, experiment: Fields) -> None:
    """Read what a spec has to know of its file of results. Raises HarnessError for a file that cannot be had."""
    where = locate(document, ("experiment", "kind"))
    if experiment["kind"] != "table":
        raise HarnessError(
            f"{where}: experiment.kind: unknown kind {experiment['kind']!r}; known: table (results from elsewhere); "
            "leave it out for an experiment that is run"
        )
    if CONTENT in experiment:
        raise HarnessError(f"{where}: experiment.{CONTENT}: is read in the file itself; remove it")
    try:
        declared = ResultsFile.model_validate(experiment, by_alias=True, by_name=False)
    except ValidationError:
        return  # the model of the spec says where
    keys: Keys = ("experiment", "path")
    try:
        content = describe_results(declared, document.place(keys)[0].parent / declared.path)
    except ResultsFault as fault:
        if not fault.field:
            raise
        keys = ("experiment", *fault.field.split("."))
        raise HarnessError(f"{locate(document, keys)}: {'.'.join(map(str, keys))}: {fault}") from None
    document.data["experiment"] = {**experiment, CONTENT: content.model_dump()}


def _list(document: Document, name: str, key: str | None) -> None:
    """Make a list of what is given by name, so that a file may add to, change or take away what it extends."""
    listed = []
    for index, (own, value) in enumerate(document.data[name].items()):
        document.rename((name, index), (name, own))
        if isinstance(value, dict) and key is not None:
            listed.append({key: own, **value})
            document.rename((name, index, key), (name, own))
        else:
            listed.append(value)
    document.data[name] = listed


def _complete_arms(document: Document, experiment: Fields) -> None:
    own = {name: value for name, value in experiment.items() if name not in SHARED}
    shared = {name: value for name, value in experiment.items() if name in SHARED}
    for key in ("axes",):
        if key in own:
            place = locate(document, ("experiment", key))
            raise HarnessError(
                f"{place}: experiment.axes: an axis is written where its field stands: {{axis: NAME, values: [...]}}"
            )
    axes: Fields = {}
    for field, keys, axis in list(_axes(shared, ("experiment",))):
        name = _take(document, shared, field, keys, axis, 1)
        if name in axes:
            raise HarnessError(f"{locate(document, keys)}: {'.'.join(map(str, keys))}.axis: {name!r} varies two fields")
        axes[name] = {"field": field, "values": axis["values"]}
        document.rename(("experiment", "axes", name), keys)
    arms = own.get("arms", {ONLY: {}})
    if not isinstance(arms, dict):
        return
    if axes:
        own["axes"] = axes
    whole: Fields = {}
    for name in arms:
        whole[name] = _complete_arm(document, shared, arms, name, ())
    document.data["experiment"] = {**own, "arms": whole}


def _complete_arm(document: Document, shared: Fields, arms: Fields, name: str, chain: tuple[str, ...]) -> object:
    """An arm with what it leaves out taken from the arm that it extends, or from the experiment."""
    arm_keys: Keys = ("experiment", "arms", name)
    base_keys: Keys = ("experiment",)
    raw = arms[name]
    if raw is not None and not isinstance(raw, dict):
        return raw
    arm = dict(raw or {})
    base_name = arm.pop("extends", None)
    if base_name is None:
        base = shared
    else:
        place = locate(document, (*arm_keys, "extends"))
        if not isinstance(base_name, str) or base_name not in arms:
            raise HarnessError(
                f"{place}: experiment.arms.{name}.extends: no arm {base_name!r}; there are: {', '.join(arms)}"
            )
        if len(chain) > MOST_DEPTH:
            raise HarnessError(f"{place}: experiment.arms.{name}.extends: more than {MOST_DEPTH} arms in a chain")
        if base_name in (*chain, name):
            raise HarnessError(
                f"{place}: experiment.arms.{name}.extends: a cycle: {' -> '.join((*chain, name, base_name))}"
            )
        extended = _complete_arm(document, shared, arms, base_name, (*chain, name))
        if not isinstance(extended, dict):
            return raw
        base = {key: value for key, value in extended.items() if key != "label"}
        base_keys = ("experiment", "arms", base_name)
    inherited = {keys: (*base_keys, *keys) for keys in _paths(base)}
    for _, keys, _axis in _axes(arm, arm_keys):
        raise HarnessError(
            f"{locate(document, keys)}: {'.'.join(map(str, keys))}: an axis is the experiment's, not one arm's; write "
            "it there, and a single value here for an arm that does not follow it"
        )
    merged = merge(base, arm)
    owned = set(_paths(arm))
    document.places.setdefault(arm_keys, document.place(arm_keys))
    for keys in _paths(merged):
        if keys in inherited and keys not in owned:
            document.rename((*arm_keys, *keys), inherited[keys])
    return without_nulls(merged, base)


def _attack_axes(document: Document, attacks: Fields) -> None:
    axes: Fields = {}
    changed = dict(attacks)
    for attack, value in attacks.items():
        if not isinstance(value, dict):
            continue
        fields = dict(value)
        for field, keys, axis in list(_axes(fields, ("attacks", attack))):
            name = _take(document, fields, field, keys, axis, 2)
            axes.setdefault(attack, {})[name] = {"field": field, "values": axis["values"]}
            document.rename(("attack_axes", attack, name), keys)
        changed[attack] = fields
    document.data["attacks"] = changed
    if axes:
        document.data["attack_axes"] = axes


def _axes(node: Fields, keys: Keys, field: str = "") -> Iterator[tuple[str, Keys, Fields]]:
    """Axes that stand in place of values: the field's path below the root, all its keys, and the axis."""
    for key, value in node.items():
        if not isinstance(value, dict):
            continue
        here, name = (*keys, key), f"{field}.{key}" if field else str(key)
        if "axis" in value and "solve" not in value:
            yield name, here, value
        else:
            yield from _axes(value, here, name)


def _take(document: Document, root: Fields, field: str, keys: Keys, axis: Fields, depth: int) -> str:
    """Put an axis' first value where it stands. Returns its name. Raises HarnessError where it is none."""
    shown = ".".join(map(str, keys))
    odd = sorted(set(axis) - AXIS_KEYS)
    if odd:
        raise HarnessError(
            f"{locate(document, (*keys, odd[0]))}: {shown}.{odd[0]}: unknown field; an axis has axis and values"
        )
    if not isinstance(axis["axis"], str) or not isinstance(axis.get("values"), list) or not axis["values"]:
        raise HarnessError(f"{locate(document, keys)}: {shown}: an axis is {{axis: NAME, values: [a list]}}")
    for name in list(root):  # nested mappings are shared with the document: copy the way down
        if field.partition(".")[0] == name:
            root[name] = _copy_node(root[name])
    set_at(root, field, axis["values"][0])
    document.places.setdefault(keys, document.place(keys))
    return axis["axis"]


def _copy_node(node: object) -> object:
    return {key: _copy_node(value) for key, value in node.items()} if isinstance(node, dict) else node


def _paths(node: object, keys: Keys = ()) -> Iterator[Keys]:
    """Every path of keys in nested mappings and lists."""
    items: Iterable[tuple[str | int, object]] = (
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    )
    for key, value in items:
        yield (*keys, key)
        yield from _paths(value, (*keys, key))


__all__ = ["ONLY", "SHARED", "Arm", "Experiment", "core"]
