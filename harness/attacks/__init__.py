"""Attacks on models, one file each; importing this package registers them all."""

from harness.attacks.attack import ATTACKS, Attack, ScoringAttack
from harness.attacks.pool import InOutModel, Pool
from harness.attacks.target import Target
from harness.imports import import_all
from harness.metrics.answers import Outputs

__all__ = ["ATTACKS", "Attack", "InOutModel", "Outputs", "Pool", "ScoringAttack", "Target"]

import_all(__name__, __path__)
