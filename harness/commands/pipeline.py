"""`harness pipeline` and `resolve`: what DVC is told of the specs."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.common import Names, ProfileName, context_for, load
from harness.errors import HarnessError


def pipeline(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 2 if dvc.yaml is out of date.")] = False,
) -> None:
    """Write `dvc.yaml`: the stages of every spec that the profile in `params.yaml` runs.

    To add a spec, write its file; `make repro` calls this first.
    """
    from harness.files import write_text
    from harness.pipeline.dvc import pipeline_text

    context = context_for(None, None, True)
    path = context.project.root / "dvc.yaml"
    text = pipeline_text(context, load(context.project, None))
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    if check:
        raise HarnessError(f"{path}: out of date for profile {context.profile_name!r}; run `harness pipeline`")
    write_text(path, text)
    print(f"dvc.yaml: written for profile {context.profile_name}")


def resolve(specs: Names = None, profile: ProfileName = None) -> None:
    """Write specs as they are run: what they inherit filled in, what the profile takes away taken away.

    JSON in `models/<profile>/resolved/`, with the hashes of the data; the stages of `dvc.yaml` depend on it, so an edit
    that leaves it as it was trains and attacks nothing again. Where `dvc.yaml` does not list the specs that there are,
    says so and exits with 2.
    """
    from harness import pipeline as stages
    from harness.pipeline.dvc import pipeline_text

    context = context_for(profile, None, True)
    found = [one for one in load(context.project, specs) if not stages.left_out(context, one)]
    for loaded in found:
        stages.resolve(context, loaded)
    print(f"{context.resolved.relative_to(context.project.root)}: {len(found)} specs")
    path = context.project.root / "dvc.yaml"
    selected = context_for(None, None, True)
    if specs or not path.is_file() or selected.profile_name != context.profile_name:
        return
    if path.read_text(encoding="utf-8") != pipeline_text(selected, load(context.project, None)):
        raise HarnessError(f"{path}: the specs that there are have changed; run `harness pipeline`, then `dvc repro`")
