"""Whether a claim could have failed, on claims of which it is known; and what controls draw."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from harness.claims.design import Sequential
from harness.claims.operands import MetricSeries
from harness.claims.samples import Samples
from harness.claims.verdict import ControlName, ControlOutcome
from harness.controls.chance import Attacked, null_of_calls, null_of_runs, null_of_scores
from harness.controls.exchange import exchanged
from harness.controls.severity import SEVERE, Outcomes, is_severe, severity_of_claim
from harness.controls.worlds import (
    ControlFacts,
    Guesses,
    SaysNothing,
    Unprotected,
    World,
    in_world,
)
from harness.coordinates import place
from harness.metrics.answers import Answers
from harness.metrics.metric import METRICS
from tests.claims.judged import TableEvidence, evidence_of
from tests.controls.claims import CAN_FAIL, CANNOT_FAIL, rising
from tests.controls.made import AXES, attack_table, severities

FACTS = ControlFacts("made", guesses={"a": 0.1, "b": 0.1})


@pytest.mark.parametrize("name", CANNOT_FAIL)
def test_a_claim_that_cannot_fail_is_not_severe(name: str) -> None:
    expectation, table = CANNOT_FAIL[name]
    assert not all(map(is_severe, severities(expectation, table(0), FACTS)))


@pytest.mark.parametrize("name", CAN_FAIL)
def test_a_claim_that_can_fail_is_severe(name: str) -> None:
    expectation, table = CAN_FAIL[name]
    assert all(outcomes and is_severe(outcomes) for outcomes in severities(expectation, table(0), FACTS))


@pytest.mark.parametrize("metric", ["auc", "max_advantage", "tpr_at_5pct_fpr", "best_precision", "held_out_advantage"])
def test_a_null_is_that_of_the_same_scores_with_memberships_shuffled(metric: str) -> None:
    rng, m, n = np.random.default_rng(1), 120, 280
    scores = rng.normal(size=m + n) + np.append(np.full(m, 2.0), np.zeros(n))
    values = []
    for _ in range(1000):
        shuffled = rng.permutation(scores)
        called = shuffled > 1
        answers = Answers(shuffled[:m], shuffled[m:], called[:m], called[m:])
        values.append(METRICS[metric].function(answers).value)
    null = null_of_scores(metric, m, n)
    error = np.hypot(np.std(values), null.values.std()) / np.sqrt(1000)
    assert abs(null.values.mean() - np.mean(values)) < 4 * error
    assert null.values.std() == pytest.approx(np.std(values), rel=0.1)


@pytest.mark.parametrize(("m", "n"), [(120, 280), (1252, 1252), (501, 2)])
def test_the_mean_auc_of_scores_that_say_nothing_is_one_half(m: int, n: int) -> None:
    """Not near it: of 63 repeats, 7% told a mean of 0.5009 from one half at a level of 1%."""
    values = null_of_scores("auc", m, n).values
    assert values.mean() == pytest.approx(0.5, abs=1e-12)
    assert values.std() == pytest.approx(math.sqrt((m + n + 1) / (12 * m * n)), rel=0.15)


def test_two_valued_scores_tie() -> None:
    """The best threshold of two values is one of two, of many the best of many."""
    assert (
        null_of_scores("max_advantage", 200, 200, 0.3).values.mean()
        < 0.6 * null_of_scores("max_advantage", 200, 200).values.mean()
    )


def test_as_many_are_called_as_were() -> None:
    rng, calls = np.random.default_rng(2), np.full(4000, 0.1)
    tpr, _ = null_of_calls("tpr", Attacked(100, 300), calls, np.random.default_rng(0))
    fpr, _ = null_of_calls("fpr", Attacked(100, 300), calls, np.random.default_rng(0))
    advantage, _ = null_of_calls("advantage", Attacked(100, 300), calls, np.random.default_rng(0))
    assert np.allclose((100 * tpr + 300 * fpr) / 400, 0.1)
    assert np.allclose(advantage, tpr - fpr)
    members = np.array([rng.permutation(400)[:40] < 100 for _ in range(4000)]).sum(axis=1) / 100
    assert tpr.mean() == pytest.approx(members.mean(), abs=4 * members.std() / np.sqrt(2000))
    assert tpr.std() == pytest.approx(members.std(), rel=0.06)


def test_next_to_none_is_exposed_in_every_run_by_scores_that_say_nothing() -> None:
    rng = np.random.default_rng(0)
    every = [null_of_runs("exposed_in_every_run_at_5pct_fpr", 10_000, 5, rng)[0] for _ in range(2000)]
    some = [null_of_runs("exposed_in_some_run_at_5pct_fpr", 10_000, 5, rng)[0] for _ in range(200)]
    assert np.mean(every) == pytest.approx(10_000 * 0.05**5, rel=0.6)
    assert np.mean(some) == pytest.approx(10_000 * (1 - 0.95**5), rel=0.01)


def evidence(**more: object) -> TableEvidence:
    table = attack_table(rising, epsilons=(0.01, 1.0, 10.0), accuracy=lambda _, e: 0.2 if e < 1 else 0.8, **more)  # type: ignore[arg-type]
    return evidence_of(table, Sequential(), AXES)


AT = {"p": 0.5, "epsilon": 0.01}


def test_a_world_has_as_many_repeats_of_the_same_numbers() -> None:
    known = evidence()
    world = in_world(known, World(known.index, FACTS, 0))
    curve = MetricSeries("auc", "a", "x")
    drawn = Samples(world).series(curve, AT)
    measured = Samples(known).series(curve, AT)
    assert len(drawn.values) == world.repeats == known.repeats
    assert set(drawn.values) <= set(measured.values)
    # A repeat is the same one for all metrics.
    pairs = set(
        zip(measured.values, Samples(known).series(MetricSeries("advantage", "a", "x"), AT).values, strict=True)
    )
    others = Samples(world).series(MetricSeries("advantage", "a", "x"), AT).values
    assert set(zip(drawn.values, others, strict=True)) <= pairs


def test_scores_that_say_nothing_leave_models_as_they_are() -> None:
    known = evidence()
    world = in_world(known, SaysNothing(known.index, FACTS, 0))
    strong = {"p": 0.5, "epsilon": 10.0}
    assert Samples(known).series(MetricSeries("auc", "a", "x"), strong).values.mean() > 0.75
    assert Samples(world).series(MetricSeries("auc", "a", "x"), strong).values.mean() == pytest.approx(0.5, abs=0.03)
    assert Samples(world).series(MetricSeries("accuracy_test", "a"), strong).values.mean() == pytest.approx(
        0.8, abs=0.02
    )


def test_models_that_guess_leave_attacks_as_they_are() -> None:
    known = evidence()
    world = in_world(known, Guesses(known.index, FACTS, 0))
    strong = {"p": 0.5, "epsilon": 10.0}
    assert Samples(world).series(MetricSeries("accuracy_test", "a"), strong).values.mean() == pytest.approx(
        0.1, abs=0.01
    )
    assert Samples(world).series(MetricSeries("auc", "a", "x"), strong).values.mean() > 0.75


def test_without_protection_is_at_the_largest_epsilon() -> None:
    known = evidence()
    world = Unprotected(known.index, FACTS, 0)
    key = "a", "x", "auc"
    assert world.differs(key, place(AT))
    assert not world.differs(key, place({"p": 0.5, "epsilon": 10.0}))
    drawn = Samples(in_world(known, world)).series(MetricSeries("auc", "a", "x"), AT)
    assert set(drawn.values) <= set(
        Samples(known).series(MetricSeries("auc", "a", "x"), {"p": 0.5, "epsilon": 10.0}).values
    )


def test_exchanged_labels_keep_the_numbers_of_each_repeat() -> None:
    known = evidence()
    samples = Samples(known)
    points = [(MetricSeries("auc", "a", "x"), place({"p": 0.5, "epsilon": e})) for e in (0.01, 1.0, 10.0)]
    dealt = exchanged(samples, [("sides", points)], FACTS, 3)
    before = np.stack([samples.series(curve, dict(where)).values for curve, where in points])
    after = np.stack([dealt[point].values for point in points])
    assert np.array_equal(np.sort(before, axis=0), np.sort(after, axis=0))
    assert not np.array_equal(before, after)


def test_draws_are_the_same_every_time() -> None:
    known = evidence()
    curve = MetricSeries("auc", "a", "x")

    def drawn(draw: int) -> list[float]:
        return list(Samples(in_world(known, SaysNothing(known.index, FACTS, draw))).series(curve, AT).values)

    assert drawn(0) == drawn(0) != drawn(1)


def outcomes_of(control: ControlName, draws: int, supported: int) -> Outcomes:
    return (ControlOutcome(control=control, draws=draws, supported=supported),)


def test_a_claim_is_as_severe_as_its_severest_part() -> None:
    weak, strong = outcomes_of("nothing", 20, 20), outcomes_of("nothing", 100, 1)
    assert severity_of_claim([weak, strong, ()]) is strong
    assert severity_of_claim([()]) == ()
    assert is_severe(())
    assert not is_severe(weak)
    assert is_severe(strong)
    assert outcomes_of("nothing", 100, 5)[0].severity == pytest.approx(SEVERE)
    assert not is_severe(outcomes_of("nothing", 100, 6))


def test_less_than_a_number_has_no_control_where_nothing_is_less_protected() -> None:
    table = attack_table(rising, epsilons=(10.0,))
    (one,) = severities(
        {
            "kind": "compare",
            "left": {"metric": "auc", "arm": "a", "attack": "x"},
            "relation": "<",
            "right": {"value": 0.95},
        },
        table,
    )
    assert one == ()


def test_a_difference_of_two_metrics_has_its_sign_tossed() -> None:
    rng = np.random.default_rng(0)
    rows = [
        ("a", "x", metric, 0.5, 1.0, repeat, mean + rng.normal(0, 0.02), 0.01, 100)
        for repeat in range(8)
        for metric, mean in (("member_stability", 0.9), ("nonmember_stability", 0.6))
    ]
    frame = pd.DataFrame(rows, columns=["arm", "attack", "metric", *AXES, "repeat", "value", "stderr", "n"])
    claim = {
        "kind": "compare",
        "left": {"metric": "member_stability", "arm": "a", "attack": "x", "minus": "nonmember_stability"},
        "relation": ">",
        "right": {"value": 0},
    }
    (one,) = severities(claim, frame)
    assert one[0].control == "exchanged"
    assert is_severe(one)
