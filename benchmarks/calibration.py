"""How often a verdict is wrong, and how often there is one: claims whose truth is known, judged on simulated repeats.

`python -m benchmarks.calibration` writes benchmarks/calibration.json; docs/statistics.md shows the numbers. A claim is
drawn from a design of quantifiers, grid sizes, repeats, noise shapes and effects; its repeats are drawn, and
`harness.claims.judge` judges them as it judges measurements.
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

from harness.claims.expectation import Compare
from harness.claims.judge import Evidence, judge
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


def verdict(setup: Setup, rng: np.random.Generator) -> str:
    """One simulated claim, judged."""
    values = setup.effects()[:, None] + NOISES[setup.noise](rng, (setup.points, setup.repeats))
    epsilons = np.repeat(np.arange(1.0, setup.points + 1), setup.repeats)
    table = pd.DataFrame({
        "arm": "a", "attack": "t", "metric": "advantage", "epsilon": epsilons, "value": values.ravel(), "stderr": 0.0,
        "repeat": np.tile(np.arange(setup.repeats), setup.points),
    })  # fmt: skip
    claim = Compare.model_validate({
        "left": {"metric": "advantage", "arm": "a", "attack": "t"}, "relation": ">", "right": {"value": 0.0},
        "for": setup.quantifier,
    })  # fmt: skip
    return judge(claim, Evidence(table, 1e-5), ALPHA, 0, 1).outcome


def wrong(truth: str, outcome: str) -> bool:
    """A claim on the margin is neither clearly true nor clearly false, so any decision counts as wrong."""
    return outcome != "inconclusive" and outcome != {"true": "reproduced", "false": "violated"}.get(truth)


def simulate(each: int, seed: int = 1) -> dict[str, Any]:
    """Judge `each` claims of every setup; counts of claims, wrong verdicts and decisions in several groupings."""
    groups: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for index, setup in enumerate(design()):
        rng = generator(seed, "calibration", index)
        truth = setup.truth()
        for _ in range(each):
            outcome = verdict(setup, rng)
            keys = {
                "all": "all", "truth": truth, "noise": setup.noise, "repeats": str(setup.repeats),
                "noise and repeats": f"{setup.noise}, {setup.repeats}", "grid": str(setup.points),
                "margin, by noise and repeats": f"{setup.noise}, {setup.repeats}" if truth == "margin" else "",
                "power": f"{abs(setup.effect):g}, {setup.repeats}" if truth != "margin" and setup.points == 1 else "",
            }  # fmt: skip
            for group, key in keys.items():
                if key:
                    counts = groups[group][key]
                    counts[0] += 1
                    counts[1] += wrong(truth, outcome)
                    counts[2] += outcome != "inconclusive"
    return {
        "alpha": ALPHA, "claims": groups["all"]["all"][0],
        "groups": {
            g: {k: {"claims": c[0], "wrong": c[1] / c[0], "decided": c[2] / c[0]} for k, c in rows.items()}
            for g, rows in groups.items()
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
    for group, rows in found["groups"].items():
        table = Table(title=group, box=None, header_style="bold")
        for column in ("", "claims", "wrong", "decided"):
            table.add_column(column)
        for name, row in rows.items():
            table.add_row(name, str(row["claims"]), f"{row['wrong']:.2%}", f"{row['decided']:.1%}")
        Console().print(table)


if __name__ == "__main__":
    main()
