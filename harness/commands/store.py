"""`harness store`: check the cell store, share it, and free it of what no spec names."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.common import AsJson, Quiet, load, print_json, project_here
from harness.commands.extensions import ExtensibleGroup
from harness.commands.tables import print_table, print_text
from harness.progress import Progress


class StoreCommands(ExtensibleGroup):
    """The commands on the store, to which installed packages add theirs."""

    entry_points = "harness.store"


store_app = typer.Typer(
    cls=StoreCommands,
    no_args_is_help=True,
    help="The cell store: check it, share it, and free it of what no spec names.",
)


@store_app.command("verify")
def store_verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove what is damaged; the next run computes it again.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read every finished piece whole, and compare it with its name and its hash. Exit 1 if one is damaged."""
    from harness.execution.housekeeping import verify_results
    from harness.execution.store import Store

    store = Store(project_here().store)
    health = verify_results(store, Progress(quiet))
    for kind, key, _ in health.faults if repair else ():
        store.remove(kind, key)
    if as_json:
        faults = [{"kind": kind, "key": key, "fault": fault} for kind, key, fault in health.faults]
        print_json({"checked": health.checked, "faults": faults, "removed": repair})
    else:
        for kind, key, fault in health.faults:
            print_text(f"{kind}/{key}: {fault}" + ("; removed" if repair else ""))
        print_text(f"{health.checked} pieces checked, {len(health.faults)} damaged")
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
    from harness.execution.housekeeping import plans_of, remove_waste, waste
    from harness.execution.store import Store
    from harness.spec.profile import load_params

    project = project_here()
    loaded = [*load(project, None), *(load(project, specs) if specs else [])]
    store = Store(project.store)
    garbage = waste(store, plans_of(project, loaded, load_params(project).profiles))
    size = garbage.bytes
    if delete:
        remove_waste(store, garbage)
    if as_json:
        counts = {kind: len(entries) for kind, entries in garbage.unnamed.items()}
        summary = {"kept": garbage.kept, "unnamed": counts, "abandoned": len(garbage.abandoned), "bytes": size}
        print_json({**summary, "deleted": delete})
        return
    rows = [
        (kind, str(len(entries)), f"{sum(s for _, s in entries) / 1e6:.1f}")
        for kind, entries in garbage.unnamed.items()
    ]
    if garbage.abandoned:
        rows.append(("temporary", str(len(garbage.abandoned)), ""))
    if rows:
        print_table(("kind", "pieces", "MB"), rows)
    done = "removed" if delete else "would go; `harness store gc --delete` removes it"
    print_text(f"{garbage.kept} pieces are named by a spec and stay; {size / 1e6:.1f} MB {done}")
