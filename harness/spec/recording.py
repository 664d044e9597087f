"""Putting claims on record with what had been measured by then, and asking whether they are."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.claims.later import Seen
from harness.coordinates import Cell, Level
from harness.errors import HarnessError
from harness.files import write_text
from harness.hashing import fingerprint
from harness.paths import Project
from harness.spec.declared import (
    Record,
    assertion_of,
    claims_on_record,
    read_records,
    record_file,
    tables_of,
)
from harness.spec.document import locate
from harness.spec.load import Loaded, load_spec
from harness.spec.model import Spec


def check_declared(project: Project, loaded: Sequence[Loaded]) -> None:
    """Raises HarnessError with a line on each claim that is not on record as it is, in a project that keeps records, of
    specs that are on record or measured."""
    records, within, faults = read_records(project), project.specs.resolve(), []
    for one in loaded if records is not None else ():
        spec, record = one.spec, (records or {}).get(one.spec.id)
        if not one.raw.files[0].is_relative_to(within) or (record is None and not tables_of(project, spec.id)):
            continue
        for claim in claims_on_record(spec):
            if record is None or record.seen_before(spec, claim) is None:
                is_known = record is not None and claim.id in record.claims
                what = "changed since it was put on record" if is_known else "not on record"
                faults.append(
                    f"{locate(one.document, ('claims', spec.claims.index(claim)))}: claims.{claim.id}: {what}; "
                    f"`harness declare {spec.id}` records it, and what was measured until then counts as seen before "
                    "it was written"
                )
    if faults:
        raise HarnessError(*faults)


def record_before_runs(project: Project, loaded: Sequence[Loaded], profile: str | None = None) -> list[Spec]:
    """Put the claims of specs on record that are not on it, and of which nothing is measured, in a project that keeps
    records; returns these specs. `profile`: one with seeds of its own."""
    records, within = read_records(project, profile), project.specs.resolve()
    if records is None and profile is None:
        return []
    new = [
        one
        for one in loaded
        if one.raw.files[0].is_relative_to(within)
        and one.spec.id not in (records or {})
        and not tables_of(project, one.spec.id, profile)
    ]
    # A run may be for some of a spec's claims, and all are on record.
    whole = [one if one.claims is None else load_spec(project, one.raw.files[0], alternatives=False) for one in new]
    put_on_record(project, [one.spec for one in whole], lambda _: {}, profile=profile)
    return [one.spec for one in whole]


def put_on_record(
    project: Project,
    specs: Sequence[Spec],
    measured: Callable[[Spec], Seen],
    in_form_alone: bool = False,
    profile: str | None = None,
) -> dict[str, list[str]]:
    """Put the claims of specs on record as they are; returns by spec those that were not.

    Args:
        measured: by spec, how many repeats of each cell are measured.
        in_form_alone: whether what changed means what it meant before: what counts as seen stays as it is.
        profile: one with seeds of its own, which has a record of its own.
    """
    records, told = dict(read_records(project, profile) or {}), dict[str, list[str]]()
    for spec in specs:
        claims = claims_on_record(spec)
        record = records.get(spec.id, Record({}, {}))
        new = [claim for claim in claims if record.seen_before(spec, claim) is None]
        rows = {claim.id: record.claims[claim.id] for claim in claims if claim.id in record.claims}
        seen = {} if not new else {cell: n for cell, n in measured(spec).items() if n}
        name = _name(seen)
        for claim in new:
            kept = rows[claim.id][1] if in_form_alone and claim.id in rows else name
            rows[claim.id] = assertion_of(spec, claim), kept
        if new:
            told[spec.id] = [claim.id for claim in new]
        records[spec.id] = _with_used({**record.seen, name: seen}, replace(record, claims=rows))
    if told:
        write_records(record_file(project, profile), records)
    return told


def add_shared(project: Project, shared: Mapping[str, Seen], profile: str | None = None) -> None:
    """Count as seen, of the claims of specs that were put on record before anything was measured, what other specs had
    measured of the same models."""
    records = dict(read_records(project, profile) or {})
    for spec, seen in shared.items():
        if seen and spec in records:
            record, name = records[spec], _name(seen)
            rows = {claim: (what, before or name) for claim, (what, before) in record.claims.items()}
            records[spec] = _with_used({**record.seen, name: seen}, replace(record, claims=rows))
    if any(shared.values()):
        write_records(record_file(project, profile), records)


def _name(seen: Seen) -> str:
    return "" if not seen else fingerprint(sorted(map(str, seen.items())))[:8]


def _with_used(seen: Mapping[str, Seen], record: Record) -> Record:
    """A record with what its claims name, of what had been seen."""
    return replace(record, seen={name: seen[name] for name in sorted({name for _, name in record.claims.values()})})


def write_records(path: Path, records: Mapping[str, Record]) -> None:
    """Write the file of records: a line a claim, and a line a cell of what had been seen."""

    def lines(items: Iterable[str], indent: str) -> str:
        return ",\n".join(f"{indent}{item}" for item in items)

    def row(cell: Cell, repeats: int) -> str:
        where: dict[str, Level] = {axis: "inf" if value == math.inf else value for axis, value in cell[1]}
        return json.dumps([cell[0], where, repeats], ensure_ascii=False)

    pieces = []
    for spec, record in sorted(records.items()):
        if not record.claims:
            continue
        claims = (
            f"{json.dumps(claim)}: {json.dumps([what.main, name, sorted(what.readings)])}"
            for claim, (what, name) in sorted(record.claims.items())
        )
        seen = (
            f"{json.dumps(name)}: [\n{lines((row(*item) for item in sorted(cells.items(), key=str)), '    ')}\n   ]"
            if cells
            else f"{json.dumps(name)}: []"
            for name, cells in record.seen.items()
        )
        both = f'"claims": {{\n{lines(claims, "   ")}\n  }},\n  "seen": {{\n{lines(seen, "   ")}\n  }}'
        pieces.append(f"{json.dumps(spec)}: {{\n  {both}\n }}")
    write_text(path, "{\n" + lines(pieces, " ") + "\n}\n")
