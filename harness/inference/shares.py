"""Of how large a share of all repeats something holds, and how rare an outcome may be that none showed."""

from __future__ import annotations

import math

import scipy
from scipy import special


def rarity_bound(n: int, alpha: float) -> float:
    """N, where an outcome that is drawn once in N repeats, or more often, is missed by `n` repeats with a chance of at
    most `alpha`."""
    return 1 / -math.expm1(math.log(alpha) / n)


def share_at_least(holds: int, n: int, alpha: float, looked: bool = False) -> float:
    """Lower confidence bound of the share of all repeats in which something holds that held in `holds` of `n`.

    Exact for a number of repeats fixed beforehand (Clopper and Pearson 1934): n of n mean at least alpha^(1/n). With
    `looked`, for repeats that were added while one looked: the beta-binomial mixture (Robbins 1970), in which a share p
    is excluded once B(holds + 1, n - holds + 1) / (p^holds (1 - p)^(n - holds)) reaches 1 / alpha.
    """
    if holds == 0:
        return 0.0
    if not looked:
        return float(special.betaincinv(holds, n - holds + 1, alpha))
    mixture = float(special.betaln(holds + 1, n - holds + 1))

    def excess(p: float) -> float:
        return mixture - float(special.xlogy(holds, p) + special.xlog1py(n - holds, -p)) + math.log(alpha)

    return float(scipy.optimize.brentq(excess, 1e-300, holds / n)) if excess(holds / n) < 0 else 0.0
