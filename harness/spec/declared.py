"""When claims were declared: what had been measured before a claim was written, or last changed.

`specs/declared.json` has, for each spec, the claims on measurements with a hash of what they assert and of what, and
how many repeats of each cell had been measured when each was put on record (`harness declare`). Words about a claim
(its statement, quotations, notes) are no part of it. Readings may be added, since they only withhold a verdict, and
not taken away. A profile with seeds of its own keeps a record beside its tables.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from harness.bounds import read_text
from harness.claims.later import Seen
from harness.coordinates import Cell, place
from harness.errors import HarnessError
from harness.hashing import fingerprint
from harness.paths import Project
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.spec.profile import load_params

FILE, TABLE = "declared.json", "measurements.parquet"


@dataclass(frozen=True)
class Assertion:
    """What a claim asserts, as hashes."""

    main: str
    """Of its inequalities, and of the arms and attacks that they are about."""
    readings: frozenset[str] = frozenset()
    """Of each other reading that it has to hold in, too."""

    def is_as(self, before: Assertion) -> bool:
        """Whether it asserts what it did before, perhaps in further readings."""
        return self.main == before.main and self.readings >= before.readings


@dataclass(frozen=True)
class Record:
    """The claims of a spec as they were last put on record."""

    claims: Mapping[str, tuple[Assertion, str]]
    """By claim: what it asserts, and the name of what had been measured before."""
    seen: Mapping[str, Seen]
    """By name: what had been measured."""

    def seen_before(self, spec: Spec, claim: Claim) -> Seen | None:
        """What had been measured before a claim was declared as it is; None where it is not on record so, or the arms
        and axes of the experiment are no longer those of the record."""
        if claim.id not in self.claims:
            return None
        before, name = self.claims[claim.id]
        seen, experiment = self.seen[name], spec.own_experiment
        assert experiment is not None
        axes = {axis for _, where in seen for axis, _ in where}
        known = axes <= {*experiment.coordinates} and {arm for arm, _ in seen} <= experiment.arms.keys()
        return seen if known and assertion_of(spec, claim).is_as(before) else None


def assertion_of(spec: Spec, claim: Claim) -> Assertion:
    """What a claim asserts. A field that has its default is left out, so one that is added to a kind of claims, arms or
    attacks changes no hash."""
    experiment, parts = spec.own_experiment, spec.parts(claim)
    assert experiment is not None
    arms = sorted({arm for part in parts for arm in part.arms()})
    attacks = sorted({name for part in parts for names in part.attacks().values() for name in names if name})
    said = {
        "expect": _said(claim.expect),
        "arms": {arm: _said(experiment.arms[arm]) for arm in arms},
        "attacks": {name: _said(spec.attacks[name]) for name in attacks if name in spec.attacks},
        "seed": experiment.seed,
        **({"level": spec.level} if spec.level != type(spec).model_fields["level"].default else {}),
        **({"rarest": spec.rarest} if spec.rarest != type(spec).model_fields["rarest"].default else {}),
    }
    sentences = [_said(expect) for expect in claim.also_read_as.values()]
    choices = [[one.field, to_jsonable_python(value)] for one in spec.ambiguities for value in one.alternatives]
    return Assertion(fingerprint(said)[:16], frozenset(fingerprint(one)[:8] for one in (*sentences, *choices)))


def _said(value: object) -> object:
    """What is said by a value of a declaration, as JSON: of a model its kind, and the fields that differ from their
    defaults."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields.items()
        told = {str(info.alias or name): getattr(value, name) for name, info in fields}
        unsaid = {str(info.alias or name): info.get_default(call_default_factory=True) for name, info in fields}
        return {name: _said(own) for name, own in told.items() if name == "kind" or own != unsaid[name]}
    if isinstance(value, Mapping):
        return {str(name): _said(own) for name, own in value.items()}
    return [_said(one) for one in value] if isinstance(value, list | tuple) else to_jsonable_python(value)


def claims_on_record(spec: Spec) -> list[Claim]:
    """The claims that a record is of: those on measurements that this project makes."""
    return [] if spec.own_experiment is None else [claim for claim in spec.claims if not claim.theory]


def record_file(project: Project, profile: str | None = None) -> Path:
    """The file of records: of a `profile` with seeds of its own beside its tables, else beside the specs."""
    return project.specs / FILE if profile is None else project.reports / profile / FILE


def read_records(project: Project, profile: str | None = None) -> Mapping[str, Record] | None:
    """The records of all specs, by their ids; None where none is kept. Raises HarnessError for a file that is none of
    these."""
    path = record_file(project, profile)
    try:
        return _read(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return None


@lru_cache(maxsize=8)
def _read(path: Path, stamp: int) -> Mapping[str, Record]:
    """`stamp` tells a file from what it was before."""
    try:
        return {str(spec): _record_of(written) for spec, written in json.loads(read_text(path)).items()}
    except (OSError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        why = "not a record of declarations; take it from version control, where it was written by `harness declare`"
        raise HarnessError(f"{path}: {why}") from None


def _record_of(written: Mapping[str, Any]) -> Record:
    seen = {str(name): dict(map(_cell_of, rows)) for name, rows in written["seen"].items()}
    claims = {
        str(claim): (Assertion(str(main), frozenset(map(str, readings))), str(name))
        for claim, (main, name, readings) in written["claims"].items()
    }
    if missing := {name for _, name in claims.values()} - seen.keys():
        raise KeyError(*missing)
    return Record(claims, seen)


def _cell_of(row: Sequence[Any]) -> tuple[Cell, int]:
    arm, where, repeats = row
    levels = {str(axis): math.inf if v == "inf" else v for axis, v in where.items()}
    return (str(arm), place(levels)), int(repeats)


def tables_of(project: Project, spec: str, profile: str | None = None) -> list[Path]:
    """A spec's tables of measurements: that of a `profile` with seeds of its own, else those of all other profiles."""
    if profile is not None:
        path = project.reports / profile / spec / TABLE
        return [path] if path.is_file() else []
    own = {name for name, one in load_params(project).profiles.items() if one.own_seeds}
    every = sorted(project.reports.glob(f"*/{spec}/{TABLE}"))
    return [path for path in every if path.relative_to(project.reports).parts[0] not in own]


def mark_seen(project: Project, spec: Spec, path: Path, profile: str | None = None) -> Spec:
    """The spec of a file, which knows of each claim on measurements what had been measured before it was declared.

    A claim counts as declared before all measurements where the project keeps no record, or the spec is not on it and
    nothing of the spec is measured yet, or the file is outside of `specs/`. Otherwise one that is not on record as it
    is counts as declared after all of them. `profile`: one with seeds of its own, which always keeps a record.
    """
    records, claims = read_records(project, profile), claims_on_record(spec)
    if not claims or not path.is_relative_to(project.specs.resolve()) or (records is None and profile is None):
        return spec
    record = (records or {}).get(spec.id)
    if record is None and not tables_of(project, spec.id, profile):
        return spec
    return spec.with_seen({claim.id: None if record is None else record.seen_before(spec, claim) for claim in claims})
