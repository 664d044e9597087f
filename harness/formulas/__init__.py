"""Every printed formula, once: bounds, accounting, mechanisms, games counted out. The bottom of the house.

A formula works on floats, arrays and balls alike; what is searched for or summed up (`computed`) works on floats. Each
says what it bounds and what it is proved for, where it is a bound. Accountants, the prover, claims on measurements and
the report take them from here. Nothing here imports anything of the package but arrays, errors and imports.
Importing this registers the built-in ones.
"""

from harness.formulas.formula import FORMULAS, Adjacency, computed, formula, formula_named
from harness.imports import import_all

__all__ = ["FORMULAS", "Adjacency", "computed", "formula", "formula_named"]

import_all(__name__, __path__)
