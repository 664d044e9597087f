"""Membership inference attacks, one file each; importing this package registers them all."""

from harness.attacks import logloss, shokri
from harness.attacks.attack import ATTACKS, Answers, Attack, Outputs, ShadowOutputs

__all__ = ["ATTACKS", "Answers", "Attack", "Outputs", "ShadowOutputs", "logloss", "shokri"]
