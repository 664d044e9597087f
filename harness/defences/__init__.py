"""Defences stand between a model and those who ask it, one file each; importing this package registers them all."""

from harness.defences.defence import DEFENCES, Defence, Undefended
from harness.defences.oracle import LabelsOnly, ModelOracle, Oracle
from harness.imports import import_all

__all__ = ["DEFENCES", "Defence", "LabelsOnly", "ModelOracle", "Oracle", "Undefended"]

import_all(__name__, __path__)
