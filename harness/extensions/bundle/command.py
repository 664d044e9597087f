"""`harness bundle`: a verdict with all that it needs, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.common import ProfileName, check_writable_file
from harness.commands.explain import ClaimName, find_claim
from harness.commands.tables import print_text
from harness.ids import page_stem


def bundle(
    claim: ClaimName,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: <claim>.crate.zip.")] = None,
    profile: ProfileName = None,
) -> None:
    """Pack a verdict with all that it needs, as an RO-Crate: spec, table, verdict, code, plug-ins, versions.

    `harness judge --bundle FILE` judges the claim again, by the installed code, from the table in it.
    """
    from harness.commands.version import version_line
    from harness.extensions.bundle.pack import bundle as pack

    run, name = find_claim(claim, profile)
    check_writable_file(out, "--out")
    target = out or Path(f"{page_stem(run.id)}--{name}.crate.zip")
    files = pack(run, name, target, version_line())
    print_text(f"{target}: {len(files)} files, {target.stat().st_size:,} bytes")
