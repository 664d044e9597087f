"""The elementary functions that a term may name, and whether what is claimed of them can be proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from harness.formulas.numbers import erfc, exp, log, normal_cdf, sqrt, tanh


@dataclass(frozen=True)
class Elementary:
    """A function of one number, or of several."""

    function: Callable[..., Any]
    text: str
    """What it is, in a few words."""
    exact: bool = True
    """Whether it can be evaluated in ball arithmetic, so that claims are proved over intervals."""
    arguments: int | None = 1
    """How many it takes; None: two or more."""


def _choose(n: Any, k: Any) -> Any:
    return scipy.special.binom(n, k)


def _binomial_tail(n: Any, k: Any, p: Any) -> Any:
    return scipy.stats.binom.sf(k - 1, n, p)


def _step(x: Any) -> Any:
    return np.heaviside(x, 1.0)


def _erf(x: Any) -> Any:
    return 1.0 - erfc(x)


def _normal_quantile(p: Any) -> Any:
    return scipy.special.ndtri(p)


def _largest(*values: Any) -> Any:
    return np.maximum.reduce(values)


def _smallest(*values: Any) -> Any:
    return np.minimum.reduce(values)


ELEMENTARY = {
    "exp": Elementary(exp, "the exponential function"),
    "log": Elementary(log, "the natural logarithm"),
    "sqrt": Elementary(sqrt, "the square root"),
    "tanh": Elementary(tanh, "the hyperbolic tangent"),
    "erf": Elementary(_erf, "the error function"),
    "erfc": Elementary(erfc, "the complementary error function"),
    "Phi": Elementary(normal_cdf, "the standard normal distribution function"),
    "Phi_inverse": Elementary(_normal_quantile, "the quantile of the standard normal distribution", exact=False),
    "step": Elementary(_step, "1 from 0 on, and 0 below", exact=False),
    "abs": Elementary(abs, "the distance from 0", exact=False),
    "choose": Elementary(_choose, "the number of sets of k of n things", exact=False, arguments=2),
    "binomial_tail": Elementary(
        _binomial_tail, "the probability that of n trials at least k succeed, each with probability p", False, 3
    ),
    "max": Elementary(_largest, "the largest of its arguments", exact=False, arguments=None),
    "min": Elementary(_smallest, "the smallest of its arguments", exact=False, arguments=None),
}
"""By the name under which a spec calls each."""


def count_fault(name: str, count: int) -> str:
    """What is wrong with so many arguments of an elementary function; empty where nothing is."""
    wanted = ELEMENTARY[name].arguments
    if wanted is None:
        return "" if count >= 2 else f"{name} takes two arguments or more, found {count}"
    return "" if count == wanted else f"{name} takes {wanted} argument{'s' if wanted > 1 else ''}, found {count}"
