"""What other packages need to add to the harness: one file with one registration for each thing.

A package names the modules that register under the entry-point group `harness.plugins`; a worked one is in
`examples/plugins`. Everything here keeps its meaning between versions; what is not here may change.

- a data set: a `TableDataset` or `GeneratorDataset`, with `@DATASETS.register`
- a split, a model, an engine, an attack: `Split`, `Model`, `Engine`, `MembershipAttack` or `Attack`, with
  `@SPLITS.register` and so on
- a defence: a `Defence` whose `wrap` puts an `Oracle` in front of another, with `@DEFENCES.register`
- a formula, such as a bound: a function with `@formula` (provable: arithmetic of `numbers`) or `@computed`
- a metric: a function with `@metric`
- a kind of claim: a `MeasuredExpectation` or `TheoryExpectation` with `@EXPECTATIONS.register`; `over_grid` judges it
  at every grid point, from `Look`s that `compared` or `close` make
"""

from harness.attacks.attack import ATTACKS, Attack, AttackResult, MembershipAttack, ShadowOutputs, Target
from harness.claims.declared import Declared
from harness.claims.evidence import Evidence
from harness.claims.expectation import EXPECTATIONS, At, MeasuredExpectation, TheoryExpectation, TheoryFinding
from harness.claims.judge import Finding, Look, Part, close, combine, compared, not_run, over_grid, point, unknown
from harness.claims.operands import Curve, FormulaValue, Measured, Number, Real, Width
from harness.claims.reasons import Reason, reason_in_words
from harness.config import Config, Plugin
from harness.data.dataset import DATASETS, GeneratorDataset, Schema, TableDataset
from harness.data.split import SPLITS, Split, TableSplit
from harness.data.steps import Step
from harness.defences import DEFENCES, Defence, LabelsOnly, Oracle
from harness.errors import HarnessError
from harness.formulas import computed, formula, numbers
from harness.hashing import generator
from harness.metrics import Answers, ModelOutputs, Outputs, Value, average, metric, share
from harness.training.engine import ENGINES, Engine, Job
from harness.training.model import MODELS, Model

__all__ = [
    "ATTACKS",
    "DATASETS",
    "DEFENCES",
    "ENGINES",
    "EXPECTATIONS",
    "MODELS",
    "SPLITS",
    "Answers",
    "At",
    "Attack",
    "AttackResult",
    "Config",
    "Curve",
    "Declared",
    "Defence",
    "Engine",
    "Evidence",
    "Finding",
    "FormulaValue",
    "GeneratorDataset",
    "HarnessError",
    "Job",
    "LabelsOnly",
    "Look",
    "Measured",
    "MeasuredExpectation",
    "MembershipAttack",
    "Model",
    "ModelOutputs",
    "Number",
    "Oracle",
    "Outputs",
    "Part",
    "Plugin",
    "Real",
    "Reason",
    "Schema",
    "ShadowOutputs",
    "Split",
    "Step",
    "TableDataset",
    "TableSplit",
    "Target",
    "TheoryExpectation",
    "TheoryFinding",
    "Value",
    "Width",
    "average",
    "close",
    "combine",
    "compared",
    "computed",
    "formula",
    "generator",
    "metric",
    "not_run",
    "numbers",
    "over_grid",
    "point",
    "reason_in_words",
    "share",
    "unknown",
]
