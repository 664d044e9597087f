"""The number of epochs that a record is in, where each epoch leaves some records out."""

from __future__ import annotations

import math

import numpy as np
import scipy

from harness.arrays import Array

MOST_TIMES, GROUPS, FAR = 4000, 500, 12.0
"""From `MOST_TIMES` epochs on, the numbers of them that a record may be in are taken in `GROUPS` groups, which reach
`FAR` standard deviations about their mean."""


def times_in_epochs(epochs: int, share: float) -> tuple[Array, Array]:
    """The numbers of epochs that a record may be in, (k,), and the natural logarithms of their chances, (k,).

    `share` is the chance that one epoch has the record. Of many epochs, neighbouring numbers count as the least of
    them: a record in fewer epochs moves the sum by less, so what follows from it is a lower bound still.
    """
    if epochs < MOST_TIMES:
        few = np.arange(epochs + 1)
        return few, scipy.stats.binom.logpmf(few, epochs, share)
    mean, reach = epochs * share, FAR * math.sqrt(epochs * share * (1 - share))
    edges = np.linspace(max(0.0, mean - reach), min(float(epochs), mean + reach), GROUPS)
    times = np.unique(np.append(0.0, np.floor(edges)))
    below = np.append(scipy.stats.binom.cdf(times - 1, epochs, share), 1.0)
    above = np.append(scipy.stats.binom.sf(times - 1, epochs, share), 0.0)
    # By the smaller tails: above the mean the lower ones are near 1, and their difference would lose digits.
    chances = np.where(times < mean, np.diff(below), -np.diff(above))
    with np.errstate(divide="ignore"):
        return times, np.log(chances)
