"""The registry of metrics: what each is a function of, and where it is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.metrics import METRICS, Answers, ModelOutputs, Outputs, Value, metric, metrics_of
from harness.metrics.metric import measure_against_baseline, measure_answers, measure_model, modules


def outputs(right: int, n: int = 10) -> Outputs:
    """`right` of `n` records classified correctly, each with probability 0.8."""
    logp = np.log(np.where(np.arange(n)[:, None] < right, [0.8, 0.2], [0.2, 0.8]))
    return Outputs(logp, np.zeros(n, dtype=np.int64))


def test_every_metric_of_a_model_is_measured_on_its_own_records() -> None:
    result = measure_model(ModelOutputs(outputs(9), outputs(7), outputs(4)))
    assert set(result) == set(metrics_of("model"))
    assert [result[f"accuracy_{k}"].value for k in ("train", "test", "nonmembers")] == pytest.approx([0.9, 0.7, 0.4])
    assert result["loss_train"].value == pytest.approx(-(0.9 * math.log(0.8) + 0.1 * math.log(0.2)))


def test_what_noise_costs_has_no_value_where_the_model_without_it_is_never_right() -> None:
    own, never = (measure_model(ModelOutputs(outputs(5), outputs(k), outputs(0))) for k in (3, 6))
    assert {k: round(v.value, 9) for k, v in measure_against_baseline(own, never).items()} == {
        "accuracy_loss_test": 0.5
    }


def test_ranges_hold_and_a_name_is_held_once() -> None:
    rng = np.random.default_rng(0)
    answers = Answers(rng.normal(1, 1, 50), rng.normal(0, 1, 40), rng.random(50) < 0.6, rng.random(40) < 0.3)
    for name, value in measure_answers(answers).items():
        assert METRICS[name].low <= value.value <= METRICS[name].high, name
    assert METRICS["tpr_at_1pct_fpr"].coordinates == {"fpr": 0.01}
    with pytest.raises(ValueError, match="metric 'auc' is registered twice"):
        metric("auc", "again", scope="attack")(lambda answers: Value(0.0, 0.0, 1))
    with pytest.raises(ValueError, match="metric 'mine': scope 'all' is none of attack, model, epochs, per_record"):
        metric("mine", "of nothing", scope="all")  # type: ignore[arg-type]
    assert "harness.metrics.membership" in modules()
    assert "functools" not in modules()
