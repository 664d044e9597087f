"""The contract of a formula, and of a bound."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.hashing import generator
from harness.testing.nonconformance import NonConformance, require

POINTS = 40


def check_formula(name: str, **ranges: tuple[float, float]) -> None:
    """Whether a formula keeps the contract: it can be computed over its ranges, the same each time; in ball arithmetic
    it gives what it gives on floats; a bound lies in [0, 1] and does not fall as epsilon or delta grows.

    Args:
        ranges: lowest and highest value of each parameter that has no default.

    Raises NonConformance.
    """
    require(name in FORMULAS, f"no formula is called {name!r}; is the module with its @formula imported?")
    formula = FORMULAS[name]
    require(formula.text.strip() and formula.source.strip(), f"{name}: says not what it is, or not where it is from")
    missing = [p for p in formula.parameters if p not in formula.defaults and p not in ranges]
    require(not missing, f"{name}: give a range of {', '.join(missing)}")
    strangers = set(ranges) - set(formula.parameters)
    require(not strangers, f"{name}: has no parameter {', '.join(sorted(strangers))}")
    rng = generator(0, "conformance", name)
    for _ in range(POINTS):
        at = {p: float(rng.uniform(low, high)) for p, (low, high) in ranges.items()}
        value = _value(name, at)
        require(value == _value(name, at), f"{name}: computed twice at {at} it differs")
        require(math.isfinite(value), f"{name}: is {value} at {at}")
        if formula.exact:
            _check_ball(name, at)
        if formula.bounds is not None:
            _check_bound(name, at, value, ranges)


def _value(name: str, at: Mapping[str, float]) -> float:
    try:
        return FORMULAS[name].value(at)
    except HarnessError as error:
        raise NonConformance(f"{name}: {error}") from None


def _check_ball(name: str, at: Mapping[str, float]) -> None:
    from harness.theory.ball import Ball, in_high_precision

    function = FORMULAS[name].function
    with in_high_precision(), np.errstate(all="ignore"):
        balls = {p: Ball.variable(v, v, i, len(at), order=1) for i, (p, v) in enumerate(at.items())}
        try:
            enclosed = function(**balls)
        except (TypeError, AttributeError) as error:
            raise NonConformance(
                f"{name}: cannot be computed in ball arithmetic ({error}); use harness.formulas.numbers, or "
                "register it with @computed"
            ) from None
        exactly = float(enclosed.value.mid()) if isinstance(enclosed, Ball) else float(enclosed)
        plainly = float(function(**at))
    close = math.isclose(exactly, plainly, rel_tol=1e-6, abs_tol=1e-9)
    require(close, f"{name}: on floats it is {plainly:g} at {dict(at)}, and in ball arithmetic {exactly:g}")


def _check_bound(name: str, at: Mapping[str, float], value: float, ranges: Mapping[str, tuple[float, float]]) -> None:
    require(0 <= value <= 1, f"{name}: bounds {FORMULAS[name].bounds} by {value:g} at {dict(at)}")
    for parameter in {"epsilon", "delta"} & set(ranges):
        more = {**at, parameter: ranges[parameter][1]}
        allowed = _value(name, more)
        require(
            allowed >= value - 1e-12,
            f"{name}: a bound does not fall as {parameter} grows; it is {value:g} at {dict(at)}, {allowed:g} at {more}",
        )
