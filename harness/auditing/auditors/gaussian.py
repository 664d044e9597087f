"""Epsilon of the Gaussian mechanism that the scores look like (Gaussian DP; Dong, Roth, Su 2022)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import scipy

from harness.auditing.auditor import AUDITORS, Auditor, Bound, Trials, check_question
from harness.errors import HarnessError
from harness.formulas.gaussian import epsilon_of_mu

DOUBTFUL = 1e-3
FARTHEST = 1e3
"""Deviations: of larger distances SciPy's non-central t is wrong (its series ends early). A shorter distance gives a
smaller mu, so the bound still holds; its epsilon is above 100,000."""


@AUDITORS.register
class Gaussian(Auditor):
    """The distance of two normal distributions in deviations, mu, and epsilon of a mu-GDP mechanism at delta.

    Much tighter than rates at thresholds where it applies: the sum of a canary's noisy gradients over all steps of
    DP-SGD is normal, and so is a linear model's weight on a column of its own.
    """

    kind: Literal["gaussian"] = "gaussian"
    summary: ClassVar[str] = "two normals, by Gaussian DP"

    def bound(self, trials: Trials, delta: float, level: float = 0.95) -> Bound:
        check_question(delta, level)
        if delta == 0:
            raise HarnessError("audit: the Gaussian mechanism has no epsilon at delta 0; name a delta above 0")
        inside, outside = trials.inside, trials.outside
        m, n = len(inside), len(outside)
        spread = np.sqrt(((m - 1) * inside.var(ddof=1) + (n - 1) * outside.var(ddof=1)) / (m + n - 2))
        gap = float(inside.mean() - outside.mean())
        assumes = "both groups of scores are normal with the same variance"
        if spread == 0:
            epsilon = float("inf") if gap > 0 else 0.0
            return Bound(self.plugin_name(), epsilon, level, "scores do not vary", assumes)
        seen = gap / float(spread)
        mu = _least_mu(seen, 1 / m + 1 / n, m + n - 2, 1 - level)
        fits = [float(scipy.stats.normaltest(s).pvalue) for s in (inside, outside) if len(s) >= 20]
        if fits and min(fits) * len(fits) < DOUBTFUL:
            assumes += f"; they do not look it (p = {min(fits) * len(fits):.2g})"
        why = f"mu {seen:.3f}, at least {max(0.0, mu):.3f}, from {m} and {n} runs"
        return Bound(self.plugin_name(), epsilon_of_mu(mu, delta) if mu > 0 else 0.0, level, why, assumes)


def _least_mu(seen: float, share: float, degrees: int, alpha: float) -> float:
    """Smallest mu at which a distance of `seen` pooled deviations or more has the chance `alpha`; at least 0.

    Over the root of `share`, 1/m + 1/n, the distance is non-central t with mu over that root.
    """
    scale, seen = float(np.sqrt(share)), min(seen, FARTHEST)

    def excess(mu: float) -> float:
        return float(scipy.stats.nct.sf(seen / scale, degrees, mu / scale)) - alpha

    if seen <= 0 or excess(0.0) >= 0:
        return 0.0
    return float(scipy.optimize.brentq(excess, 0.0, seen, xtol=1e-9))
