"""Exact accounting, for either sampling, and its central limit."""

from __future__ import annotations

import math

from harness.formulas.gaussian import epsilon_of_mu, shuffled_epsilon
from harness.privacy.accountants.accountant import Accountant, Run, register

GRID_SHARE = 1e-4
"""Width of the grid that privacy losses are rounded up to, as a share of epsilon."""


@register
class Gaussian(Accountant):
    """The exact epsilon of one Gaussian mechanism an epoch (Balle and Wang 2018; Dong, Roth and Su 2022)."""

    name = "gaussian"
    title = "exact, shuffled batches"
    composes_over = "epochs"
    samplings = ("shuffle",)
    source = "Balle and Wang 2018, Theorem 8; E compositions are one of mu = sqrt(E) / sigma"

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        return shuffled_epsilon(noise_multiplier, run.epochs, run.delta)


@register
class Pld(Accountant):
    """Privacy loss distributions of Poisson-sampled steps: exact up to a grid that losses are rounded up to."""

    name = "pld"
    title = "exact, Poisson batches"
    composes_over = "steps"
    samplings = ("poisson",)
    source = "dp-accounting, privacy loss distributions (Koskela et al. 2020)"

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        # The grid follows the answer: a coarse one first, then one fine beside what it gave.
        coarse = self._on_grid(noise_multiplier, run, 0.05)
        return self._on_grid(noise_multiplier, run, min(0.05, max(1e-7, GRID_SHARE * coarse)))

    @staticmethod
    def _on_grid(noise_multiplier: float, run: Run, interval: float) -> float:
        import dp_accounting as dpa

        step = dpa.PoissonSampledDpEvent(run.rate, dpa.GaussianDpEvent(noise_multiplier))
        accountant = dpa.pld.PLDAccountant(value_discretization_interval=interval)
        accountant.compose(dpa.SelfComposedDpEvent(step, run.steps))
        return float(accountant.get_epsilon(run.delta))


@register
class Gdp(Accountant):
    """The central limit of Poisson-sampled steps: mu = q sqrt(T (exp(1 / sigma^2) - 1)). It may understate epsilon."""

    name = "gdp"
    title = "Gaussian DP, central limit"
    composes_over = "steps"
    samplings = ("poisson",)
    source = "Bu, Dong, Long and Su 2020, Corollary 4"
    approximate = True

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        exponent = noise_multiplier**-2
        if exponent > 700:
            return math.inf
        return epsilon_of_mu(run.rate * math.sqrt(run.steps * math.expm1(exponent)), run.delta)
