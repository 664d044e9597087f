"""Naive, advanced and zCDP composition, by the formulas of the code released with jayaraman2019.

All three compose over epochs: an epoch's batches are disjoint, so a record is in one Gaussian mechanism an epoch,
and nothing is amplified by sampling. The formulas give the noise; the epsilon of a noise is their inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness.errors import PrivacyError
from harness.formulas.gaussian import noise_advanced, noise_naive, noise_zcdp
from harness.privacy.accountants.accountant import Accountant, Run, register

# The source of all three, as tables of accountants print it.
RELEASED = "jayaraman2019, released code"


class Released(Accountant):
    """An accountant whose noise is a formula of epsilon, delta and the number of epochs."""

    composes_over = "epochs"
    samplings = ("shuffle",)
    source = RELEASED
    formula: ClassVar[Callable[..., float]]

    @property
    def modules(self) -> tuple[str, ...]:
        return (*super().modules, noise_naive.__module__)

    def _solve(self, epsilon: float, run: Run) -> float:
        return float(type(self).formula(epsilon, run.delta, float(run.epochs)))

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        from scipy import optimize

        def excess(epsilon: float) -> float:
            return self._solve(epsilon, run) - noise_multiplier  # falls as epsilon rises

        low, high = 1.0, 1.0
        while excess(low) < 0:
            low /= 2
        while excess(high) > 0:
            high *= 2
            if high > 1e300:
                raise PrivacyError(f"privacy: at noise multiplier {noise_multiplier:g} epsilon is beyond 1e300")
        return float(optimize.brentq(excess, low, high, xtol=1e-12 * low, rtol=1e-12)) if low < high else low


@register
class Naive(Released):
    """Naive composition: each of E epochs spends epsilon / E and delta / E, by the classical Gaussian mechanism."""

    name = "naive"
    title = "naive composition"
    formula = staticmethod(noise_naive)


@register
class Advanced(Released):
    """Advanced composition over epochs (Dwork, Rothblum and Vadhan 2010)."""

    name = "advanced"
    title = "advanced composition"
    formula = staticmethod(noise_advanced)


@register
class Zcdp(Released):
    """Composition over epochs by zero-concentrated DP (Bun and Steinke 2016)."""

    name = "zcdp"
    title = "zCDP composition"
    formula = staticmethod(noise_zcdp)
