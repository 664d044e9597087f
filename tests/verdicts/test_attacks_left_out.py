"""A claim of some attack under a profile that keeps some of them: another may still be the one that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.claims.verdict import Verdict
from harness.paths import Project
from harness.spec.load import Loaded, load_specs
from harness.spec.profile import Profile, scale
from harness.verdicts.check import judge_spec
from tests.conftest import SMALL_SPEC
from tests.verdicts.test_partial import around

Make = Callable[..., Project]
ATTACKS = ("logloss", "other", "third")
SOME_ATTACK = """\
  - id: some-attack
    where: here
    statement: One of three attacks does better than 0.2 at each epsilon.
    expect: {kind: compare, left: {metric: advantage, arm: iid, attack: [logloss, other, third]}, relation: ">", right: {value: 0.2}, for: {attack: some}}
  - id: some-beats-third
    where: here
    statement: One of two attacks does better than the third.
    expect: {kind: compare, left: {metric: advantage, arm: iid, attack: [logloss, other]}, relation: ">", right: {metric: advantage, arm: iid, attack: third}, for: {attack: some}}
  - id: some-attack-somewhere
    where: here
    statement: One of three attacks does better than 0.2 at some epsilon.
    expect: {kind: compare, left: {metric: advantage, arm: iid, attack: [logloss, other, third]}, relation: ">", right: {value: 0.2}, for: {attack: some, epsilon: some}}
  - id: falling
    where: here
    statement: The advantage falls.
    expect: {kind: monotone, direction: falling, of: {metric: advantage, arm: iid, attack: logloss}, along: epsilon}
  - id: at-ten
    where: here
    statement: Below 0.2 at epsilon 10.
    expect: {kind: compare, left: {metric: advantage, arm: iid, attack: logloss}, relation: "<", right: {value: 0.2}, at: [10]}
  - id: fixed
    where: here
    statement: The same.
    expect: {kind: compare, left: {metric: advantage, arm: iid, attack: logloss, epsilon: 10}, relation: "<", right: {value: 0.2}}
"""


@pytest.fixture
def loaded(make_project: Make) -> Loaded:
    more = "".join(f"  {name}: {{kind: logloss}}\n" for name in ATTACKS)
    return load_specs(make_project(SMALL_SPEC.replace("  logloss: {kind: logloss}\n", more) + SOME_ATTACK), [])[0]


def judged(loaded: Loaded, means: dict[tuple[float, str], float], **profile: Any) -> dict[str, Verdict]:
    """The verdicts on a table of the attacks and epsilons that the profile keeps; others have an advantage of 0.1."""
    scaled = scale(loaded.spec, "few", Profile.model_validate(profile))
    experiment = scaled.spec.own_experiment
    assert experiment is not None
    rows = [
        (arm, attack, "advantage", epsilon, repeat, value, 0.001)
        for arm in ("iid", "size")
        for epsilon in experiment.arms[arm].privacy.epsilons
        for attack in scaled.spec.attacks
        for repeat, value in enumerate(around(means.get((epsilon, attack), 0.1), 20))
    ]
    counts = [("iid", "", f"count_{k}", 1.0, 0, n, 0.0) for k, n in (("rows", 569), ("members", 120))]
    columns = ["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"]
    table = pd.DataFrame(rows + counts, columns=columns).assign(noise_multiplier=1.0)
    return {v.id.split("#")[1]: v for v in judge_spec(scaled, "0" * 64, table)}


def everywhere(**means: float) -> dict[tuple[float, str], float]:
    return {(e, attack): mean for attack, mean in means.items() for e in (1.0, 10.0, np.inf)}


def test_an_attack_that_is_kept_is_enough_to_reproduce_it(loaded: Loaded) -> None:
    strong = everywhere(logloss=0.5)
    assert judged(loaded, strong)["some-attack"].verdict == "reproduced"
    few = judged(loaded, strong, attacks=("logloss",))["some-attack"]
    assert few.verdict == "reproduced"
    # The Bonferroni correction is over the attacks that are declared, kept or not.
    whole = judged(loaded, strong)["some-attack"]
    assert few.numbers.p_value == pytest.approx(whole.numbers.p_value)


def test_without_one_of_the_attacks_it_is_not_violated(loaded: Loaded) -> None:
    assert judged(loaded, {})["some-attack"].verdict == "violated"
    for kept in (("logloss",), ("logloss", "other"), ("third",)):
        assert judged(loaded, {}, attacks=kept)["some-attack"].verdict == "inconclusive"


def test_none_of_its_attacks_is_not_run(loaded: Loaded) -> None:
    assert judged(loaded, {}, attacks=("third",))["some-beats-third"].verdict == "not run"
    assert judged(loaded, {}, attacks=("logloss", "other"))["some-beats-third"].verdict == "not run"
    beats = everywhere(logloss=0.5)
    assert judged(loaded, beats)["some-beats-third"].verdict == "reproduced"
    assert judged(loaded, beats, attacks=("logloss", "third"))["some-beats-third"].verdict == "reproduced"
    assert judged(loaded, {}, attacks=("logloss", "third"))["some-beats-third"].verdict == "inconclusive"


def test_some_attack_at_each_epsilon_of_which_one_is_left_out(loaded: Loaded) -> None:
    strong = everywhere(logloss=0.5)
    assert judged(loaded, strong, epsilons=(1, float("inf")))["some-attack"].verdict == "inconclusive"
    assert judged(loaded, {}, epsilons=(1, float("inf")))["some-attack"].verdict == "violated"
    assert judged(loaded, {}, epsilons=(1, float("inf")), attacks=("logloss",))["some-attack"].verdict == "inconclusive"


def test_some_attack_at_some_epsilon_is_never_violated_by_some_of_them(loaded: Loaded) -> None:
    strong = everywhere(logloss=0.5)
    assert judged(loaded, strong)["some-attack-somewhere"].verdict == "reproduced"
    assert judged(loaded, {})["some-attack-somewhere"].verdict == "violated"
    assert judged(loaded, strong, epsilons=(1, float("inf")))["some-attack-somewhere"].verdict == "reproduced"
    for fewer in (
        {"epsilons": (1, float("inf"))},
        {"attacks": ("logloss",)},
        {"epsilons": (1,), "attacks": ("other",)},
    ):
        few = judged(loaded, {}, **fewer)["some-attack-somewhere"]
        assert few.verdict == "inconclusive"
        assert few.numbers.correction == "Bonferroni over 6 points to support; every one of 6 points to oppose"
    whole = judged(loaded, strong)["some-attack-somewhere"]
    few = judged(loaded, strong, attacks=("logloss",), epsilons=(1,))["some-attack-somewhere"]
    assert (few.verdict, few.numbers.p_value) == ("reproduced", pytest.approx(whole.numbers.p_value))


def test_an_epsilon_left_out_leaves_claims_of_all_together_out(loaded: Loaded) -> None:
    """An order along epsilon is of the whole grid; a claim of one place is of that place alone."""
    names = ("falling", "at-ten", "fixed")
    found = judged(loaded, {}, epsilons=(1, 10))
    assert [found[name].verdict for name in names] == ["inconclusive", "reproduced", "reproduced"]
    assert judged(loaded, everywhere(logloss=0.15) | {(10.0, "logloss"): 0.5})["falling"].verdict == "violated"
    found = judged(loaded, {}, epsilons=(1, float("inf")))
    assert {found[name].verdict for name in names} == {"not run"}
    assert "the profile leaves out epsilon 10, and the claim is of all of them together" in found["falling"].reason
