"""What every plug-in has to do, as checks that a package calls from its own tests.

Each check raises NonConformance, an AssertionError, with one line that says what is wrong and what would be right.

| to check | call |
| --- | --- |
| a kind of claim | `check_claim_kind(claim, holds=table, fails=table)`, with tables made by `results` |
| an attack | `check_attack(attack)` |
| a metric | `check_metric(name)` |
| a formula, or a bound | `check_formula(name, epsilon=(0, 10), ...)`, a range for each parameter |
| a data set that is drawn | `check_generator(dataset)` |
| a defence | `check_defence(defence)` |
| an engine | `check_engine(engine)` |
| a training function of a spec | `check_training_function("mine.py:train")` |
"""

from harness.testing.attacks import check_attack, memorising_target
from harness.testing.claim_kinds import check_claim_kind, results
from harness.testing.datasets import check_generator
from harness.testing.defences import check_defence
from harness.testing.engines import check_engine, check_training_function
from harness.testing.formulas import check_formula
from harness.testing.metrics import check_metric
from harness.testing.nonconformance import NonConformance

__all__ = [
    "NonConformance",
    "check_attack",
    "check_claim_kind",
    "check_defence",
    "check_engine",
    "check_formula",
    "check_generator",
    "check_metric",
    "check_training_function",
    "memorising_target",
    "results",
]
