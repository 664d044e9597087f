"""The share of all repeats in which something holds, and how rare an outcome may be that none showed."""

from __future__ import annotations

import math

import numpy as np
import scipy
from scipy import special

from harness.inference.arrays import Array
from harness.inference.estimates import FEWEST


def rarity_bound(n: int, alpha: float) -> float:
    """The number N such that an outcome drawn once in N repeats, or more often, is seldom missed by all of them.

    Args:
        n: how many repeats there are, at least 1.
        alpha: the chance, between 0 and 1, with which all of them may miss it.

    Returns:
        The largest N with (1 - 1/N)^n at most alpha.

    Raises:
        ValueError: if `n` is below 1 or `alpha` not between 0 and 1.

    >>> [round(rarity_bound(n, 0.025), 1) for n in (6, 10, 40)]
    [2.2, 3.2, 11.4]
    """
    if n < 1 or not 0 < alpha < 1:
        raise ValueError(f"n is {n} and alpha is {alpha:g}; give at least one repeat and a chance between 0 and 1")
    # 1 - alpha^(1/n): of many repeats the power is near 1, and taking it from 1 would lose digits.
    return 1 / -math.expm1(math.log(alpha) / n)


def least_p_value(n: Array | int, rarest: float) -> Array:
    """The smallest p-value that `n` repeats may have: the chance that all miss an outcome drawn once in `rarest`.

    Six repeats are enough for one test in one direction at 0.025, in which they miss an outcome as likely as not in one
    of 64 cases; so it is no larger than that. Any test that is corrected for others needs more. With a `rarest` of 1
    there is no such bound.

    >>> least_p_value(np.array([6, 9, 12]), 3.0).round(4).tolist()
    [0.0156, 0.0156, 0.0077]
    """
    return np.minimum(0.5**FEWEST, np.power(1 - 1 / rarest, np.asarray(n, dtype=np.float64)))


def fewest_repeats(alpha: float, rarest: float) -> int:
    """The fewest repeats whose `least_p_value` is at most `alpha`, between 0 and 1.

    >>> [fewest_repeats(alpha, 3.0) for alpha in (0.025, 0.025 / 2, 0.025 / 5)]
    [6, 11, 14]
    """
    if rarest == 1:
        return 1
    return FEWEST if alpha >= 0.5**FEWEST else math.ceil(math.log(alpha) / math.log1p(-1 / rarest))


def share_at_least(holds: int, n: int, alpha: float, looked: bool = False) -> float:
    """The lower confidence bound of the share of all repeats in which something holds.

    For a number of repeats that was fixed beforehand it is exact (Clopper and Pearson 1934): n of n mean at least
    alpha^(1/n). With `looked`, for repeats that were added while one looked, it is that of the beta-binomial mixture
    (Robbins 1970), in which a share p is excluded once B(holds + 1, n - holds + 1) / (p^holds (1 - p)^(n - holds))
    reaches 1 / alpha.

    Args:
        holds: in how many repeats it held, from 0 to `n`.
        n: how many repeats there are, at least 1.
        alpha: the chance, between 0 and 1, that the bound is above the share.
        looked: whether repeats were added while one looked.

    Returns:
        The bound, from 0 to 1.

    Raises:
        ValueError: if `holds` is not from 0 to `n`.

    >>> round(share_at_least(40, 40, 0.025), 4), round(share_at_least(40, 40, 0.025, looked=True), 4)
    (0.9119, 0.8311)
    """
    if not 0 <= holds <= n:
        raise ValueError(f"it holds in {holds} of {n} repeats; give a number from 0 to {n}")
    if holds == 0:
        return 0.0
    if not looked:
        return float(special.betaincinv(holds, n - holds + 1, alpha))
    mixture = float(special.betaln(holds + 1, n - holds + 1))

    def excess(p: float) -> float:
        return mixture - float(special.xlogy(holds, p) + special.xlog1py(n - holds, -p)) + math.log(alpha)

    # By logarithms, for the powers may be too small for a number. From the share that was seen downwards the excess
    # grows, so it crosses 0 once at most; that it does not means that no share is excluded.
    return float(scipy.optimize.brentq(excess, 1e-300, holds / n)) if excess(holds / n) < 0 else 0.0
