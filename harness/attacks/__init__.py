"""Attacks on models, one file each; importing this package registers them all."""

from harness.attacks import attribute, blind, lira, logloss, quantile, rmia, shokri, vulnerability
from harness.attacks.attack import (
    ATTACKS,
    Attack,
    AttackResult,
    HalfModel,
    MembershipAttack,
    ScoringAttack,
    ShadowOutputs,
    Target,
)
from harness.metrics.answers import Answers, Outputs

__all__ = [
    "ATTACKS",
    "Answers",
    "Attack",
    "AttackResult",
    "HalfModel",
    "MembershipAttack",
    "Outputs",
    "ScoringAttack",
    "ShadowOutputs",
    "Target",
    "attribute",
    "blind",
    "lira",
    "logloss",
    "quantile",
    "rmia",
    "shokri",
    "vulnerability",
]
