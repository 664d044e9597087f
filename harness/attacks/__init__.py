"""Attacks on models, one file each; importing this package registers them all."""

from harness.attacks import attribute, logloss, shokri
from harness.attacks.attack import ATTACKS, Attack, AttackResult, MembershipAttack, ShadowOutputs, Target
from harness.metrics.answers import Answers, Outputs

__all__ = [
    "ATTACKS",
    "Answers",
    "Attack",
    "AttackResult",
    "MembershipAttack",
    "Outputs",
    "ShadowOutputs",
    "Target",
    "attribute",
    "logloss",
    "shokri",
]
