"""Every printed formula, once: bounds, accounting, mechanisms, games counted out. The bottom of the house.

A formula works on floats, arrays and balls alike; what is searched for or summed up (`computed`) works on floats. Each
says what it bounds and what it is proved for, where it is a bound. Accountants, the prover, claims on measurements and
the report take them from here. Nothing here imports anything of the package but arrays and errors. Importing this
registers the built-in ones.
"""

from harness.formulas import (
    advantage,
    composition,
    games,
    gaussian,
    gradients,
    numbers,
    optima,
    positive_accuracy,
    randomized_response,
    rates,
)
from harness.formulas.formula import FORMULAS, Adjacency, Bounded, Formula, computed, formula, formula_named

__all__ = [
    "FORMULAS",
    "Adjacency",
    "Bounded",
    "Formula",
    "advantage",
    "composition",
    "computed",
    "formula",
    "formula_named",
    "games",
    "gaussian",
    "gradients",
    "numbers",
    "optima",
    "positive_accuracy",
    "randomized_response",
    "rates",
]
