"""How often a verdict is wrong, and how often there is one: claims whose truth is known, judged on simulated repeats.

`python -m benchmarks.calibration` writes benchmarks/calibration.json; docs/statistics.md shows the numbers. A claim is
drawn from a design of quantifiers, grid sizes, repeats, noise shapes and effects; its repeats are drawn, and
`harness.claims.judge` judges them as it judges measurements: all at once, and repeat by repeat until it is decided.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from harness.claims.design import Sequential
from harness.claims.evidence import Evidence
from harness.claims.expectation import Compare
from harness.claims.judge import judge
from harness.claims.sequential import first_verdict
from harness.files import write_text
from harness.hashing import generator

RESULTS = Path(__file__).parent / "calibration.json"
ALPHA = 0.05
Noise = Callable[[np.random.Generator, tuple[int, int]], Any]
NOISES: dict[str, Noise] = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape) * math.sqrt(3),
    "heavy tails (t, 4 d.f.)": lambda rng, shape: rng.standard_t(4, shape) / math.sqrt(2),
    "skewed (exponential)": lambda rng, shape: rng.exponential(size=shape) - 1,
    "two humps": lambda rng, shape: rng.choice([-1.0, 1.0], shape) * 0.95 + rng.standard_normal(shape) * 0.3122,
}  # fmt: skip
EFFECTS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
"""Distance from the margin to the claimed side, in standard deviations of one repeat."""
REPEATS = (3, 5, 10, 40)
GRIDS = (1, 4, 11)


@dataclass(frozen=True)
class Setup:
    """A claim whose truth is known."""

    quantifier: str
    points: int
    repeats: int
    noise: str
    effect: float
    everywhere: bool
    """True: `effect` at every point. False: at one point, and elsewhere what leaves the decision to that one."""

    def effects(self) -> np.ndarray:
        """Effect at each grid point."""
        others = 1.0 if self.quantifier == "all" else -1.0
        found = np.full(self.points, self.effect if self.everywhere else others)
        found[0] = self.effect
        return found

    def truth(self) -> str:
        """What the claim `left > right` is: true, false, or on the margin (where no verdict is right)."""
        effects = self.effects()
        decisive = effects.min() if self.quantifier == "all" else effects.max()
        return "margin" if decisive == 0 else "true" if decisive > 0 else "false"


def design() -> list[Setup]:
    """Every combination that makes sense."""
    every = product(("all", "some"), GRIDS, REPEATS, NOISES, EFFECTS, (True, False))
    return [setup for setup in (Setup(*values) for values in every) if setup.everywhere or setup.points > 1]


def table_of(setup: Setup, rng: np.random.Generator) -> pd.DataFrame:
    """Measurements of one simulated claim."""
    values = setup.effects()[:, None] + NOISES[setup.noise](rng, (setup.points, setup.repeats))
    epsilons = np.repeat(np.arange(1.0, setup.points + 1), setup.repeats)
    return pd.DataFrame({
        "arm": "a", "attack": "t", "metric": "advantage", "epsilon": epsilons, "value": values.ravel(), "stderr": 0.0,
        "repeat": np.tile(np.arange(setup.repeats), setup.points),
    })  # fmt: skip


def verdicts(setup: Setup, rng: np.random.Generator) -> tuple[str, str, int | None]:
    """One simulated claim, judged on all repeats and repeat by repeat: both outcomes, and the look that decided."""
    table = table_of(setup, rng)
    claim = Compare.model_validate({
        "left": {"metric": "advantage", "arm": "a", "attack": "t"}, "relation": ">", "right": {"value": 0.0},
        "for": setup.quantifier,
    })  # fmt: skip
    fixed = judge(claim, Evidence(table, 1e-5), ALPHA, 0, 1).outcome
    found, stopped = first_verdict(lambda part: [judge(claim, part, ALPHA, 0, 1)], Evidence(table, 1e-5, Sequential()))
    return fixed, found[0].outcome, stopped


def wrong(truth: str, outcome: str) -> bool:
    """A claim on the margin is neither clearly true nor clearly false, so any decision counts as wrong."""
    return outcome != "inconclusive" and outcome != {"true": "reproduced", "false": "violated"}.get(truth)


def groups_of(setup: Setup, truth: str) -> dict[str, str]:
    """The rows of the tables that a claim counts in."""
    by_noise = f"{setup.noise}, {setup.repeats}"
    found = {
        "all": "all", "truth": truth, "noise": setup.noise, "repeats": str(setup.repeats), "grid": str(setup.points),
        "noise and repeats": by_noise,
    }  # fmt: skip
    if truth == "margin":
        found["margin, by noise and repeats"] = by_noise
    elif setup.points == 1:
        found["power"] = f"{abs(setup.effect):g}, {setup.repeats}"
    return found


@dataclass
class Tally:
    """Of the claims of one row: how many, how many judged wrongly, how many judged at all, and their repeats."""

    claims: int = 0
    wrong: int = 0
    decided: int = 0
    looked: int = 0

    def add(self, mistaken: bool, outcome: str, repeats: int) -> None:
        """Count one more."""
        self.claims += 1
        self.wrong += mistaken
        self.decided += outcome != "inconclusive"
        self.looked += repeats

    def shares(self) -> dict[str, float]:
        """As they are written to the file."""
        n = self.claims
        return {"claims": n, "wrong": self.wrong / n, "decided": self.decided / n, "repeats": self.looked / n}


def simulate(each: int, seed: int = 1) -> dict[str, Any]:
    """Judge `each` claims of every setup by both designs; shares of wrong verdicts and of decisions by group."""
    tallies: dict[str, dict[str, dict[str, Tally]]] = {
        design: defaultdict(lambda: defaultdict(Tally)) for design in ("fixed", "sequential")
    }
    for index, setup in enumerate(design()):
        rng = generator(seed, "calibration", index)
        truth = setup.truth()
        for _ in range(each):
            fixed, sequential, stopped = verdicts(setup, rng)
            for group, key in groups_of(setup, truth).items():
                tallies["fixed"][group][key].add(wrong(truth, fixed), fixed, setup.repeats)
                tallies["sequential"][group][key].add(wrong(truth, sequential), sequential, stopped or setup.repeats)
    return {
        "alpha": ALPHA, "claims": tallies["fixed"]["all"]["all"].claims,
        "designs": {
            name: {g: {k: t.shares() for k, t in rows.items()} for g, rows in groups.items()}
            for name, groups in tallies.items()
        },
    }  # fmt: skip


def main() -> None:
    """Simulate, print wrong verdicts and decisions, and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument(
        "--each", type=int, default=15, help=f"claims of each of the {len(design())} set-ups (default 15)"
    )
    found = simulate(parser.parse_args().each)
    write_text(RESULTS, json.dumps(found, indent=1) + "\n")
    for name, groups in found["designs"].items():
        for group, rows in groups.items():
            table = Table(title=f"{name}: {group}", box=None, header_style="bold")
            for column in ("", "claims", "wrong", "decided", "mean repeats"):
                table.add_column(column)
            for key, row in rows.items():
                shares = f"{row['wrong']:.2%}", f"{row['decided']:.1%}", f"{row['repeats']:.1f}"
                table.add_row(key, str(row["claims"]), *shares)
            Console().print(table)


if __name__ == "__main__":
    main()
