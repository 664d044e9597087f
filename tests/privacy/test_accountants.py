"""Every accountant against the released formulas, TensorFlow Privacy, and exact accounting."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.privacy.accountants import ACCOUNTANTS, Run
from tests.conftest import REPO, run_cli

RUN = Run(n=10000, batch_size=200, epochs=100, delta=1e-5)
GRID = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50, 100, 500, 1000)


def released(name: str, epsilon: float, epochs: int, delta: float) -> float:
    """The formulas of jayaraman2019's code, written out once more from its description."""
    if name == "naive":
        return epochs * math.sqrt(2 * math.log(1.25 * epochs / delta)) / epsilon
    if name == "advanced":
        two = math.log(2 / delta)
        spread = math.sqrt(two + 2 * epsilon) + math.sqrt(two)
        return math.sqrt(epochs * math.log(2.5 * epochs / delta)) * spread / epsilon
    one = math.log(1 / delta)
    return math.sqrt(epochs / 2) * (math.sqrt(one + epsilon) + math.sqrt(one)) / epsilon


@pytest.mark.parametrize("name", ["naive", "advanced", "zcdp"])
@pytest.mark.parametrize("epsilon", GRID)
@pytest.mark.parametrize(("epochs", "delta"), [(100, 1e-5), (30, 1e-6)])
def test_noise_is_that_of_the_released_code(name: str, epsilon: float, epochs: int, delta: float) -> None:
    run = Run(10000, 200, epochs, delta)
    assert ACCOUNTANTS[name].noise_multiplier(epsilon, run) == pytest.approx(
        released(name, epsilon, epochs, delta), rel=1e-9
    )


def test_three_values_worked_out_by_hand() -> None:
    """At epsilon 1 and 100 epochs: 100 sqrt(2 ln 1.25e7) with ln 1.25e7 = 16.34124; sqrt(50) (sqrt(12.512925) +
    sqrt(11.512925)); sqrt(100 ln 2.5e7) (sqrt(14.206073) + sqrt(12.206073)) with ln 2.5e7 = 17.03439."""
    assert ACCOUNTANTS["naive"].noise_multiplier(1, RUN) == pytest.approx(571.686, abs=1e-3)
    assert ACCOUNTANTS["zcdp"].noise_multiplier(1, RUN) == pytest.approx(49.0056, abs=1e-4)
    assert ACCOUNTANTS["advanced"].noise_multiplier(1, RUN) == pytest.approx(299.756, abs=1e-3)


@pytest.mark.integration
@pytest.mark.parametrize("epsilon", [0.1, 1, 10, 100])
def test_renyi_noise_spends_what_tensorflow_privacy_says(epsilon: float) -> None:
    from harness.training.runtime import import_tensorflow

    import_tensorflow()
    from tensorflow_privacy import compute_dp_sgd_privacy_statement

    sigma = ACCOUNTANTS["rdp"].noise_multiplier(epsilon, RUN)
    text = compute_dp_sgd_privacy_statement(
        RUN.n, RUN.batch_size, RUN.epochs, sigma, RUN.delta, used_microbatching=False
    )
    spent = re.search(r"Poisson sampling[^:]*:\s+([0-9.]+)", text)
    assert spent is not None, text
    assert float(spent[1].rstrip(".")) == pytest.approx(epsilon, rel=2e-3, abs=6e-4)


@pytest.mark.parametrize("name", sorted(ACCOUNTANTS))
@pytest.mark.parametrize("epsilon", [0.05, 1, 30])
def test_epsilon_and_noise_are_inverse(name: str, epsilon: float) -> None:
    accountant = ACCOUNTANTS[name]
    assert accountant.epsilon(accountant.noise_multiplier(epsilon, RUN), RUN) == pytest.approx(epsilon, rel=2e-3)


@pytest.mark.integration
@pytest.mark.parametrize("epsilon", GRID)
def test_every_upper_bound_is_one(epsilon: float) -> None:
    """At the noise that an accountant asks for, the exact epsilon of the batches it speaks of is at most its own."""
    for name, accountant in ACCOUNTANTS.items():
        if accountant.approximate or name in ("pld", "gaussian") or (name == "rdp-2019" and epsilon < 0.0226):
            continue
        exact = ACCOUNTANTS["gaussian" if accountant.samplings[0] == "shuffle" else "pld"]
        result = exact.epsilon(accountant.noise_multiplier(epsilon, RUN), RUN)
        assert result <= epsilon * (1 + 1e-3), (name, epsilon, result)


def test_the_central_limit_is_no_upper_bound() -> None:
    """It asks for less noise than exact accounting at small epsilon: why it is marked as approximate."""
    assert ACCOUNTANTS["gdp"].approximate
    exact = ACCOUNTANTS["pld"].epsilon(ACCOUNTANTS["gdp"].noise_multiplier(1, RUN), RUN)
    assert 1.0 < exact < 1.05


@settings(max_examples=25)
@given(st.sampled_from(["naive", "advanced", "zcdp", "gaussian", "gdp"]), st.floats(0.05, 100), st.floats(1.1, 5))
def test_more_epsilon_needs_less_noise(name: str, epsilon: float, factor: float) -> None:
    accountant = ACCOUNTANTS[name]
    assert accountant.noise_multiplier(epsilon * factor, RUN) < accountant.noise_multiplier(epsilon, RUN)


def test_infinity_and_bad_input() -> None:
    for accountant in ACCOUNTANTS.values():
        assert accountant.noise_multiplier(math.inf, RUN) == 0.0
        with pytest.raises(HarnessError, match="epsilon is 0, it has to be above 0"):
            accountant.noise_multiplier(0.0, RUN)
    with pytest.raises(HarnessError, match="a batch of 200 from 100 records"):
        Run(100, 200, 1, 1e-5)
    with pytest.raises(HarnessError, match="delta is 2, it has to lie between 0 and 1"):
        Run(100, 20, 1, 2.0)
    with pytest.raises(HarnessError, match="naive accountant is stated for shuffle batches, not poisson"):
        ACCOUNTANTS["naive"].calibrate(1.0, RUN, "add-remove-one", "poisson")


def test_replace_one_goes_by_group_privacy_whatever_the_accountant() -> None:
    """Noise for (eps/2, delta / (1 + e^(eps/2))) under add/remove-one implies (eps, delta) under replace-one."""
    for name in ("naive", "gaussian"):
        result = ACCOUNTANTS[name].calibrate(2.0, RUN, "replace-one", "shuffle")
        half = Run(RUN.n, RUN.batch_size, RUN.epochs, RUN.delta / (1 + math.e))
        assert result == ACCOUNTANTS[name].noise_multiplier(1.0, half)


@pytest.mark.integration
def test_the_command_lists_and_draws(tmp_path: Path) -> None:
    plot = tmp_path / "noise.svg"
    ran = run_cli(REPO, "accountants", "--epsilon", "10", "--json", "--plot", str(plot))
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    rows = {(r["accountant"], r["epsilon"]): r for r in result["noise"]}
    assert set(result["accountants"]) == set(ACCOUNTANTS)
    assert rows[("naive", 10.0)]["noise_multiplier"] == pytest.approx(57.1686, abs=1e-4)
    # What naive composition calls 10 is under 1 in truth, and all but nothing with Poisson batches.
    assert rows[("naive", 10.0)]["exact_shuffled"] == pytest.approx(0.6269, rel=5e-2)
    assert rows[("naive", 10.0)]["exact_poisson"] < 0.1
    assert 0.995 < rows[("naive", 10.0)]["exact_poisson_from"] / rows[("naive", 10.0)]["exact_poisson"] <= 1
    assert plot.read_text().count("<svg") == 1
    for arguments, message in (
        (["--plot", "x.png"], "what is written is SVG"),
        (["--plot", "."], "what is written is SVG"),
        (["--plot", "README.md/x.svg"], "README.md"),
        (["--n", "100"], "a batch of 200 from 100 records"),
        (["--epsilon", "-1"], "--epsilon -1: it has to be above 0"),
        (["--delta", "0"], "--delta 0: it has to lie between 0 and 1"),
    ):
        refused = run_cli(REPO, "accountants", *arguments)
        assert refused.returncode == 2
        assert message in refused.stderr
        assert "Traceback" not in refused.stderr


@pytest.mark.integration
def test_one_accountant_that_cannot_answer_leaves_the_others_be() -> None:
    """At epsilon 1e9 exact accounting would need noise that it does not reach; JSON stays strict."""
    arguments = [
        "accountants",
        "--epsilon",
        "1e9",
        "--epsilon",
        "inf",
        "--n",
        "100",
        "--batch-size",
        "20",
        "--epochs",
        "1",
    ]
    ran = run_cli(REPO, *arguments, "--json", "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    result = json.loads(ran.stdout, parse_constant=refuse)["noise"]
    rows = {r["accountant"]: r for r in result if r["epsilon"] == 1e9}
    assert rows["pld"]["noise_multiplier"] is None
    assert "out of reach" in rows["pld"]["why"]
    assert rows["gaussian"]["noise_multiplier"] > 0
    assert rows["gaussian"]["exact_shuffled"] == pytest.approx(1e9, rel=1e-6)
    without = [r for r in result if r["epsilon"] is None]
    assert [(r["noise_multiplier"], r["exact_poisson"], r["why"]) for r in without] == [(0.0, None, "")] * len(rows)
    said = run_cli(REPO, *arguments, "--quiet")
    assert said.returncode == 0
    assert "pld at epsilon 1e+09: the pld accountant finds no noise" in said.stdout


@pytest.mark.parametrize(("n", "batch_size", "epochs"), [(10**9, 1, 100), (100, 7, 10**6), (10**6, 1, 10**6)])
def test_renyi_composition_of_very_many_steps_is_that_of_dp_accounting(n: int, batch_size: int, epochs: int) -> None:
    """At orders about the best one: those that dp-accounting lists are too few."""
    import dp_accounting as dpa
    import numpy as np

    run = Run(n, batch_size, epochs, 1e-5)
    sigma = ACCOUNTANTS["rdp"].noise_multiplier(1.0, run)
    step = dpa.PoissonSampledDpEvent(run.rate, dpa.GaussianDpEvent(sigma))
    orders = (1 + np.geomspace(0.1, 50, 5000)).tolist()
    accounted = dpa.rdp.RdpAccountant(orders).compose(dpa.SelfComposedDpEvent(step, run.steps))
    assert accounted.get_epsilon(run.delta) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("noise", [0.486438743101033, 37.306316348159555, 571.6859138070927])
def test_more_steps_than_can_be_convolved_are_refused_with_what_can(noise: float) -> None:
    with pytest.raises(HarnessError, match=r"1e\+11 steps are too many .*; use 1,000,000,000 or fewer, or .* rdp"):
        ACCOUNTANTS["pld"].sides(noise, Run(10**9, 1, 100, 1e-5))


@pytest.mark.parametrize("name", ["rdp", "rdp-2019"])
def test_more_steps_than_rounding_allows_are_refused(name: str) -> None:
    with pytest.raises(HarnessError, match=r"7e\+16 sampled steps are too many for Renyi .* gaussian and zcdp do"):
        ACCOUNTANTS[name].noise_multiplier(1.0, Run(10**17, 10, 7, 1e-5))
    assert ACCOUNTANTS[name].noise_multiplier(1.0, Run(10, 10, 10**17, 1e-5)) > 1e8


def test_sums_that_all_lie_below_0_are_out_of_reach() -> None:
    with pytest.raises(HarnessError, match="is out of reach"):
        ACCOUNTANTS["pld"].sides(0.6037316265646424, Run(10**6, 1, 100, 1e-5))


def test_a_reason_that_many_have_is_said_once(tmp_path: Path) -> None:
    ran = run_cli(REPO, "accountants", "--n", "1000000000", "--batch-size", "1", "--epsilon", "1", "-q")
    assert ran.returncode == 0, ran.stderr
    (line,) = [line for line in ran.stdout.splitlines() if line.startswith("gaussian at epsilon 1, gdp at epsilon 1,")]
    assert "1e+11 steps are too many for exact accounting" in line
