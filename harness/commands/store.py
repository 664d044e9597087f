"""`harness store`: check the cell store, share it, and free it of what no spec names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import (
    AsJson,
    ProfileName,
    Quiet,
    load,
    print_json,
    project_here,
    resolve_specs,
)
from harness.commands.tables import print_table, print_text
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.execution.sharing import ResultName, Shared, Transfer
    from harness.execution.store import Store
    from harness.execution.store_key import StoreKey

store_app = typer.Typer(
    no_args_is_help=True, help="The cell store: check it, share it, and free it of what no spec names."
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


Address = Annotated[
    str, typer.Argument(help="A directory, or an address such as `s3://bucket/folder` (pip install mi-dp-harness[s3]).")
]
OfSpecs = Annotated[
    list[str] | None, typer.Option("--spec", metavar="SPEC", help="Only what these specs need under --profile.")
]


LEAVING = (
    "what is copied holds row numbers of members and non-members, each record's log-probabilities and labels, and "
    "models' weights"
)
"""Printed before anything leaves this machine."""


@store_app.command("push")
def store_push(
    address: Address,
    spec: OfSpecs = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Copy results to a shared store; what is there already is left alone. Exit 1 if one here is damaged.

    With a key in HARNESS_STORE_KEY, or in the file HARNESS_STORE_KEY_FILE, each has a tag beside it.

    What is copied says of each row of a table whether a model was trained on it, and how each model answers on it:
    share it with those alone who may have the table.
    """
    from harness.execution.sharing import push

    _copy_results(push, "pushed", address, spec, profile, as_json, quiet, notice=LEAVING)


@store_app.command("pull")
def store_pull(
    address: Address,
    spec: OfSpecs = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Copy results from a shared store, each compared with its name and hash. Exit 1 if one there is damaged.

    The next run computes only what is still missing. With a key in HARNESS_STORE_KEY, or in the file
    HARNESS_STORE_KEY_FILE, nothing is taken without a tag of that key.
    """
    from harness.execution.sharing import pull

    _copy_results(pull, "pulled", address, spec, profile, as_json, quiet)


def _copy_results(
    move: Callable[[Store, Shared, Progress, set[ResultName] | None, StoreKey | None], Transfer],
    word: str,
    address: str,
    specs: list[str] | None,
    profile: str | None,
    as_json: bool,
    quiet: bool,
    notice: str = "",
) -> None:
    """Copy by `move` and print what was copied; a `notice` comes before, once the store is known to answer."""
    from harness.execution.sharing import Shared
    from harness.execution.store import Store
    from harness.execution.store_key import NO_TAG, VARIABLE, WRONG_TAG, read_store_key
    from harness.pipeline.compute import plan_of

    secret = read_store_key()
    only: set[ResultName] | None = None
    if specs:
        only = set()
        for _, runs in resolve_specs(specs, profile, None, quiet):
            for one in runs:
                only |= {(piece.kind, piece.key) for piece in plan_of(one, one.repeat_factor).pieces()}
    shared = Shared(address)
    if notice and not quiet:
        shared.exists()
        print(f"harness: {notice}", file=sys.stderr)
    transfer = move(Store(project_here().store), shared, Progress(quiet), only, secret)
    if as_json:
        faults = [{"kind": kind, "key": key, "fault": fault} for kind, key, fault in transfer.faults]
        moved = {word: transfer.moved, "there": transfer.there, "bytes": transfer.bytes}
        print_json({**moved, "was_empty": transfer.was_empty, "faults": faults})
    else:
        for kind, key, fault in transfer.faults:
            if fault not in (NO_TAG, WRONG_TAG):
                print_text(f"{kind}/{key}: {fault}; not {word}")
        without, wrong = (sum(fault == one for *_, fault in transfer.faults) for one in (NO_TAG, WRONG_TAG))
        if without or wrong:
            print_text(f"refused by the key ({VARIABLE}): {without} pieces without a tag, {wrong} with a wrong one")
        now = "is" if word == "pulled" else "was"
        there = f"{shared.address} {now} empty" if transfer.was_empty else f"{transfer.there} were there already"
        print_text(f"{transfer.moved} pieces {word} ({transfer.bytes / 1e6:.1f} MB), {there}")
    if transfer.faults:
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
