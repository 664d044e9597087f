"""Verdicts on the bounds: Figure 1's claims come out as mathematics says, not as the paper does."""

from __future__ import annotations

import mpmath
import pytest
from pydantic import TypeAdapter

from harness.claims.expectation import Expectation
from harness.claims.theory import judge_theory
from harness.paths import Project
from harness.pipeline import Context, check
from harness.progress import Progress
from harness.spec.load import load_specs
from harness.spec.profile import Profile
from tests.conftest import REPO

PARSE = TypeAdapter(Expectation).validate_python
WIDE = {"low": 0, "high": 5, "points": 51}


def finding(**declared: object) -> object:
    return judge_theory(PARSE(declared))  # type: ignore[arg-type]


def test_ordering_is_false_as_printed_and_true_at_delta_zero() -> None:
    printed = finding(
        kind="bounds-ordered",
        lower="humphries",
        upper=["erlingsson", "yeom"],
        epsilon=WIDE,
        delta={"low": 0, "high": 1},
    )
    assert printed.outcome == "violated"
    at = printed.counterexample
    with mpmath.workdps(30):
        e, d = mpmath.mpf(at["epsilon"]), mpmath.mpf(at["delta"])
        assert (mpmath.e**e - 1 + 2 * d) / (mpmath.e**e + 1) > mpmath.e**e - 1
    pure = finding(
        kind="bounds-ordered",
        lower="humphries",
        upper=["erlingsson", "yeom"],
        epsilon=WIDE,
        delta={"low": 0, "high": 0},
    )
    assert pure.outcome == "reproduced"


def test_ordering_against_erlingsson_holds_for_every_delta() -> None:
    found = finding(
        kind="bounds-ordered", lower="humphries", upper=["erlingsson"], epsilon=WIDE, delta={"low": 0, "high": 1}
    )
    assert found.outcome == "reproduced"


def test_yeom_is_no_bound_once_delta_is_positive() -> None:
    ok = finding(kind="bound-valid", bound="yeom", epsilon=WIDE, delta={"low": 0, "high": 0})
    wrong = finding(kind="bound-valid", bound="yeom", epsilon=WIDE, delta={"low": 0.01, "high": 0.01})
    assert (ok.outcome, wrong.outcome) == ("reproduced", "violated")


def test_erlingsson_is_valid_but_not_tight() -> None:
    valid, tight = (
        finding(kind="bound-valid", bound="erlingsson", tight=t, epsilon=WIDE, delta={"low": 0, "high": 0.5}).outcome
        for t in (False, True)
    )
    assert (valid, tight) == ("reproduced", "violated")


def test_the_gap_to_erlingsson_peaks_at_0_1716() -> None:
    """At delta 0 the gap is (e^x - 1)/(e^x (e^x + 1)), largest at e^x = 1 + sqrt 2: 3 - 2 sqrt 2 = 0.17157."""
    found = finding(kind="bound-gap", larger="erlingsson", smaller="humphries", value=0.2, tolerance=0.05,
                    epsilon={"low": 0.1, "high": 2, "points": 4001}, delta=0)  # fmt: skip
    assert found.outcome == "violated"
    assert f"to {3 - 2 * mpmath.sqrt(2):.4f}"[:8] in found.reason
    assert "largest at epsilon 0.881" in found.reason


@pytest.mark.parametrize(("low", "outcome"), [(0.4, "reproduced"), (0.47, "violated")])
def test_values_at_points(low: float, outcome: str) -> None:
    """tanh(1/2) = 0.46212."""
    found = finding(kind="bound-values", bound="humphries", delta=0, points=[{"epsilon": 1, "low": low, "high": 0.5}])
    assert found.outcome == outcome


def test_figure_1_without_measurements(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(REPO)
    context = Context(project, "test", Profile(), 1, Progress(quiet=True))
    monkeypatch.setattr(Context, "folder", lambda self, spec: tmp_path)
    loaded = load_specs(project, ["humphries2020/fig1"])[0]
    verdicts = {v.id.split("#")[1]: v.verdict for v in check(context, loaded)}
    assert verdicts == {
        "yeom-bound": "reproduced", "erlingsson-bound": "reproduced", "tight-bound": "reproduced",
        "bound-ordering": "violated", "bound-ordering-pure": "reproduced", "bound-gap": "violated",
        "bound-regimes": "reproduced",
    }  # fmt: skip
