"""Standard errors by leaving records out."""

import doctest
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.metrics import METRICS, Answers, Value, jackknife
from harness.metrics.metric import Metric
from harness.testing import NonConformance, check_metric


def answers_of(m: int, n: int, seed: int) -> Answers:
    rng = np.random.default_rng(seed)
    inside, outside = rng.normal(size=m) + 1, rng.normal(size=n)
    return Answers(inside, outside, inside > 0.5, outside > 0.5)


def f1(answers: Answers) -> float:
    true, false = int(answers.member_decisions.sum()), int(answers.nonmember_decisions.sum())
    return 2 * true / (true + false + len(answers.member_decisions))


def test_the_example_runs() -> None:
    failed, tried = doctest.testmod(sys.modules["harness.metrics.jackknife"])
    assert (failed, tried > 0) == (0, True)


@settings(max_examples=30, deadline=None)
@given(m=st.integers(2, 40), n=st.integers(2, 40), seed=st.integers(0, 1000))
def test_of_a_mean_it_is_the_usual_error(m: int, n: int, seed: int) -> None:
    """With a group a record, the variance of a difference of means is the sum of both s^2 / n."""
    answers = answers_of(m, n, seed)
    value = jackknife(lambda a: float(a.member_scores.mean() - a.nonmember_scores.mean()), answers)
    expected = answers.member_scores.var(ddof=1) / m + answers.nonmember_scores.var(ddof=1) / n
    assert value.stderr == pytest.approx(np.sqrt(expected), rel=1e-9)
    assert value.n == m + n


def test_of_f1_it_is_what_drawing_again_gives() -> None:
    rng = np.random.default_rng(0)
    drawn = [f1(answers_of(400, 300, 1000 + seed)) for seed in range(400)]
    errors = [jackknife(f1, answers_of(400, 300, int(seed))).stderr for seed in rng.integers(0, 10**6, 20)]
    assert np.mean(errors) == pytest.approx(np.std(drawn), rel=0.15)


def test_one_member_has_no_error() -> None:
    assert np.isnan(jackknife(f1, answers_of(1, 20, 0)).stderr)


@pytest.mark.parametrize(
    ("stderr", "refused"), [(jackknife, False), (lambda of, a: Value(of(a), 0.0, 1), True), (None, True)]
)
def test_the_kit_tells_an_error_that_is_not_that_of_the_metric(stderr, refused, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """None: the error of a share of the records that are called members, which is not that of F1."""

    def of_share(answers: Answers) -> Value:
        called = np.concatenate([answers.member_decisions, answers.nonmember_decisions])[:60]
        return Value(f1(answers), float(called.std() / np.sqrt(60)), 60)

    function = of_share if stderr is None else lambda answers: stderr(f1, answers)
    metric = Metric("f1", function, "harmonic mean of precision and recall", "attack", 0.0, 1.0)
    monkeypatch.setitem(METRICS, "f1", metric)
    with pytest.raises(NonConformance, match=r"standard error is .*bootstrap") if refused else nullcontext():
        check_metric("f1")
