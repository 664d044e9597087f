"""What other packages need to add to the harness: one file with one registration for each thing.

A package names the modules that register under the entry-point group `harness.plugins`; a worked one is in
`examples/plugins`. Everything here keeps its meaning between versions; what is not here may change.

- a data set: a `TableDataset` or `GeneratorDataset`, with `@DATASETS.register`
- a split, a model, an engine, an attack: `Split`, `Model`, `Engine`, `MembershipAttack` (or `ScoringAttack`, or
  `Attack`), with `@SPLITS.register` and so on
- a defence: a `Defence` whose `wrap` puts an `Oracle` in front of another, with `@DEFENCES.register`
- a formula, such as a bound: a function with `@formula` (provable: arithmetic of `numbers`) or `@computed`
- a metric: a function with `@metric`
- a kind of claim: a `MeasuredClaimKind` or `TheoryClaimKind` with `@CLAIM_KINDS.register`; its `tree` is its
  inequality, made with `Name`, `numeral`, `chain`, `phrase`, `listing` and `aside`; its `contrasts` say what it
  compares, as data: `over_grid` gives `Comparisons` of one `Contrast` or more at every grid point, `Either` and `Both`
  of several
"""

from harness.attacks.attack import ATTACKS, Attack, MembershipAttack, ScoringAttack
from harness.attacks.pool import InOutModel, Pool
from harness.attacks.pooled import PooledAttack
from harness.attacks.target import AttackResult, Target
from harness.claims.contrasts import (
    Both,
    Compared,
    Comparisons,
    Contrast,
    Either,
    Node,
    NotRun,
    RepeatNumber,
    WeightedSum,
)
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, At, MeasuredClaimKind, TheoryClaimKind, TheoryResult
from harness.claims.expression import Expression, Name, aside, chain, listing, numeral, phrase
from harness.claims.grid import over_grid
from harness.claims.operands import FormulaValue, MetricOperand, MetricSeries, Number, Real, Width
from harness.claims.reasons import Reason, reason_in_words
from harness.config import Config, Plugin
from harness.coordinates import Where
from harness.data.dataset import DATASETS, GeneratorDataset, Schema, TableDataset
from harness.data.split import SPLITS, Split, TableSplit
from harness.data.steps import Step
from harness.defences import DEFENCES, Defence, LabelsOnly, Oracle
from harness.errors import HarnessError
from harness.formulas import computed, formula, numbers
from harness.hashing import generator
from harness.metrics import Answers, ModelOutputs, Outputs, Value, average, jackknife, metric, share
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
    "Both",
    "Compared",
    "Comparisons",
    "Config",
    "Contrast",
    "Defence",
    "Either",
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
    "Node",
    "NotRun",
    "Number",
    "Oracle",
    "Outputs",
    "Plugin",
    "Pool",
    "PooledAttack",
    "Real",
    "Reason",
    "RepeatNumber",
    "Schema",
    "ScoringAttack",
    "Split",
    "Step",
    "TableDataset",
    "TableSplit",
    "Target",
    "TheoryClaimKind",
    "TheoryResult",
    "Value",
    "WeightedSum",
    "Where",
    "Width",
    "aside",
    "average",
    "chain",
    "computed",
    "formula",
    "generator",
    "jackknife",
    "listing",
    "metric",
    "numbers",
    "numeral",
    "over_grid",
    "phrase",
    "reason_in_words",
    "share",
]
