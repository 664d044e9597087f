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
from harness.errors import PrivacyError
from harness.formulas import Adjacency

# How a batch is drawn, as an accountant assumes it.
Sampling = Literal["poisson", "shuffle"]
# The absolute error to which dp-accounting searches for a noise multiplier.
CALIBRATION_TOLERANCE = 1e-6
# The least delta that is accounted at: below it floats lose digits, and soon are 0.
SMALLEST_DELTA = 1e-300
# The strides of the search for the best order among those that dp-accounting lists.
STEPS = (16, 4, 1)
"""From one order that is looked at to the next: first over all, then around the best so far."""


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
    """The number of optimizer steps: `epochs` times the number of whole batches in `n` records.

    >>> steps_of(1050, 100, 5)
    50
    """
    return epochs * (n // batch_size)


def to_replace_one(epsilon: float, delta: float) -> tuple[float, float]:
    """The (epsilon, delta) under replace-one that add/remove-one (epsilon, delta) implies.

    Replacing a record is removing one and adding another: group privacy over two steps gives
    (2 epsilon, (1 + exp(epsilon)) delta). Infinity stays infinity; delta is capped at 1.

    >>> to_replace_one(1.0, 0.0)
    (2.0, 0.0)
    """
    if np.isinf(epsilon):
        return inf, min(1.0, 2 * delta)
    return 2 * epsilon, float(min(1.0, (1 + np.exp(min(epsilon, 700.0))) * delta))


def add_remove_target(epsilon: float, delta: float, adjacency: Adjacency) -> tuple[float, float]:
    """The (epsilon, delta) to account for under add/remove-one so that `adjacency` has (epsilon, delta).

    Raises HarnessError where that is a delta smaller than numbers can be.
    """
    if adjacency == "add-remove-one" or np.isinf(epsilon):
        return epsilon, delta
    target_delta = delta * float(np.exp(-np.logaddexp(0.0, epsilon / 2)))
    if target_delta < SMALLEST_DELTA:
        raise PrivacyError(
            f"privacy: replace-one at epsilon {epsilon:g} follows by group privacy from a delta below "
            f"{SMALLEST_DELTA:g} under add-remove-one, which is out of reach; use a smaller epsilon, "
            "or adjacency: add-remove-one"
        )
    return epsilon / 2, delta / (1 + float(np.exp(epsilon / 2)))


def _event(noise_multiplier: float, n: int, batch_size: int, steps: int, sampling: Sampling) -> Any:
    """DP-SGD as an event of dp-accounting."""
    import dp_accounting as dpa

    if sampling == "shuffle":
        epochs = -(-steps // (n // batch_size))
        return dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(noise_multiplier), epochs)
    step = dpa.PoissonSampledDpEvent(batch_size / n, dpa.GaussianDpEvent(noise_multiplier))
    return dpa.SelfComposedDpEvent(step, steps)


class _FewOrders:
    """The Renyi accountant of dp-accounting, of whose 156 orders only those near the least epsilon are computed.

    The epsilon of an order a is N(a) / (a - 1) with N convex: the composed log-moment is, and so is what converting it
    adds. So the orders with at most any one epsilon lie in a row, and the least of all lies beside the least of some.
    """

    def __init__(self, known: dict[Any, tuple[float, int]] | None = None) -> None:
        """Start without an event; `known` remembers epsilons, and places of best orders, of like events."""
        import dp_accounting as dpa

        self.ledger = dpa.NoOpDpEvent()
        self._event: Any = None
        self._known = {} if known is None else known

    def compose(self, event: Any) -> _FewOrders:
        """Account for this one event."""
        self._event = event
        return self

    def get_epsilon(self, delta: float) -> float:
        """The epsilon at `delta` as the accountant of all orders gives it."""
        import dp_accounting as dpa

        last = len(dpa.rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS) - 1
        key = self._event, delta
        if key not in self._known:
            near = next(reversed(self._known.values()))[1] if self._known else None
            self._known[key] = self._least_near(delta, near, last) or self._of_all(delta, last)
        return self._known[key][0]

    def _least_near(self, delta: float, near: int | None, last: int) -> tuple[float, int] | None:
        """The least epsilon and its place, by steps downhill from the place `near`; None where that leads nowhere."""
        if near is None:
            return None
        epsilons: dict[int, float] = {}

        def epsilon_at(place: int) -> float:
            if place not in epsilons:
                epsilons[place] = self._least_epsilon(delta, range(place, place + 1))[0]
            return epsilons[place]

        place, step, grows = near, 1, True
        try:
            while step:
                beside = [p for p in (place - step, place + step) if 0 <= p <= last]
                lower = min(beside, key=epsilon_at, default=place)
                grows = grows and epsilon_at(lower) < epsilon_at(place)
                place = lower if epsilon_at(lower) < epsilon_at(place) else place
                step = 2 * step if grows else step // 2
        except ValueError:  # of an order that others may be better than
            return None
        return (epsilon_at(place), place) if epsilon_at(place) < inf else None

    def _of_all(self, delta: float, last: int) -> tuple[float, int]:
        """The least epsilon and its place, looked for among all orders, ever more finely."""
        low, high = 0, last
        for step in STEPS:
            places = range(low, high + 1, step)
            least = self._least_epsilon(delta, places)
            low, high = max(low, least[1] - step), min(high, least[1] + step) if least[1] != places[-1] else high
        return least

    def _least_epsilon(self, delta: float, places: range) -> tuple[float, int]:
        """The least epsilon of the orders at these places, and its place; the first where none has one."""
        import dp_accounting as dpa

        orders = [float(dpa.rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS[i]) for i in places]
        some = dpa.rdp.RdpAccountant(orders, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE).compose(self._event)
        epsilon, order = some.get_epsilon_and_optimal_order(delta)
        return float(epsilon), places[orders.index(order)] if order in orders else places[0]


@cache
def epsilon_of(
    noise_multiplier: float, n: int, batch_size: int, steps: int, delta: float, sampling: Sampling = "poisson"
) -> float:
    """The epsilon (add/remove-one) that DP-SGD spends, over dp-accounting's listed orders; infinite without noise.

    Raises HarnessError where dp-accounting gives up, as it does where rounding makes a divergence negative.

    >>> round(epsilon_of(1.1, 60_000, 600, 1000, 1e-5), 2)
    1.71
    """
    if noise_multiplier == 0:
        return inf
    try:
        return _FewOrders().compose(_event(noise_multiplier, n, batch_size, steps, sampling)).get_epsilon(delta)
    except ValueError as error:
        raise PrivacyError(
            f"privacy: dp-accounting has no epsilon for noise multiplier {noise_multiplier:g} in {steps} steps: {error}"
        ) from None


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
    """The smallest noise multiplier whose accounted epsilon is at most `epsilon` (0 for infinity).

    Under replace-one the noise is that of the add/remove-one guarantee which implies it by group
    privacy (see `to_replace_one`). Raises HarnessError where the accountant cannot certify so small
    an epsilon, or where a step would need more records than there are.
    """
    if np.isinf(epsilon):
        return 0.0
    if batch_size > n or steps < 1:
        raise PrivacyError(f"privacy: a batch of {batch_size} from {n} records makes no whole step")
    import dp_accounting as dpa
    from dp_accounting import mechanism_calibration

    target_epsilon, target_delta = add_remove_target(epsilon, delta, adjacency)
    known: dict[Any, tuple[float, int]] = {}
    try:
        noise_multiplier = dpa.calibrate_dp_mechanism(
            lambda: _FewOrders(known),
            lambda sigma: _event(sigma, n, batch_size, steps, sampling),
            target_epsilon,
            target_delta,
            tol=CALIBRATION_TOLERANCE,
        )
    except (mechanism_calibration.NoBracketIntervalFoundError, ValueError) as error:
        # dp-accounting also gives up with a ValueError where rounding makes a divergence negative.
        raise PrivacyError(
            f"privacy: the RDP accountant finds no noise for epsilon {epsilon} at delta {delta} and {steps} steps "
            f"({error}); use a larger epsilon or delta"
        ) from None
    return float(noise_multiplier)
