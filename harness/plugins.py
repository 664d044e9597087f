"""What other packages need to add to the harness: one file with one registration for each thing.

A package names the modules that register under the entry-point group `harness.plugins`; a worked one is in
`examples/plugins`. Everything here keeps its meaning between versions; what is not here may change.

- a data set: a `TableDataset` or `GeneratorDataset`, with `@DATASETS.register`
- a split, a model, an engine, an attack: `Split`, `Model`, `Engine`, `MembershipAttack` or `Attack`, with
  `@SPLITS.register` and so on
- a defence: a `Defence` whose `wrap` puts an `Oracle` in front of another, with `@DEFENCES.register`
- a formula, such as a bound: a function with `@formula` (provable: arithmetic of `numbers`) or `@computed`
- a metric: a function with `@metric`
- a kind of claim: a `MeasuredClaimKind` or `TheoryClaimKind` with `@CLAIM_KINDS.register`; its `tree` is its
  inequality, made with `Name`, `numeral`, `chain`, `phrase`, `listing` and `aside`; `over_grid` judges it at every grid
  point, from `PointResult`s that `compare_at` or `close` make
"""

from harness.attacks.attack import (
    ATTACKS,
    Attack,
    AttackResult,
    InOutModel,
    MembershipAttack,
    ShadowModel,
    ShadowOutputs,
    Target,
)
from harness.attacks.pooled import PooledAttack
from harness.claims.combine import combine, over_grid
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind, TheoryClaimKind, TheoryResult
from harness.claims.expression import Expression, Name, aside, chain, listing, numeral, phrase
from harness.claims.judge import close, compare_at
from harness.claims.operands import FormulaValue, MetricOperand, MetricSeries, Number, Real, Width
from harness.claims.reasons import Reason, reason_in_words
from harness.claims.results import Part, PartResult, PointResult, not_run, point, unknown_part
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
    "CLAIM_KINDS",
    "DATASETS",
    "DEFENCES",
    "ENGINES",
    "MODELS",
    "SPLITS",
    "Answers",
    "At",
    "Attack",
    "AttackResult",
    "Config",
    "Defence",
    "Engine",
    "Expression",
    "FormulaValue",
    "GeneratorDataset",
    "HarnessError",
    "InOutModel",
    "Job",
    "LabelsOnly",
    "MeasuredClaimKind",
    "Measurements",
    "MembershipAttack",
    "MetricOperand",
    "MetricSeries",
    "Model",
    "ModelOutputs",
    "Name",
    "NameScope",
    "Number",
    "Oracle",
    "Outputs",
    "Part",
    "PartResult",
    "Plugin",
    "PointResult",
    "PooledAttack",
    "Real",
    "Reason",
    "Schema",
    "ShadowModel",
    "ShadowOutputs",
    "Split",
    "Step",
    "TableDataset",
    "TableSplit",
    "Target",
    "TheoryClaimKind",
    "TheoryResult",
    "Value",
    "Width",
    "aside",
    "average",
    "chain",
    "close",
    "combine",
    "compare_at",
    "computed",
    "formula",
    "generator",
    "listing",
    "metric",
    "not_run",
    "numbers",
    "numeral",
    "over_grid",
    "phrase",
    "point",
    "reason_in_words",
    "share",
    "unknown_part",
]
