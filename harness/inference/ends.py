"""Effects that are known between two estimates, one on average not too high and one on average not too low."""

from __future__ import annotations

from dataclasses import dataclass

from harness.inference.arrays import Array
from harness.inference.estimates import MeanEstimate, SequentialEstimate

NEAR = 2.0
"""The number of standard errors from 0 within which more repeats may move an end to the other side."""


def clearer_end(not_too_high: MeanEstimate, not_too_low: MeanEstimate) -> MeanEstimate:
    """The estimate of an effect that is known between two ends, one not too high and one not too low on average.

    Where 0 lies between the ends the effect is 0: with the spread of the nearer end, where more repeats may move that
    across 0, else as `Undecidable`.

    >>> from harness.inference import Estimate
    >>> clearer_end(Estimate(0.2, 0.01, 9, 10), Estimate(0.3, 0.01, 9, 10)).mean
    0.2
    >>> clearer_end(Estimate(-0.2, 0.01, 9, 10), Estimate(0.3, 0.01, 9, 10)).p_above(0.0)
    1.0
    """
    if not_too_high.mean > 0:
        return not_too_high
    if not_too_low.mean < 0:
        return not_too_low
    nearer = min(not_too_high, not_too_low, key=lambda end: abs(end.mean))
    if abs(nearer.mean) <= NEAR * nearer.stderr:
        return nearer.shift(-nearer.mean)
    return Undecidable(nearer)


@dataclass(frozen=True)
class Undecidable(SequentialEstimate):
    """An effect of 0, whatever is shifted, that no number of repeats tells from 0."""

    nearer: MeanEstimate
    """The end whose repeats and standard error the effect has."""

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def stderr(self) -> float:
        return self.nearer.stderr

    @property
    def n(self) -> int:
        return self.nearer.n

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        return self.nearer.shift(-self.nearer.mean).interval(level)

    def p_above(self, value: float) -> float:
        return 1.0

    def p_below(self, value: float) -> float:
        return 1.0

    def shift(self, by: float, sign: float = 1.0) -> Undecidable:
        return self

    def project_repeats(self, alpha: float, max_repeats: int) -> int | None:
        return None

    @property
    def repeat_values(self) -> Array | None:
        return None
