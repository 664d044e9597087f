"""What tests of the t-mixture share."""

from __future__ import annotations

import numpy as np

from harness.inference import TMixtureCS
from harness.inference.t_mixture import _log_martingale


def log_martingale(mean: TMixtureCS, value: float) -> np.ndarray:
    """(n,) log M_1(value), log M_2(value), ..."""
    counts = np.arange(1, mean.n + 1)
    return _log_martingale(counts, mean.moments.means - value, mean.moments.stderrs)
