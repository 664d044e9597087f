"""What declared noise multipliers are worth, in words."""

from __future__ import annotations

import math
from functools import cache

from harness.experiment.setup import Setup
from harness.privacy.accountants import ACCOUNTANTS, Run


def worth_of_noise(setup: Setup) -> str:
    """In words, which epsilons the declared noise of a set-up gives, by the accountant that made it and by the set-up's
    own.

    Empty where noise is calibrated.
    """
    privacy, training = setup.privacy, setup.training
    declared = privacy.noise_multipliers
    if declared is None or not isinstance(privacy.epsilons, tuple):
        return ""
    epsilons = [epsilon for epsilon in privacy.epsilons if math.isfinite(epsilon)]
    noises = tuple(declared.values[epsilon] for epsilon in epsilons)
    nominal = ", ".join(f"{epsilon:g}" for epsilon in epsilons)
    here = Run(setup.train_size, training.batch_size, training.epochs, privacy.delta)
    worth = [
        f"for the {here.n:,} records here {_epsilon_text(privacy.accountant, noises, here)} by {privacy.accountant}"
    ]
    made = declared.made_for
    if declared.made_by is not None and made is not None:
        run = Run(made.records, made.batch_size, made.epochs, privacy.delta)
        worth.insert(0, f"for {run.n:,} records {_epsilon_text(declared.made_by, noises, run)} by {declared.made_by}")
    return f"Noise is declared, not calibrated: nominal epsilons {nominal} are worth, {'; '.join(worth)}."


LEAST_NOISE = 1e-3
"""The noise multiplier below which no accountant is asked: it hides nothing, as where a model is only clipped."""


@cache
def _epsilon_text(accountant: str, noises: tuple[float, ...], run: Run) -> str:
    worth = (ACCOUNTANTS[accountant].epsilon(noise, run) if noise >= LEAST_NOISE else math.inf for noise in noises)
    return ", ".join(_number_text(epsilon) for epsilon in worth)


def _number_text(epsilon: float) -> str:
    if math.isinf(epsilon):
        return "no finite epsilon"
    return f"{epsilon:.3g}" if epsilon < 999.5 else f"{epsilon:.0f}"
