"""Attacks on models, one file each; importing this package registers them all."""

from harness.attacks import attribute, logloss, shokri
from harness.attacks.attack import ATTACKS, Answers, Attack, MembershipAttack, Outputs, ShadowOutputs, Target

__all__ = [
    "ATTACKS", "Answers", "Attack", "MembershipAttack", "Outputs", "ShadowOutputs", "Target", "attribute", "logloss",
    "shokri",
]  # fmt: skip
