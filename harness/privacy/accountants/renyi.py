"""Renyi composition over steps, as TensorFlow Privacy accounts, at whichever order is best."""

from __future__ import annotations

from harness.errors import HarnessError
from harness.formulas import Adjacency
from harness.privacy.accountants.accountant import Accountant, Run, register
from harness.privacy.accounting import Sampling, noise_multiplier_for
from harness.privacy.lattice import Step
from harness.privacy.moments import best_order

VISIBLE = 5e-3
"""The share by which noise over the listed orders is above that of the best order, from which on it is said."""


@register
class Renyi(Accountant):
    """RDP of sampled Gaussian steps (Mironov 2017; Mironov, Talwar and Zhang 2019), at the order of least epsilon.

    An experiment's noise (`calibrated`) is dp-accounting's over the orders that it lists, 1.1 to 1024, as TensorFlow
    Privacy has it. That is valid, and more than needed where the best order lies beyond the list or between two of its
    orders; `remark` says so.
    """

    name = "rdp"
    title = "Renyi composition"
    composes_over = "steps"
    samplings = ("poisson", "shuffle")
    source = "dp-accounting, as TensorFlow Privacy uses it; orders of its own beside the listed"

    def calibrated(self, epsilon: float, run: Run, adjacency: Adjacency, sampling: Sampling) -> float:
        return noise_multiplier_for(epsilon, run.n, run.batch_size, run.steps, run.delta, adjacency, sampling)

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        return best_order(Step(noise_multiplier, run.rate), run.steps, run.delta).epsilon

    def remark(self, epsilon: float, run: Run) -> str:
        best = self.noise_multiplier(epsilon, run)
        if best == 0:
            return ""
        try:
            listed = noise_multiplier_for(epsilon, run.n, run.batch_size, run.steps, run.delta)
        except HarnessError:
            return "over dp-accounting's listed orders, as an experiment has it, there is no noise"
        order = best_order(Step(best, run.rate), run.steps, run.delta).order
        if listed <= best * (1 + VISIBLE):
            return ""
        said = f"{order:.4g}" if order > 2 else f"1 + {order - 1:.3g}"
        return f"at order {said}; over dp-accounting's listed orders, as an experiment has it, {listed:.6g}"
