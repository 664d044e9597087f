"""Kinds of claims about measurements, one file each; importing this package registers them all."""

from harness.imports import import_all

import_all(__name__, __path__)
