"""The prover proves what is true, refutes what is false, and never the other way round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.formulas import numbers
from harness.theory import ball
from harness.theory import prove as prove_module
from harness.theory.compound import LIFT
from harness.theory.identity import are_identical
from harness.theory.leaves import Named
from harness.theory.prove import prove, prove_sign
from harness.theory.term import Term

UNIT = {"x": (0.0, 1.0)}


def test_a_touching_inequality_is_proved() -> None:
    """exp(x) >= 1 + x touches to second order at 0."""
    result = prove(lambda at: numbers.exp(at["x"]) - 1.0 - at["x"], {"x": (-3.0, 3.0)}, 1e-9)
    assert result.outcome == "proved"


def test_a_dip_that_the_sample_misses_is_found() -> None:
    """A hole of width 1e-4 at a place that no regular lattice hits."""
    centre = 0.123456789
    result = prove(lambda at: (at["x"] - centre) * (at["x"] - centre) - 1e-8, UNIT, 0.0)
    assert result.outcome == "refuted"
    assert abs(result.at["x"] - centre) < 1e-4


def test_strict_needs_more_than_equality() -> None:
    assert prove(lambda at: at["x"] * 1.0, UNIT, 0.0).outcome == "proved"
    assert prove(lambda at: at["x"] * 1.0, UNIT, 0.0, strict=True).outcome == "refuted"
    assert prove(lambda at: at["x"] + 1e-12, UNIT, 0.0, strict=True).outcome == "proved"


def test_what_cannot_be_decided_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_module, "MAX_BOXES", 50)
    domain = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    gap = lambda at: (at["x"] - at["y"]) * (at["x"] - at["y"])  # noqa: E731  (zero on a diagonal)
    assert prove(gap, domain, 0.0).outcome == "undecided"
    # x - x is zero for all x, and its range over a box is not.
    assert prove(lambda at: numbers.tanh(at["x"]) - numbers.tanh(at["x"]), UNIT, 0.0).outcome in ("proved", "undecided")


def power_sum(coefficients: list[float], x: float) -> Any:
    return sum(mpmath.mpf(c) * mpmath.mpf(x) ** i for i, c in enumerate(coefficients))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=2, max_size=5), st.floats(0, 1))
def test_a_proof_is_never_contradicted(coefficients: list[float], where: float) -> None:
    def polynomial(at: Mapping[str, Any]) -> Any:
        total = at["x"] * 0.0
        for c in reversed(coefficients):
            total = total * at["x"] + c
        return total

    result = prove(polynomial, UNIT, 1e-9)
    with mpmath.workdps(40):
        exact = power_sum(coefficients, where)
        if result.outcome == "proved":
            assert exact >= -1.0001e-9
        elif result.outcome == "refuted":
            assert power_sum(coefficients, result.at["x"]) < 0


def test_trends() -> None:
    hump = lambda at: at["x"] * (1.0 - at["x"])  # noqa: E731
    assert prove_sign(hump, {"x": (0.0, 0.5)}, "x", 1).outcome == "proved"
    assert prove_sign(hump, {"x": (0.0, 0.6)}, "x", 1).outcome == "refuted"
    assert prove_sign(hump, {"x": (0.5, 1.0)}, "x", -1).outcome == "proved"


def side(declared: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Term).validate_python(declared).evaluate


def test_identities() -> None:
    names = ["epsilon", "delta"]
    assert are_identical(side({"formula": "humphries"}), side({"formula": "optimal-advantage"}), names)
    assert not are_identical(side({"formula": "humphries"}), side({"formula": "erlingsson"}), names)
    # Equal, but not a rational function of exp(epsilon): nothing is concluded.
    root = {"formula": "zcdp", "given": {"k": 1, "log_inverse_delta": {"variable": "delta"}}}
    assert not are_identical(side(root), side(root), names)


def test_identities_tell_exponents_apart() -> None:
    third = side({"formula": "exp-minus-one", "given": {"epsilon": {"ratio": [{"variable": "epsilon"}, 3]}}})
    half = side({"formula": "exp-minus-one", "given": {"epsilon": {"ratio": [{"variable": "epsilon"}, 2]}}})
    assert are_identical(third, third, ["epsilon"])
    assert not are_identical(third, half, ["epsilon"])


def test_constants_follow_the_sort_of_number() -> None:
    """A term without variables is still evaluated in high precision inside a proof."""
    named = Named.model_validate({"formula": "threshold-ppv", "given": {"threshold": -400, "sigma": 4.0412}})
    with ball.in_high_precision():
        value = named.evaluate({LIFT: lambda v: ball.Ball.constant(v, 0)}).value
    assert 1e-12 < float(1 - value) < 1e-9
