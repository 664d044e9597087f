"""What stands between a model and those who ask it, one file each; importing this package registers them all."""

from harness.defences import argmax, randomized_response
from harness.defences.defence import DEFENCES, Defence, Undefended
from harness.defences.oracle import LabelsOnly, ModelOracle, Oracle

__all__ = [
    "DEFENCES",
    "Defence",
    "LabelsOnly",
    "ModelOracle",
    "Oracle",
    "Undefended",
    "argmax",
    "randomized_response",
]
