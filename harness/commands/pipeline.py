"""`harness pipeline` and `resolve`: what DVC is told of the specs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.common import Names, ProfileName, context_for, load, load_decided, project_here
from harness.commands.tables import print_text
from harness.errors import HarnessError
from harness.files import write_text


def pipeline(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 2 if dvc.yaml is out of date.")] = False,
) -> None:
    """Write `dvc.yaml`: the stages of every spec that the profile in `params.yaml` runs; `flagship/dvc.yaml` likewise.

    To add a spec, write its file; `make repro` calls this first.
    """
    if not project_here().params.exists():
        raise HarnessError(
            f"{project_here().params}: no such file, and dvc.yaml reads the profile from it; write "
            "`profile: declared` and `profiles: {declared: {}}` into it"
        )
    for path, text, name in _pipelines():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            raise HarnessError(f"{path}: out of date for profile {name!r}; run `harness pipeline`")
        write_text(path, text)
        print_text(
            f"{path.parent.name + '/' if path.parent.name == 'flagship' else ''}dvc.yaml: written for profile {name}"
        )


def _pipelines() -> list[tuple[Path, str, str]]:
    """Where each pipeline file lies, what it should say, and its profile."""
    from harness.pipeline.dvc import flagship_text, pipeline_text
    from harness.spec.profile import load_params
    from harness.spec.selection import specs_to_decide

    context = context_for(None, None, True)
    root, specs = context.project.root, load(context.project, None)
    text = pipeline_text(context, list(map(context.resolve, specs_to_decide(context.profile, specs))))
    pipelines = [(root / "dvc.yaml", text, context.profile_name)]
    if (name := load_params(context.project).flagship) is not None:
        flagship = context_for(name, None, True)
        text = flagship_text(flagship, list(map(flagship.resolve, specs_to_decide(flagship.profile, specs))))
        pipelines.append((root / "flagship" / "dvc.yaml", text, name))
    return pipelines


def resolve(specs: Names = None, profile: ProfileName = None) -> None:
    """Write specs as they are run: what they inherit filled in, what the profile takes away taken away.

    JSON in `models/<profile>/resolved/`, with the hashes of the data; the stages of `dvc.yaml` depend on it, so an edit
    that leaves it as it was trains and attacks nothing again. Where `dvc.yaml` does not list the specs that there are,
    says so and exits with 2.
    """
    from harness.pipeline.compute import resolve as write_resolved
    from harness.pipeline.stages import timed_stage

    context = context_for(profile, None, False)
    with timed_stage(context, "resolve") as stage:
        included = load_decided(context, specs)
        for loaded in included:
            write_resolved(context.resolve(loaded))
        stage.made = f"{len(included)} specs as the profile runs them"
    for path, text, name in _pipelines() if not specs else ():
        if name == context.profile_name and path.is_file() and path.read_text(encoding="utf-8") != text:
            again = "dvc repro flagship/dvc.yaml" if path.parent.name == "flagship" else "dvc repro"
            raise HarnessError(f"{path}: lists other specs than there are; run `harness pipeline`, then `{again}`")
