"""What a verdict rests on, and which claims a run goes on with for a better basis."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness.claims.basis import basis_text
from harness.claims.contrasts import Contrast
from harness.claims.design import Bounded, Design, Sequential
from harness.claims.evidence import Measurements
from harness.claims.judgement import LARGEST_E
from harness.claims.operands import MetricSeries
from harness.claims.samples import Samples
from harness.claims.verdict import Verdict
from harness.inference.estimates import MeanEstimate
from harness.inference.shares import share_at_least
from harness.paths import Project
from harness.spec.load import Loaded, load_specs
from harness.spec.profile import Profile, Scaled, scale
from harness.verdicts.check import judge_spec
from harness.verdicts.evidence import evidence_of
from harness.verdicts.wanted import repeats_wanted
from tests.claims.judged import plain
from tests.conftest import PARAMS, REPO, SMALL_SPEC

BOUND = math.tanh(0.5)
Values = dict[tuple[str, float], Any]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A spec of 10 repeats, no cell of which is ever run."""
    root: Path = tmp_path_factory.mktemp("basis")
    (root / "specs" / "own").mkdir(parents=True)
    (root / "specs" / "own" / "cancer.yaml").write_text(SMALL_SPEC.replace("repeats: 2", "repeats: 10"))
    (root / "specs" / "papers.yaml").write_text((REPO / "specs" / "papers.yaml").read_text())
    (root / "params.yaml").write_text(PARAMS)
    return load_specs(Project(root), [])[0]


def scaled_of(loaded: Loaded, **profile: Any) -> Scaled:
    return scale(loaded.spec, "made-up", Profile.model_validate(profile))


def table_of(values: Values, design: str = "fixed") -> pd.DataFrame:
    """Advantages by (arm, epsilon), and the counts that the spec's third claim is about."""
    rows = [
        (arm, "logloss", "advantage", epsilon, r, float(v), 0.0)
        for (arm, epsilon), each in values.items()
        for r, v in enumerate(each)
    ]
    rows += [("iid", "", f"count_{k}", 1.0, r, v, 0.0) for k, v in (("rows", 569), ("members", 120)) for r in range(2)]
    result = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])
    result.attrs["design"] = design
    return result


def around(mean: float, n: int, by: float = 0.01) -> np.ndarray:
    return mean + by * (-1.0) ** np.arange(n)


def both(size: Any, iid: Any) -> Values:
    return {(arm, e): v for arm, v in (("size", size), ("iid", iid)) for e in (1.0, 10.0, math.inf)}


def judged(loaded: Loaded, values: Values, design: str = "fixed") -> dict[str, Verdict]:
    scaled = scaled_of(loaded)
    return {v.id.split("#")[1]: v for v in judge_spec(scaled, "0", table_of(values, design))}


def gap_of(
    evidence: Measurements, left: MetricSeries, right: MetricSeries, epsilon: float, method: Design
) -> MeanEstimate:
    sample = Samples(evidence).of_contrast(Contrast(left, right, {"epsilon": epsilon}, ">", 0.0))
    return sample.gap(sample.left, method, None)[1]


def test_bets_decide_what_is_clear_after_forty_repeats(loaded: Loaded) -> None:
    result = judged(loaded, both(around(0.9, 40), around(0.1, 40)))["biased-beats-iid"]
    assert (result.verdict, result.rests_on.basis, result.rests_on.rarest) == ("reproduced", "distribution-free", None)
    assert basis_text(result) == "a distribution-free test: nothing is assumed of how runs vary"
    assert "bets on the mean" in result.numbers.test
    assert result.numbers.interval is not None
    assert result.numbers.points[0].low is not None
    assert result.numbers.points[0].free_low is not None
    assert result.numbers.points[0].free_high is not None
    assert result.numbers.interval == (result.numbers.points[0].free_low, result.numbers.points[0].free_high)
    assert (
        0
        < result.numbers.points[0].free_low
        < result.numbers.points[0].low
        < result.numbers.points[0].effect
        < result.numbers.points[0].free_high
    )
    assert (result.numbers.points[0].holds, result.numbers.points[0].share) == (40, pytest.approx(0.025 ** (1 / 40)))
    # The e-value is what was won at the last look, where the p-value takes the best.
    scaled = scaled_of(loaded)
    evidence = evidence_of(scaled.spec, table_of(both(around(0.9, 40), around(0.1, 40))))
    left, right = scaled.spec.parts(scaled.spec.claims[0])[0].operands()
    won = [gap_of(evidence, left.curve, right.curve, e, Bounded()) for e in (1.0, 10.0)]
    worst = min(float(one.log_capital(0.0)[-1]) for one in won)  # type: ignore[attr-defined]
    assert result.numbers.e_value == pytest.approx(min(LARGEST_E, math.exp(worst)))
    assert result.numbers.p_value == pytest.approx(2 * math.exp(-worst))


def test_after_a_few_repeats_it_rests_on_their_shape(loaded: Loaded) -> None:
    result = judged(loaded, both(around(0.5, 6, 0.05), around(0.1, 6, 0.05)))["biased-beats-iid"]
    assert (result.verdict, result.rests_on.basis, result.rests_on.rarest) == ("reproduced", "t-test", 2)
    assert basis_text(result) == "a t-test: so few runs could miss an outcome that is rarer than 1 in 2"
    assert result.numbers.p_value == pytest.approx(2 / 64)  # the least that six repeats have
    assert result.numbers.e_value is not None
    # The e-value is the martingale's own, and less than Welch's test, which looks once, would make of the same values.
    welch = stats.ttest_ind(around(0.5, 6, 0.05), around(0.1, 6, 0.05), equal_var=False, alternative="greater")
    assert 1 < result.numbers.e_value < 1 / welch.pvalue
    assert judged(loaded, both(around(0.5, 10, 0.05), around(0.1, 10, 0.05)))["biased-beats-iid"].rests_on.rarest == 3


def test_five_repeats_decide_nothing_by_their_shape(loaded: Loaded) -> None:
    result = judged(loaded, both(around(0.5, 5), around(0.1, 5)))
    assert result["biased-beats-iid"].verdict == "inconclusive"
    assert result["biased-beats-iid"].reason.startswith("5 repeats decide nothing, 6 may; so far at epsilon 1: 0.5")
    assert result["biased-beats-iid"].rests_on.basis is None
    assert basis_text(result["biased-beats-iid"]) == ""
    assert (result["counts"].verdict, result["counts"].rests_on.basis) == ("reproduced", "exact")
    # Bets may decide with any number, where an arm has as few as that at one epsilon.
    sure = judged(loaded, {**both(around(-1.0, 20, 0), around(1.0, 20, 0)), ("size", 10.0): around(-1.0, 4, 0)})
    assert (sure["iid-held"].verdict, sure["iid-held"].rests_on.basis) == ("violated", "distribution-free")


def test_what_is_violated_rests_on_the_point_that_violates_it(loaded: Loaded) -> None:
    values = both(around(0.6, 20, 0.2), around(0.1, 20, 0.2)) | {("iid", 1.0): around(0.6, 14, 0.03)}
    result = judged(loaded, values)["iid-held"]
    assert (result.verdict, result.rests_on.basis) == ("violated", "t-test")
    # Of 14 repeats, not 20, and at the level over two points: 1 / (1 - 0.0125^(1/14)) is 3.7, and 0.025 gives 4.3.
    assert result.rests_on.rarest == 3
    assert [p.holds for p in result.numbers.points] == [0, 20]
    assert result.numbers.points[1].share == pytest.approx(share_at_least(20, 20, 0.025))
    some = judged(loaded, both(np.where(np.arange(12) % 4 == 0, 0.0, 0.5), around(0.1, 12, 0.05)))
    assert some["biased-beats-iid"].numbers.points[0].holds == 9


def test_a_sequential_verdict_is_that_of_the_first_look_on_its_basis(loaded: Loaded) -> None:
    long = judged(loaded, both(around(0.9, 40), around(0.1, 40)), "sequential")["biased-beats-iid"]
    assert (long.verdict, long.rests_on.basis) == ("reproduced", "distribution-free")
    assert long.numbers.stopped is not None
    assert 6 < long.numbers.stopped < 20
    assert long.numbers.e_value is not None
    assert 40 <= long.numbers.e_value < 80  # what it takes at the first look that decides, and a little more
    # Its numbers are of all repeats, and its p-value is no longer what the first look asked for.
    assert long.numbers.points[0].repeats == 40
    assert long.numbers.points[0].share == pytest.approx(share_at_least(40, 40, 0.025, looked=True))
    assert long.numbers.p_value is not None
    assert long.numbers.p_value < 1e-6
    short = judged(loaded, both(around(0.5, 7, 0.05), around(0.1, 7, 0.05)), "sequential")["biased-beats-iid"]
    assert (short.verdict, short.rests_on.basis, short.numbers.stopped) == ("reproduced", "t-test", 6)
    assert short.numbers.e_value is not None
    evidence = evidence_of(loaded.spec, table_of(both(around(0.5, 6, 0.05), around(0.1, 6, 0.05))))
    left, right = loaded.spec.parts(loaded.spec.claims[0])[0].operands()
    gap = gap_of(evidence, left.curve, right.curve, 1.0, Sequential(last_look_only=True, rarest=1.0))
    assert short.numbers.e_value == pytest.approx(0.5 / gap.p_above(0))


def test_a_run_goes_on_for_a_better_basis_where_the_profile_says_so(loaded: Loaded) -> None:
    shape, free = scaled_of(loaded), scaled_of(loaded, design="sequential", basis="distribution-free")
    assert (shape.basis, free.basis) == ("t-test", "distribution-free")

    def asks(scaled: Scaled, values: Values) -> dict[str, dict[tuple[str, float], int]]:
        needs = repeats_wanted(scaled, table_of(values, "sequential"))
        return {claim: plain(cells) for claim, cells in needs.items()}

    decided = both(around(0.9, 6), around(0.0, 6))
    assert asks(shape, decided) == {}
    everywhere = [(arm, e) for arm in ("size", "iid") for e in (1.0, 10.0)]

    def rounds(repeats: int) -> dict[str, dict[tuple[str, float], int]]:
        return {
            "biased-beats-iid": dict.fromkeys(everywhere, repeats),
            "iid-held": dict.fromkeys(everywhere[2:], repeats),
        }

    # Half as many more a round until verdicts reach the target of those that stand, which takes fourteen: (2/3)^n is to
    # be at most 1/200. Infinite epsilon is not in the claims.
    assert asks(free, decided) == rounds(9)
    assert asks(free, both(around(0.9, 10), around(0.0, 10))) == rounds(14)
    # Then as many as bets are expected to need, or half as many more; at 10, they have decided it.
    for size, expected, needed in ((0.65, 19, 19), (0.6, 21, 22)):
        result = asks(free, both(around(size, 14), around(0.3, 14)))
        assert result == {"biased-beats-iid": dict.fromkeys(everywhere, expected), "iid-held": {("iid", 1.0): 17}}
        for claim, n in (("biased-beats-iid", needed), ("iid-held", 17)):
            values = [both(around(size, k), around(0.3, k)) for k in (n - 1, n)]
            found = [judged(loaded, value, "sequential")[claim].rests_on.basis for value in values]
            assert found == ["t-test", "distribution-free"]
    assert asks(free, both(around(0.9, 40), around(0.0, 40))) == {}
    # Three times the spec's ten repeats would not tell 0.03: the verdict on the shape of the results stands.
    near = both(around(0.8, 14), around(BOUND - 0.03, 14))
    assert set(asks(free, near)) == {"biased-beats-iid"}
    assert judged(loaded, near, "sequential")["iid-held"].rests_on.basis == "t-test"
    # A claim that is open on any basis goes first.
    opened = both(around(0.9, 6), around(BOUND - 0.1, 6, 0.2))
    assert set(asks(free, opened)) == {"iid-held"}
