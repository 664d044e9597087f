"""The bounds against mpmath at 400 digits, and against an independent optimum by linear programming."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from harness.errors import HarnessError
from harness.formulas import FORMULAS, formula_named
from harness.formulas.advantage import optimal_advantage


def evaluate(name: str, epsilon: float, delta: float) -> float:
    return FORMULAS[name].value({"epsilon": epsilon, "delta": delta})


EXACT = {
    "yeom": lambda e, d: mpmath.e**e - 1,
    "erlingsson": lambda e, d: 1 - mpmath.e ** (-e) * (1 - d),
    "humphries": lambda e, d: (mpmath.e**e - 1 + 2 * d) / (mpmath.e**e + 1),
}


@given(st.sampled_from(sorted(EXACT)), st.floats(0, 50), st.floats(0, 1))
def test_formulas_to_twelve_digits(name: str, epsilon: float, delta: float) -> None:
    # 400 digits: the printed formulas cancel almost completely for tiny epsilon and delta.
    with mpmath.workdps(400):
        exact = EXACT[name](mpmath.mpf(epsilon), mpmath.mpf(delta))
        result = float(FORMULAS[name].function(np.float64(epsilon), np.float64(delta)))
        assert abs(mpmath.mpf(result) - exact) <= 1e-12 * abs(exact) + mpmath.mpf("1e-300")


@pytest.mark.parametrize("name", sorted(EXACT))
def test_extremes_are_finite_and_clipped(name: str) -> None:
    values = np.array([evaluate(name, e, 1e-5) for e in (0.0, 1e-300, 700.0, 5000.0, math.inf)])
    assert np.isfinite(values).all()
    assert ((values >= 0) & (values <= 1)).all()
    assert values[-1] == values[-2] == 1.0


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2, 1.0])
def test_optimum_over_all_tests_by_linear_programming(epsilon: float, delta: float) -> None:
    """max TPR - FPR subject to the two (epsilon, delta) inequalities and their mirror images."""
    e = math.exp(epsilon)
    solved = linprog([-1, 1], A_ub=[[1, -e], [e, -1]], b_ub=[delta, e - 1 + delta], bounds=[(0, 1), (0, 1)])
    assert optimal_advantage(np.array(epsilon), np.array(delta)) == pytest.approx(-solved.fun, abs=1e-9)


@given(st.floats(0, 20), st.floats(0, 1))
def test_humphries_bound_is_the_optimum_and_the_others_are_above(epsilon: float, delta: float) -> None:
    best = float(optimal_advantage(np.array(epsilon), np.array(delta)))
    assert float(evaluate("humphries", epsilon, delta)) == pytest.approx(best, abs=1e-10)
    assert float(evaluate("erlingsson", epsilon, delta)) >= best - 1e-10
    assert float(evaluate("yeom", epsilon, 0)) >= float(optimal_advantage(np.array(epsilon), np.array(0.0))) - 1e-10


def test_randomized_response_attains_the_bound() -> None:
    """Randomized response tells its bit truthfully with probability e^eps / (1 + e^eps): advantage tanh(eps/2)."""
    for epsilon in (0.1, 1.0, 3.0):
        truthful = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert truthful - (1 - truthful) == pytest.approx(float(evaluate("humphries", epsilon, 0)), abs=1e-12)


def test_an_unknown_formula_is_named_with_the_nearest() -> None:
    with pytest.raises(HarnessError, match="unknown formula 'humphreys'; did you mean humphries"):
        formula_named("humphreys")


def test_a_formula_says_what_it_lacks() -> None:
    with pytest.raises(HarnessError, match="formula humphries needs delta"):
        FORMULAS["humphries"].value({"epsilon": 1.0})


def test_bounds_say_what_they_bound_and_for_which_neighbours() -> None:
    """Every bound on advantage is known to be one, with its adjacency: claims convert epsilon by it."""
    assert {n: f.adjacency for n, f in FORMULAS.items() if f.bounds == "advantage"} == dict.fromkeys(
        EXACT, "replace-one"
    )
    assert FORMULAS["ppv-upper"].bounds == "positive accuracy"
    assert FORMULAS["tpr-at-fpr"].value({"epsilon": math.log(90), "delta": 0.0, "fpr": 0.01}) == pytest.approx(0.9)
