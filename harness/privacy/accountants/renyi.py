"""Renyi composition over steps: as TensorFlow Privacy accounts today, at the best order, and as it did in 2019."""

from __future__ import annotations

import math
from functools import cache

from harness.errors import HarnessError, PrivacyError
from harness.formulas import Adjacency
from harness.privacy.accountants.accountant import Accountant, Run, register
from harness.privacy.accounting import Sampling, noise_multiplier_for
from harness.privacy.lattice import Step
from harness.privacy.moments import best_order, log_moment

# The largest number of steps.
MOST_STEPS = 10**12
"""Of more that are sampled, the rounding of one step's moment decides."""
VISIBLE = 5e-3
"""The share by which noise over the listed orders is above that of the best order, from which on it is said."""


@register
class Renyi(Accountant):
    """RDP of sampled Gaussian steps (Mironov 2017; Mironov, Talwar and Zhang 2019), at the order of least epsilon.

    An experiment's noise (`calibrate`) is dp-accounting's over the orders that it lists, 1.1 to 1024, as TensorFlow
    Privacy has it. That is valid, and more than needed where the best order lies beyond the list or between two of its
    orders; `remark` says so.
    """

    name = "rdp"
    title = "Renyi composition"
    composes_over = "steps"
    samplings = ("poisson", "shuffle")
    source = "dp-accounting, as TensorFlow Privacy uses it; orders of its own beside the listed"

    def calibrate(self, epsilon: float, run: Run, adjacency: Adjacency, sampling: Sampling) -> float:
        return noise_multiplier_for(epsilon, run.n, run.batch_size, run.steps, run.delta, adjacency, sampling)

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        _check_number(run)
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
        shown = f"{order:.4g}" if order > 2 else f"1 + {order - 1:.3g}"
        return f"at order {shown}; over dp-accounting's listed orders, as an experiment has it, {listed:.6g}"


# The orders at which `Renyi2019` looks.
ORDERS_2019 = (1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0, 4.5, *map(float, range(5, 64)), 128.0, 256.0, 512.0)
"""Of Renyi divergences, as scripts of TensorFlow Privacy listed them in 2019."""


@register
class Renyi2019(Accountant):
    """RDP of sampled Gaussian steps by the orders and the conversion of 2019: epsilon = RDP + ln(1/delta)/(order - 1).

    For add/remove-one neighbours. The conversion (Mironov 2017, Proposition 3) is valid and gives away more than
    today's. No epsilon below ln(1/delta)/511, 0.0225 at delta 1e-5, is within its reach. The noises released with
    jayaraman2019 follow from it, but for the smallest and the largest epsilons (docs/accounting.md).
    """

    name = "rdp-2019"
    title = "Renyi composition of 2019"
    composes_over = "steps"
    samplings = ("poisson",)
    source = "TensorFlow Privacy of May 2019: orders 1.25 to 63, 128, 256, 512; Mironov 2017, Proposition 3"

    @property
    def modules(self) -> tuple[str, ...]:
        return (*super().modules, log_moment.__module__)

    def noise_multiplier(self, epsilon: float, run: Run) -> float:
        least = math.log(1 / run.delta) / (ORDERS_2019[-1] - 1)
        if 0 < epsilon <= least:
            raise PrivacyError(
                f"privacy: no noise gives epsilon {epsilon:g} by the {self.name} accountant; at delta {run.delta:g} "
                f"its largest order reaches {least:.3g}"
            )
        return super().noise_multiplier(epsilon, run)

    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        _check_number(run)
        step, more = Step(noise_multiplier, run.rate), math.log(1 / run.delta)

        @cache
        def of(place: int) -> float:
            order = ORDERS_2019[place]
            return (run.steps * log_moment(step, order) + more) / (order - 1)

        low, high = 0, len(ORDERS_2019) - 1
        while low < high:  # it falls with the order and then rises: its numerator is convex
            middle = (low + high) // 2
            low, high = (low, middle) if of(middle) <= of(middle + 1) else (middle + 1, high)
        return of(low)


def _check_number(run: Run) -> None:
    """Raise HarnessError for a run of more sampled steps than rounding allows."""
    if run.rate < 1 and run.steps > MOST_STEPS:
        raise PrivacyError(
            f"privacy: {run.steps:.6g} sampled steps are too many for Renyi composition, of which rounding would then "
            f"decide; use {MOST_STEPS:,} or fewer, or account over epochs, as gaussian and zcdp do"
        )
