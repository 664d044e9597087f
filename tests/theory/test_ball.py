"""Balls enclose: values and derivatives against mpmath at random points of random intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from harness.formulas import FORMULAS, numbers
from harness.theory.ball import PRECISION, Ball, in_high_precision
from harness.theory.compound import LIFT
from harness.theory.leaves import Named
from harness.theory.program import Encloser

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (numbers.exp, mpmath.exp),
    "expm1": (numbers.expm1, mpmath.expm1),
    "log": (numbers.log, mpmath.log),
    "sqrt": (numbers.sqrt, mpmath.sqrt),
    "tanh": (numbers.tanh, mpmath.tanh),
    "erfc": (numbers.erfc, mpmath.erfc),
    "normal_cdf": (numbers.normal_cdf, mpmath.ncdf),
    "quotient": (lambda x: (x * x - 1.0) / (2.0 + x), lambda x: (x * x - 1) / (2 + x)),
    "mixture": (lambda x: 1.0 / (1.0 + numbers.exp(-1.0 * x)) - x, lambda x: 1 / (1 + mpmath.exp(-x)) - x),
}


@pytest.fixture(autouse=True, scope="module")
def _precision() -> Iterator[None]:
    with in_high_precision():
        yield


def test_precision_is_given_back() -> None:
    with ctx.workprec(60):
        with in_high_precision():
            assert ctx.prec == PRECISION
        assert ctx.prec == 60


def inside(value: Any, exact: Any) -> bool:
    """The exact number, as an mpmath string, lies in the ball."""
    from flint import arb

    return bool(value.overlaps(arb(mpmath.nstr(exact, 40))))


@pytest.mark.parametrize("name", FUNCTIONS)
@given(low=st.floats(0.01, 5), width=st.floats(0, 3), share=st.floats(0, 1))
def test_value_and_derivatives_are_enclosed(name: str, low: float, width: float, share: float) -> None:
    mine, reference = FUNCTIONS[name]
    high = low + width
    x = min(high, low + share * width)
    result = mine(Ball.variable(low, high, 0, 1))
    with mpmath.workdps(60):
        point = mpmath.mpf(x)
        assert inside(result.value, reference(point))
        assert inside(result.gradient[0], mpmath.diff(reference, point))
        if width > 1e-3:  # a numerical second derivative has its own error, far below such an enclosure's width
            assert inside(result.hessian[0][0], mpmath.diff(reference, point, 2))


def test_mixed_derivatives() -> None:
    x, y = Ball.variable(0.5, 0.5, 0, 2), Ball.variable(2.0, 2.0, 1, 2)
    result = numbers.exp(x * y) / (1.0 + y)
    f = lambda a, b: mpmath.exp(a * b) / (1 + b)  # noqa: E731
    with mpmath.workdps(50):
        mixed = mpmath.diff(f, (mpmath.mpf("0.5"), mpmath.mpf(2)), (1, 1))
        assert float(abs(result.hessian[0][1].mid() - float(mixed))) < 1e-12
    assert bool(result.hessian[0][1].overlaps(result.hessian[1][0]))


@pytest.mark.parametrize("name", sorted(n for n, q in FORMULAS.items() if q.exact))
def test_every_formula_is_the_same_on_floats_and_on_balls(name: str) -> None:
    rng = np.random.default_rng(1)
    term = Named(formula=name)
    compared = 0
    for _ in range(20):
        at = {n: float(v) for n, v in zip(sorted(term.variables()), rng.uniform(0.05, 0.9, 9), strict=False)}
        with np.errstate(all="ignore"):
            on_floats = float(np.asarray(term.evaluate({n: np.array([v]) for n, v in at.items()})).ravel()[0])
        on_balls = float(term.evaluate({n: Ball.constant(v, 0) for n, v in at.items()}).value.mid())
        if np.isfinite(on_floats) and np.isfinite(on_balls):
            assert on_floats == pytest.approx(on_balls, rel=1e-7, abs=1e-12)
            compared += 1
    assert compared >= 5


def ranges_of(ball: Any) -> list[str]:
    """Value and derivatives with all their digits."""
    derivatives = [*ball.gradient, *(h for row in ball.hessian for h in row)]
    return [
        f"{v.mid().man_exp()} {v.rad().man_exp()}" if v.is_finite() else "infinite" for v in (ball.value, *derivatives)
    ]


@pytest.mark.parametrize("name", sorted(n for n, q in FORMULAS.items() if q.exact))
def test_a_program_encloses_what_balls_enclose(name: str) -> None:
    term = Named(formula=name)
    names = sorted(term.variables())
    rng = np.random.default_rng(2)
    domain = {n: (float(low), float(low + 0.05)) for n, low in zip(names, rng.uniform(0.05, 0.9, 9), strict=False)}
    domain[names[0]] = (domain[names[0]][0],) * 2  # one that has a single value
    encloser = Encloser(term.evaluate, domain)
    for share in (1.0, 0.5, 0.25):  # one program, several boxes
        box = tuple((low, low + share * (high - low)) for low, high in domain.values())
        sides = enumerate(zip(names, box, strict=True))
        balls = {n: Ball.variable(*side, i, len(names)) for i, (n, side) in sides}
        known = term.evaluate({**balls, LIFT: lambda value: Ball.constant(value, len(names))})
        every, last = tuple(range(len(names))), len(names) - 1
        assert ranges_of(encloser.enclose(box, every, drops_zeros=False)) == ranges_of(known)
        if "infinite" not in ranges_of(known):
            assert ranges_of(encloser.enclose(box, every)) == ranges_of(known)
            assert ranges_of(encloser.enclose(box, (last,)))[1] == ranges_of(known)[1 + last]


def test_zero_times_infinity_is_no_number_unless_zeros_are_dropped() -> None:
    """The logarithm's slope on [0, 1] is infinite, which says nothing of the other variable."""
    domain = {"x": (0.0, 1.0), "y": (1.0, 2.0)}
    encloser = Encloser(lambda at: numbers.log(at["x"]) + at["y"], domain)
    box = tuple(domain.values())
    assert encloser.enclose(box, (0, 1)).gradient[1] == 1
    assert not encloser.enclose(box, (0, 1), drops_zeros=False).gradient[1].is_finite()
