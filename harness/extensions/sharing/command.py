"""`harness store push` and `pull`: results copied to and from a store that several machines share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import AsJson, ProfileName, Quiet, print_json, project_here, resolve_specs
from harness.commands.tables import print_text
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.execution.store import Store
    from harness.extensions.sharing.store_key import StoreKey
    from harness.extensions.sharing.transfer import ResultName, Shared, Transfer

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


def push(
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
    from harness.extensions.sharing.transfer import push as copy_to

    _copy_results(copy_to, "pushed", address, spec, profile, as_json, quiet, notice=LEAVING)


def pull(
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
    from harness.extensions.sharing.transfer import pull as copy_from

    _copy_results(copy_from, "pulled", address, spec, profile, as_json, quiet)


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
    from harness.execution.store import Store
    from harness.extensions.sharing.store_key import NO_TAG, VARIABLE, WRONG_TAG, read_store_key
    from harness.extensions.sharing.transfer import Shared
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
