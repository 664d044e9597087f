"""What each stage of a profile made when it last ran, and how long it took.

Every stage prints one line when it is done. The lines are kept, too, so that the page of a run says what was trained
and in what time although DVC skips stages of which nothing has changed.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.bounds import read_text
from harness.files import write_text
from harness.paths import Project
from harness.pipeline.context import Context

ORDER = ("fetch", "resolve", "train", "attack", "measure", "judge", "theory", "report")


@dataclass
class Stage:
    """A stage that ran."""

    name: str
    made: str = ""
    """What it made, in a few words."""
    seconds: float = 0.0
    models: int | None = None
    """Number of models that its measurements are of; None for stages that train nothing."""
    trained: int | None = None
    """How many models it trained itself, those that attacks learn from included; the others were there already."""

    @property
    def line(self) -> str:
        """`measure   140 models, 280 attacks on them; 214 s`."""
        return f"{self.name:<9} {self.made}; {self.seconds:.0f} s"


def _file(project: Project, profile: str) -> Path:
    return project.root / ".harness" / "stages" / f"{profile}.json"


@contextlib.contextmanager
def timed_stage(context: Context, name: str) -> Iterator[Stage]:
    """Context manager: time a stage, print its line, and keep it. What the stage made is set on what it yields.

    A stage that fails or is stopped leaves nothing.
    """
    stage, started = Stage(name), time.monotonic()
    yield stage
    stage.seconds = round(time.monotonic() - started, 1)
    kept = {one.name: one for one in read_stages(context.project, context.profile_name)} | {name: stage}
    text = json.dumps([asdict(one) for one in kept.values()], indent=1)
    write_text(_file(context.project, context.profile_name), text + "\n")
    context.progress.say(stage.line)


def read_stages(project: Project, profile: str) -> list[Stage]:
    """The stages of a profile that ran on this machine, in the order of a pipeline; none where the file is no list of
    stages."""
    try:
        stages = [Stage(**one) for one in json.loads(read_text(_file(project, profile)))]
    except (OSError, ValueError, TypeError):
        return []
    return sorted(stages, key=lambda one: ORDER.index(one.name) if one.name in ORDER else len(ORDER))
