"""How often a verdict is wrong, and how often there is one: claims whose truth is known, judged on simulated repeats.

`python -m benchmarks.calibration` writes benchmarks/calibration.json; docs/statistics.md shows the numbers. A claim is
drawn from a design of quantifiers, grid sizes, repeats, noise shapes and effects; its repeats are drawn, and
`harness.claims.judge` judges them as it judges measurements: all at once, and repeat by repeat until it is decided or
out of reach, as if other claims had saved what repeats past the spec's number may cost.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from harness.claims.anytime import FIRST_LOOK, anytime
from harness.claims.design import Sequential
from harness.claims.evidence import OUTCOME, ArmFacts, Evidence
from harness.claims.judge import Finding, Part
from harness.claims.kinds.compare import Compare
from harness.claims.sequential import CEILING, first_verdict, grown, wanted
from harness.claims.statistics import estimate
from harness.files import write_text
from harness.hashing import generator

ARMS = {"a": ArmFacts(1e-5)}
RESULTS = Path(__file__).parent / "calibration.json"
ALPHA = 0.05
Noise = Callable[[np.random.Generator, tuple[int, int]], Any]
NOISES: dict[str, Noise] = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape) * math.sqrt(3),
    "heavy tails (t, 4 d.f.)": lambda rng, shape: rng.standard_t(4, shape) / math.sqrt(2),
    "skewed (exponential)": lambda rng, shape: rng.exponential(size=shape) - 1,
    "two humps": lambda rng, shape: rng.choice([-1.0, 1.0], shape) * 0.95 + rng.standard_normal(shape) * 0.3122,
}
SPLIT = "outcome of the split"
OFFSETS = np.array([-1.32, -0.60, 0.96, 0.96])
"""Of a repeat's value by which of four outcomes its split drew: Figure 3 of humphries2020, in standard deviations."""
WITHIN = 0.2
"""Standard deviation of a repeat around the mean of its outcome."""
EFFECTS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
"""Distance from the margin to the claimed side, in standard deviations of one repeat."""
REPEATS = (3, 5, 10, 40)
REACH_EFFECTS = (0.3, 0.4, 0.5, 0.6)
WAYS = {"at most 40": (1, 0.0), "120, slack 0": (3, 0.0), "120, slack 1": (3, 1.0), "120": (3, 1e9)}
"""Times the repeats that may be used, and standard errors of slack."""
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
    every = product(("all", "some"), GRIDS, REPEATS, (*NOISES, SPLIT), EFFECTS, (True, False))
    return [setup for setup in (Setup(*values) for values in every) if setup.everywhere or setup.points > 1]


def table_of(setup: Setup, rng: np.random.Generator, first: int, repeats: int) -> pd.DataFrame:
    """Measurements of one simulated claim: `repeats` of them at each point, numbered from `first`."""
    shape, metrics = (setup.points, repeats), {}
    if setup.noise == SPLIT:  # drawn once a repeat, for all points
        outcome = rng.integers(len(OFFSETS), size=repeats)
        noise = OFFSETS[outcome] + WITHIN * rng.standard_normal(shape)
        metrics = {OUTCOME[0]: np.broadcast_to(outcome, shape), OUTCOME[1]: np.full(shape, len(OFFSETS))}
    else:
        noise = NOISES[setup.noise](rng, shape)
    metrics["advantage"] = setup.effects()[:, None] + noise
    epsilons = np.repeat(np.arange(1.0, setup.points + 1), repeats)
    tables = [
        pd.DataFrame(
            {
                "arm": "a",
                "attack": "t" if metric == "advantage" else "",
                "metric": metric,
                "epsilon": epsilons,
                "value": values.ravel().astype(float),
                "stderr": 0.0,
                "repeat": np.tile(np.arange(first, first + repeats), setup.points),
            }
        )
        for metric, values in metrics.items()
    ]
    return pd.concat(tables, ignore_index=True)


def verdicts(setup: Setup, rng: np.random.Generator, later: np.random.Generator) -> tuple[str, str, float]:
    """One simulated claim, judged on its repeats, and repeat by repeat until it is decided or out of reach.

    `later` draws the repeats past the set-up's number. Returns both outcomes and the sequential design's mean number
    of repeats at a point.
    """
    table = table_of(setup, rng, 0, setup.repeats)
    claim = Compare.model_validate(
        {
            "left": {"metric": "advantage", "arm": "a", "attack": "t"},
            "relation": ">",
            "right": {"value": 0.0},
            "for": setup.quantifier,
        }
    )
    fixed = _judged(claim, Evidence(table, ARMS))[0].outcome
    judged = partial(_judged, claim)
    found, stopped = first_verdict(judged, Evidence(table, ARMS, Sequential()))
    if stopped is not None:
        return fixed, found[0].outcome, stopped
    repeats = dict.fromkeys(table["epsilon"].unique(), setup.repeats)
    more = (CEILING - 1) * setup.repeats
    table = pd.concat([table, table_of(setup, later, setup.repeats, more)], ignore_index=True)
    while needs := wanted(found, ALPHA, setup.repeats, CEILING * setup.repeats):
        repeats |= {dict(place)["epsilon"]: target for (_, place), target in needs.items()}
        part = table[table["repeat"] < table["epsilon"].map(repeats)]
        found, _ = first_verdict(judged, Evidence(part, ARMS, Sequential()))
    return fixed, found[0].outcome, sum(repeats.values()) / setup.points


def _judged(claim: Compare, evidence: Evidence) -> list[Finding]:
    return [claim.judge(evidence, Part(0, 1, ALPHA / 2))]


def wrong(truth: str, outcome: str) -> bool:
    """A claim on the margin is neither clearly true nor clearly false, so any decision counts as wrong."""
    return outcome != "inconclusive" and outcome != {"true": "reproduced", "false": "violated"}.get(truth)


def groups_of(setup: Setup, truth: str) -> dict[str, str]:
    """The rows of the tables that a claim counts in."""
    by_noise = f"{setup.noise}, {setup.repeats}"
    found = {
        "all": "all",
        "truth": truth,
        "noise": setup.noise,
        "repeats": str(setup.repeats),
        "grid": str(setup.points),
        "noise and repeats": by_noise,
    }
    if truth == "margin":
        found["margin, by noise and repeats"] = by_noise
    elif setup.points == 1:
        found["power"] = f"{abs(setup.effect):g}, {setup.repeats}"
        if setup.noise == SPLIT:
            found["power, outcome of the split"] = found.pop("power")
    return found


@dataclass
class Tally:
    """Of the claims of one row: how many, how many judged wrongly, how many judged at all, and their repeats."""

    claims: int = 0
    wrong: int = 0
    decided: int = 0
    looked: float = 0.0

    def add(self, mistaken: bool, outcome: str, repeats: float) -> None:
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
        rng, later = generator(seed, "calibration", index), generator(seed, "calibration", "later", index)
        truth = setup.truth()
        for _ in range(each):
            fixed, sequential, repeats = verdicts(setup, rng, later)
            for group, key in groups_of(setup, truth).items():
                tallies["fixed"][group][key].add(wrong(truth, fixed), fixed, setup.repeats)
                tallies["sequential"][group][key].add(wrong(truth, sequential), sequential, repeats)
    return {
        "alpha": ALPHA,
        "claims": tallies["fixed"]["all"]["all"].claims,
        "designs": {
            name: {g: {k: t.shares() for k, t in rows.items()} for g, rows in groups.items()}
            for name, groups in tallies.items()
        },
    }


def reach(each: int, seed: int = 1, repeats: int = 40) -> list[dict[str, float]]:
    """How often `each` claims on one point with Gaussian noise are decided, and their mean repeats: by the fixed design
    of so many repeats, and by sequential ones that may go past it in different ways."""
    rng, found = generator(seed, "reach"), []
    for effect in REACH_EFFECTS:
        drawn = effect + rng.standard_normal((each, CEILING * repeats))
        zero = np.zeros(repeats)
        ps = [(e.p_above(0), e.p_below(0)) for e in (estimate(values[:repeats], zero) for values in drawn)]
        row: dict[str, float] = {"effect": effect, "fixed": float(np.mean([min(p) <= ALPHA / 2 for p in ps]))}
        for name, (times, slack) in WAYS.items():
            ran = [_looked(values, repeats, times * repeats, slack) for values in drawn]
            row[name] = float(np.mean([decided for decided, _ in ran]))
            row[f"{name}, repeats"] = float(np.mean([n for _, n in ran]))
        found.append(row)
    return found


def _looked(values: np.ndarray, usual: int, most: int, slack: float) -> tuple[bool, int]:
    """Whether looks decide, and after how many repeats they end; past the usual number, where `slack` standard errors
    more would decide."""
    n = FIRST_LOOK
    while True:
        mean = anytime(values[:n], np.zeros(n))
        if min(mean.p_above(0), mean.p_below(0)) <= ALPHA / 2:
            return True, n
        hoped = mean.shifted(math.copysign(slack * mean.stderr, mean.mean))
        if n >= most or (n >= usual and hoped.projected(ALPHA / 2, most) is None):
            return False, n
        n = grown(n, usual if n < usual else most)


def main() -> None:
    """Simulate, print wrong verdicts and decisions, and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument(
        "--each", type=int, default=15, help=f"claims of each of the {len(design())} set-ups (default 15)"
    )
    each = parser.parse_args().each
    found = simulate(each) | {"reach": reach(30 * each)}
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
    table = Table(*found["reach"][0], title="within reach of 40 fixed repeats", box=None, header_style="bold")
    for row in found["reach"]:
        table.add_row(*(f"{value:.3g}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
