"""Derives `specs/forms.json` from the history: `python -m tests.golden.forms`.

A claim has its form since the first commit from which its inequality has been written as it is today. What a spec's
claims are measured by is there since the first commit that adds a table of it under `reports/`, or one of another spec of
the paper from which its table takes what it holds.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from harness.errors import HarnessError
from harness.files import write_text
from harness.report.forms import FILE, forms_of
from harness.spec.document import load_document
from tests.conftest import REPO

TAKEN_FROM_OTHERS = ("jayaraman2019/plots", "rahimian2021/table4-dp-sgd")
"""Specs on several data sets, whose tables were made of those of the specs on one each."""


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(REPO), *arguments], check=True, capture_output=True).stdout


def said_of(commit: str) -> str:
    """`1234567 (2026-11-21)`."""
    return git("show", "-s", "--abbrev=7", "--date=short", "--format=%h (%ad)", commit).decode().strip()


def forms_at(folder: Path) -> dict[str, str]:
    """By claim, of every spec in a folder that can be read today."""
    result = {}
    for path in sorted(folder.glob("*/*.yaml")):
        if path.name.startswith("_"):
            continue
        try:
            document = load_document(path)
        except HarnessError:
            continue
        spec = path.relative_to(folder).with_suffix("").as_posix()
        result |= {f"{spec}#{claim}": form for claim, form in forms_of(document).items()}
    return result


def sources(spec: str) -> list[str]:
    """The spec itself, and those of its paper in whose committed tables some of what its own holds stands, too."""
    paper = spec.split("/")[0]
    tables = {path.parent: path for path in sorted((REPO / "reports").glob(f"*/{paper}/*/measurements.parquet"))}
    works = {
        folder: set(pd.read_parquet(path, columns=["work"])["work"]) - {""}
        for folder, path in tables.items()
        if "work" in pq.read_schema(path).names
    }
    own = set().union(*(work for folder, work in works.items() if folder.name == spec.split("/")[1]))
    return [spec, *sorted({f"{paper}/{f.name}" for f, work in works.items() if work & own} - {spec})]


def first_measured(spec: str, order: dict[str, int]) -> str | None:
    """The first commit that has some of its measurements."""
    commits = []
    for one in sources(spec) if spec in TAKEN_FROM_OTHERS else [spec]:
        added = git("log", "--reverse", "--diff-filter=A", "--format=%H", "--", f"reports/*/{one}/measurements*")
        commits += added.decode().split()[:1]
    return min(commits, key=lambda commit: order[commit], default=None)


def main() -> None:
    commits = git("log", "--reverse", "--format=%H", "--", "specs").decode().split()
    order = {
        commit: n for n, commit in enumerate(git("rev-list", "--reverse", "--topo-order", "HEAD").decode().split())
    }
    now = forms_at(REPO / "specs")
    since: dict[str, str] = {}
    for commit in commits:
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "specs"))) as archive:
                archive.extractall(folder, filter="data")
            there = forms_at(Path(folder) / "specs")
        for claim, form in now.items():
            if there.get(claim) != form:
                since.pop(claim, None)
            else:
                since.setdefault(claim, commit)
    result: dict[str, dict[str, object]] = {}
    firsts: dict[str, str | None] = {}
    for claim, form in now.items():
        if claim not in since:
            continue  # not committed yet
        spec = claim.partition("#")[0]
        if spec not in firsts:
            firsts[spec] = first_measured(spec, order)
        first = firsts[spec]
        before = first is None or order[since[claim]] < order[first]
        measured = None if first is None else said_of(first)
        result[claim] = {"form": form, "since": said_of(since[claim]), "measured": measured, "before": before}
    write_text(REPO / "specs" / FILE, json.dumps(result, indent=1, sort_keys=True) + "\n")
    early = sum(one["before"] and one["measured"] is not None for one in result.values())
    print(f"{FILE}: {len(result)} of {len(now)} claims; {early} had their form before anything of theirs was measured")


if __name__ == "__main__":
    main()
