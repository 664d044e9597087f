"""`harness migrate`: tables of measurements that an older version named, shown to be of the same experiment."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.common import Names, ProfileName, contexts


def migrate(
    specs: Names = None,
    profile: ProfileName = None,
    write: Annotated[bool, typer.Option("--write", help="Rewrite them; without this, only say what would be.")] = False,
) -> None:
    """Keep committed measurements valid where only the way to name an experiment changed. Trains nothing.

    A table remembers a hash of the experiment that it was made of. Where that is not today's, the experiment as the
    spec declares it now is written down in each older form: if one of these has the table's hash, what was run is what
    is declared, and the table gets today's name. No measurement changes; an accepted baseline follows. Exit 1 if a
    table is of no known form: then the experiment did change.
    """
    from harness import pipeline
    from harness.execution.table import read_table, write_parquet
    from harness.files import write_text
    from harness.hashing import canonical_json
    from harness.spec.older import older_digests
    from harness.spec.resolve import content
    from harness.verdicts import baseline

    unknown, moved = 0, 0
    for context, loaded in contexts(specs, profile, None, True):
        path = context.page / "baseline.json"
        accepted = baseline.read(path) if path.is_file() else None
        for one in loaded:
            for variant in [one, *(v for _, v in pipeline.other_readings(context, one))]:
                file = context.measurements_file(variant.spec.id)
                if not file.is_file() or pipeline.left_out(context, one):
                    continue
                table, scaled = read_table(file), context.scaled(variant)
                held, now = table.attrs.get("experiment_sha256"), pipeline.experiment_digest(scaled)
                if held is None or held == now:
                    continue
                name = file.relative_to(context.project.root)
                if held not in set(older_digests(scaled, variant.said)):
                    print(f"{name}: of another experiment than the one declared now; run it again")
                    unknown += 1
                    continue
                before = baseline.digest(file)
                print(f"{name}: the same experiment, by an older name ({str(held)[:16]} is now {now[:16]})")
                moved += 1
                if not write:
                    continue
                same = table.copy()
                same.attrs = {**table.attrs, "experiment_sha256": now, "experiment": canonical_json(content(scaled))}
                write_parquet(same, file)
                if not read_table(file).equals(table):  # what was written is what was there
                    raise RuntimeError(f"{name}: the rewritten table differs")
                entry = accepted.specs.get(variant.spec.id) if accepted is not None else None
                if accepted is not None and entry is not None and entry.measurements_sha256 == before:
                    update = {"measurements_sha256": baseline.digest(file)}
                    entries = {**accepted.specs, variant.spec.id: entry.model_copy(update=update)}
                    accepted = accepted.model_copy(update={"specs": entries})
                    write_text(path, baseline.text(accepted))
    print(f"{moved} tables {'renamed' if write else 'can be renamed (--write)'}, {unknown} of another experiment")
    if unknown:
        raise typer.Exit(1)
