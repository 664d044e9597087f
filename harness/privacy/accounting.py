"""Epsilon to noise multiplier and back, for DP-SGD, with Google's dp-accounting.

Reference: the Renyi accountant of Mironov (2017) as implemented in `dp_accounting`, which TensorFlow
Privacy uses too. The mechanism: `steps` compositions of the Gaussian mechanism of standard deviation
`noise_multiplier * l2_norm_clip` on a batch drawn by Poisson sampling at rate `batch / n`; or, for
batches cut from a permutation, `epochs` compositions without amplification.
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any, Literal

import numpy as np

from harness.config import Config
from harness.errors import AboutPrivacy
from harness.formulas import Adjacency

Sampling = Literal["poisson", "shuffle"]
CALIBRATION_TOLERANCE = 1e-6


class Accounting(Config):
    """How the noise for an epsilon is found."""

    accountant: str = "rdp"
    """How the steps or epochs compose; `harness accountants` lists them. Default: Renyi DP, over Gaussian steps."""
    adjacency: Adjacency = "add-remove-one"
    """The neighbouring relation that the epsilon is accounted for."""
    sampling: Sampling = "poisson"
    """The sampling that the accountant assumes (training may do otherwise, which a verdict then says).

    `poisson`: every step is amplified by sampling at rate batch / n. `shuffle`: each record is in one batch an
    epoch, so an epoch is one Gaussian mechanism and nothing is amplified: valid for batches cut from any order
    (the record is replaced by one without a gradient), where assuming Poisson sampling is not.
    """


def steps_of(n: int, batch_size: int, epochs: int) -> int:
    """Optimizer steps: `epochs` times the number of whole batches in `n` records."""
    return epochs * (n // batch_size)


def to_replace_one(epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) under replace-one that add/remove-one (epsilon, delta) implies.

    Replacing a record is removing one and adding another: group privacy over two steps gives
    (2 epsilon, (1 + exp(epsilon)) delta). Infinity stays infinity; delta is capped at 1.
    """
    if np.isinf(epsilon):
        return inf, min(1.0, 2 * delta)
    return 2 * epsilon, float(min(1.0, (1 + np.exp(min(epsilon, 700.0))) * delta))


def add_remove_target(epsilon: float, delta: float, adjacency: Adjacency) -> tuple[float, float]:
    """What to account for under add/remove-one so that `adjacency` has (epsilon, delta)."""
    if adjacency == "add-remove-one":
        return epsilon, delta
    return epsilon / 2, delta / (1 + float(np.exp(min(epsilon / 2, 700.0))))


def _event(noise_multiplier: float, n: int, batch_size: int, steps: int, sampling: Sampling) -> Any:
    import dp_accounting as dpa

    if sampling == "shuffle":
        epochs = -(-steps // (n // batch_size))
        return dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(noise_multiplier), epochs)
    step = dpa.PoissonSampledDpEvent(batch_size / n, dpa.GaussianDpEvent(noise_multiplier))
    return dpa.SelfComposedDpEvent(step, steps)


def _accountant() -> Any:
    import dp_accounting as dpa

    return dpa.rdp.RdpAccountant(neighboring_relation=dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)


@cache
def epsilon_of(
    noise_multiplier: float, n: int, batch_size: int, steps: int, delta: float, sampling: Sampling = "poisson"
) -> float:
    """Epsilon (add/remove-one) spent by DP-SGD; infinite without noise."""
    if noise_multiplier == 0:
        return inf
    accountant = _accountant()
    accountant.compose(_event(noise_multiplier, n, batch_size, steps, sampling))
    return float(accountant.get_epsilon(delta))


@cache
def noise_multiplier_for(
    epsilon: float,
    n: int,
    batch_size: int,
    steps: int,
    delta: float,
    adjacency: Adjacency = "add-remove-one",
    sampling: Sampling = "poisson",
) -> float:
    """Smallest noise multiplier whose accounted epsilon is at most `epsilon` (0 for infinity).

    Under replace-one the noise is that of the add/remove-one guarantee which implies it by group
    privacy (see `to_replace_one`). Raises HarnessError where the accountant cannot certify so small
    an epsilon, or where a step would need more records than there are.
    """
    if np.isinf(epsilon):
        return 0.0
    if batch_size > n or steps < 1:
        raise AboutPrivacy(f"privacy: a batch of {batch_size} from {n} records makes no whole step")
    import dp_accounting as dpa
    from dp_accounting import mechanism_calibration

    target_epsilon, target_delta = add_remove_target(epsilon, delta, adjacency)
    try:
        found = dpa.calibrate_dp_mechanism(
            _accountant,
            lambda sigma: _event(sigma, n, batch_size, steps, sampling),
            target_epsilon,
            target_delta,
            tol=CALIBRATION_TOLERANCE,
        )
    except (mechanism_calibration.NoBracketIntervalFoundError, ValueError) as error:
        # dp-accounting also gives up with a ValueError where rounding makes a divergence negative.
        raise AboutPrivacy(
            f"privacy: the RDP accountant finds no noise for epsilon {epsilon} at delta {delta} and {steps} steps "
            f"({error}); use a larger epsilon or delta"
        ) from None
    return float(found)
