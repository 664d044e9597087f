"""What claims need to know of an arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.coordinates import Place
from harness.formulas.gaussian import least_shuffled_epsilon, shuffled_epsilon


@dataclass(frozen=True)
class ArmFacts:
    """What claims need to know of an arm, besides its measurements."""

    delta: float | None
    """None: nothing is known of it."""
    prior: float | None = 0.5
    """Share of members among the records attacked; None: it is not known."""
    at: Mapping[Place, Mapping[str, float]] = field(default_factory=dict)
    """Where axes vary them: `delta` and `prior` at each place."""
    shuffled_epochs: int | None = None
    """Where the accountant assumes other batches than the shuffled ones trained on: for how long."""
    batches: tuple[int, float] | None = (1, 1.0)
    """Of an epoch, and the share of the records in one of them (`harness.formulas.gaussian.batches_of_epoch`); None: it
    varies by chance how many records are trained on."""
    batches_at: Mapping[Place, tuple[int, float] | None] = field(default_factory=dict)
    """The same at each place, where axes vary it."""
    batch_clipped: bool = False
    """The mean of a batch is clipped, which one record moves by up to twice the norm, be it removed or replaced."""
    draws: str = ""
    """Names the way to draw records; arms of one name have the same records in each repeat."""
    epsilons_left_out: tuple[float, ...] = ()
    """Those of the declared grid that the profile does not run."""

    @property
    def nonmember_share(self) -> float | None:
        """Least share of non-members among the records attacked, over all places; None: it is not known."""
        priors = [self.prior, *(known.get("prior") for known in self.at.values())]
        shares = [1 - prior for prior in priors if prior is not None]
        return min(shares, default=None)

    def epsilon_as_trained(self, noise_multiplier: float, at: Place, replace: bool) -> tuple[float, float] | None:
        """What noise gives at a place for the shuffled batches that were trained on, from below and from above; None:
        the accountant assumes these batches, or nothing is known of delta.

        `replace`: for a record that is replaced, else for one that is removed.
        """
        if self.shuffled_epochs is None or self.delta is None:
            return None
        batches, least = self.batches_at.get(at, self.batches), 0.0
        if batches is not None and not self.batch_clipped:
            count, share = batches
            least = least_shuffled_epsilon(noise_multiplier, count, self.shuffled_epochs, self.delta, replace, share)
        above = shuffled_epsilon(noise_multiplier, self.shuffled_epochs, self.delta, replace or self.batch_clipped)
        return least, above
