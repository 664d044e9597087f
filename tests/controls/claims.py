"""Claims of which it is known whether they could fail, each with tables on which it holds, by seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from tests.controls.made import attack_table

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
EPSILONS = (0.01, 0.1, 1.0, 10.0)
Case = tuple[dict[str, Any], Callable[[int], pd.DataFrame]]
"""An expectation, and the table by seed."""


def of(metric: str, **more: Any) -> dict[str, Any]:
    """A metric of the attack x on the arm a."""
    return {"metric": metric, "arm": "a", "attack": "x", **more}


def compare(left: dict[str, Any], right: dict[str, Any], relation: str = ">", **more: Any) -> dict[str, Any]:
    return {"kind": "compare", "left": left, "relation": relation, "right": right, **more}


def close(left: dict[str, Any], right: dict[str, Any], tolerance: float) -> dict[str, Any]:
    return {"kind": "close", "left": left, "right": right, "tolerance": tolerance}


def share(metric: str) -> dict[str, Any]:
    return {"kind": "variance-share", "of": of(metric), "axis": "p", "than": "epsilon"}


def peak(metric: str) -> dict[str, Any]:
    return {"kind": "interior-peak", "of": of(metric, mean_over=["epsilon"]), "along": "p"}


def nothing(arm: str, attack: str, p: float, epsilon: float) -> float:
    return 0.0


def two(arm: str, attack: str, p: float, epsilon: float) -> float:
    """x tells more than y, whatever epsilon."""
    return {"x": 1.0, "y": 0.5}[attack]


def rising(arm: str, attack: str, p: float, epsilon: float) -> float:
    return 0.02 if epsilon <= 0.1 else 0.5 if epsilon <= 1 else 1.2


def hump(arm: str, attack: str, p: float, epsilon: float) -> float:
    return 1.5 * (1 - 4 * (p - 0.5) ** 2)


def learnt(arm: str, epsilon: float) -> float:
    return {0.01: 0.2, 0.1: 0.3, 1.0: 0.6, 10.0: 0.8}[epsilon]


def good(arm: str, epsilon: float) -> float:
    return 0.8


def table(strength: Any, **more: Any) -> Callable[[int], pd.DataFrame]:
    return lambda seed: attack_table(strength, seed=seed, **more)


ATTACKS = table(two, attacks=("x", "y"))
NOTHING = table(nothing, ps=SHARES, epsilons=(1.0, 3.0), records=1000, repeats=60)
RISING = table(rising, epsilons=EPSILONS)
HUMP = table(hump, ps=SHARES, epsilons=(1.0, 3.0), records=1000)
LEARNING = table(rising, epsilons=EPSILONS, accuracy=learnt)
AUC, ADVANTAGE, ACCURACY = of("auc"), of("advantage"), {"metric": "accuracy_test", "arm": "a"}

CANNOT_FAIL: dict[str, Case] = {
    "AUC above 0.475": (compare(AUC, {"value": 0.475}), ATTACKS),
    "best precision above the share of members": (
        compare(of("best_precision"), {"metric": "share_of_members"}),
        ATTACKS,
    ),
    "a hump of the gain at the best of forty thresholds": (peak("best_precision_gain"), NOTHING),
    "the share of members explains more of the best precision than epsilon": (share("best_precision"), NOTHING),
    "advantage within 0.05 of 0.02": (close(ADVANTAGE, {"value": 0.02}, 0.05), table(nothing)),
    "advantage below 0.9 at epsilon 0.01, and without noise": (
        compare(ADVANTAGE, {"value": 0.9}, "<", at=[0.01]),
        RISING,
    ),
    "one of two, of which one is always true": (
        {"kind": "any-of", "of": [compare(AUC, {"value": 0.3}), compare(ADVANTAGE, {"value": 0.2})]},
        ATTACKS,
    ),
    "not below another attack by 0.6": (compare(ADVANTAGE, {"attack": "y"}, margin=-0.6), ATTACKS),
    "accuracy above 0.05, of ten classes": (
        compare(ACCURACY, {"value": 0.05}),
        table(two, attacks=("x", "y"), accuracy=good),
    ),
}
CAN_FAIL: dict[str, Case] = {
    "AUC above 0.6": (compare(AUC, {"value": 0.6}), ATTACKS),
    "an attack above another": (compare(AUC, {"attack": "y"}), ATTACKS),
    "advantage above another's": (compare(ADVANTAGE, {"attack": "y"}), ATTACKS),
    "AUC rises with epsilon": (
        {"kind": "compare", "left": of("auc", epsilon=10.0), "relation": ">", "right": {"epsilon": 0.01}},
        RISING,
    ),
    "advantage within 0.1 of 0.38": (close(ADVANTAGE, {"value": 0.38}, 0.1), ATTACKS),
    "advantage below 0.1 at epsilon 0.01": (compare(ADVANTAGE, {"value": 0.1}, "<", at=[0.01]), RISING),
    "a hump at a threshold of other records": (peak("held_out_precision_gain"), HUMP),
    "the share of members explains more of the gain at a threshold of other records": (
        share("held_out_precision_gain"),
        HUMP,
    ),
    "two attacks alike within 0.3": (close(ADVANTAGE, {"attack": "y"}, 0.3), ATTACKS),
    "accuracy and advantage rise together": (
        {"kind": "correlation", "left": ADVANTAGE, "right": ACCURACY, "above": 0.5},
        LEARNING,
    ),
    "accuracy above 0.5 at epsilon 10": (compare(ACCURACY, {"value": 0.5}, at=[10.0]), LEARNING),
    "accuracy below 0.5 at epsilon 0.01": (compare(ACCURACY, {"value": 0.5}, "<", at=[0.01]), LEARNING),
}

__all__ = ["CANNOT_FAIL", "CAN_FAIL"]
