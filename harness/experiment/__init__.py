"""What an experiment may say: arms as differences to it, named axes. What is run follows from here alone."""

from harness.experiment.axes import Axis, Derived
from harness.experiment.experiment import Arm, Experiment, Variant
from harness.experiment.results import AnyExperiment, ResultsArm, ResultsFile
from harness.experiment.setup import AnyDataset, AnyDefence, AnyModel, AnySplit, Privacy, Setup, ShadowPool, epsilon_of

__all__ = [
    "AnyDataset",
    "AnyDefence",
    "AnyExperiment",
    "AnyModel",
    "AnySplit",
    "Arm",
    "Axis",
    "Derived",
    "Experiment",
    "Privacy",
    "ResultsArm",
    "ResultsFile",
    "Setup",
    "ShadowPool",
    "Variant",
    "epsilon_of",
]
