"""Terms written as formulas, definitions of a spec, sums, optima, and claims of one point: against other computations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from harness.claims.expression import Operation
from harness.errors import HarnessError
from harness.paths import Project
from harness.report.mathml import mathml
from harness.spec.load import load_spec
from harness.theory.domain import number
from harness.theory.elementary import ELEMENTARY
from harness.theory.term import DEFINITIONS, Term, definitions, read_definitions
from harness.theory.written import MOST_CHARACTERS, TextFault, read_term
from tests.claims.judged import PARSE
from tests.conftest import REPO, run_cli

TERM: TypeAdapter[Any] = TypeAdapter(Term)
PYTHON = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "erf": math.erf,
    "erfc": math.erfc,
    "Phi": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
    "max": max,
    "min": min,
}
"""What Python itself has for the functions of a formula: the reference."""


def term(text: object, **written: object) -> Any:
    return TERM.validate_python(text, context={DEFINITIONS: read_definitions(written)})


@given(st.integers(-20, 20), st.integers(0, 30), st.floats(-3, 3))
def test_an_optimum_over_integers_is_that_of_all_of_them(low: int, many: int, a: float) -> None:
    ends = f"for k in integers({low}, {low + many})"
    values = [(k - a) ** 2 - k for k in range(low, low + many + 1)]
    for name, best in (("min", min), ("max", max)):
        read = term(f"{name}((k - a) ** 2 - k {ends})")
        assert read.evaluate({"a": a}) == pytest.approx(best(values), rel=1e-12, abs=1e-12)
        assert read.variables() == {"a"}
        assert "integers" in "".join(mathml(read.tree()))


@pytest.mark.parametrize("ends", ["0.5, 3", "3, 1", "0, 20000"])
def test_an_optimum_over_no_integers_or_too_many_says_so(ends: str) -> None:
    with pytest.raises(ValueError, match="an optimum is of at most 10,000 integers, not from"):
        term(f"min(k for k in integers({ends}))").evaluate({})


def texts() -> st.SearchStrategy[str]:
    """Formulas of x and y with values everywhere in (0, 1)."""
    leaves = st.sampled_from(["x", "y", "0.25", "2", "1e-3"])

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            inner.map(lambda t: f"(1 / (1 + ({t}) ** 2))"),
            inner.map(lambda t: f"-({t})"),
            st.tuples(st.sampled_from(["tanh", "erf", "erfc", "Phi"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
            inner.map(lambda t: f"exp(tanh({t}))"),
            inner.map(lambda t: f"log(1 + sqrt(({t}) ** 2))"),
            st.tuples(st.sampled_from(["max", "min"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        )

    return st.recursive(leaves, grow, max_leaves=8)


@given(texts(), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_formula_has_the_value_that_python_gives_it(text: str, x: float, y: float) -> None:
    read = term(text)
    reference = eval(text, {"__builtins__": {}}, {**PYTHON, "x": x, "y": y})
    at = {"x": x, "y": y}
    assert number(read, at) == pytest.approx(reference, rel=1e-9, abs=1e-9)
    assert float(read.evaluate(at)) == pytest.approx(reference, rel=1e-9, abs=1e-9)
    assert read.variables() <= {"x", "y"}
    assert term(read.model_dump(mode="json")) == read


@pytest.mark.parametrize("name", [name for name, one in ELEMENTARY.items() if one.exact])
@pytest.mark.parametrize("x", [0.01, 0.7, 3.0])
def test_functions_in_balls_are_those_of_another_library(name: str, x: float) -> None:
    reference = getattr(mpmath, {"Phi": "ncdf"}.get(name, name))(mpmath.mpf(x))
    assert number(term(f"{name}(x)"), {"x": x}) == pytest.approx(float(reference), rel=1e-14)


def test_the_normal_quantile_undoes_the_distribution_function() -> None:
    for p in (0.001, 0.3, 0.999):
        assert number(term("Phi(Phi_inverse(p))"), {"p": p}) == pytest.approx(p, abs=1e-12)


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.01, 0.99))
def test_binomials_are_sums_of_their_probabilities(n: int, k: int, p: float) -> None:
    """By Python's own integers, beside the library's functions."""
    tail = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
    assert float(term("binomial_tail(n, k, p)").evaluate({"n": n, "k": k, "p": p})) == pytest.approx(tail, abs=1e-9)
    assert float(term("choose(n, k)").evaluate({"n": n, "k": k})) == pytest.approx(math.comb(n, k), rel=1e-9)
    assert term("abs(x - y)").evaluate({"x": 1.0, "y": 3.0}) == 2


def test_powers_are_products_where_the_exponent_is_whole_and_else_by_logarithms() -> None:
    for text, reference in (("x ** 3", 0.027), ("x ** 0", 1.0), ("x ** -2", 1 / 0.09), ("x ** 0.5", math.sqrt(0.3))):
        assert number(term(text), {"x": 0.3}) == pytest.approx(reference, rel=1e-12)
    assert number(term("x ** 3"), {"x": -2.0}) == -8
    assert number(term("x ** y"), {"x": 2.0, "y": 1.5}) == pytest.approx(2**1.5)


def test_sums_over_integers_with_both_ends() -> None:
    assert number(term("sum(p ** i for i in integers(0, 3))"), {"p": 0.5}) == pytest.approx(1.875)
    assert term("sum(i for i in integers(1, n))").evaluate({"n": 100.0}) == 5050
    assert term("sum(i for i in integers(2, 1))").evaluate({}) == 0
    assert term("sum(p ** i for i in integers(0, 3))").is_exact()
    assert not term("sum(i for i in integers(1, n))").is_exact()
    for ends in ("0.5, 2", "0, 1000000"):
        with pytest.raises(ValueError, match="a sum goes over at most"):
            term(f"sum(i for i in integers({ends}))").evaluate({})


@given(st.floats(0.05, 0.95), st.floats(0.5, 3))
def test_an_optimum_inside_of_an_interval_or_at_its_end(peak: float, height: float) -> None:
    text = "max(h - (x - m) ** 2 for x in interval(0, 1))"
    assert term(text).evaluate({"h": height, "m": peak}) == pytest.approx(height, abs=1e-9)
    assert term("min(x * h for x in interval(1, 2))").evaluate({"h": height}) == pytest.approx(height)
    assert term("max(x * h for x in interval(1, 2))").evaluate({"h": height}) == pytest.approx(2 * height)
    with pytest.raises(ValueError, match="is empty"):
        term("max(x for x in interval(2, 1))").evaluate({})


@given(st.floats(-3, 0), st.floats(0.1, 3))
def test_integrals_are_those_of_the_distribution_function(low: float, high: float) -> None:
    text = "integral(exp(-x ** 2 / 2) for x in interval(a, b)) / 2.5066282746310002"
    expected = float(term("Phi(b) - Phi(a)").evaluate({"a": low, "b": high}))
    assert term(text).evaluate({"a": low, "b": high}) == pytest.approx(expected, abs=1e-9)
    stepped = term("integral(step(x - c) for x in interval(a, b))")
    assert not stepped.is_exact()
    with pytest.raises(ValueError, match="is known to"):
        term("integral(1 / x for x in interval(0, 1))").evaluate({})


def test_a_step_is_one_from_zero_on() -> None:
    assert [float(term("step(x)").evaluate({"x": x})) for x in (-1e-9, 0.0, 2.0)] == [0, 1, 1]


def test_a_definition_knows_its_parameters_alone_and_says_what_it_means() -> None:
    written = {
        "loss": {"of": ["epsilon", "mu"], "is": "epsilon / mu - mu / 2", "where": "Section 2"},
        "gdp-delta": {
            "of": ["epsilon", "mu"],
            "is": "Phi(-loss(epsilon, mu)) - exp(epsilon) * Phi(-loss(epsilon, mu) - mu)",
        },
    }
    called = term("gdp_delta(2 * epsilon, mu=1)", **written)
    assert called.variables() == {"epsilon"}
    assert called.is_exact()
    assert number(called, {"epsilon": 0.5}) == pytest.approx(number(term("gaussian_delta(1, 1)"), {}), abs=1e-12)
    means = definitions(called)
    assert means["loss"] == "loss(epsilon, mu) = (epsilon / mu) - (mu / 2) [Section 2]"
    assert means["gdp-delta"].endswith("[defined in the spec]")
    by_name = term({"formula": "gdp-delta", "given": {"mu": 1}}, **written)
    assert by_name.variables() == {"epsilon"}
    assert by_name.tree().text() == "gdp-delta(epsilon, 1)"


@pytest.mark.parametrize(
    "text",
    [
        "exp(",
        "x if y else z",
        "x.__class__",
        "x[0]",
        "(lambda: 1)()",
        "exp(1)(2)",
        "'a'",
        "True",
        "x < y",
        "[x]",
        "f(*x)",
        "f(**x)",
        "exp(x=1)",
        "max(x for x in range(3))",
        "max(x for x in interval(0, 1) if x)",
        "median(x for x in interval(0, 1))",
        "1 // 2",
        "x = 1",
        "(" * 300 + "x" + ")" * 300,
        "+".join(["x"] * 600),
        "x" * (MOST_CHARACTERS + 1),
    ],
)
def test_what_is_no_formula_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(TextFault):
        read_term(text)


def test_text_is_never_run(tmp_path: Path) -> None:
    for text in (f"open({str(tmp_path / 'made')!r}, 'w')", "__import__('os')", "exec('1')"):
        with pytest.raises(ValidationError):
            term(text)
    assert list(tmp_path.iterdir()) == []


def judged(left: Any, relation: str, right: Any, over: Any = None, **more: Any) -> Any:
    return PARSE(
        {"kind": "inequality", "left": left, "relation": relation, "right": right, "over": over or {}, **more}
    ).judge()


def test_what_is_written_is_proved_over_an_interval() -> None:
    over = {"x": {"low": 0, "high": 5}}
    assert judged("Phi(x)", ">=", 0.5, over).basis == "proof"
    assert judged("Phi(x)", ">=", 0.5, over).outcome == "reproduced"
    assert judged("x ** 2", "<=", "exp(x)", over).outcome == "reproduced"
    assert judged("x ** 3", "<=", "exp(x)", over).outcome == "violated"


def test_one_point_is_enough_where_some_is_asked_for() -> None:
    over = {"epsilon": {"low": 0, "high": 3}}
    found = judged("exp(epsilon) - 1", ">", 3, over, **{"for": "some"})
    assert (found.outcome, found.basis, found.why.found) == ("reproduced", "proof", "holds-at")
    assert found.why.left > found.why.right == 3
    assert 0 <= found.why.at["epsilon"] <= 3
    none = judged("exp(epsilon) - 1", ">", 30, over, **{"for": "some"})
    assert (none.outcome, none.basis) == ("violated", "proof")
    assert none.counterexample["left"] < 30
    on_a_grid = judged("Phi_inverse(Phi(epsilon))", ">=", 2.9, over, **{"for": "some"})
    assert (on_a_grid.outcome, on_a_grid.basis) == ("reproduced", "computed")
    strict = judged("x ** 2", "<", 0, {"x": {"low": -1, "high": 1}}, **{"for": "some"})
    touched = judged("x ** 2", "<=", 0, {"x": {"values": [-1, 0, 1]}}, **{"for": "some"})
    assert (strict.outcome, touched.outcome) == ("violated", "reproduced")


@pytest.mark.parametrize(("relation", "over"), [("=", {"x": {"low": 0, "high": 1}}), (">", {})])
def test_some_needs_an_order_and_a_domain(relation: str, over: Any) -> None:
    with pytest.raises(ValidationError, match="for: some"):
        judged("x" if over else 1, relation, 0, over, **{"for": "some"})


SPEC = """\
paper: own
title: Own formulas
where: Section 2
define:
  half: {of: [x], is: "x / 2"}
  quarter: {of: [x], is: "half(half(x))"}
claims:
  - id: quarter
    kind: theory
    where: Section 2
    statement: A quarter of 8 is 2.
    origin: ours
    expect: {kind: inequality, left: "quarter(8)", relation: "=", right: 2}
"""


def load(folder: Path, text: str) -> Any:
    path = folder / "own.yaml"
    path.write_text(text)
    return load_spec(Project(REPO), path).spec


def test_a_spec_may_define_formulas_one_of_another(tmp_path: Path) -> None:
    spec = load(tmp_path, SPEC)
    assert spec.claims[0].theory[0].judge().outcome == "reproduced"
    ran = run_cli(REPO, "judge", str(tmp_path / "own.yaml"), "--json", "-q")
    assert ran.returncode == 0, ran.stderr
    assert "quarter(x) = half(half(x)) [defined in the spec]" in ran.stdout


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('"x / 2"', '"x / y"', 5, "define.half: uses y, which `of` does not list"),
        ('[x], is: "x / 2"', '[x, y], is: "x / 2"', 5, "define.half: `of` lists y, which the formula does not use"),
        ("half(half(x))", "quarter(x)", 6, "define.quarter.is: unknown formula 'quarter'"),
        ("half(half(x))", "half(x, x)", 6, "define.quarter.is: half takes 1 arguments"),
        ("quarter(8)", "quarter(8", 13, "claims.0.expect.left: 'quarter(8' is no formula"),
        ("quarter(8)", "eighth(8)", 13, "claims.0.expect.left: unknown formula 'eighth'"),
        ("  half:", "  exp:", 5, "define.exp: is the name of a function"),
        ("  half:", "  yeom:", 5, "define.yeom: is the name of a registered formula"),
        (
            '  half: {of: [x], is: "x / 2"}\n  quarter: {of: [x], is: "half(half(x))"}\n',
            "  - x\n",
            4,
            "define: a mapping",
        ),
    ],
)
def test_faults_of_definitions_have_one_line_each(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    with pytest.raises(HarnessError) as raised:
        load(tmp_path, SPEC.replace(old, new))
    (only,) = raised.value.lines
    assert f"own.yaml:{line}: {says}" in only


def test_a_power_is_raised_on_the_page() -> None:
    assert "<msup>" in mathml(term("x ** 2").tree())
    assert isinstance(term("-x").tree().inside, Operation)
    assert term("-x").tree().text() == "(- x)"
    assert np.isfinite(number(term("-x"), {"x": 1.0}))
