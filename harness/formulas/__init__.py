"""Every printed formula, once: bounds, accounting, mechanisms, games counted out. The bottom of the house.

A formula works on floats, arrays and balls alike; one that is searched for or summed up (`computed`) works on floats
alone. A formula that is a bound says what it bounds and what it is proved for. Accountants, the prover, claims on
measurements and the report take formulas from this package, which imports nothing of the harness but arrays, errors
and imports. Importing the package registers the built-in formulas.
"""

from harness.formulas.formula import FORMULAS, Adjacency, computed, formula, formula_named
from harness.imports import import_all

__all__ = ["FORMULAS", "Adjacency", "computed", "formula", "formula_named"]

import_all(__name__, __path__)
