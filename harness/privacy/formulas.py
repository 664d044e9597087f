"""The numbers that accountants compute, as formulas that claims may name."""

from __future__ import annotations

from harness.formulas import computed
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.privacy.accounting import noise_multiplier_for


@computed("noise-rdp", "least sigma that the RDP accountant certifies", "dp_accounting, as TF Privacy uses it")
def noise_rdp(epsilon: float, delta: float, n: float = 1.0, batch: float = 1.0, epochs: float = 1.0) -> float:
    """The noise multiplier for DP-SGD by RDP; by default for one full-batch step. Raises HarnessError as
    `noise_multiplier_for` does."""
    size = int(batch)
    return noise_multiplier_for(float(epsilon), int(n), size, int(epochs) * (int(n) // size), float(delta))


@computed("poisson-epsilon", "epsilon of Poisson-sampled Gaussian steps", "privacy loss distributions, from both sides")
def poisson_epsilon(delta: float, noise: float, n: float, batch: float, epochs: float) -> float:
    """The epsilon of DP-SGD on Poisson batches, from above and at most 0.5% too large.

    Raises HarnessError where the accountant `pld` has none.
    """
    return ACCOUNTANTS["pld"].epsilon(float(noise), Run(int(n), int(batch), int(epochs), float(delta)))
