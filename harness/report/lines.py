"""Measurements, and numbers that papers print, as lines to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.coordinates import Place, place
from harness.experiment.experiment import Experiment
from harness.formulas.gaussian import shuffled_epsilon
from harness.spec.model import Spec


def place_of_infinity(epsilon: Array) -> float:
    """The position of infinity on the epsilon axis: one decade to the right of the largest finite epsilon."""
    finite = epsilon[np.isfinite(epsilon)]
    return float(finite.max() if len(finite) else 1.0) * 10


def has_comparable_mean(outcomes: Mapping[int, Mapping[float, float]], levels: Array) -> Array:
    """At which of the epsilons (n,) a curve has a mean that is comparable with the others: (n,) bool.

    Those at which its split drew every outcome that it drew elsewhere, if there are such; else all.

    Args:
        outcomes: the curve's mean of each outcome at each epsilon; empty where the split draws no outcome.
        levels: (n,) epsilons.
    """
    drawn: dict[float, set[int]] = {}
    for outcome, by_epsilon in outcomes.items():
        for epsilon in by_epsilon:
            drawn.setdefault(epsilon, set()).add(outcome)
    longest = max(map(len, drawn.values()), default=0)
    complete: Array = np.array([len(drawn.get(float(e), ())) == longest for e in levels])
    return complete if complete.any() else ~complete


def epsilons_as_trained(experiment: Experiment, table: pd.DataFrame, arm: str) -> Array:
    """The epsilon, (k,), that the noise at each epsilon of an arm's grid gives on shuffled batches without
    amplification.

    Neighbours differ by adding or removing a record; not-a-number where the table has no noise.
    """
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
