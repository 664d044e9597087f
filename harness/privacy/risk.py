"""Noise for what attacks may reach: a membership advantage, or a TPR at an FPR, in place of an epsilon.

An (epsilon, delta) guarantee is one point of what a mechanism guarantees. The whole curve of delta over epsilon bounds
the TPR of any attack at each FPR (Dong, Roth and Su 2022), and noise that is found by it is less than noise that is
found by way of one epsilon (Kulynych et al. 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from harness.arrays import Array
from harness.errors import PrivacyError
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.privacy.accounting import Sampling

POINTS = 128
"""The number of epsilons of the curve that are looked at: each gives a bound that holds, and the least is taken."""
FINEST, COARSEST = 1e-4, 5e-4
"""The spaces between the privacy losses of one step: narrow where much noise makes these small."""
LEAST = 0.1
"""The noise multiplier below which none is searched for: losses of a step are too many then."""
TOLERANCE = 1e-4
"""The relative error of a noise multiplier that is searched for."""


@dataclass(frozen=True)
class Risk:
    """A limit that no attack may pass: on its TPR less its FPR, or where `fpr` is given on its TPR at that FPR.

    Raises HarnessError for a limit that is not between 0 and 1, or an FPR that is not between 0 and the limit.

    >>> round(Risk(0.1).epsilon(1e-5), 4), round(Risk(0.1, fpr=0.01).largest_mu(), 4)
    (0.2007, 1.0448)
    """

    limit: float
    fpr: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.limit < 1:
            name = "--advantage" if self.fpr is None else "--tpr"
            raise PrivacyError(f"{name} {self.limit:g}: it has to lie between 0 and 1, such as 0.1")
        if self.fpr is not None and not 0 < self.fpr < self.limit:
            raise PrivacyError(
                f"--at-fpr {self.fpr:g}: it has to lie between 0 and the TPR, {self.limit:g}, which guessing reaches"
            )

    def of_gaussian(self, mu: float) -> float:
        """The number that the best attack on one Gaussian mechanism reaches, whose mean is `mu` deviations apart."""
        if self.fpr is None:
            return float(2 * scipy.special.ndtr(mu / 2) - 1)
        return float(scipy.special.ndtr(scipy.special.ndtri(self.fpr) + mu))

    def largest_mu(self) -> float:
        """The `mu` of the Gaussian mechanism on which the best attack just reaches the limit."""
        if self.fpr is None:
            return float(2 * scipy.special.ndtri((1 + self.limit) / 2))
        return float(scipy.special.ndtri(self.limit) - scipy.special.ndtri(self.fpr))

    @property
    def epsilons(self) -> Array:
        """The epsilons at which the curve of delta can give a bound near the limit, (n,)."""
        if self.fpr is None:
            return np.zeros(1)
        farthest: float = max(math.log(self.limit / self.fpr), -math.log1p(-self.limit))
        return np.linspace(0.0, farthest, POINTS)

    def of_deltas(self, deltas: Array) -> float:
        """The least bound on what attacks reach that the deltas at `epsilons`, (n,), give."""
        if self.fpr is None:
            return float(deltas[0])
        above = np.exp(self.epsilons) * self.fpr + deltas
        below = 1 - np.exp(-self.epsilons) * (1 - self.fpr - deltas)
        return float(min(above.min(), below.min(), 1.0))

    def epsilon(self, delta: float) -> float:
        """The largest epsilon that keeps the limit at delta, whatever the mechanism.

        Raises HarnessError where none does.
        """
        if self.fpr is None:
            odds = (1 + self.limit - 2 * delta) / (1 - self.limit)
        elif self.limit > delta:
            odds = max((self.limit - delta) / self.fpr, (1 - self.fpr - delta) / (1 - self.limit))
        else:
            odds = 0.0
        if odds <= 1:
            raise PrivacyError(
                f"privacy: no epsilon bounds it at delta {delta:g}, which is too large; give a smaller one"
            )
        return math.log(odds)


def success_bound(risk: Risk, noise_multiplier: float, run: Run, sampling: Sampling) -> float:
    """The number that no attack passes at this noise, from above."""
    if sampling == "shuffle":
        return risk.of_gaussian(math.sqrt(run.epochs) / noise_multiplier)
    losses = _losses(noise_multiplier, run.rate, run.steps)
    return risk.of_deltas(np.asarray(losses.get_delta_for_epsilon(risk.epsilons)))


def noise_for_risk(risk: Risk, run: Run, sampling: Sampling) -> float:
    """The least noise multiplier, to `TOLERANCE`, at which no attack passes the limit.

    `shuffle`: without amplification, an epoch is one Gaussian mechanism. Raises HarnessError where none is found.
    """
    if sampling == "shuffle":
        return math.sqrt(run.epochs) / risk.largest_mu()

    def excess(log_noise: float) -> float:
        return success_bound(risk, math.exp(log_noise), run, sampling) - risk.limit

    # Sampling makes attacks no better, so the noise without it is enough. The search goes down from there, since
    # distributions of losses have more points, and take longer, as noise falls.
    high = math.log(noise_for_risk(risk, run, "shuffle"))
    low = high - math.log(2)
    while excess(low) <= 0:
        low, high = low - math.log(2), low
        if low < math.log(LEAST):
            raise PrivacyError(f"privacy: a noise multiplier below {LEAST:g} keeps that limit, which is not looked for")
    noise = math.exp(scipy.optimize.brentq(excess, low, high, xtol=TOLERANCE / 4))
    while success_bound(risk, noise, run, sampling) > risk.limit:
        noise *= 1 + TOLERANCE / 2
    return float(noise)


def noise_by_epsilon(risk: Risk, run: Run, sampling: Sampling) -> tuple[float, float]:
    """The epsilon at `run.delta` that keeps the limit whatever the mechanism, and the noise multiplier for it.

    Raises HarnessError where no epsilon keeps it, or no noise has that epsilon.
    """
    epsilon = risk.epsilon(run.delta)
    return epsilon, ACCOUNTANTS["gaussian" if sampling == "shuffle" else "pld"].noise_multiplier(epsilon, run)


@lru_cache(maxsize=4)
def _losses(noise_multiplier: float, rate: float, steps: int) -> Any:
    """The privacy loss distribution of all steps, rounded so that it overstates what an attack reaches."""
    from dp_accounting.pld import privacy_loss_distribution

    step = privacy_loss_distribution.from_gaussian_mechanism(
        noise_multiplier,
        value_discretization_interval=min(COARSEST, max(FINEST, COARSEST / noise_multiplier)),
        sampling_prob=rate,
        use_connect_dots=True,
    )
    return step.self_compose(steps)
