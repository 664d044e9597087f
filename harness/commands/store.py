"""`harness store`: check the cell store, and free it of what no spec names."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.common import AsJson, Quiet, console, load, print_json, project_here, table_of
from harness.progress import Progress

store_app = typer.Typer(no_args_is_help=True, help="The cell store: check it, and free it of what no spec names.")


@store_app.command("verify")
def store_verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove what is damaged; the next run computes it again.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read every finished piece whole, and compare it with its name and its hash. Exit 1 if one is damaged."""
    from harness.execution.housekeeping import verify
    from harness.execution.store import Store

    store = Store(project_here().store)
    health = verify(store, Progress(quiet))
    for kind, key, _ in health.faults if repair else ():
        store.remove(kind, key)
    if as_json:
        faults = [{"kind": kind, "key": key, "fault": fault} for kind, key, fault in health.faults]
        print_json({"checked": health.checked, "faults": faults, "removed": repair})
    else:
        for kind, key, fault in health.faults:
            print(f"{kind}/{key}: {fault}" + ("; removed" if repair else ""))
        print(f"{health.checked} pieces checked, {len(health.faults)} damaged")
    if health.faults and not repair:
        raise typer.Exit(1)


@store_app.command("gc")
def store_gc(
    specs: Annotated[
        list[str] | None, typer.Argument(metavar="[SPEC]...", help="Files outside of specs/ whose cells are kept too.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Remove it; without this, only say what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find pieces that no spec names under any profile, and temporary files of writers that were killed.

    An edited spec or algorithm gives its cells new names and leaves the old ones behind. What is removed can
    be computed again; what a run under way is about to use is named by its spec and stays.
    """
    from harness.claims.sequential import CEILING
    from harness.execution.housekeeping import plans_of, remove, waste
    from harness.execution.store import Store
    from harness.spec.profile import load_params

    project = project_here()
    loaded = [*load(project, None), *(load(project, specs) if specs else [])]
    store = Store(project.store)
    found = waste(store, plans_of(project, loaded, load_params(project).profiles, CEILING))
    size = found.bytes
    if delete:
        remove(store, found)
    if as_json:
        counts = {kind: len(entries) for kind, entries in found.unnamed.items()}
        summary = {"kept": found.kept, "unnamed": counts, "abandoned": len(found.abandoned), "bytes": size}
        print_json({**summary, "deleted": delete})
        return
    table = table_of("kind", "pieces", "MB")
    for kind, entries in found.unnamed.items():
        table.add_row(kind, str(len(entries)), f"{sum(s for _, s in entries) / 1e6:.1f}")
    if found.abandoned:
        table.add_row("temporary", str(len(found.abandoned)), "")
    if found.unnamed or found.abandoned:
        console.print(table)
    done = "removed" if delete else "would go; `harness store gc --delete` removes it"
    print(f"{found.kept} pieces are named by a spec and stay; {size / 1e6:.1f} MB {done}")
