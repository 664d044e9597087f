"""How often a verdict is wrong, and how often there is one: claims whose truth is known, judged on simulated repeats.

`python -m benchmarks.calibration` writes benchmarks/calibration.json; docs/calibration.md shows the numbers. Three
things are measured:

- *claims*: drawn from a design of quantifiers, grid sizes, repeats, noise shapes and effects, and judged as
  measurements are: all at once, and repeat by repeat until decided or out of reach, as if others had saved what goes
  past the spec;
- *level*: very many means exactly on the margin, of results within a range, some with outcomes that are drawn seldom;
- *choices*: what was chosen by simulation (bets, the stake on what outcomes a split draws, when to give up, the
  correction for skewness and its least slope, which part of a claim gets repeats), and its rivals.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product, repeat
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import scipy
from rich.console import Console
from rich.progress import track
from rich.table import Table

from harness.claims import allocation
from harness.claims.allocation import CEILING, PILOT, SHARE, allocate_repeats, next_look
from harness.claims.arm_facts import ArmFacts
from harness.claims.combine import judge_part
from harness.claims.design import Bounded, Design, Fixed, Sequential, Series
from harness.claims.evidence import Measurements
from harness.claims.judgement import first_deciding_look, judge_on_basis
from harness.claims.kinds.compare import Compare
from harness.claims.results import Part, PartResult
from harness.claims.samples import Samples
from harness.claims.series import OUTCOME
from harness.claims.testing import Look
from harness.files import write_text
from harness.hashing import code_fingerprint, generator
from harness.imports import closure
from harness.inference import betting
from harness.inference import t_mixture as anytime_module
from harness.inference.betting import SHARES, WEIGHTS
from harness.inference.estimates import FEWEST, MeanEstimate
from harness.inference.shares import rarity_bound
from harness.inference.skewness import hall_transform
from harness.inference.t_mixture import t_mixture_cs
from harness.inference.t_test import estimate

ARMS = {"a": ArmFacts(1e-5)}
RESULTS = Path(__file__).parent / "calibration.json"
KEPT = Path(__file__).parents[1] / ".harness"
"""Where outcomes of a run that may be stopped are kept."""
JUDGE = closure(
    "harness.claims.judgement", Compare.__module__, packages=("harness.claims", "harness.inference", "harness.verdicts")
)
"""Modules that outcomes depend on."""
ALPHA = 0.05
Noise = Callable[[np.random.Generator, tuple[int, int]], Any]


def _rare(p: float, rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    """Of mean 0 and standard deviation 1, nearly."""
    return ((rng.random(shape) < p) - p) / math.sqrt(p * (1 - p)) + 0.05 * rng.standard_normal(shape)


NOISES: dict[str, Noise] = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape) * math.sqrt(3),
    "heavy tails (t, 4 d.f.)": lambda rng, shape: rng.standard_t(4, shape) / math.sqrt(2),
    "skewed (exponential)": lambda rng, shape: rng.exponential(size=shape) - 1,
    "two humps": lambda rng, shape: rng.choice([-1.0, 1.0], shape) * 0.95 + rng.standard_normal(shape) * 0.3122,
}
RARE = {f"outcome of 1 in {k}": p for k, p in (("10", 0.1), ("5", 0.2), ("3.3", 0.3))}
"""Values near one of two numbers, the upper one with this probability."""
NOISES |= {name: partial(_rare, p) for name, p in RARE.items()}
SCALE = 0.2
"""Of the results of claims, whose metric is an advantage: what one standard deviation is."""
SPLIT = "outcome of the split"
OFFSETS = np.array([-1.32, -0.60, 0.96, 0.96])
"""Of a repeat's value by which of four outcomes its split drew: Figure 3 of humphries2020, in standard deviations."""
WITHIN = 0.2
"""Standard deviation of a repeat around the mean of its outcome."""
EFFECTS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
"""Distance from the margin to the claimed side, in standard deviations of one repeat."""
REPEATS = (5, 6, 10, 40)
REACH_EFFECTS = (0.0, 0.3, 0.4, 0.5, 0.6)
WAYS = {
    "at most 40": (1, 0.0, math.inf),
    "120, slack 0": (3, 0.0, math.inf),
    "120, slack 1": (3, 1.0, math.inf),
    "120": (3, math.inf, math.inf),
    "120, slack 1, early 2": (3, 1.0, 2.0),
    "120, slack 1, early 1.5": (3, 1.0, 1.5),
    "120, slack 1, early 1": (3, 1.0, 1.0),
}
"""Times the repeats that may be used, and standard errors of slack past the usual number and before it."""
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
    metrics["advantage"] = np.clip(SCALE * (setup.effects()[:, None] + noise), -1.0, 1.0)
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
    judged = partial(_judged, claim)
    fixed = judge_on_basis(judged, _look(table, Fixed()), ALPHA).findings[0].outcome
    look = _look(table, Sequential())
    found = judge_on_basis(judged, look, ALPHA)
    if found.decided_at is not None:  # a run ends where its own test decides, though bets may do so later
        return fixed, found.findings[0].outcome, first_deciding_look(judged, look)[1] or found.decided_at
    repeats = dict.fromkeys(table["epsilon"].unique(), setup.repeats)
    more = (CEILING - 1) * setup.repeats
    table = pd.concat([table, table_of(setup, later, setup.repeats, more)], ignore_index=True)
    while needs := allocate_repeats(found.findings, ALPHA, setup.repeats, CEILING * setup.repeats):
        repeats |= {dict(place)["epsilon"]: target for ((_, place), _), target in needs.items()}
        part = table[table["repeat"] < table["epsilon"].map(repeats)]
        found = judge_on_basis(judged, _look(part, Sequential()), ALPHA)
    return fixed, found.findings[0].outcome, sum(repeats.values()) / setup.points


def _look(table: pd.DataFrame, design: Design) -> Look:
    return Look(Samples(Measurements(table, ARMS, design)), design)


def _judged(claim: Compare, look: Look, index: int = 0, parts: int = 1) -> list[PartResult]:
    which = Part(index, parts, ALPHA / 2, look.method.fewest)
    return [judge_part(claim.contrasts(look.samples.table), look, which)]


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


def _simulated(each: int, seed: int, index: int) -> list[tuple[str, str, float]]:
    rng, later = generator(seed, "calibration", index), generator(seed, "calibration", "later", index)
    return [verdicts(design()[index], rng, later) for _ in range(each)]


def simulate(each: int, seed: int = 1, processes: int = 1, kept: Path | None = None) -> dict[str, Any]:
    """Judge `each` claims of every setup by both designs; shares of wrong verdicts and of decisions by group.

    Args:
        kept: file with the outcomes of set-ups that are finished; the others are added to it, so that a run which was
            stopped goes on.
    """
    tallies: dict[str, dict[str, dict[str, Tally]]] = {
        design: defaultdict(lambda: defaultdict(Tally)) for design in ("fixed", "sequential")
    }
    by_index: dict[int, list[tuple[str, str, float]]] = {}
    if kept is not None and kept.is_file():
        by_index = {int(index): outcomes for index, outcomes in map(json.loads, kept.read_text().splitlines())}
    left = [index for index in range(len(design())) if index not in by_index]
    work = partial(_simulated, each, seed)
    with ProcessPoolExecutor(processes) as pool:
        found = pool.map(work, left, chunksize=20) if processes > 1 else map(work, left)
        for index, outcomes in track(zip(left, found, strict=True), total=len(left), description="set-ups"):
            by_index[index] = outcomes
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps([index, outcomes]) + "\n")
    for index, setup in enumerate(design()):
        truth = setup.truth()
        for at_once, one_by_one, repeats in by_index[index]:
            for group, key in groups_of(setup, truth).items():
                tallies["fixed"][group][key].add(wrong(truth, at_once), at_once, setup.repeats)
                tallies["sequential"][group][key].add(wrong(truth, one_by_one), one_by_one, repeats)
    return {
        "alpha": ALPHA,
        "claims": tallies["fixed"]["all"]["all"].claims,
        "designs": {
            name: {g: {k: t.shares() for k, t in rows.items()} for g, rows in groups.items()}
            for name, groups in tallies.items()
        },
    }


LEVEL_REPEATS = (5, 6, 10, 20, 40)
LEVEL_LOOKS = (10, 40, 120)
"""Most repeats of designs that look after each."""
BLOCK = 1000
"""Means on the margin that are drawn with one generator, so that shares do not depend on the number of processes."""
FURTHERS = (0.0, 2.0, 4.0, 6.0, 8.0, 12.0)


def bounded_noises() -> dict[str, tuple[Callable[[np.random.Generator, int], Any], float]]:
    """Results between 0 and 1 by their shape: how n of them are drawn, and their mean, known exactly."""

    def around(spread: float, symmetric: Callable[[np.random.Generator, int], Any]) -> Callable[..., Any]:
        return lambda rng, n: 0.5 + np.clip(spread * symmetric(rng, n), -0.5, 0.5)

    def rare(p: float, rng: np.random.Generator, n: int) -> Any:
        return 0.05 + 0.9 * (rng.random(n) < p) + 0.01 * np.clip(rng.standard_normal(n), -4, 4)

    found: dict[str, tuple[Callable[[np.random.Generator, int], Any], float]] = {
        "Gaussian": (around(0.1, lambda rng, n: rng.standard_normal(n)), 0.5),
        "uniform": (around(0.5, lambda rng, n: rng.uniform(-1, 1, n)), 0.5),
        "heavy tails (t, 4 d.f.)": (around(0.05, lambda rng, n: rng.standard_t(4, n)), 0.5),
        "skewed (exponential)": (lambda rng, n: np.minimum(1.0, 0.1 * rng.exponential(size=n)), 0.1 * -math.expm1(-10)),
        "two humps": (around(0.1, lambda rng, n: 3.0 * rng.choice([-1, 1], n) + rng.standard_normal(n)), 0.5),
    }
    for name, p in RARE.items():
        found[name] = partial(rare, p), 0.05 + 0.9 * p
    return found


def series_on_margin(noise: str, rng: np.random.Generator, n: int) -> tuple[Series, float]:
    """`n` results between 0 and 1, and their mean."""
    nothing = np.zeros(n)
    if noise == SPLIT:
        drawn = rng.integers(len(OFFSETS), size=n)
        values = 0.5 + 0.2 * OFFSETS[drawn] + 0.2 * WITHIN * np.clip(rng.standard_normal(n), -4, 4)
        return Series(values, nothing, drawn, len(OFFSETS), 0.0, 1.0), 0.5
    draw, mean = bounded_noises()[noise]
    return Series(draw(rng, n), nothing, low=0.0, high=1.0), mean


def level(each: int, seed: int = 1, processes: int = 1) -> dict[str, dict[str, dict[str, float]]]:
    """How often a mean exactly on the margin is told from it, by noise and design: by the metric's range; by the
    design's own test; by that where the basis that the verdict would state allows this noise; and by what decides, of
    both."""
    noises, size = [*bounded_noises(), SPLIT], min(each, BLOCK)
    count = -(-each // size)
    blocks = [(noise, block) for block in range(count) for noise in noises]
    tallies: dict[str, dict[str, dict[str, int]]] = {noise: defaultdict(lambda: defaultdict(int)) for noise in noises}
    with ProcessPoolExecutor(processes) as pool:
        found = pool.map(_level_block, repeat(seed), repeat(size), blocks)
        for (noise, _), counted in zip(blocks, found, strict=True):
            for name, row in counted.items():
                for what, number in row.items():
                    tallies[noise][name][what] += number
    drawn = size * count
    return {
        noise: {name: {what: number / drawn for what, number in row.items()} for name, row in rows.items()}
        for noise, rows in tallies.items()
    }


def _level_block(seed: int, size: int, block: tuple[str, int]) -> dict[str, dict[str, int]]:
    noise, rng = block[0], generator(seed, "level", *block)
    tallies: dict[str, dict[str, int]] = {}
    for _ in range(size):
        series, mean = series_on_margin(noise, rng, max(LEVEL_LOOKS))
        for design, sizes in ((Fixed(), LEVEL_REPEATS), (Sequential(), LEVEL_LOOKS)):
            for n in sizes:
                name = f"fixed, {n}" if design.name == "fixed" else f"looked, at most {n}"
                free, shape, allowed = _told(noise, series.take_first(n), mean, design)
                _count(tallies.setdefault(name, defaultdict(int)), free, shape, allowed)
    return {name: dict(row) for name, row in tallies.items()}


SKEWED: dict[str, Callable[[np.random.Generator, tuple[int, int]], Any]] = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "gamma, 2 (skewness 1.4)": lambda rng, shape: rng.gamma(2, size=shape) - 2,
    "lognormal, 1/2 (1.8)": lambda rng, shape: np.exp(rng.standard_normal(shape) / 2) - math.exp(1 / 8),
    "exponential (2)": lambda rng, shape: rng.exponential(size=shape) - 1,
    "chi-squared, 1 (2.8)": lambda rng, shape: rng.standard_normal(shape) ** 2 - 1,
    "lognormal, 1 (6.2)": lambda rng, shape: np.exp(rng.standard_normal(shape)) - math.exp(1 / 2),
}


def corrections(each: int, seed: int = 1) -> list[dict[str, Any]]:
    """How often the fixed design's test tells a mean on the margin from it, by how much more skewness than that of the
    results it takes (`statistics.FURTHER`); and its power at 1 and 2 standard deviations of Gaussian results."""
    found = []
    for noise, draw in SKEWED.items():
        for n in (6, 7, 8, 10, 20, 40):
            tallies: dict[str, float] = defaultdict(float)
            for block in range(-(-each // BLOCK)):
                values = draw(generator(seed, "corrections", noise, n, block), (BLOCK, n))
                for further in FURTHERS:
                    tallies[f"{further:g}"] += float(_excluded(values, further).mean())
                    for effect in (1, 2) if noise == "Gaussian" else ():
                        tallies[f"{further:g}, at {effect} s.d."] += float(_excluded(values + effect, further).mean())
            found.append({"noise": noise, "n": n, **{k: v / -(-each // BLOCK) for k, v in tallies.items()}})
    return found


def _excluded(values: np.ndarray, further: float) -> np.ndarray:
    """Of rows of results, (k, n): whether the test excludes a mean of 0. Written apart from harness.claims."""
    n = values.shape[1]
    means = values.mean(axis=1)
    moved = values - means[:, None]
    stderrs = np.sqrt((moved**2).sum(axis=1) / (n - 1) / n)
    third = (moved**3).sum(axis=1) * n / ((n - 1) * (n - 2))
    skewness, distance = third / n**2 / stderrs**3 * (1 + further / n), means / stderrs
    above = np.minimum(distance, hall_transform(distance, skewness))
    below = np.minimum(-distance, hall_transform(-distance, -skewness))
    return np.asarray(scipy.stats.t.sf(np.maximum(above, below), n - 1) <= ALPHA / 2)


SLOPES = (0.0, 0.05, 0.1, 0.25, 4 / 9, 1.0)
"""Least slopes of Hall's transform; none, and, with 1, no correction of what lies on the far side of a long tail."""
SLOPE_LEVELS = (0.025, 0.0025)
"""One-sided: of one point, and of one of ten."""


def slopes(each: int, seed: int = 1, most: int = 120) -> list[dict[str, Any]]:
    """Of means looked at after each of up to `most` repeats, by the least slope of Hall's transform: how often one on
    the margin is found on the side that its long tail does not reach, over the level; and how many repeats it takes
    where the margin lies 1, 2 or 3 standard deviations out in the tail (mean, and what 95% take)."""
    shapes = SKEWED | {
        "beta, 1/4 and 2 (2.2)": lambda rng, shape: rng.beta(0.25, 2, shape) - 1 / 9,
        "cube of a half-normal (5)": lambda rng, shape: (
            np.abs(rng.standard_normal(shape)) ** 3 - 2 * math.sqrt(2 / math.pi)
        ),
    }
    found = []
    for noise, draw in shapes.items():
        rows: dict[float, dict[str, Any]] = {slope: {"noise": noise, "slope": slope} for slope in SLOPES}
        blocks = -(-each // BLOCK)
        for block in range(blocks):
            values = draw(generator(seed, "slopes", noise, block), (BLOCK, most))
            for slope, won in _winnings(values, SLOPES).items():
                for level in SLOPE_LEVELS:
                    name, share = f"wrong, of {level:g}", float((won.max(axis=1) >= 0.5 / level).mean()) / level
                    rows[slope][name] = rows[slope].get(name, 0.0) + share / blocks
        for effect in (1, 2, 3):  # repeats need fewer draws than errors
            for slope, won in _winnings(values - effect * values.std(), SLOPES).items():
                decided = won >= 0.5 / SLOPE_LEVELS[0]
                first = np.where(decided.any(axis=1), decided.argmax(axis=1) + FEWEST, most)
                rows[slope] |= {
                    f"{effect} s.d.": float(first.mean()),
                    f"{effect} s.d., 95%": float(np.quantile(first, 0.95)),
                }
        found += rows.values()
    return found


def _winnings(values: np.ndarray, least: tuple[float, ...]) -> dict[float, np.ndarray]:
    """Of rows of results, (k, n): what the sequential test has won of a mean of 0 after 6, 7, ... repeats where theirs
    is below it, (k, n - 5), by least slope. Written apart from harness.claims but for the transform."""
    n = np.arange(1, values.shape[1] + 1)
    first, second, third = (np.cumsum(values**power, axis=1) for power in (1, 2, 3))
    means = first / n
    with np.errstate(all="ignore"):
        stderrs = np.sqrt(np.maximum(0.0, second - n * means**2) / (n - 1) / n)
        central = (third - 3 * means * second + 2 * n * means**3) * n / ((n - 1) * (n - 2))
        skewness = -central / n**2 / stderrs**3
    later = slice(FEWEST - 1, None)
    n, distance, skewness = n[later], (-means / stderrs)[:, later], skewness[:, later]
    shrunk = anytime_module.PRIOR_PRECISION / (n + anytime_module.PRIOR_PRECISION)
    found = {}
    for slope in least:
        nearer = np.maximum(0.0, np.minimum(distance, hall_transform(distance, skewness, slope)))
        grown = (n - 1 + nearer**2) / (n - 1 + nearer**2 * shrunk)
        found[slope] = np.where(nearer > 0, np.sqrt(shrunk) * grown ** (n / 2), 0.0)
    return found


def _count(row: dict[str, int], free: bool, shape: bool, allowed: bool) -> None:
    row["free"] += free
    row["shape"] += shape
    row["shape, allowed"] += allowed
    row["either"] += free or shape


def _told(noise: str, series: Series, mean: float, design: Fixed | Sequential) -> tuple[bool, bool, bool]:
    free = _decides(Bounded().mean(series), mean)
    own = design.mean(series)
    shape = own.n >= FEWEST and _decides(own, mean)
    if not shape:
        return free, False, False
    seen = own.tested_repeats
    if design.name == "sequential":  # the first look that decides
        looks = range(FEWEST, own.n + 1)
        at = bisect_left(looks, True, key=lambda n: _decides(design.mean(series.take_first(n)), mean))
        seen = design.mean(series.take_first(looks[at])).tested_repeats
    return free, True, noise not in RARE or RARE[noise] >= 1 / math.floor(rarity_bound(seen, ALPHA / 2))


def _decides(found: MeanEstimate, value: float) -> bool:
    return min(found.p_above(value), found.p_below(value)) <= ALPHA / 2


def reach(each: int, seed: int = 1, repeats: int = 40) -> list[dict[str, float]]:
    """How often `each` claims on one point with Gaussian noise are decided, and their mean repeats: by the fixed design
    of so many repeats, and by sequential ones that go past it, or give up, in different ways."""
    rng, found = generator(seed, "reach"), []
    for effect in REACH_EFFECTS:
        drawn = effect + rng.standard_normal((each, CEILING * repeats))
        zero = np.zeros(repeats)
        ps = [(e.p_above(0), e.p_below(0)) for e in (estimate(values[:repeats], zero) for values in drawn)]
        row: dict[str, float] = {"effect": effect, "fixed": float(np.mean([min(p) <= ALPHA / 2 for p in ps]))}
        for name, (times, slack, early) in WAYS.items():
            ran = [_looked(values, repeats, times * repeats, slack, early) for values in drawn]
            row[name] = float(np.mean([decided for decided, _ in ran]))
            row[f"{name}, repeats"] = float(np.mean([n for _, n in ran]))
        found.append(row)
    return found


def _looked(values: np.ndarray, usual: int, most: int, slack: float, early: float) -> tuple[bool, int]:
    """Whether looks decide, and after how many repeats they end: past the usual number, where `slack` standard errors
    more would decide, and before it, where `early` would."""
    n = FEWEST
    while True:
        mean = t_mixture_cs(values[:n], np.zeros(n))
        if min(mean.p_above(0), mean.p_below(0)) <= ALPHA / 2:
            return True, n
        more = (slack if n >= usual else early) * mean.stderr
        if n >= most or mean.shift(math.copysign(min(more, 1e6), mean.mean)).project_repeats(ALPHA / 2, most) is None:
            return False, n
        n = next_look(n, usual if n < usual else most)


BETS: dict[str, tuple[list[float], list[float]]] = {
    "all of it": ([1.0], [1.0]),
    "half on all of it": (SHARES.tolist(), WEIGHTS.tolist()),
    "alike on 1, 1/2, ... 1/32": (SHARES.tolist(), [1 / 6] * 6),
    "alike on 12 shares": ([i / 12 for i in range(1, 13)], [1 / 12] * 12),
}
FREE_EFFECTS: dict[str, tuple[float, float, float]] = {
    "advantage 0.95 against 0.08, s.d. 0.02": (0.95, 0.08, 0.02),
    "advantage 0.5 against 0.3, s.d. 0.35": (0.5, 0.3, 0.35),
    "advantage 0.3 against 0.1, s.d. 0.1": (0.3, 0.1, 0.1),
    "advantage 0.08 against 0.005, s.d. 0.02": (0.08, 0.005, 0.02),
}


def bets(each: int, seed: int = 1, most: int = 400) -> dict[str, dict[str, float]]:
    """Median repeats at which bets tell a mean from a number, by how the stake is divided; `ville`: by the plug-in bets
    of Waudby-Smith and Ramdas (their Theorem 3), as that package has them."""
    from unittest.mock import patch

    from ville import BettingCS

    found: dict[str, dict[str, float]] = {}
    for name, (mean, value, spread) in FREE_EFFECTS.items():
        rng = generator(seed, "bets", name)
        drawn = np.clip(mean + spread * rng.standard_normal((each, most)), -1, 1)
        row = {}
        for way, (shares, weights) in BETS.items():
            logs = np.log(np.array(weights))[:, None]
            with patch.object(betting, "SHARES", np.array(shares)), patch.object(betting, "_LOG_WEIGHTS", logs):
                looked = [_first(bounded_mean(values).log_capital(value) >= math.log(2 / ALPHA)) for values in drawn]
            row[way] = float(np.median(looked))
        lower = [BettingCS((-1, 1), ALPHA, grid=2000).fit(values).lower_ for values in drawn[:20]]
        row["plug-in (ville)"] = float(np.median([_first(low > value) for low in lower]))
        found[name] = row
    return found


def bounded_mean(values: np.ndarray) -> betting.BettingMean:
    """Of advantages."""
    n = len(values)
    return betting.bet_on_streams([betting.Stream(values, np.full(n, -1.0), np.full(n, 1.0))])


def _first(reached: Any) -> float:
    """The first place, from 1, where it is so; infinite where there is none."""
    at = np.flatnonzero(reached)
    return float(at[0] + 1) if len(at) else math.inf


STAKES = (0.0, 0.25, 0.5)
OUTCOMES: dict[str, tuple[float, float]] = {
    "differ much": (1.0, 0.2),
    "differ": (0.7, 0.7),
    "do not differ": (0.0, 1.0),
}
"""How much of OFFSETS, and the standard deviation within."""


def stakes(each: int, seed: int = 1, usual: int = 40) -> list[dict[str, Any]]:
    """How often claims on one point of an arm whose split draws outcomes are decided within three times 40 repeats, and
    after how many, by the share of the stake that is bet once the outcomes have been seen."""
    from unittest.mock import patch

    most, found = CEILING * usual, []
    for (name, (share, within)), effect in product(OUTCOMES.items(), (0.0, 0.3, 0.5, 1.0)):
        rng = generator(seed, "stakes", name, effect)
        drawn = rng.integers(len(OFFSETS), size=(each, most))
        values = effect + share * OFFSETS[drawn] + within * rng.standard_normal((each, most))
        row: dict[str, Any] = {"outcomes": name, "effect": effect}
        for stake in STAKES:
            with patch.object(anytime_module, "LATER", stake):
                series = [Series(v, np.zeros(most), d, 4) for v, d in zip(values, drawn, strict=True)]
                means = [Sequential().mean(one) for one in series]
                ends = [_first(np.maximum(_won(mean, 1.0), _won(mean, -1.0)) >= 1 / ALPHA) for mean in means]
            row[f"{stake:g}"] = float(np.mean(np.isfinite(ends)))
            row[f"{stake:g}, repeats"] = float(np.mean(np.minimum(ends, most)))
        found.append(row)
    return found


def _won(mean: Any, sign: float) -> Any:
    won: Any = mean.martingale(0.0, sign)
    return won


PART_SETUPS = ((2, 5), (4, 5), (9, 3), (4, 40))
"""Parts of a claim, and repeats of its spec; a cell may get sixty, or three times as many where that is more."""
PART_EFFECTS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "all hold": lambda rng, k: rng.uniform(0.5, 2.5, k),
    "all hold, narrowly": lambda rng, k: rng.uniform(0.05, 0.5, k),
    "one fails clearly": lambda rng, k: np.append(rng.uniform(0.2, 2.5, k - 1), -2.0),
    "one fails narrowly": lambda rng, k: np.append(rng.uniform(0.2, 2.5, k - 1), -0.6),
    "half fail": lambda rng, k: np.append(rng.uniform(0.2, 2.0, k - k // 2), rng.uniform(-2.0, -0.3, k // 2)),
    "one on the margin": lambda rng, k: np.append(rng.uniform(0.5, 2.5, k - 1), 0.0),
}


def parts(each: int, seed: int = 1, processes: int = 1) -> list[dict[str, Any]]:
    """What claims of several parts come to, each about one cell, where repeats go to the part that speaks most clearly
    against the claim, and where they go to all parts that are open."""
    setups = list(product(PART_SETUPS, PART_EFFECTS))
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(partial(_of_parts, each, seed), setups))


def _of_parts(each: int, seed: int, setup: tuple[tuple[int, int], str]) -> dict[str, Any]:
    (k, usual), name = setup
    most = max(60, CEILING * usual)
    truth = {"all": "reproduced", "one f": "violated", "half": "violated"}
    right = next((verdict for start, verdict in truth.items() if name.startswith(start)), "inconclusive")
    row: dict[str, Any] = {"parts": k, "repeats": usual, "effects": name}
    for rule, pursued in (("the clearest", allocation._keep_clearest), ("all open", lambda places: places)):
        rng, found = generator(seed, f"parts/{k}/{usual}/{name}"), []
        with patch.object(allocation, "_keep_clearest", pursued):
            for _ in range(each):
                effects = PART_EFFECTS[name](rng, k)[:, None] + rng.standard_normal((k, most))
                found.append(_until_decided(np.clip(SCALE * effects, -1.0, 1.0), usual, most))
        row[f"{rule}, right"] = float(np.mean([outcome == right for outcome, _ in found]))
        row[f"{rule}, wrong"] = float(np.mean([outcome not in (right, "inconclusive") for outcome, _ in found]))
        row[f"{rule}, models"] = float(np.mean([models for _, models in found]))
    return row


def _until_decided(values: np.ndarray, usual: int, most: int) -> tuple[str, int]:
    """The verdict on `values` (parts, repeats) above 0, as a run adds repeats, and the models that took."""
    k = len(values)
    claims = [
        Compare.model_validate(
            {
                "left": {"metric": "advantage", "arm": "a", "attack": "t"},
                "relation": ">",
                "right": {"value": 0.0},
                "at": [float(i + 1)],
            }
        )
        for i in range(k)
    ]
    allowed = k * max(SHARE * usual, 2 * FEWEST, SHARE * most if most > CEILING * usual else 0)
    repeats = np.full(k, PILOT)
    while True:
        rows = [(float(i + 1), r, values[i, r]) for i in range(k) for r in range(repeats[i])]
        table = pd.DataFrame(rows, columns=["epsilon", "repeat", "value"])
        table = table.assign(arm="a", attack="t", metric="advantage", stderr=0.0)
        look = _look(table, Sequential())
        found = [result for i, claim in enumerate(claims) for result in _judged(claim, look, i, k)]
        needs = allocate_repeats(found, ALPHA, usual, repeats_in_reach=most)
        if not needs and usual < most:
            whole = _with(repeats, allocate_repeats(found, ALPHA, usual, most, until_decision=True))
            needs = allocate_repeats(found, ALPHA, usual, most) if whole.sum() <= allowed else {}
        more = _with(repeats, needs)
        if (more == repeats).all():
            outcomes = {f.outcome for f in found}
            all_hold = "reproduced" if outcomes == {"reproduced"} else "inconclusive"
            return "violated" if "violated" in outcomes else all_hold, int(repeats.sum())
        repeats = more


def _with(repeats: np.ndarray, needs: dict[Any, int]) -> np.ndarray:
    found = repeats.copy()
    for ((_, place), _), target in needs.items():
        at = int(dict(place)["epsilon"]) - 1
        found[at] = max(found[at], target)
    return found


def main() -> None:
    """Simulate, print wrong verdicts and decisions, and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        help="claims, level, choices, or parts or slopes of these (default: all); the others stay as they are",
    )
    parser.add_argument("--each", type=int, default=10, help=f"claims of each of the {len(design())} set-ups")
    parser.add_argument("--means", type=int, default=20_000, help="means on the margin of each shape (default 20,000)")
    arguments = parser.parse_args()
    chosen = arguments.parts or ["claims", "level", "choices"]
    found = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    if "claims" in chosen:
        kept = KEPT / f"calibration-{arguments.each}-{code_fingerprint(*JUDGE)}.jsonl"
        kept.parent.mkdir(exist_ok=True)
        found |= simulate(arguments.each, processes=os.cpu_count() or 1, kept=kept)
    if "level" in chosen:
        found |= {"level": {"means": arguments.means, "wrong": level(arguments.means, processes=os.cpu_count() or 1)}}
    if "choices" in chosen:
        found |= {"reach": reach(450), "bets": bets(60), "stakes": stakes(300)}
        found |= {"corrections": corrections(200_000)}
    if "choices" in chosen or "slopes" in chosen:
        found |= {"slopes": slopes(40_000)}
    if "choices" in chosen or "parts" in chosen:
        found |= {"parts": parts(100, processes=os.cpu_count() or 1)}
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
    for noise, rows in found["level"]["wrong"].items():
        for name, row in rows.items():
            Console().print(f"{noise}; {name}: " + ", ".join(f"{k} {v:.1%}" for k, v in row.items()))
    for title in ("reach", "stakes", "corrections", "slopes", "parts"):
        rows = found[title]
        table = Table(*rows[0], title=title, box=None, header_style="bold")
        for row in rows:
            table.add_row(*(v if isinstance(v, str) else f"{v:.3g}" for v in row.values()))
        Console().print(table)
    for name, row in found["bets"].items():
        Console().print(f"{name}: " + ", ".join(f"{k} {v:g}" for k, v in row.items()))


if __name__ == "__main__":
    main()
