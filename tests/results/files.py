"""Specs on results from elsewhere, and files to go with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

from harness.claims.verdict import Verdict
from harness.paths import Project
from harness.pipeline.context import Context, Run
from harness.pipeline.judging import judge
from harness.progress import Progress
from harness.spec.load import Loaded, load_spec
from harness.spec.profile import Profile

Make = Callable[..., Project]
COMPARE = {"kind": "compare", "relation": ">"}


def experiment(**fields: Any) -> dict[str, Any]:
    """A file of two arms over epochs, one row a repeat."""
    usual: dict[str, Any] = {
        "kind": "table", "path": "results.csv", "format": "wide",
        "columns": {"arm": "method", "repeat": "seed"},
        "arms": {"plain": {"in_file": "SGD"}, "private": {"in_file": "DP-SGD"}},
        "axes": ["epoch"], "metrics": {"train": [0, 1], "test": [0, 1], "loss": None},
    }  # fmt: skip
    merged = usual | fields
    return {name: value for name, value in merged.items() if value is not None}


def log(seed: int = 0, repeats: int = 8) -> pd.DataFrame:
    """Two arms, three epochs, some seeds: accuracies and an unbounded loss."""
    rng = np.random.default_rng(seed)
    rows = [
        (arm, 10 * repeat, epoch, base + 0.1 * epoch + rng.normal(0, 0.01), base + rng.normal(0, 0.01), rng.gamma(2.0))
        for arm, base in (("SGD", 0.5), ("DP-SGD", 0.4))
        for repeat in range(repeats)
        for epoch in (1, 2, 3)
    ]
    return pd.DataFrame(rows, columns=["method", "seed", "epoch", "train", "test", "loss"])


def write_spec(folder: Path, declared: dict[str, Any], expect: dict[str, Any], **more: Any) -> Path:
    """A spec with one claim beside its file of results."""
    claim = {"id": "it", "where": "here", "statement": "It holds.", "expect": expect}
    spec = {"paper": "own", "title": "Results", "where": "results.csv", "experiment": declared, "claims": [claim]}
    path = folder / "mine.yaml"
    with path.open("w") as file:
        YAML().dump({**spec, **more}, file)
    return path


def context_of(project: Project) -> Context:
    return Context(project, "own", Profile(), 1, Progress(quiet=True), own="mine")


def run_written(project: Project, declared: dict[str, Any], expect: dict[str, Any], **more: Any) -> Run:
    """The spec with one claim, as it is run by itself."""
    return context_of(project).resolve(load_written(project, declared, expect, **more))


def load_written(project: Project, declared: dict[str, Any], expect: dict[str, Any], **more: Any) -> Loaded:
    return load_spec(project, write_spec(project.root, declared, expect, **more))


def judged(project: Project, declared: dict[str, Any], expect: dict[str, Any], **more: Any) -> Verdict:
    """The verdict on the one claim."""
    return judge(run_written(project, declared, expect, **more))[0]
