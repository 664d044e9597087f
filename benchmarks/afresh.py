"""What a profile's specs cost from nothing, and whether the committed tables come out again.

`python -m benchmarks.afresh SPEC...` gives each spec a checkout of HEAD without tables and without a store, runs it
until its claims are decided on any basis, then on the profile's own, and compares what it measured with the committed
table, row by row, and its verdicts with the committed ones. Times and findings go to `benchmarks/afresh.json`, spec
by spec; those of other specs stay. Killed or out of `--minutes`, the same command goes on, and its times add up. What
specs of a paper measure together is measured by each here, so the sum is an upper bound.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.console import Console
from rich.table import Table

from harness.execution.table import read_table
from harness.files import write_text

RESULTS = Path(__file__).parent / "afresh.json"
CLOCK = "afresh.json"
STAGES = {"any basis": "shape", "own basis": None}
"""Until verdicts stand on some basis, then on the profile's."""
FOUND = {"value", "stderr", "n", "noise_multiplier", "cell", "work", "code"}
"""Columns that say what was measured, and not of what."""
START = "import sys; from harness.commands.app import main; sys.exit(main())"
OUT_OF_TIME = "out of time"


def checkout(root: Path) -> None:
    """A copy of HEAD with the data that is here, and nothing that was ever measured."""
    subprocess.run(["git", "clone", "--quiet", ".", str(root)], check=True)
    for table in (root / "reports").glob("*/*/*/measurements.parquet"):
        table.unlink()
    for fetched in Path("data").iterdir():
        if not (root / "data" / fetched.name).exists():
            (root / "data" / fetched.name).symlink_to(fetched.resolve())


def declare(root: Path, profile: str, spec: str, basis: str | None) -> None:
    """Have a profile run a spec, on another basis than its own where one is given."""
    declared = yaml.safe_load(Path("params.yaml").read_text())
    chosen = declared["profiles"][profile]
    chosen["skip"] = [one for one in chosen.get("skip", []) if one != spec]
    chosen |= {} if basis is None else {"basis": basis}
    write_text(root / "params.yaml", yaml.safe_dump(declared, sort_keys=False))


def run(root: Path, profile: str, spec: str, seconds: float) -> tuple[float, bool]:
    """Wall-clock seconds of one run in a checkout, and whether it came to its end."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", START, "run", "-p", profile, spec, "--stage", "attack", "--minutes"]
    began = time.monotonic()
    done = subprocess.run(
        [*command, f"{seconds / 60:g}"], cwd=root, env=environment, stderr=subprocess.PIPE, check=False
    )
    said, took = done.stderr.decode(errors="replace"), time.monotonic() - began
    if OUT_OF_TIME in said:
        return took, False
    if done.returncode:
        raise SystemExit(f"{spec}: the run failed: {said.strip()[-2000:]}")
    return took, True


def measured(root: Path, profile: str, spec: str, end: float) -> dict[str, Any] | None:
    """Run a spec in its checkout; None where time ran out."""
    if not root.exists():
        checkout(root)
    clock: dict[str, Any] = {"seconds": {}, "done": []}
    if (root / CLOCK).is_file():
        clock = json.loads((root / CLOCK).read_text())
    for stage, basis in STAGES.items():
        if stage in clock["done"]:
            continue
        if time.monotonic() > end:
            return None
        declare(root, profile, spec, basis)
        seconds, ended = run(root, profile, spec, end - time.monotonic())
        clock["seconds"][stage] = round(clock["seconds"].get(stage, 0.0) + seconds, 1)
        clock["done"] += [stage] if ended else []
        write_text(root / CLOCK, json.dumps(clock))
        if not ended:
            return None
    return {"seconds": clock["seconds"], **compared(root, profile, spec)}


def compared(root: Path, profile: str, spec: str) -> dict[str, Any]:
    """The tables and the verdicts of a checkout beside the committed ones."""
    place = Path("reports") / profile / spec
    environment = {**os.environ, "PYTHONPATH": str(root)}
    check = [sys.executable, "-c", START, "check", "-q", "-p", profile, spec]
    subprocess.run(check, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
    again, kept = (read_table(base / place / "measurements.parquet") for base in (root, Path()))
    verdicts, before = (states(base / place / "verdicts.json") for base in (root, Path()))
    keys = [c for c in again.columns if c in kept.columns and c not in FOUND]
    both = again.merge(kept, on=keys, how="inner", suffixes=("", "_kept"))
    same = (both["value"] == both["value_kept"]) | (both["value"].isna() & both["value_kept"].isna())
    apart = np.abs(both["value"] - both["value_kept"]).max()
    return {
        "core_seconds": round(sum(again.attrs.get("core_seconds", {}).values()), 1),
        "values": len(again),
        "compared": len(both),
        "equal": int(same.sum()),
        "furthest": 0.0 if same.all() else float(apart),
        "verdicts": verdicts,
        "moved": {c: f"{before.get(c)} -> {v}" for c, v in verdicts.items() if before.get(c) != v},
        "at": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip(),
        "on": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "hardware": again.attrs.get("hardware"),
    }


def states(path: Path) -> dict[str, str]:
    """Verdicts of a file by claim."""
    return {v["id"].split("#")[1]: v["verdict"] for v in json.loads(path.read_text())["verdicts"]}


def show(found: dict[str, Any]) -> None:
    """A table of all specs that were measured, and their sum by paper."""
    shown = Table(box=None, header_style="bold")
    for column in ("spec", *STAGES, "core-seconds", "values equal", "furthest apart", "verdicts moved"):
        shown.add_column(column, justify="left" if column == "spec" else "right")
    papers = dict.fromkeys(spec.split("/")[0] for spec in found)
    for paper in papers:
        of_paper = {spec: one for spec, one in found.items() if spec.split("/")[0] == paper}
        for spec, one in of_paper.items():
            equal = f"{one['equal']:,} of {one['compared']:,}"
            spent = [f"{one['seconds'][stage]:,.0f} s" for stage in STAGES]
            shown.add_row(
                spec, *spent, f"{one['core_seconds']:,.0f}", equal, f"{one['furthest']:.2g}", str(len(one["moved"]))
            )
        hours = [f"{sum(one['seconds'][stage] for one in of_paper.values()) / 3600:.2f} h" for stage in STAGES]
        shown.add_row(f"[bold]{paper}", *hours)
    Console(width=140).print(shown)


def main() -> None:
    """Measure, print and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.afresh", description=__doc__)
    parser.add_argument("specs", nargs="*", help="specs to run (default: show what was measured)")
    parser.add_argument("--profile", default="sequential")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin nothing after so many (default 600)")
    parser.add_argument("--folder", type=Path, default=Path(".harness") / "afresh", help="where the checkouts lie")
    arguments = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    end = time.monotonic() + 60 * arguments.minutes
    for spec in arguments.specs:
        one = measured((arguments.folder / spec.replace("/", "-")).resolve(), arguments.profile, spec, end)
        if one is None:
            print(f"{spec}: out of time; the same command goes on", file=sys.stderr)
            break
        found[spec] = one
        write_text(RESULTS, json.dumps(dict(sorted(found.items())), indent=1) + "\n")
    show(found)


if __name__ == "__main__":
    main()
