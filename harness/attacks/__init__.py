"""Attacks on models, one file each; importing this package registers them all."""

from harness.attacks.attack import ATTACKS, Attack, InOutModel, ScoringAttack, ShadowModel, ShadowOutputs, Target
from harness.imports import import_all
from harness.metrics.answers import Outputs

__all__ = ["ATTACKS", "Attack", "InOutModel", "Outputs", "ScoringAttack", "ShadowModel", "ShadowOutputs", "Target"]

import_all(__name__, __path__)
