"""Elementary functions of whatever a formula is evaluated on: floats, arrays, balls, rational functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

Number = Any
"""A float, an array of floats, a ball, or a rational function; all know the four operations."""


def nodes_and_weights(count: int) -> tuple[Any, Any]:
    """The nodes and weights of Gauss and Legendre's rule on [-1, 1], (count,) each.

    The rule is exact for polynomials of degree 2 count - 1.

    >>> nodes, weights = nodes_and_weights(2)
    >>> round(float(weights @ nodes**2), 12)
    0.666666666667
    """
    legendre: Any = np.polynomial.legendre
    nodes, weights = legendre.leggauss(count)
    return nodes, weights


def _function(name: str, floats: Callable[[Any], Any]) -> Callable[[Number], Number]:
    def apply(x: Number) -> Number:
        method = getattr(x, name, None)  # balls and rational functions have methods, floats and arrays do not
        return floats(x) if method is None else method()

    return apply


# One name for each, so that a formula is written once and evaluated on floats, arrays, balls and rational functions.
exp = _function("exp", np.exp)
expm1 = _function("expm1", np.expm1)
log = _function("log", np.log)
sqrt = _function("sqrt", np.sqrt)
tanh = _function("tanh", np.tanh)
erfc = _function("erfc", lambda x: scipy.special.erfc(x))  # looked up when asked for: SciPy loads slowly


def normal_cdf(x: Number) -> Number:
    """The probability that a standard normal variable is at most `x`.

    >>> float(normal_cdf(0.0))
    0.5
    """
    like = getattr(x, "like", None)  # a ball's own constants carry its precision
    root = math.sqrt(2.0) if like is None else like(2.0).sqrt()
    return 0.5 * erfc(-1.0 * x / root)
