"""What a profile's specs cost from nothing, and whether the committed tables come out again.

`python -m benchmarks.afresh SPEC...` gives each spec a checkout of HEAD without tables and without a store, runs it
until its claims are decided on any basis, then on the profile's own, and compares what it measured with the committed
table, row by row, and its verdicts with the committed ones. Times and findings go to `benchmarks/afresh.json`, spec
by spec, and stay: what is there is not run again. Killed or out of `--minutes`, the same command goes on, and its times
add up. Out of `--minutes`, what the run has measured and its times are left under `benchmarks/afresh/`, too, to be
committed: a checkout on another machine goes on from there, as a clone does from the flagship's tables.

Each spec has a checkout of its own, so what specs of a paper have in common is measured by each, and the sum is an
upper bound; with `--together NAME` they have one, in which what one measured counts for those that come after it.
`--given SPEC` says the same of a spec whose committed table is that of such a run: what that one measured until its own
verdicts stood on any basis (the table is replayed for that) is there from the beginning, the rest from the second
stage on, as where both specs go through both stages together.

Values of one coordinate differ where the code between did (another order of additions, another generator of noise).
Then the run is a replication: `means` counts the quantities of which both tables have a few repeats, and `apart` those
whose means differ at 1% by Welch's test, about one in a hundred where nothing but chance differs.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from rich.console import Console
from rich.table import Table
from scipy import stats

from harness.claims.allocation import PILOT, by_cell
from harness.commands.common import context_for, load
from harness.coordinates import Attacked, place
from harness.execution.table import axes_of, read_table, write_parquet
from harness.files import write_bytes, write_text
from harness.spec.profile import Scaled, scale
from harness.verdicts.wanted import repeats_wanted

RESULTS = Path(__file__).parent / "afresh.json"
UNFINISHED = Path(__file__).parent / "afresh"
"""Of runs that are not done: their tables and clocks."""
STAGES = {"any basis": "t-test", "own basis": None}
"""Until verdicts stand on some basis, then on the profile's."""
FOUND = {"value", "stderr", "n", "noise_multiplier", "cell", "work", "code"}
"""Columns that say what was measured, and not of what."""
START = "import sys; from harness.__main__ import main; sys.exit(main())"
TICK_S = 5.0
OUT_OF_TIME = "out of time"
FEWEST, LEVEL = 3, 0.01
"""Repeats of a mean in either table, and the level at which two means are apart."""


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


def run(root: Path, profile: str, spec: str, seconds: float, tick: Callable[[float], None]) -> bool:
    """Run a spec in a checkout; whether it came to its end. `tick` is told now and then how long it has run."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", START, "run", "-p", profile, spec, "--stage", "attack", "--minutes"]
    began = time.monotonic()
    with (
        (root / "said.log").open("w+b") as said,
        subprocess.Popen([*command, f"{seconds / 60:g}"], cwd=root, env=environment, stderr=said) as running,
    ):
        while running.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(TICK_S)
            tick(time.monotonic() - began)
        said.seek(0)
        told = said.read().decode(errors="replace")
    if OUT_OF_TIME in told:
        return False
    if running.returncode:
        raise SystemExit(f"{spec}: the run failed: {told.strip()[-2000:]}")
    return True


@dataclass
class Clock:
    """Wall-clock seconds of a spec's stages over all that ran of them, kept in its checkout."""

    path: Path
    seconds: dict[str, float] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path) -> Clock:
        return cls(path, **json.loads(path.read_text())) if path.is_file() else cls(path)

    def keep(self) -> None:
        write_text(self.path, json.dumps({"seconds": self.seconds, "done": self.done}))


@dataclass(frozen=True)
class Kept:
    """What is left of a run that is not done, for a checkout that goes on with it."""

    spec: str
    profile: str

    @property
    def clock(self) -> Path:
        """In a checkout, as `table` is."""
        return Path(f"afresh-{self.spec.replace('/', '-')}.json")

    @property
    def table(self) -> Path:
        return Path("reports") / self.profile / self.spec / "measurements.parquet"

    @property
    def pairs(self) -> dict[Path, Path]:
        """By file that is kept: its place in a checkout."""
        base = UNFINISHED / self.profile / self.spec
        return {base.with_suffix(".json"): self.clock, base.with_suffix(".parquet"): self.table}

    def save(self, root: Path) -> None:
        for kept, there in self.pairs.items():
            if (root / there).is_file():
                write_bytes(kept, (root / there).read_bytes())

    def restore(self, root: Path) -> None:
        for kept, there in self.pairs.items():
            if kept.is_file() and not (root / there).exists():
                write_bytes(root / there, kept.read_bytes())

    def drop(self) -> None:
        for kept in self.pairs:
            kept.unlink(missing_ok=True)


def give(root: Path, profile: str, spec: str, basis: str | None) -> None:
    """Put a spec's committed table into a checkout: what its run measured until verdicts stood on a basis, or all."""
    kept = Kept(spec, profile)
    table = read_table(kept.table)
    if basis is not None:
        context = context_for(profile, 1, quiet=True)
        loaded = load(context.project, [spec])[0]
        chosen = context.profile.model_copy(update={"basis": basis})
        table = replayed(scale(loaded.spec, profile, chosen), table)
    write_parquet(table, root / kept.table)


def replayed(scaled: Scaled, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table that a run until decided would have measured. Raises KeyError where it lacks some."""
    axes, attrs = ["epsilon", *axes_of(scaled.spec)], table.attrs
    attacks = table["attack"].fillna("")
    places = [place(zip(axes, where, strict=True)) for where in zip(*(table[axis] for axis in axes), strict=True)]
    of = list(zip(zip(table["arm"], places, strict=True), attacks, strict=True))
    there: dict[Attacked, int] = {}
    for one, repeat in zip(of, table["repeat"], strict=True):
        there[one] = max(there.get(one, 0), int(repeat) + 1)
    repeats = dict.fromkeys(of, PILOT)
    while True:
        models = by_cell(repeats)  # an attack's target is measured itself, too
        kept = [repeats[cell, attack] if attack else models[cell] for cell, attack in of]
        part = table[table["repeat"] < kept].reset_index(drop=True)
        part.attrs = attrs
        needs = [item for asked in repeats_wanted(scaled, part).values() for item in asked.items()]
        more = {one: max(n for other, n in needs if other == one) for one, _ in needs}
        if all(n <= repeats[one] for one, n in more.items()):
            return part
        repeats |= {one: max(repeats[one], n) for one, n in more.items()}
        if lacking := [one for one, n in repeats.items() if n > there[one]]:
            raise KeyError(f"the table has too few repeats of {lacking[0]}")


def measured(root: Path, profile: str, spec: str, end: float, given: Sequence[str] = ()) -> dict[str, Any] | None:
    """Run a spec in its checkout; None where time ran out."""
    kept = Kept(spec, profile)
    if not root.exists():
        checkout(root)
    kept.restore(root)
    found = _measured(root, profile, spec, end, given)
    if found is None:
        kept.save(root)
        return None
    kept.drop()
    return {**found, **({"given": list(given)} if given else {})}


def _measured(root: Path, profile: str, spec: str, end: float, given: Sequence[str]) -> dict[str, Any] | None:
    clock = Clock.of(root / Kept(spec, profile).clock)
    for stage, basis in STAGES.items():
        if stage in clock.done:
            continue
        if time.monotonic() > end:
            return None
        declare(root, profile, spec, basis)
        for one in given:
            give(root, profile, one, basis)
        before = clock.seconds.get(stage, 0.0)

        def tick(seconds: float, stage: str = stage, before: float = before) -> None:
            clock.seconds[stage] = round(before + seconds, 1)
            clock.keep()

        ended = run(root, profile, spec, end - time.monotonic(), tick)
        clock.done += [stage] if ended else []
        clock.keep()
        if not ended:
            return None
    return {"seconds": clock.seconds, **compared(root, profile, spec)}


def compared(root: Path, profile: str, spec: str) -> dict[str, Any]:
    """The tables and the verdicts of a checkout beside the committed ones."""
    place = Path("reports") / profile / spec
    environment = {**os.environ, "PYTHONPATH": str(root)}
    check = [sys.executable, "-c", START, "judge", "-q", "-p", profile, spec]
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
        **dict(zip(("means", "apart"), replicated(again, kept, keys), strict=True)),
        "verdicts": verdicts,
        "moved": {c: f"{before.get(c)} -> {v}" for c, v in verdicts.items() if before.get(c) != v},
        "at": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip(),
        "on": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "hardware": again.attrs.get("hardware"),
    }


def replicated(again: pd.DataFrame, kept: pd.DataFrame, keys: list[str]) -> tuple[int, int]:
    """Of how many quantities both tables have means over repeats that vary, and in how many they are apart."""
    what = [key for key in keys if key != "repeat"]
    ours, theirs = (
        {
            where: group.dropna().to_numpy()
            for where, group in table["value"].groupby([table[c].astype(str) for c in what])
        }
        for table in (again, kept)
    )  # by text: an attack without an axis has no number there, and no such is equal to another
    both = [(ours[where], theirs[where]) for where in ours.keys() & theirs.keys()]
    both = [(a, b) for a, b in both if min(len(a), len(b)) >= FEWEST and not np.array_equal(a, b)]
    both = [(a, b) for a, b in both if np.ptp(a) > 0 or np.ptp(b) > 0]
    return len(both), sum(bool(stats.ttest_ind(a, b, equal_var=False).pvalue < LEVEL) for a, b in both)


def states(path: Path) -> dict[str, str]:
    """Verdicts of a file by claim."""
    return {v["id"].split("#")[1]: v["verdict"] for v in json.loads(path.read_text())["verdicts"]}


def show(found: dict[str, Any]) -> None:
    """A table of all specs that were measured, and their sum by paper."""
    shown = Table(box=None, header_style="bold")
    for column in ("spec", *STAGES, "core-seconds", "values equal", "means apart", "verdicts moved"):
        shown.add_column(column, justify="left" if column == "spec" else "right")
    papers = dict.fromkeys(spec.split("/")[0] for spec in found)
    for paper in papers:
        of_paper = {spec: one for spec, one in found.items() if spec.split("/")[0] == paper}
        for spec, one in of_paper.items():
            equal = f"{one['equal']:,} of {one['compared']:,}"
            apart = f"{one['apart']:,} of {one['means']:,}"
            spent = [f"{one['seconds'][stage]:,.0f} s" for stage in STAGES]
            shown.add_row(spec, *spent, f"{one['core_seconds']:,.0f}", equal, apart, str(len(one["moved"])))
        hours = [f"{sum(one['seconds'][stage] for one in of_paper.values()) / 3600:.2f} h" for stage in STAGES]
        shown.add_row(f"[bold]{paper}", *hours)
    Console(width=140).print(shown)


def main() -> None:
    """Measure, print and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.afresh", description=__doc__)
    parser.add_argument("specs", nargs="*", help="specs to run (default: show what was measured)")
    parser.add_argument("--profile", default="sequential")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin nothing after so many (default 600)")
    parser.add_argument("--together", metavar="NAME", help="one checkout of this name for all of them")
    parser.add_argument("--given", nargs="*", default=[], metavar="SPEC", help="whose committed tables may be used")
    parser.add_argument("--folder", type=Path, default=Path(".harness") / "afresh", help="where the checkouts lie")
    arguments = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    if unknown := [one for one in arguments.given if one not in found]:
        raise SystemExit(f"--given {unknown[0]}: it was not measured from nothing; known: {', '.join(found)}")
    end = time.monotonic() + 60 * arguments.minutes
    for spec in (one for one in arguments.specs if one not in found):
        place = arguments.folder / (arguments.together or spec.replace("/", "-"))
        one = measured(place.resolve(), arguments.profile, spec, end, arguments.given)
        if one is None:
            where = Kept(spec, arguments.profile).pairs
            print(
                f"{spec}: out of time; the same command goes on, from {' and '.join(map(str, where))}", file=sys.stderr
            )
            break
        found[spec] = one
        write_text(RESULTS, json.dumps(dict(sorted(found.items())), indent=1) + "\n")
    show(found)


if __name__ == "__main__":
    main()
