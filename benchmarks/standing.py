"""How often claims about several points are wrongly contradicted, and how many wrong verdicts stand among all claims.

`python -m benchmarks.standing` writes benchmarks/standing.json; docs/calibration.md shows the numbers.

- *points*: a claim for all of k points, each of which lies on its line. It is looked at after each of 6 to 40 repeats,
  and any decision against it is wrong; the level is 2.5%. Once with p-values as they come out, and once with none
  smaller than `harness.inference.least_p_value` says.
- *standing*: worlds of 350 claims, of which five each are about the same results and three in ten lie on their line.
  Repeats are added until the target of verdicts that stand is reached, or 60 are there. The share of wrong verdicts
  among those that stand, by the rule before and by today's (`harness.verdicts.multiplicity`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.claims.levels import RAREST
from harness.files import write_text
from harness.hashing import generator
from harness.inference import e_bh, moments
from harness.inference.t_mixture import _martingale
from harness.verdicts.multiplicity import RATE, TARGETS

RESULTS = Path(__file__).parent / "standing.json"
LEVEL = 0.025
POINTS = (1, 5, 11, 44)
MOST = {"points": 40, "standing": 60}
CLAIMS, TOGETHER, ON_MARGIN = 350, 5, 0.3
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _three_levels(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    values = rng.choice([0.0, 0.3, 0.8], shape, p=[0.6, 0.3, 0.1])
    return np.asarray((values - 0.17) / math.sqrt(0.091 - 0.17**2))


def _rare(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    p = 1 / 7
    return np.asarray(((rng.random(shape) < p) - p) / math.sqrt(p * (1 - p)))


def _autoregressive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    values = rng.standard_normal(shape)
    for n in range(1, shape[-1]):
        values[..., n] = 0.3 * values[..., n - 1] + math.sqrt(1 - 0.09) * values[..., n]
    return np.asarray(values)


SHAPES: dict[str, Draw] = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "ties": lambda rng, shape: np.round(2 * rng.standard_normal(shape)) / 2,
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "lognormal, 1/2": lambda rng, shape: (np.exp(rng.standard_normal(shape) / 2) - math.exp(1 / 8)) / 0.604,
    "three levels, skewed": _three_levels,
    "an outcome of 1 in 7": _rare,
    "one repeat like the last (0.3)": _autoregressive,
}


def martingales(values: Array, rarest: float, sign: float) -> Array:
    """What the test has won after each repeat against a mean of 0, of series (..., n), on one side of it."""
    of, n = moments(values), np.arange(1, values.shape[-1] + 1)
    return _martingale(n, sign * of.means, of.stderrs, sign * of.skewnesses, rarest)


def _points_block(setup: tuple[str, int], block: int, size: int) -> dict[str, int]:
    shape, k = setup
    values = SHAPES[shape](generator(1, "points", shape, k, block), (size, k, MOST["points"]))
    found = {}
    for name, rarest in (("as they come out", 1.0), ("at least the chance of a miss", RAREST)):
        won = martingales(values, rarest, -1.0).max(axis=(1, 2))
        found[name] = int((0.5 / np.maximum(won, 0.5) <= LEVEL / k).sum())
    return found


def points(each: int, pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """A row for each shape and number of points."""
    setups, size = list(product(SHAPES, POINTS)), 100
    jobs = [(s, pool.submit(_points_block, s, block, size)) for s in setups for block in range(each // size)]
    counted: dict[tuple[str, int], dict[str, int]] = {s: {} for s in setups}
    for setup, job in jobs:
        for name, number in job.result().items():
            counted[setup][name] = counted[setup].get(name, 0) + number
    return [
        {"results": shape, "points": k, **{name: n / each for name, n in row.items()}}
        for (shape, k), row in counted.items()
    ]


def _world(shape: str, number: int) -> dict[str, tuple[int, int]]:
    """By rule, how many verdicts stand and how many of them are wrong, in one world."""
    rng, groups = generator(1, "standing", shape, number), CLAIMS // TOGETHER
    results = SHAPES[shape](rng, (groups, 1, MOST["standing"]))
    effects = rng.uniform(0.3, 2.5, (groups, TOGETHER, 1)) * rng.choice([-1.0, 1.0], (groups, TOGETHER, 1))
    effects[rng.random(effects.shape) < ON_MARGIN] = 0.0
    values = (results + effects).reshape(CLAIMS, MOST["standing"])
    null = effects.reshape(CLAIMS) == 0.0
    truth = np.sign(effects.reshape(CLAIMS))
    return {
        "before: e-BH at the first look that decides": _before(values, null, truth),
        "today": _today(values, null, truth),
    }


def _first(won: Array, least: float) -> Array:
    """The first look at which each series has won so much, (m,); -1: none."""
    enough = won >= least
    return np.where(enough.any(axis=1), enough.argmax(axis=1), -1)


def _before(values: Array, null: Array, truth: Array) -> tuple[int, int]:
    up, down = (martingales(values, 1.0, sign) for sign in (1.0, -1.0))
    won, sign = np.maximum(up, down), np.where(up >= down, 1.0, -1.0)
    at, rows = _first(won, 0.5 / LEVEL), np.arange(len(values))
    decided = np.flatnonzero(at >= 0)
    chosen = decided[np.array(e_bh(list(won[decided, at[decided]]), 2 * len(values), RATE), dtype=bool)]
    wrong = null[chosen] | (sign[rows, np.maximum(at, 0)][chosen] != truth[chosen])
    return len(chosen), int(wrong.sum())


def _today(values: Array, null: Array, truth: Array) -> tuple[int, int]:
    target, chosen, wrong = TARGETS["t-test"], 0, 0
    for sign in (1.0, -1.0):
        reached = martingales(values, RAREST, sign).max(axis=1) >= target
        chosen += int(reached.sum())
        wrong += int((reached & (null | (truth != sign))).sum())
    return (chosen, wrong) if target * chosen >= len(values) / RATE else (0, 0)


def standing(worlds: int, pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """A row for each shape: by rule the verdicts that stand in a world, and the mean share of wrong ones among them."""
    jobs = {shape: [pool.submit(_world, shape, number) for number in range(worlds)] for shape in SHAPES}
    rows = []
    for shape, of in jobs.items():
        row: dict[str, Any] = {"results": shape, "worlds": worlds}
        found = [job.result() for job in of]
        for rule in found[0]:
            counts = np.array([one[rule] for one in found], dtype=float)
            shares = counts[:, 1] / np.maximum(1, counts[:, 0])
            error = shares.std(ddof=1) / math.sqrt(worlds)
            row[rule] = {"stand": counts[:, 0].mean(), "wrong": shares.mean(), "error": float(error)}
        rows.append(row)
    return rows


def main() -> None:
    """Simulate, print, and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.standing", description=__doc__)
    parser.add_argument("--each", type=int, default=2000, help="claims of each set-up of points (default 2,000)")
    parser.add_argument("--worlds", type=int, default=100, help="worlds of claims of each shape (default 100)")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count() or 1) as pool:
        found = {"points": points(arguments.each, pool), "standing": standing(arguments.worlds, pool)}
    write_text(RESULTS, json.dumps(found, indent=1) + "\n")
    for rows in found.values():
        for row in rows:
            print(row)


if __name__ == "__main__":
    main()
