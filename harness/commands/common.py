"""What commands share: options, the project at hand, tables and JSON on standard output."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, TypedDict

import typer

from harness import reference_engine
from harness.commands.tables import Cell, print_table
from harness.errors import HarnessError
from harness.escaping import visible_json
from harness.files import json_text
from harness.links import check_folders_inside, check_inside
from harness.paths import Project, find_project
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.claims.words import Word
    from harness.pipeline.context import Context, Options, Run
    from harness.spec.load import Loaded

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[SPEC]...", help="Ids (paper/figure), papers or files; default: all.")
]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile", "-p", help="Profile of params.yaml; default: its own. Files outside of specs/ are run as declared."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
MOST_WORKERS = 1_024
MOST_MINUTES = 525_600
"""A year."""
MOST_EPSILON = 1e9
"""The largest `--epsilon`: at a thousand, e to it is no number of this machine any more."""
MOST_SEED = 2**63 - 1
Workers = Annotated[
    int | None,
    typer.Option("--workers", "-j", min=1, max=MOST_WORKERS, help="Worker processes; default: one a core."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
Minutes = Annotated[
    float | None,
    typer.Option(help="Start no work after so many minutes, and judge what is measured. The same command resumes."),
]
Root = Annotated[Path | None, typer.Option("--project", help="The checkout; default: found from here upwards.")]


class State(TypedDict, total=False):
    """What the first word's options say, and how the command is run."""

    root: Path | None
    document: TextIO
    was_interrupted: Callable[[], bool]


state: State = {}


FOLLOW_LINKS = "HARNESS_FOLLOW_LINKS"
"""Variable by which a user says that links among `WRITTEN` are their own."""
WRITTEN = (".harness", "data", "mlflow.db")
"""What commands write to beside `reports` and `models`."""
LEVELS = 3
"""Of folders in them: `.harness/store/train/ab` has the files of results."""
RESUME_HINT = "finished pieces are kept, the same command goes on from here"


def deadline_in(minutes: float | None) -> float | None:
    """The deadline of a run of so many minutes, in the seconds of `time.monotonic`; None for none.

    Raises HarnessError for a number of minutes that is not above 0, or more than a year.
    """
    if minutes is not None and not minutes > 0:
        raise HarnessError(f"--minutes {minutes:g}: nothing can be done in that; give more than 0")
    if minutes is not None and not minutes <= MOST_MINUTES:
        raise HarnessError(f"--minutes {minutes:g}: at most {MOST_MINUTES:,}, a year; leave it out for no end")
    return None if minutes is None else time.monotonic() + 60 * minutes


def check_epsilon(epsilon: float, or_infinite: bool = False) -> None:
    """Raises HarnessError for an `--epsilon` that is not above 0, or larger than any that promises something;
    `or_infinite`: infinity stands for no noise."""
    if not (0 < epsilon <= MOST_EPSILON or (or_infinite and epsilon == math.inf)):
        why = ", or inf, which is without noise" if or_infinite else ", since a larger one promises nothing"
        raise HarnessError(f"--epsilon {epsilon:g}: it has to be above 0 and at most {MOST_EPSILON:,.0f}{why}")


def check_delta(delta: float) -> None:
    """Raises HarnessError for a `--delta` that does not lie between 0 and 1."""
    if not 0 < delta < 1:
        raise HarnessError(f"--delta {delta:g}: it has to lie between 0 and 1")


@contextlib.contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """Context manager: on Ctrl-C print that the same command resumes, and exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"harness: stopped; {RESUME_HINT}", file=sys.stderr)
        raise typer.Exit(130) from None


def project_here() -> Project:
    """The checkout that the user is in, or that `--project` names.

    Raises HarnessError where what commands write to, or a folder in it, is a link out of it.
    """
    project = find_project(state.get("root"))
    if not os.environ.get(FOLLOW_LINKS):
        for name in WRITTEN:
            remedy = f", or set {FOLLOW_LINKS}=1 if you made it"
            check_folders_inside(project.root / name, project.root, LEVELS, remedy)
    return project


def context_for(profile: str | None, workers: int | None, quiet: bool) -> Context:
    """The context of the stages under a profile."""
    from harness.execution.executor import default_workers
    from harness.pipeline.context import Context
    from harness.spec.profile import choose, load_params

    project = project_here()
    name, chosen = choose(load_params(project), profile)
    return Context(project, name, chosen, workers or default_workers(), Progress(quiet))


def load(project: Project, names: list[str] | None, alternatives: bool = True) -> list[Loaded]:
    """The named specs, or all where `names` is empty. `alternatives`: as for `load_spec`.

    Raises HarnessError for a file below `specs/` that is a link out of the project: what it says would be published.
    """
    from harness.spec.load import load_specs, resolve_names

    for path in resolve_names(project, names or []):
        if path.is_relative_to(project.specs):
            check_inside(path, project.root)
    return load_specs(project, names or [], alternatives)


def load_decided(context: Context, names: list[str] | None, alternatives: bool = True) -> list[Loaded]:
    """Of the named specs, or of all where `names` is empty, those of which the profile decides a claim, restricted to
    these claims. `alternatives`: as for `load_spec`.

    Raises HarnessError where specs are named of which the profile decides nothing.
    """
    from harness.spec.selection import specs_to_decide

    chosen = specs_to_decide(context.profile, load(context.project, names, alternatives))
    _refuse_undecided(context, names, chosen)
    return chosen


def _refuse_undecided(context: Context, names: list[str] | None, chosen: list[Loaded]) -> None:
    """Raises HarnessError for a name, of specs or of a file, of which nothing is chosen."""
    from harness.spec.load import resolve_names

    there = {one.raw.files[0].resolve() for one in chosen}
    for name in names or ():
        if there.isdisjoint(path.resolve() for path in resolve_names(context.project, [name])):
            raise HarnessError(
                f"{name}: the profile {context.profile_name!r} decides no claim of it; name another with --profile, "
                "or add it to `decide` in params.yaml"
            )


def resolve_specs(
    names: list[str] | None,
    profile: str | None,
    workers: int | None,
    quiet: bool,
    alternatives: bool = True,
    options: Options | None = None,
) -> list[tuple[Context, list[Run]]]:
    """Specs as they are run, grouped by context: those of the checkout under the profile, and each outside of `specs/`
    by itself. This is the door: nothing below asks again what a profile makes of a spec.

    A spec outside of `specs/` is run as declared, or under a profile that is named explicitly; its results and page
    stay its own. `alternatives`: as for `load_spec`. Raises HarnessError where a folder that results are written to
    leads out of the project.
    """
    from harness.pipeline.context import OWN
    from harness.spec.profile import Profile
    from harness.spec.selection import specs_to_decide

    context = context_for(profile, workers, quiet)
    context = context if options is None else dataclasses.replace(context, options=options)
    loaded = load(context.project, names, alternatives)
    within = context.project.specs.resolve()
    own = [one for one in loaded if not one.raw.files[0].is_relative_to(within)]
    of_profile = specs_to_decide(context.profile, (one for one in loaded if one not in own))
    _refuse_undecided(context, names, [*of_profile, *own])
    groups = [(context, list(map(context.resolve, of_profile)))] if len(own) < len(loaded) or not loaded else []
    for one in own:
        chosen = context.profile if profile is not None else Profile()
        by_itself = dataclasses.replace(context, profile_name=OWN, profile=chosen, own=one.spec.id)
        groups.append((by_itself, [by_itself.resolve(one)]))
    for of_group, runs in groups:
        of_specs = [folder for run in runs for folder in (run.folder, run.models_file.parent)]
        for folder in (of_group.page, of_group.resolved_folder.parent, *of_specs):  # git carries links
            check_inside(folder, of_group.project.root)
    if not loaded:
        context.progress.warn(f"{context.project.specs}: no specs in it; `harness new spec mine` begins one")
    return groups


def runs_on_page(context: Context, runs: list[Run]) -> list[Run]:
    """The specs on a profile's page: all that it decides a claim of and that can be loaded, whichever were run."""
    from harness.spec.load import load_spec, spec_paths
    from harness.spec.selection import specs_to_decide

    if context.own is not None:
        return runs
    specs, known = [], {run.declared.raw.files[0]: run.declared for run in runs}
    for path in spec_paths(context.project):
        try:
            specs.append(known.get(path.resolve()) or load_spec(context.project, path, alternatives=False))
        except HarnessError as error:
            context.progress.say(f"not on the page: {error.lines[0]}")
    return list(map(context.resolve, specs_to_decide(context.profile, specs)))


def print_json(value: object) -> None:
    """Print one document of strict JSON, in which infinities and not-a-number are text."""
    print(visible_json(json_text(value)), file=state.get("document", sys.stdout))


def check_writable_file(path: Path | None, option: str, suffix: str = "") -> None:
    """Raises HarnessError where the file of an option cannot be written: before the work, not after it."""
    if path is None:
        return
    if suffix and path.suffix != suffix:
        raise HarnessError(
            f"{option} {path}: what is written is {suffix[1:].upper()}; the name has to end in {suffix}, "
            f"as in mine{suffix}"
        )
    if path.is_dir():
        raise HarnessError(f"{option} {path}: is a folder; name a file")
    check_writable_folder(path.absolute().parent, f"{option} {path}")


def check_writable_folder(folder: Path, what: str) -> None:
    """Raises HarnessError where a folder does not exist and cannot be made."""
    above = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not above.is_dir():
        raise HarnessError(f"{what}: {above} is a file, not a folder")


STATES = {"clears": "green", "misses": "red", "open": "yellow"}
"""Of points."""


def lacks_reference_engine(verdict: Verdict) -> bool:
    """Whether a claim was not run since TensorFlow Privacy is not installed, as on a Python that it does not run on."""
    return verdict.verdict == "not run" and verdict.reason == reference_engine.WHY_NOT_RUN


def print_verdicts(verdicts: Iterable[Verdict]) -> None:
    """Print a table of verdicts, with why each came out so."""
    rows = []
    for v in verdicts:
        more = [f"({v.tally})" if v.tally else "", f"Would decide: {v.would_decide}." if v.would_decide else ""]
        rows.append((v.id, verdict_cell(v.verdict), " ".join(filter(None, [v.reason, *more]))))
    print_table(("claim", "verdict", "why"), rows)


def verdict_cell(word: Word) -> Cell:
    """The word for a verdict in its colour."""
    return Cell(word, word.colour)
