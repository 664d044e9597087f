"""What the error of drawing records adds to a test of a difference, where both sides are measured on the same records.

`python -m benchmarks.record_errors` writes benchmarks/record_errors.json; docs/calibration.md shows its numbers. In
each repeat a model is drawn, and two attacks score the same members and non-members; their scores go together to a
given degree, and each attack's skill varies from model to model. The claim is that one attack's AUC, or advantage, is
above the other's by an amount: the true one (any decision is wrong), or less than it by some standard deviations of a
repeat. It is looked at after each of 6 to 40 repeats by the sequential test, whose standard error is never taken as
smaller than what a floor says, one of `FLOORS`.

Records are drawn anew in each repeat, or are the same in all, when the claim is about these records.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.files import write_text
from harness.hashing import generator
from harness.inference.estimates import FEWEST
from harness.inference.t_mixture import t_mixture_cs
from harness.metrics.membership import auc

RESULTS = Path(__file__).parent / "record_errors.json"
LEVEL = 0.025
"""One-sided."""
MOST = 40
RECORDS = 150
"""Members, and as many non-members."""
TOGETHER = (0.0, 0.9, 0.99)
"""The correlation of both attacks' scores of a record, given whether it is a member."""
SKILL, SPREAD = 0.5, 0.05
"""An attack's mean distance between members and non-members, in standard deviations of its scores; and how that differs
from model to model, in each attack by itself."""
EFFECTS = (0.0, 0.5, 1.0)
FLOORS: dict[str, Callable[[Array, Array], Array]] = {
    "as if independent": np.hypot,
    "least possible": lambda left, right: np.abs(left - right),
    "none": lambda left, right: np.zeros_like(left),
}
TRUTH_FROM = 4_000
"""Repeats of the same records that say what the true difference on them is."""


def simulate_repeats(
    rng: np.random.Generator, together: float, metric: str, repeats: int, records: Array | None
) -> tuple[Array, Array]:
    """Both attacks' metric and its standard error in each repeat, (2, repeats) each.

    Args:
        records: (2, 2, RECORDS) what is known of members and of non-members whatever the model: a part of the scores
            that is common to both attacks, and one of the first; None: drawn anew in each repeat.
    """
    values, errors = np.empty((2, repeats)), np.empty((2, repeats))
    for n in range(repeats):
        common, own = rng.standard_normal((2, 2, RECORDS)) if records is None else records
        each = np.stack([own, rng.standard_normal((2, RECORDS))])
        skill = SKILL + SPREAD * rng.standard_normal(2)
        for attack in range(2):
            scores = np.sqrt(together) * common + np.sqrt(1 - together) * each[attack]
            scores[0] += skill[attack]
            values[attack, n], errors[attack, n] = _measure(metric, scores[0], scores[1])
    return values, errors


def _measure(metric: str, members: Array, nonmembers: Array) -> tuple[float, float]:
    if metric == "AUC":
        found = auc(members, nonmembers)
        return found.value, found.stderr
    rates = np.array([(members > 0).mean(), (nonmembers > 0).mean()])
    return float(rates[0] - rates[1]), float(np.sqrt((rates * (1 - rates) / RECORDS).sum()))


def _block(setup: tuple[str, str, float], block: int, size: int) -> list[dict[str, Any]]:
    drawn, metric, together = setup
    rng = generator(1, "record errors", drawn, metric, together, block)
    found = []
    for _ in range(size):
        records = None if drawn == "anew" else rng.standard_normal((2, 2, RECORDS))
        values, errors = simulate_repeats(rng, together, metric, MOST, records)
        difference, truth = values[0] - values[1], 0.0
        if records is not None:
            truth = _true_difference(rng, together, records, metric)
        row: dict[str, Any] = {}
        for name, floor in FLOORS.items():
            errors_of_difference = floor(*errors)
            for effect in EFFECTS:
                moved = difference - truth + effect * difference.std()
                row[f"{name}, {effect:g}"] = _first_look(moved, errors_of_difference)
        found.append(row)
    return found


def _true_difference(rng: np.random.Generator, together: float, records: Array, metric: str) -> float:
    values, _ = simulate_repeats(rng, together, metric, TRUTH_FROM // 10, records)
    return float((values[0] - values[1]).mean())


def _first_look(values: Array, errors: Array) -> int:
    """The look at which either side is excluded; 0: none."""
    sequence = t_mixture_cs(values, errors)
    won = np.maximum(sequence.martingale(0.0, 1.0), sequence.martingale(0.0, -1.0)) >= 0.5 / LEVEL
    won[: FEWEST - 1] = False
    return 1 + int(won.argmax()) if won.any() else 0


def simulate(each: int, processes: int) -> list[dict[str, Any]]:
    """A row for each set-up: shares of claims decided, and mean looks, by floor and effect."""
    size, rows = 25, []
    setups = list(product(("anew", "the same"), ("AUC", "advantage"), TOGETHER))
    with ProcessPoolExecutor(processes) as pool:
        jobs = [(setup, pool.submit(_block, setup, block, size)) for setup in setups for block in range(each // size)]
        by_setup: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for setup, job in jobs:
            by_setup[setup] += job.result()
    for (drawn, metric, together), found in by_setup.items():
        row: dict[str, Any] = {"records": drawn, "metric": metric, "together": together, "claims": len(found)}
        for name in found[0]:
            looks = np.array([one[name] for one in found])
            row[name] = {"decided": float((looks > 0).mean()), "repeats": float(np.where(looks, looks, MOST).mean())}
        rows.append(row)
    return rows


def main() -> None:
    """Simulate, print the shares, and keep them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_errors", description=__doc__)
    parser.add_argument("--each", type=int, default=1000, help="claims of each set-up (default 1,000)")
    rows = simulate(parser.parse_args().each, os.cpu_count() or 1)
    write_text(RESULTS, json.dumps(rows, indent=1) + "\n")
    for row in rows:
        shares = "; ".join(
            f"{name} {row[name]['decided']:.1%} ({row[name]['repeats']:.1f})"
            for name in (f"{floor}, {effect:g}" for floor in FLOORS for effect in EFFECTS)
        )
        print(row["records"], row["metric"], row["together"], shares, sep=" | ")


if __name__ == "__main__":
    main()
