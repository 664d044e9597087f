"""Measurements, and numbers that papers print, as lines to draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.series import groups_by_outcome, means
from harness.coordinates import Place, Where, place
from harness.experiment import Experiment
from harness.formulas.gaussian import shuffled_epsilon
from harness.spec.model import Spec

if TYPE_CHECKING:
    pass

Line = tuple[Array, Array, Array, Array]
"""(x, mean, low, high), (k,) each."""


def series(
    table: pd.DataFrame, arm: str, attack: str, metric: str, x: str = "epsilon", axes: Sequence[str] = ("epsilon",)
) -> dict[Place, Line]:
    """Curves over the axis `x`, with 95% intervals over repeats: one for each place on the other axes."""
    averages = means(table[table["arm"] == arm], (metric,), axes)
    lines: dict[Place, list[tuple[Any, ...]]] = {}
    for (_, of, _, where), mean in averages.items():
        at = dict(where)
        if x not in axes:  # results that no epsilon goes with are at one place of it
            at[x] = math.inf
        if of == attack and x in at:
            rest = place((axis, value) for axis, value in where if axis != x)
            lines.setdefault(rest, []).append((at[x], mean.mean, *mean.interval()))
    return {rest: _line(rows) for rest, rows in lines.items()}


def _line(rows: list[tuple[object, ...]]) -> Line:
    columns = list(zip(*sorted(rows, key=lambda row: (isinstance(row[0], str), row[0])), strict=True))
    return (np.array(columns[0]), *(np.array(c, float) for c in columns[1:]))  # type: ignore[return-value]


def place_of_infinity(epsilon: Array) -> float:
    """Where infinity is drawn: one decade to the right of the largest finite epsilon."""
    finite = epsilon[np.isfinite(epsilon)]
    return float(finite.max() if len(finite) else 1.0) * 10


def last_of(lines: dict[Place, Line], at: Where) -> tuple[Place, float, float, float] | None:
    """Where it is, mean and interval at the largest epsilon, or that of `at`; other axes are as `at` has them."""
    for rest, (levels, mean, low, high) in lines.items():
        if any(at.get(axis, value) != value for axis, value in rest):
            continue
        i = int(np.argmin(np.abs(levels - at["epsilon"]))) if math.isfinite(at.get("epsilon", math.inf)) else -1
        where = place({**dict(rest), "epsilon": float(levels[i])})
        return where, float(mean[i]), float(low[i]), float(high[i])
    return None


def over_all_outcomes(table: pd.DataFrame, curve: tuple[str, str, str], levels: Array) -> Array:
    """Which of the epsilons (n,) a curve has a mean at that is comparable with the others: where its split drew every
    outcome that it drew elsewhere, if there are such; all of them otherwise."""
    arm, attack, metric = curve
    drawn: dict[float, set[int]] = {}
    for _, name, outcome, epsilon, _ in groups_by_outcome(table[table["arm"] == arm], metric):
        if name == attack:
            drawn.setdefault(epsilon, set()).add(outcome)
    longest = max(map(len, drawn.values()), default=0)
    complete: Array = np.array([len(drawn.get(float(e), ())) == longest for e in levels])
    return complete if complete.any() else ~complete


def as_trained(experiment: Experiment, table: pd.DataFrame, arm: str) -> Array:
    """What the noise at each epsilon of the grid is worth on shuffled batches, without amplification, for
    add/remove-one neighbours."""
    noise = table[table["arm"] == arm].groupby("epsilon")["noise_multiplier"].first()
    setup = experiment.arms[arm]
    twice = setup.training.clipping == "batch"
    known = {
        e: shuffled_epsilon(float(sigma), setup.training.epochs, setup.privacy.delta, twice)
        for e, sigma in noise.items()
    }
    return np.array([known.get(e, math.nan) for e in experiment.levels(arm)["epsilon"]])


def printed_values(spec: Spec) -> dict[tuple[tuple[str, str, str], Place], float]:
    """Numbers that the paper prints, as claims declare them: by (arm, attack or "", metric), and place."""
    numbers = {}
    for claim in spec.claims:
        for part in spec.parts(claim) if claim.catalogue else ():
            for curve, where, value in part.printed_numbers():
                if curve.minus is None and curve.times == 1:
                    key = (curve.arm, curve.attack, curve.metric), place({**where, **dict(curve.at)})
                    numbers[key] = value
    return numbers
