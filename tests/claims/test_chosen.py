"""A place that another metric chooses in each repeat, on tables whose truth is known."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import pytest

from tests.claims.judged import PARSE, declared_by, evidence_of, judge

EPSILONS = (1.0, 2.0, 4.0, float("inf"))
LEFT = {"metric": "auc", "arm": "a", "attack": "x", "chosen": {"metric": "accuracy_test", "at_least": 0.6}}


def table(first_good: Any, repeats: int = 8) -> pd.DataFrame:
    """AUC is 0.5 plus 0.1 for each step of epsilon; accuracy is 0.7 from the `first_good(repeat)`-th epsilon on."""
    rows = []
    for repeat, (i, epsilon) in product(range(repeats), enumerate(EPSILONS)):
        rows.append(("a", "x", "auc", epsilon, repeat, 0.5 + 0.1 * i + 1e-4 * repeat, 1e-5))
        rows.append(("a", "", "accuracy_test", epsilon, repeat, 0.7 if i >= first_good(repeat) else 0.3, 1e-5))
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


def close(value: float, tolerance: float = 0.01, **left: Any) -> dict[str, Any]:
    return {"kind": "close", "left": {**LEFT, **left}, "right": {"value": value}, "tolerance": tolerance}


@pytest.mark.parametrize(("first", "value"), [(0, 0.5), (1, 0.6), (3, 0.8), (9, 0.8)])
def test_the_least_epsilon_that_keeps_accuracy_is_chosen(first: int, value: float) -> None:
    """Where none does, the largest is taken."""
    evidence = evidence_of(table(lambda _: first))
    assert judge(close(value), evidence).outcome == "reproduced"
    assert judge(close(value + 0.1), evidence).outcome == "violated"


def test_it_is_chosen_in_each_repeat_anew() -> None:
    evidence = evidence_of(table(lambda repeat: repeat % 2, 200))
    found = judge(close(0.56, 0.02), evidence)
    assert found.outcome == "reproduced", found.reason
    assert len(found.points) == 1


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"metric": "accuracy_test"}, "give one of at_most and at_least"),
        ({"metric": "accuracy_tset", "at_least": 0.5}, "did you mean 'accuracy_test'"),
        ({"metric": "accuracy_test", "at_least": 0.5, "axis": "p"}, "chosen: unknown axis 'p'"),
        ({"metric": "auc", "at_least": 0.5}, "unknown metric 'auc' of the model"),
    ],
)
def test_what_cannot_be_chosen_by_is_refused(chosen: dict[str, Any], message: str) -> None:
    evidence = evidence_of(table(lambda _: 0))
    with pytest.raises(ValueError, match=message):
        PARSE({**close(0.5), "left": {**LEFT, "chosen": chosen}}).check(declared_by(evidence.frame))
