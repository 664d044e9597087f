"""The base of accountants, which say the noise for an epsilon, the epsilon of a noise, and what that is proved for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import scipy

from harness.errors import PrivacyError
from harness.formulas import Adjacency
from harness.privacy.accounting import Sampling, add_remove_target
from harness.privacy.sampled_gaussian import Sides

SMALLEST, LARGEST = 1e-12, 1e15
"""Noise multipliers between which one is searched for."""
# The relative error to which a noise multiplier is searched for.
RELATIVE_TOLERANCE = 1e-9
MOST_COUNTED = 10**18
"""Records, or steps: what is counted in 64 bits."""


@dataclass(frozen=True)
class Run:
    """A run of DP-SGD that is accounted for: `epochs` passes of `n` records in batches of `batch_size`, at `delta`.

    Raises HarnessError where there is no whole step, there are too many, or delta is not between 0 and 1.

    >>> run = Run(n=1000, batch_size=100, epochs=5, delta=1e-5)
    >>> run.steps, run.rate
    (50, 0.1)
    """

    n: int
    batch_size: int
    epochs: int
    delta: float

    def __post_init__(self) -> None:
        if self.batch_size > self.n or self.batch_size < 1 or self.epochs < 1:
            raise PrivacyError(f"privacy: a batch of {self.batch_size} from {self.n} records makes no whole step")
        if max(self.n, self.steps) > MOST_COUNTED:
            raise PrivacyError(
                f"privacy: {self.steps:.6g} steps on {self.n:.6g} records are too many; "
                f"at most {MOST_COUNTED:g} of either"
            )
        if not 0 < self.delta < 1:
            raise PrivacyError(f"privacy: delta is {self.delta:g}, it has to lie between 0 and 1")

    @property
    def steps(self) -> int:
        """The number of whole batches in all epochs."""
        return self.epochs * (self.n // self.batch_size)

    @property
    def rate(self) -> float:
        """The share of the records that is in a batch."""
        return self.batch_size / self.n


class Accountant(ABC):
    """One way to account for DP-SGD with Gaussian noise of `noise_multiplier * l2_norm_clip`.

    The noise multiplier is that of a sum of clipped gradients, in units of the clipping norm.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    composes_over: ClassVar[Literal["epochs", "steps"]]
    samplings: ClassVar[tuple[Sampling, ...]]
    """What it is stated for; the first is the default. `shuffle`: batches cut from a permutation, nothing amplified."""
    adjacency: ClassVar[Adjacency] = "add-remove-one"
    source: ClassVar[str]
    approximate: ClassVar[bool] = False
    """True where it is an approximation and no upper bound."""

    @abstractmethod
    def epsilon(self, noise_multiplier: float, run: Run) -> float:
        """The epsilon that the accountant certifies at `run.delta`, for noise above 0.

        Raises HarnessError where it cannot say.
        """

    def sides(self, noise_multiplier: float, run: Run) -> Sides:
        """The epsilon from below and from above where both are known; else twice what `epsilon` gives."""
        epsilon = self.epsilon(noise_multiplier, run)
        return Sides(epsilon, epsilon)

    def remark(self, epsilon: float, run: Run) -> str:
        """The sentence that a reader of the noise for this epsilon has to know besides; empty where there is none."""
        return ""

    def noise_multiplier(self, epsilon: float, run: Run) -> float:
        """The least noise multiplier for an epsilon (0 for infinity). Raises HarnessError where there is none."""
        if not epsilon > 0:
            raise PrivacyError(f"privacy: epsilon is {epsilon:g}, it has to be above 0")
        if math.isinf(epsilon):
            return 0.0
        return self._solve(epsilon, run)

    def calibrate(self, epsilon: float, run: Run, adjacency: Adjacency, sampling: Sampling) -> float:
        """The least noise multiplier for an epsilon under a neighbouring relation (replace-one by group privacy).

        Raises HarnessError for a sampling that the accountant is not stated for, and where it finds no noise.
        """
        if sampling not in self.samplings:
            known = " or ".join(self.samplings)
            raise PrivacyError(f"privacy: the {self.name} accountant is stated for {known} batches, not {sampling}")
        target, delta = add_remove_target(epsilon, run.delta, adjacency)
        return self.noise_multiplier(target, replace(run, delta=delta))

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules whose code decides the noise of an experiment (`calibrate`)."""
        return ("harness.privacy.accounting", Accountant.__module__, type(self).__module__, "harness.formulas.gaussian")

    def _solve(self, epsilon: float, run: Run) -> float:
        return self._search(epsilon, run, self.epsilon, RELATIVE_TOLERANCE)

    def _search(self, epsilon: float, run: Run, spent: Callable[[float, Run], float], tolerance: float) -> float:
        """The noise at which `spent` gives this epsilon, to a relative tolerance. Epsilon falls as noise rises.

        Raises HarnessError where the noise is not between `SMALLEST` and `LARGEST`.
        """

        def log_excess(log_noise: float) -> float:
            try:
                epsilon_spent = spent(math.exp(log_noise), run)
            except ArithmeticError:
                epsilon_spent = math.inf  # beyond what numbers hold, for too little noise
            return math.log(min(max(epsilon_spent, 1e-300), 1e300) / epsilon)

        sides: dict[bool, float] = {}
        here, stride = 0.0, 0.25
        while len(sides) < 2:
            if not math.log(SMALLEST) <= here <= math.log(LARGEST):
                raise PrivacyError(
                    f"privacy: the {self.name} accountant finds no noise multiplier from {SMALLEST:g} to {LARGEST:g} "
                    f"for epsilon {epsilon:g} at delta {run.delta:g} and {run.epochs} epochs"
                )
            excess = log_excess(here)
            sides[excess > 0] = here
            # Epsilon falls at least about as fast as noise rises, so the excess is about as far as the noise is.
            stride *= 2
            here += math.copysign(min(abs(excess) + 0.1, stride), excess)
        low, high = sides[True], sides[False]
        return math.exp(float(scipy.optimize.brentq(log_excess, low, high, xtol=tolerance)))


# The registered accountants by the name that a spec writes.
ACCOUNTANTS: dict[str, Accountant] = {}


def register(cls: type[Accountant]) -> type[Accountant]:
    """The class decorator that makes an accountant available under its name.

    Raises ValueError where the name is held already.
    """
    if cls.name in ACCOUNTANTS:
        raise ValueError(f"accountant {cls.name!r} is registered twice")
    ACCOUNTANTS[cls.name] = cls()
    return cls
