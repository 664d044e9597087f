"""Accounting without amplification for shuffled batches, exact accounting for Poisson ones, and its central limit."""

from __future__ import annotations

import math

from harness.errors import PrivacyError
from harness.formulas.gaussian import batches_of_epoch, epsilon_of_mu, least_shuffled_epsilon, shuffled_epsilon
from harness.privacy import convolution, lattice, sampled_gaussian
from harness.privacy.accountants.accountant import Accountant, Run, register
from harness.privacy.sampled_gaussian import Sides, Steps, epsilon_above, sampled_epsilon

ADJUSTMENTS = 20
"""How often noise is raised a little until both directions of its epsilon are below what was asked for."""


@register
class Gaussian(Accountant):
    """The exact epsilon of one Gaussian mechanism an epoch (Balle and Wang 2018; Dong, Roth and Su 2022)."""

    name = "gaussian"
    title = "without amplification, shuffled batches"
    composes_over = "epochs"
    samplings = ("shuffle",)
    source = "Balle and Wang 2018, Theorem 8; E compositions are one of mu = sqrt(E) / sigma"

    def sides(self, noise_multiplier: float, run: Run) -> Sides:
        """The epsilon that no accounting can go under (Chua et al. 2024), and the one that this one certifies."""
        batches, share = batches_of_epoch(run.n, run.batch_size)
        low = least_shuffled_epsilon(noise_multiplier, batches, run.epochs, run.delta, share=share)
        return Sides(low, self.epsilon(noise_multiplier, run))

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        try:
            return shuffled_epsilon(noise_multiplier, run.epochs, run.delta)
        except ArithmeticError as error:
            raise PrivacyError(f"privacy: {error}") from None


@register
class Pld(Accountant):
    """The epsilon of Poisson-sampled steps by privacy loss distributions, from both sides; the upper one counts."""

    name = "pld"
    title = "exact to 0.5%, Poisson batches"
    composes_over = "steps"
    samplings = ("poisson",)
    source = "privacy loss distributions (Koskela et al. 2020; Doroshenko et al. 2022), from both sides"

    @property
    def modules(self) -> tuple[str, ...]:
        return (*super().modules, *(module.__name__ for module in (convolution, lattice, sampled_gaussian)))

    def sides(self, noise_multiplier: float, run: Run) -> Sides:
        return sampled_epsilon(_steps(noise_multiplier, run), run.delta)

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        return self.sides(noise_multiplier, run).high

    def _solve(self, epsilon: float, run: Run) -> float:
        try:
            sigma = self._search(epsilon, run, lambda noise, run: epsilon_above(_steps(noise, run), run.delta), 1e-6)
            for _ in range(ADJUSTMENTS):
                # The search looked at one direction and the first width; this is both, where both sides agree.
                spent = self.epsilon(sigma, run)
                if spent <= epsilon:
                    return sigma
                sigma *= max(spent / epsilon, 1 + 1e-7)
        except PrivacyError as error:
            why = str(error).removeprefix("privacy: ")
            raise PrivacyError(f"privacy: the pld accountant finds no noise for epsilon {epsilon:g}: {why}") from None
        raise PrivacyError(f"privacy: the pld accountant finds no noise for epsilon {epsilon:g} at delta {run.delta:g}")


def _steps(noise_multiplier: float, run: Run) -> Steps:
    return Steps(noise_multiplier, run.rate, run.steps)


@register
class Gdp(Accountant):
    """The epsilon of Poisson-sampled steps by their central limit, mu = q sqrt(T (exp(1 / sigma^2) - 1)).

    It may understate epsilon.
    """

    name = "gdp"
    title = "Gaussian DP, central limit"
    composes_over = "steps"
    samplings = ("poisson",)
    source = "Bu, Dong, Long and Su 2020, Corollary 4"
    approximate = True

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        # By logarithms: the power of e may overflow where mu does not.
        exponent = noise_multiplier**-2
        log_mu = math.log(run.rate) + 0.5 * math.log(run.steps) + 0.5 * (exponent + math.log(-math.expm1(-exponent)))
        if log_mu > math.log(1e150):
            raise PrivacyError(
                f"privacy: at noise multiplier {noise_multiplier:g} the central limit's epsilon is beyond 1e300"
            )
        return epsilon_of_mu(math.exp(log_mu), run.delta)
