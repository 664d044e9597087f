"""DVC on small checkouts: in processes as a user starts them, or in this one, where TensorFlow is imported once."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_cli


def one_core() -> None:
    """So a run computes where it is: workers, each with a TensorFlow of its own, are tested elsewhere."""
    cores, tester = sorted(os.sched_getaffinity(0)), os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    os.sched_setaffinity(0, {cores[int(tester.removeprefix("gw")) % len(cores)]})


def dvc(root: Path, *arguments: str) -> str:
    """What the command prints, each stage in a process of its own, by the checkout's own code."""
    # `harness` and `dvc` are the ones of this interpreter's environment, whatever is activated.
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "DVC_NO_ANALYTICS": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        preexec_fn=one_core,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def stages_run(root: Path, *targets: str) -> list[str]:
    """The stages that `dvc repro` runs, in their order, each in a process of its own."""
    return re.findall(r"Running stage '(?:flagship/dvc.yaml:)?([^']+)'", dvc(root, "repro", *targets))


def reproduce(root: Path, *targets: str) -> list[str]:
    """The stages that DVC runs, in their order; their commands are carried out here, by the repository's code.

    What is stale, and what is written to `dvc.lock`, is DVC's own doing. An edit of the checkout's code makes stages
    stale, and does not change what they do.
    """
    ran: list[str] = []
    with _commands_run_here(ran), _repository(root) as repo:
        repo.reproduce(targets=list(targets) or None)
    return ran


def stale(root: Path, *targets: str) -> set[str]:
    """Stages that `dvc repro` would run first."""
    with _repository(root) as repo:
        return {_name(stage) for stage in repo.status(targets=list(targets) or None)}


def _name(addressing: str) -> str:
    return addressing.removeprefix("flagship/dvc.yaml:")


@contextlib.contextmanager
def _repository(root: Path) -> Iterator[Any]:
    from dvc.repo import Repo

    with warnings.catch_warnings(), contextlib.chdir(root), Repo(str(root)) as repo:
        warnings.simplefilter("ignore", DeprecationWarning)  # of libraries, about one another
        yield repo


@contextlib.contextmanager
def _commands_run_here(ran: list[str]) -> Iterator[None]:
    import dvc.stage.run
    from dvc.stage.exceptions import StageCmdFailedError

    def run_here(_: str, command: str, cwd: str, env: dict[str, str], **options: object) -> None:
        program, *arguments = shlex.split(command)
        assert program == "harness"
        ran.append(_name(env["DVC_STAGE"]))
        done = run_cli(Path(cwd), *arguments)
        if done.returncode:
            raise StageCmdFailedError(f"{command}: {done.stderr}", done.returncode)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dvc.stage.run, "_run", run_here)
        yield


def edit(root: Path, name: str, old: str, new: str) -> None:
    """Replace a text where it first stands in a file, which it must."""
    path = root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def trained(root: Path) -> set[str]:
    """File names of the models in the store."""
    return {p.name for p in (root / ".harness" / "store" / "train").rglob("*.npz")}
