"""What stopping early saves: committed measurements of the fixed design, replayed as a run until claims are decided.

`python -m benchmarks.sequential` takes the profile `paper`, whose tables hold every repeat, gives each cell the repeats
that `harness run --until-decided` would have given it, and compares cells and verdicts with the fixed design's. Repeats
are drawn from their coordinates, so the replay sees the numbers that such a run would have seen; those past the spec's
number are in the tables of the profile `sequential`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from harness.claims.allocation import PILOT, by_cell
from harness.commands.common import context_for, load, project_here
from harness.coordinates import Cell, place
from harness.errors import HarnessError
from harness.files import write_text
from harness.pipeline.sources import source_of_run
from harness.spec.load import Loaded
from harness.spec.profile import Scaled
from harness.verdicts.check import judge_spec
from harness.verdicts.wanted import repeats_wanted

RESULTS = Path(__file__).parent / "sequential.json"


def replayed(scaled: Scaled, table: pd.DataFrame, past: pd.DataFrame | None) -> pd.DataFrame:
    """What a run until decided would have measured: rows of a fixed design's table and, past its repeats, of `past`.

    Where it would have asked for repeats that neither has, it ends with those that there are.
    """
    assert scaled.spec.experiment is not None
    most = min(scaled.spec.experiment.repeats, int(table["repeat"].max()) + 1)
    experiment = scaled.spec.experiment.model_copy(update={"repeats": most})
    scaled = Scaled(scaled.spec.model_copy(update={"experiment": experiment}), scaled.profile, scaled.reductions)
    if past is not None:
        table, attrs = pd.concat([table, past[past["repeat"] >= most]], ignore_index=True), table.attrs
        table.attrs = attrs
    measured = {cell_of(a, e): int(n) for (a, e), n in counts(table).items()}  # type: ignore[misc]
    repeats = {cell: min(most, PILOT) for cell in measured}
    while True:
        limit = [repeats[cell_of(*cell)] for cell in zip(table["arm"], table["epsilon"], strict=True)]
        part = table[table["repeat"] < limit].reset_index(drop=True)
        part.attrs = {**table.attrs, "design": "sequential"}
        before = dict(repeats)
        for targets in repeats_wanted(scaled, part).values():
            for cell, target in by_cell(targets).items():
                repeats[cell] = min(max(repeats[cell], target), measured[cell])
        if repeats == before:
            return part


def cell_of(arm: object, epsilon: object) -> Cell:
    """The cell of an experiment whose only axis is epsilon."""
    return str(arm), place({"epsilon": float(str(epsilon))})


def counts(table: pd.DataFrame) -> pd.Series[int]:
    """Repeats by arm and epsilon."""
    return table.groupby(["arm", "epsilon"])["repeat"].nunique()


def models_of(table: pd.DataFrame) -> int:
    """Trained models that a table has measurements of."""
    return int(counts(table).sum())


def tables(loaded: Loaded, profile: str = "paper") -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """A spec's committed measurements: of the fixed design, and of the run until decided."""
    contexts = (context_for(name, None, True) for name in (profile, "sequential"))
    fixed, sequential = (source_of_run(run).read(run)[0] for run in (context.resolve(loaded) for context in contexts))
    return fixed, sequential


def compared(scaled: Scaled, sha256: str, table: pd.DataFrame, past: pd.DataFrame | None) -> dict[str, Any]:
    """Cells and verdicts of both designs on one spec."""
    part = replayed(scaled, table, past)
    fixed, sequential = (judge_spec(scaled, sha256, one) for one in (table, part))
    claims = {
        a.id: {
            "fixed": a.verdict,
            "sequential": b.verdict,
            "stopped": b.numbers.stopped,
            "models": b.numbers.models,
            "models_fixed": b.numbers.models_fixed,
        }
        for a, b in zip(fixed, sequential, strict=True)
    }
    return {
        "repeats": int(table["repeat"].max()) + 1,
        "models_fixed": models_of(table),
        "models": models_of(part),
        "share": models_of(part) / models_of(table),
        "claims": claims,
    }


def main() -> None:
    """Replay, print and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sequential", description=__doc__)
    parser.add_argument("specs", nargs="*", help="specs to replay (default: all that the profile has measured)")
    parser.add_argument("--profile", default="paper")
    arguments = parser.parse_args()
    context, console, found = context_for(arguments.profile, None, True), Console(width=140), {}
    left_out = context_for("sequential", None, True).profile.skip  # too few repeats to stop any earlier
    for loaded in load(project_here(), arguments.specs or None):
        if loaded.spec.experiment is None or loaded.spec.id in left_out:
            continue
        table, past = tables(loaded, arguments.profile)
        if table is None:
            continue
        try:
            found[loaded.spec.id] = compared(context.resolve(loaded).scaled, loaded.sha256, table, past)
        except HarnessError as error:  # a table of before the claims of its spec
            console.print(f"left out: {loaded.spec.id}: {error}", soft_wrap=True)
    for spec, one in found.items():
        title = (
            f"{spec}: {one['models']} of {one['models_fixed']} models ({one['share']:.0%}), {one['repeats']} repeats"
        )
        shown = Table(title=title, box=None, header_style="bold")
        for column in ("claim", "fixed", "sequential", "stopped after", "models", "of"):
            shown.add_column(column)
        for claim, row in one["claims"].items():
            shown.add_row(claim, *(str(row[k]) for k in ("fixed", "sequential", "stopped", "models", "models_fixed")))
        console.print(shown)
    write_text(RESULTS, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
