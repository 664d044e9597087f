"""Renyi composition over steps, as TensorFlow Privacy accounts."""

from __future__ import annotations

from harness.formulas import Adjacency
from harness.privacy.accountants.accountant import Accountant, Run, register
from harness.privacy.accounting import Sampling, epsilon_of, noise_multiplier_for


@register
class Renyi(Accountant):
    """RDP of sampled Gaussian steps (Mironov 2017; Mironov, Talwar and Zhang 2019), by dp-accounting."""

    name = "rdp"
    title = "Renyi composition"
    composes_over = "steps"
    samplings = ("poisson", "shuffle")
    source = "dp-accounting, as TensorFlow Privacy uses it"

    def calibrated(self, epsilon: float, run: Run, adjacency: Adjacency, sampling: Sampling) -> float:
        return noise_multiplier_for(epsilon, run.n, run.batch_size, run.steps, run.delta, adjacency, sampling)

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        return epsilon_of(noise_multiplier, run.n, run.batch_size, run.steps, run.delta)

    def _solve(self, epsilon: float, run: Run) -> float:
        return noise_multiplier_for(epsilon, run.n, run.batch_size, run.steps, run.delta)
