"""Noise as published: the accountant of 2019, the declared table, and what a verdict says of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib.metadata import version

import dp_accounting
import pytest
from scipy.optimize import brentq

from harness.errors import HarnessError
from harness.execution.planner import make_plan
from harness.paths import Project
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.privacy.accountants.renyi import ORDERS_2019
from harness.spec.load import load_specs
from harness.spec.readings import readings
from harness.verdicts.noise_worth import worth_of_noise
from tests.conftest import REPO, SMALL_SPEC, run_cli

Make = Callable[..., Project]
RUN = Run(n=10000, batch_size=200, epochs=100, delta=1e-5)
RELEASED = {0.01: 525, 0.05: 150, 0.1: 70, 0.5: 13.8, 1: 7, 5: 1.669, 10: 1.056, 50: 0.551, 100: 0.445, 500: 0.275}
"""Noise multipliers by epsilon, of the code released with jayaraman2019."""


BOUNDS_FRACTIONS = tuple(map(int, version("dp-accounting").split(".")[:2])) >= (0, 5)
"""Whether dp-accounting bounds divergences of fractional orders from above, in place of computing them."""


@pytest.mark.parametrize("noise", [525.0, 150.0, 7.0, 1.056, 0.551])
def test_the_accountant_of_2019_is_all_its_orders_with_its_conversion(noise: float) -> None:
    """Divergences by dp-accounting's sums; the conversion written out."""
    step = dp_accounting.PoissonSampledDpEvent(RUN.rate, dp_accounting.GaussianDpEvent(noise))
    accountant = dp_accounting.rdp.RdpAccountant(list(ORDERS_2019))
    accountant.compose(dp_accounting.SelfComposedDpEvent(step, RUN.steps))
    more = math.log(1 / RUN.delta)
    expected = min(rdp + more / (order - 1) for order, rdp in zip(ORDERS_2019, accountant._rdp, strict=True))
    own = ACCOUNTANTS["rdp-2019"].epsilon(noise, RUN)
    assert own <= expected * (1 + 1e-6) if BOUNDS_FRACTIONS else own == pytest.approx(expected, rel=1e-6)


HISTORY = json.loads((REPO / "benchmarks" / "tf_privacy_history.json").read_text(encoding="utf-8"))
NEW_CONVERSION = "2020-12-30"
"""From when on TensorFlow Privacy converts Renyi divergences as it does today."""


@pytest.mark.parametrize("place", range(len(HISTORY["noises"])), ids=lambda place: f"{HISTORY['noises'][place]:g}")
def test_the_accountant_of_2019_is_every_version_of_tensorflow_privacy_until_its_new_conversion(place: int) -> None:
    """By the versions' own code (`benchmarks/tf_privacy_history.py`); later ones are as dp-accounting is today."""
    noise = HISTORY["noises"][place]
    own = ACCOUNTANTS["rdp-2019"].epsilon(noise, RUN)
    before = [v for v in HISTORY["versions"] if v["date"] < NEW_CONVERSION]
    after = [v for v in HISTORY["versions"] if v["date"] >= NEW_CONVERSION]
    assert len(before) == 12
    assert [v["scripts"][place] for v in before] == pytest.approx([own] * 12, rel=1e-6)
    assert len(after) == 16
    step = dp_accounting.PoissonSampledDpEvent(RUN.rate, dp_accounting.GaussianDpEvent(noise))
    accountant = dp_accounting.rdp.RdpAccountant(list(ORDERS_2019))
    accountant.compose(dp_accounting.SelfComposedDpEvent(step, RUN.steps))
    now, since = accountant.get_epsilon(RUN.delta), [v["scripts"][place] for v in after]
    if BOUNDS_FRACTIONS:
        assert max(since) <= now * (1 + 1e-6)
    else:
        assert since == pytest.approx([now] * 16, rel=1e-6)
        assert now < own
    assert ACCOUNTANTS["rdp"].epsilon(noise, RUN) <= now


@pytest.mark.parametrize(
    ("epsilon", "worth"),
    [(0.05, 0.0453), (0.1, 0.0975), (0.5, 0.499), (1, 1.00), (5, 5.00), (10, 10.0), (50, 50.3), (100, 103), (500, 808)],
)
def test_what_the_released_noises_are_worth_by_it(epsilon: float, worth: float) -> None:
    assert float(f"{ACCOUNTANTS['rdp-2019'].epsilon(RELEASED[epsilon], RUN):.3g}") == worth


@pytest.mark.parametrize(("epsilon", "text"), [(0.5, "13.8"), (1, "7"), (5, "1.669")])
def test_released_noises_come_out_of_it(epsilon: float, text: str) -> None:
    """To the digits printed; the others were rounded up (150, 70), or are of less noise than it asks for."""
    digits = len(text.replace(".", "").lstrip("0"))
    assert f"{ACCOUNTANTS['rdp-2019'].noise_multiplier(epsilon, RUN):.{digits}g}" == text


@pytest.mark.skipif(
    BOUNDS_FRACTIONS, reason="this dp-accounting bounds fractional orders, the earlier ones computed them"
)
@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (0.5, "13.8"),
        (1, "7"),
        (5, "1.669"),
        (10, "1.057"),
        (50, "0.551"),
        (100, "0.445"),
        (500, "0.276"),
        (1000, "0.219"),
    ],
)
def test_with_finer_orders_those_of_large_epsilons_come_out_too(epsilon: float, text: str) -> None:
    """Orders 1.05, 1.1, 1.2, ... beside those of `rdp-2019`, all but 1.05 of its time's tutorials; printed are 1.056 and 0.275 (docs/accounting.md).

    Divergences by dp-accounting's sums, the conversion written out.
    """
    orders = sorted({1.05, *(1 + tenths / 10 for tenths in range(1, 100)), *ORDERS_2019})

    def worth(noise: float) -> float:
        accountant = dp_accounting.rdp.RdpAccountant(orders)
        step = dp_accounting.PoissonSampledDpEvent(RUN.rate, dp_accounting.GaussianDpEvent(noise))
        accountant.compose(dp_accounting.SelfComposedDpEvent(step, RUN.steps))
        more = math.log(1 / RUN.delta)
        return float(min(rdp + more / (order - 1) for order, rdp in zip(orders, accountant._rdp, strict=True)))

    noise = brentq(lambda noise: worth(noise) - epsilon, 0.2, 20, xtol=1e-6)
    digits = len(text.replace(".", "").lstrip("0"))
    assert f"{noise:.{digits}g}" == text


def test_an_epsilon_below_its_reach_is_one_line() -> None:
    with pytest.raises(
        HarnessError, match=r"no noise gives epsilon 0\.01 by the rdp-2019 accountant; .* reaches 0\.0225"
    ):
        ACCOUNTANTS["rdp-2019"].noise_multiplier(0.01, RUN)
    assert ACCOUNTANTS["rdp-2019"].epsilon(1e6, RUN) == pytest.approx(math.log(1e5) / 511, rel=1e-3)


DECLARED = "{1: 9.5, 10: 3, 70: 1}"


def declared(text: str = DECLARED) -> str:
    before = "delta: 1.0e-3}"
    assert before in SMALL_SPEC
    return SMALL_SPEC.replace(before, f"delta: 1.0e-3, noise_multipliers: {text}}}")


def test_declared_noise_is_what_models_are_trained_with(make_project: Make) -> None:
    project = make_project(declared())
    plan = make_plan(project, load_specs(project, [])[0].spec)
    assert {(cell.epsilon, cell.noise_multiplier) for cell in plan.cells} == {(1.0, 9.5), (10.0, 3.0), (math.inf, 0.0)}
    calibrated = make_plan(make_project(where="other"), load_specs(make_project(where="other"), [])[0].spec)
    assert {c.target.key for c in plan.cells if math.isinf(c.epsilon)} == {
        c.target.key for c in calibrated.cells if math.isinf(c.epsilon)
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{1: 3}", "no noise for epsilon 10; it has some for 1"),
        ("{1: 3, 10: 9}", "epsilon 10 has more noise (9) than epsilon 1 (3)"),
        ("{1: 3, 10: -1}", "both have to be finite and above 0"),
        ("{1: 3, 10: .inf}", "both have to be finite and above 0"),
        ("{}", "at least 1 item"),
        (
            "{values: {1: 3, 10: 1}, made_by: rdp-2091}",
            "unknown accountant 'rdp-2091'; known:",
        ),
        (
            "{values: {1: 3, 10: 1}, made_for: {records: 0, batch_size: 1, epochs: 1}}",
            "records",
        ),
    ],
)
def test_declared_noise_that_cannot_be_is_one_line(make_project: Make, text: str, said: str) -> None:
    ran = run_cli(make_project(declared(text)).root, "validate")
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "specs/own/cancer.yaml:" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_verdict_says_what_declared_noise_is_worth(make_project: Make) -> None:
    spec = load_specs(make_project(declared()), [])[0].spec
    assert spec.experiment is not None
    arm = next(iter(spec.experiment.arms.values()))
    run = Run(arm.train_size, arm.training.batch_size, arm.training.epochs, 1e-3)
    worth = [f"{ACCOUNTANTS['rdp'].epsilon(noise, run):.3g}" for noise in (9.5, 3.0)]
    assert worth_of_noise(arm) == (
        "Noise is declared, not calibrated: nominal epsilons 1, 10 are worth, "
        f"for the {arm.train_size} records here {worth[0]}, {worth[1]} by rdp."
    )


def test_noise_that_hides_nothing_is_worth_no_finite_epsilon(make_project: Make) -> None:
    """Gradients that are clipped, and get noise of a billionth: no accountant is asked."""
    spec = load_specs(make_project(declared("{1: 3, 10: 1.0e-9}")), [])[0].spec
    assert spec.experiment is not None
    assert ", no finite epsilon by rdp." in worth_of_noise(next(iter(spec.experiment.arms.values())))


def test_noise_multipliers_are_an_axis_where_epsilons_are_solved_for(make_project: Make) -> None:
    axis = "{axis: noise, solve: noise-rdp, equals: [3, 9.5], given: {n: 120, batch: 20, epochs: 3}}"
    text = SMALL_SPEC.replace("epsilons: [1, 10, .inf]", f"epsilons: {axis}").partition("  - id: iid-held")[0]
    project = make_project(text)
    plan = make_plan(project, load_specs(project, [])[0].spec)
    assert sorted({cell.noise_multiplier for cell in plan.cells}) == pytest.approx([3, 9.5], rel=1e-3)
    run = Run(n=120, batch_size=20, epochs=3, delta=1e-3)
    for cell in plan.cells:
        assert ACCOUNTANTS["rdp"].epsilon(cell.noise_multiplier, run) == pytest.approx(cell.epsilon, rel=1e-2)


@pytest.mark.parametrize(
    ("figure", "worth"),
    [
        ("fig2", "10,000 records here 0.00718, 0.0289"),
        ("fig3", "10,000 records here 0.00718, 0.0289"),
        ("fig4", "2,059 records here 0.0171"),
        ("fig6", "10,000 records here 0.00718, 0.0289"),
        ("blind", ""),
    ],
)
def test_humphries2020_has_the_released_noise_and_today_s_is_its_reading(figure: str, worth: str) -> None:
    (loaded,) = load_specs(Project(REPO), [f"humphries2020/{figure}"])
    assert loaded.spec.experiment is not None
    for arm in loaded.spec.experiment.arms.values():
        assert arm.privacy.noise_multipliers is not None
        assert arm.privacy.noise_multipliers.values == {**RELEASED, 1000: 0.219}
        assert worth in worth_of_noise(arm)
    (reading,) = [r for r in readings(loaded.spec, loaded.raw) if r.field.endswith("noise_multipliers")]
    assert reading.text == "privacy.noise_multipliers = null"
    assert reading.spec.experiment is not None
    assert all(arm.privacy.noise_multipliers is None for arm in reading.spec.experiment.arms.values())
